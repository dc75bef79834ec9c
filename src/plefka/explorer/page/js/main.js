// Start: load the network, open the case of the address, and keep the address in step with the case.

import { askForToken, load, showConnection } from "./connection.js";
import { announce, byId, jumpTo } from "./elements.js";
import { networkDialog } from "./network_dialog.js";
import { Page } from "./page.js";
import { Service } from "./service.js";
import { addressOf, contentInAddress } from "./shared_case.js";
import { theme } from "./theme.js";
import { sentence } from "./words.js";

const WRITE = 300; // milliseconds after which the address follows the case

async function start() {
	const service = new Service(askForToken);
	showConnection(service);
	takeToken(service);
	theme();
	const known = await load(service).catch((error) => {
		if (!["no_network", "unknown_network"].includes(error.code)) throw error;
		networkDialog(service, null, error.code === "unknown_network");
	});
	if (known) begin(service, new Page(service, ...known));
	document.body.dataset.ready = "true";
}

function begin(service, page) {
	openFromAddress(page);
	page.cases.resume();
	page.case.forget();
	keepAddress(page, service);
	keepInTouch(page, service);
	keys(page);
	if (page.network.opens) networkDialog(service, page.network);
	service.addEventListener("forgotten", () => location.reload());
}

// The token is in the address once. It is kept for this tab, and the address loses it.
function takeToken(service) {
	const parts = new URLSearchParams(location.hash.slice(1));
	if (!parts.has("token")) return;
	service.useToken(parts.get("token"));
	parts.delete("token");
	history.replaceState(null, "", `${location.pathname}${location.search}${parts.size ? `#${parts}` : ""}`);
}

function openFromAddress({ share, network }) {
	try {
		const content = contentInAddress();
		if (content) share.take({ ...content, method: content.method ?? network.default_method }, "this link");
	} catch (error) {
		share.refuse(error.message);
	}
}

function keepAddress(page, service) {
	let timer = 0;
	const write = () => history.replaceState(null, "", addressOf(page.case.content, page.network.default_method));
	page.case.addEventListener("change", () => {
		clearTimeout(timer);
		timer = setTimeout(write, WRITE);
	});
	addEventListener("pagehide", write);
	addEventListener("hashchange", () => {
		takeToken(service);
		openFromAddress(page);
	});
}

// After a break the service may serve another network: then the page starts again, with the same case.
function keepInTouch(page, service) {
	service.addEventListener("recovered", async () => {
		const now = await service.get("network").catch(() => page.network); // gone again: there will be another time
		const isSame = ["name", "units", "edges"].every((field) => now[field] === page.network[field]);
		if (!isSame) location.reload();
		else page.asking.now();
	});
}

function keys(page) {
	const { case: theCase } = page;
	byId("undo").addEventListener("click", () => theCase.undo());
	byId("redo").addEventListener("click", () => theCase.redo());
	byId("clear").addEventListener("click", () => {
		theCase.clear();
	});
	byId("print").addEventListener("click", () => print());
	for (const link of document.querySelectorAll("[data-jump]"))
		link.addEventListener("click", (event) => {
			event.preventDefault();
			jumpTo(link.dataset.jump);
		});
	document.addEventListener("keydown", (event) => {
		const isTyping = event.target.matches("input:not([type=range], [type=checkbox])") && event.target.value !== "";
		if (event.key === "/" && !event.target.matches("input, select, textarea")) {
			event.preventDefault();
			byId("search").focus();
		}
		if (!(event.ctrlKey || event.metaKey) || isTyping || document.querySelector("dialog[open]")) return;
		const key = event.key.toLowerCase();
		const isRedo = key === "y" || (key === "z" && event.shiftKey);
		if (!isRedo && key !== "z") return;
		event.preventDefault();
		if (isRedo) theCase.redo();
		else theCase.undo();
	});
}

start().catch((error) => {
	const text = `The page could not start. ${sentence(error.message)}`;
	byId("failure").hidden = false;
	byId("failure").textContent = text;
	byId("counts").textContent = "";
	announce(text);
});
