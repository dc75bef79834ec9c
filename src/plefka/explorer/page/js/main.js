// Start: load the network, open the case of the address, and keep the address in step with the case.

import { announce, byId, calm, listen, put } from "./elements.js";
import { networkDialog } from "./network_dialog.js";
import { Page } from "./page.js";
import { Service } from "./service.js";
import { addressOf, contentInAddress } from "./shared_case.js";
import { read, write } from "./storage.js";

const PAUSE = 300; // milliseconds after which the address follows the case
const THEME = "plefka-theme";
const THEMES = ["system", "light", "dark"];

async function start() {
	const service = new Service();
	takeToken(service);
	colours();
	const asked = ["network", "units/names", "examples"].map((path) => service.get(path));
	try {
		begin(service, new Page(service, ...(await Promise.all(asked))));
	} catch (error) {
		if (error.code === "unreachable") service.onRecovered = () => location.reload();
		else if (["no_network", "unknown_network"].includes(error.code))
			networkDialog(service, null, error.code === "unknown_network");
		else throw error;
	}
	document.body.dataset.ready = "true";
}

function begin(service, page) {
	const { case: theCase, network } = page;
	openFromAddress(page);
	page.cases.resume();
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
	if (network.opens) networkDialog(service, network);
}

// The token is in the address once. It is kept for this tab, and the address loses it.
function takeToken(service) {
	const parts = new URLSearchParams(location.hash.slice(1));
	if (!parts.has("token")) return;
	service.useToken(parts.get("token"));
	parts.delete("token");
	history.replaceState(null, "", parts.size ? `#${parts}` : location.pathname + location.search);
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
	const follow = () => history.replaceState(null, "", addressOf(page.case.content, page.network.default_method));
	listen(page.case, "change", () => {
		clearTimeout(timer);
		timer = setTimeout(follow, PAUSE);
	});
	listen(window, "pagehide", follow);
	listen(window, "hashchange", () => {
		takeToken(service);
		openFromAddress(page);
	});
}

function keys(theCase) {
	listen("undo", "click", () => theCase.undo());
	listen("redo", "click", () => theCase.redo());
	listen("clear", "click", () => theCase.replace({ ...theCase.content, evidence: {} }));
	listen("print", "click", () => print());
	for (const id of ["skip", "peek"]) listen(id, "click", toAnswer);
	listen(document, "keydown", (event) => {
		const { target, ctrlKey, metaKey, shiftKey } = event;
		const key = event.key.toLowerCase();
		const isTyping = target.matches("input:not([type=range], [type=checkbox])") && target.value !== "";
		const isElsewhere = isTyping || document.querySelector("dialog[open]");
		const isUndo = (ctrlKey || metaKey) && ["y", "z"].includes(key) && !isElsewhere;
		if (key === "/" && !target.matches("input, select, textarea")) byId("search").focus();
		else if (isUndo) byId(key === "y" || shiftKey ? "redo" : "undo").click();
		else return;
		event.preventDefault();
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
	const show = (theme) => {
		const label = `Colours: ${byId(`theme-${theme}`).textContent.trim()}`;
		document.documentElement.dataset.theme = theme;
		put("theme", { "aria-label": label });
		return label;
	};
	let place = Math.max(0, THEMES.indexOf(read(THEME)));
	show(THEMES[place]);
	listen("theme", "click", () => {
		place = (place + 1) % THEMES.length;
		write(THEME, THEMES[place]);
		announce(show(THEMES[place]));
	});
}

start().catch(({ message }) => {
	const text = `The page could not start. ${message}`;
	put("failure", { hidden: false }, text);
	put("counts", "");
	announce(text);
});
