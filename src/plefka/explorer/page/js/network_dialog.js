// The dialog of the network, and the page where none is open: open a file, begin a network, or take one of before.

import { hasDraft, networkEditor } from "./editor.js";
import { button, byId, fill, listen, make, put } from "./elements.js";
import { contentsOf, downloadAll, fileName, forget, keptNetworks, openNetwork } from "./networks.js";
import { counted, moment, sentence } from "./words.js";

// network: what is known of the one on the page; without one, isLost: one was open
export function networkDialog(service, network, isLost) {
	const dialog = byId("network-dialog");
	const openEditor = networkEditor(service);
	const record = keptNetworks().find((each) => each.network === service.network); // as it was opened

	listen("network", "click", show);
	listen("network-begin", "click", () => edit());
	listen("network-example", "click", ({ target }) => open({ [target.value]: "" })); // the service has it
	listen("network-edit", "click", () => attempt("Reading the tables …", editThis));
	listen("network-save", "click", () => attempt("Saving …", save));
	listen("network-files", "change", (event) => take(event, event.target.files));
	listen("start-again", "click", () => open(record.files));
	listen(document, "dragover", (event) => event.preventDefault());
	listen(network ? dialog : document, "drop", (event) => {
		event.stopPropagation(); // the page itself would take it for a case
		take(event, event.dataTransfer.files);
	});
	listen(document, "networkfiles", (event) => take(event, event.detail)); // they would be refused as cases
	if (network) offer(record?.remarks ?? []);
	else start();

	function offer(remarks) {
		byId("network").hidden = false;
		for (const id of ["share-file", "cases-file"]) byId(id).accept = "";
		put("network-title", network.title);
		put("network-facts", byId("counts").textContent);
		put("network-remarks", remarks.map((text) => make("li", sentence(text))));
		const words = `${counted(remarks.length, "remark")} on this network`;
		if (remarks.length) byId("welcome").append(button(words, show, { class: "link" }));
	}

	// The whole page, where no network is open.
	function start() {
		document.body.classList.add("is-empty");
		put("start", { "data-lost": isLost }).append(byId("network-doors"));
		byId("start-again").hidden = !record;
		put("counts", "");
		list();
	}

	function show() {
		say("");
		list();
		if (!dialog.open) dialog.showModal();
	}

	function take(event, [...files]) {
		event.preventDefault();
		byId("network-files").value = "";
		if (files.length) open(contentsOf(files));
	}

	// A network in the place of this one. The same one, edited elsewhere, keeps the case.
	function open(files) {
		const hash = ({ name }) => (network && network.name !== name ? "" : location.hash);
		if (network) show();
		attempt("Opening …", async () => openNetwork(service, await files, hash));
	}

	function edit(tables) {
		dialog.close();
		openEditor(tables);
	}

	async function editThis() {
		const { causes, findings } = await service.post("tables", {});
		const words = (rows) => rows.map((row) => row.map(written));
		const key = service.network ?? network.name;
		edit({ key, name: network.title, causes: words(causes), findings: words(findings) });
	}

	async function save() {
		const asked = { suffix: byId("network-suffix").value, name: fileName(network.name) };
		downloadAll((await service.post("save", asked)).files);
	}

	async function attempt(doing, act) {
		say(doing);
		say("", await act().then(() => "", ({ message }) => sentence(message)));
	}

	// Networks that this browser has.
	function list() {
		const rows = keptNetworks().map(({ network: key, name, opened, files }) => {
			const remove = () => {
				forget(key);
				list();
				byId("network-files").focus();
			};
			return fill("kept-network", {
				button: { unit: name, onclick: () => open(files) },
				"button + span": moment(opened),
				"button:last-child": { "aria-label": `Forget ${name}`, onclick: remove },
			});
		});
		byId("network-kept").hidden = !rows.length;
		put("network-list", rows);
		put("network-begin", hasDraft() ? "Go on with your draft" : "Begin a new network");
	}
}

function say(doing, problem = "") {
	put("network-said", doing);
	put("network-problems", problem);
}

// A number without digits that are only rounding; what is nearly certain stays so.
function written(value) {
	if (typeof value !== "number") return value ?? "";
	const short = Number(value.toPrecision(12));
	return String(short === 1 ? value : short);
}
