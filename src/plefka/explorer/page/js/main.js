// Start: load the network, open the case of the address, and keep the address in step with the case.

import { announce, byId, calm, listen, put } from "./elements.js";
import { NetworkDialog } from "./network_dialog.js";
import { Page } from "./page.js";
import { Service, Unreachable } from "./service.js";
import { addressOf, contentInAddress } from "./shared_case.js";
import { read, write } from "./storage.js";
import { sentence } from "./words.js";

const WRITE = 300; // milliseconds after which the address follows the case
const THEME = "plefka-theme";
const THEMES = { system: "System", light: "Light", dark: "Dark" };

async function start() {
	const service = new Service();
	takeToken(service);
	colours();
	const known = await load(service).catch((error) => {
		if (!["no_network", "unknown_network"].includes(error.code)) throw error;
		new NetworkDialog(service).start(error.code === "unknown_network");
	});
	if (known) begin(service, new Page(service, ...known));
	document.body.dataset.ready = "true";
}

// The first answers, however long the service takes to come.
async function load(service) {
	try {
		return await Promise.all(["network", "units/names", "examples"].map((path) => service.get(path)));
	} catch (error) {
		if (!(error instanceof Unreachable)) throw error;
		await new Promise((resolve) => {
			service.onRecovered = resolve;
		});
		return load(service);
	}
}

function begin(service, page) {
	const { case: theCase, network } = page;
	openFromAddress(page);
	page.cases.opened.resume();
	theCase.forget();
	service.onForgotten = () => location.reload();
	// After a break the service may serve another network: then the page starts again, with the same case.
	service.onRecovered = async () => {
		const now = await service.get("network").catch(() => network); // gone again: there will be another time
		const isSame = ["name", "units", "edges"].every((field) => now[field] === network[field]);
		if (isSame) page.asking.now();
		else location.reload();
	};
	keepAddress(page, service);
	keys(theCase);
	if (network.opens) new NetworkDialog(service, network).begin();
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
		share.refuse(error);
	}
}

function keepAddress(page, service) {
	let timer = 0;
	const write = () => history.replaceState(null, "", addressOf(page.case.content, page.network.default_method));
	listen(page.case, "change", () => {
		clearTimeout(timer);
		timer = setTimeout(write, WRITE);
	});
	listen(window, "pagehide", write);
	listen(window, "hashchange", () => {
		takeToken(service);
		openFromAddress(page);
	});
}

function keys(theCase) {
	listen("undo", "click", () => theCase.undo());
	listen("redo", "click", () => theCase.redo());
	listen("clear", "click", () => theCase.clear());
	listen("print", "click", () => print());
	for (const id of ["skip", "peek"]) listen(id, "click", toAnswer);
	listen(document, "keydown", (event) => {
		const { target, ctrlKey, metaKey, shiftKey } = event;
		const key = event.key.toLowerCase();
		if (key === "/" && !target.matches("input, select, textarea")) {
			event.preventDefault();
			byId("search").focus();
		}
		const isTyping = target.matches("input:not([type=range], [type=checkbox])") && target.value !== "";
		const isMeant = (ctrlKey || metaKey) && ["y", "z"].includes(key);
		if (!isMeant || isTyping || document.querySelector("dialog[open]")) return;
		event.preventDefault();
		byId(key === "y" || shiftKey ? "redo" : "undo").click();
	});
}

// Addresses with # are taken: they hold the case.
function toAnswer(event) {
	event.preventDefault();
	byId("answer").scrollIntoView({ behavior: calm() ? "auto" : "smooth", block: "start" });
	byId("answer").focus({ preventScroll: true });
}

// Light and dark: as the system has it, unless the reader chooses.
function colours() {
	const names = Object.keys(THEMES);
	let place = Math.max(0, names.indexOf(read(THEME)));
	const show = () => {
		const name = names[place];
		const label = `Colours: ${THEMES[name]}`;
		document.documentElement.dataset.theme = name;
		put("theme-icon", { href: `#icon-${name}` });
		put("theme-name", THEMES[name]);
		put("theme", { "aria-label": label });
		return label;
	};
	show();
	listen("theme", "click", () => {
		place = (place + 1) % names.length;
		write(THEME, names[place]);
		announce(show());
	});
}

start().catch((error) => {
	const text = `The page could not start. ${sentence(error.message)}`;
	put("failure", { hidden: false }, text);
	put("counts", "");
	announce(text);
});
