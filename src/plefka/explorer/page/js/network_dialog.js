// The dialog of the network, and the page where none is open: open a file, begin a network, or take one of before.

import { Editor, hasDraft, NOTHING } from "./editor.js";
import { button, byId, download, listen, make, put } from "./elements.js";
import { contentsOf, fileName, forget, keptNetworks, openNetwork } from "./networks.js";
import { counted, moment, sentence } from "./words.js";

const EXAMPLE = "example:espresso"; // the service has it, so that its file is empty

export class NetworkDialog {
	// network: what is known of the one on the page, if there is one
	constructor(service, network = null) {
		Object.assign(this, { service, network, dialog: byId("network-dialog"), editor: new Editor(service) });
		this.record = keptNetworks().find((each) => each.network === service.network); // as it was opened
		listen("network", "click", () => this.show());
		listen("network-begin", "click", () => this.#edit(NOTHING));
		listen("network-example", "click", () => this.open({ [EXAMPLE]: "" }));
		listen("network-edit", "click", () => this.#try("Reading the tables …", () => this.#editThis()));
		listen("network-save", "click", () => this.#try("Saving …", () => this.#save()));
		listen("network-files", "change", ({ target }) => this.openFiles([...target.files]));
		listen("start-again", "click", () => this.open(this.record.files));
		listen(document, "dragover", (event) => event.preventDefault());
		listen(network ? this.dialog : document, "drop", (event) => {
			event.preventDefault();
			event.stopPropagation(); // the page itself would take it for a case
			this.openFiles([...(event.dataTransfer?.files ?? [])]);
		});
		listen(document, "networkfiles", (event) => {
			event.preventDefault(); // so that they are not refused as cases
			this.openFiles(event.detail);
		});
	}

	// On a page with a network.
	begin() {
		const remarks = this.record?.remarks ?? [];
		byId("network").hidden = false;
		for (const id of ["share-file", "cases-file"]) byId(id).accept = "";
		put("network-remarks", remarks.map((text) => make("li", sentence(text))));
		const words = `${counted(remarks.length, "remark")} on this network`;
		if (remarks.length) byId("welcome").append(button(words, () => this.show(), { class: "link" }));
	}

	// The whole page, where no network is open; isLost: one was open.
	start(isLost) {
		document.body.classList.add("is-empty");
		byId("start").append(byId("network-doors"));
		byId("start-none").hidden = isLost;
		byId("start-lost").hidden = !isLost;
		byId("start-again").hidden = !this.record;
		put("counts", "");
		this.#list();
	}

	show() {
		put("network-title", this.network.title);
		put("network-facts", byId("counts").textContent);
		this.#say("");
		this.#list();
		if (!this.dialog.open) this.dialog.showModal();
	}

	openFiles(files) {
		byId("network-files").value = "";
		if (files.length) this.open(contentsOf(files));
	}

	// A network in the place of this one. The same one, edited elsewhere, keeps the case.
	open(files) {
		const hash = ({ name }) => (this.network && this.network.name !== name ? "" : location.hash);
		if (this.network) this.show();
		this.#try("Opening …", async () => openNetwork(this.service, await files, hash));
	}

	#edit(start) {
		this.dialog.close();
		this.editor.open(start);
	}

	async #editThis() {
		const { name, title } = this.network;
		const tables = await this.service.post("tables", {});
		const [causes, findings] = [tables.causes, tables.findings].map((rows) => rows.map((row) => row.map(written)));
		this.#edit({ key: this.service.network ?? name, name: title, causes, findings });
	}

	async #save() {
		const suffix = byId("network-suffix").value;
		const { files } = await this.service.post("save", { suffix, name: fileName(this.network.name) });
		for (const [name, content] of Object.entries(files))
			download(bytesOf(content), name.slice(0, -suffix.length), suffix.slice(1));
	}

	async #try(doing, act) {
		this.#say(doing);
		await act().then(
			() => this.#say(""),
			(error) => this.#say("", sentence(error.message)),
		);
	}

	#say(doing, problem = "") {
		put("network-said", doing);
		put("network-problems", problem);
	}

	// Networks that this browser has.
	#list() {
		const rows = keptNetworks().map(({ network, name, opened, files }) => {
			const remove = () => {
				forget(network);
				this.#list();
				byId("network-files").focus();
			};
			const open = button(name, () => this.open(files), { class: "link" });
			const away = button("Forget", remove, { class: "link", "aria-label": `Forget ${name}` });
			return make("li", open, ` ${moment(opened)} `, away);
		});
		byId("network-kept").hidden = !rows.length;
		put("network-list", rows);
		put("network-begin", hasDraft(NOTHING) ? "Go on with your draft" : "Begin a new network");
	}
}

// A number without digits that are only rounding; what is nearly certain stays so.
function written(value) {
	if (typeof value !== "number") return value ?? "";
	const short = Number(value.toPrecision(12));
	return String(short === 1 ? value : short);
}

const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.codePointAt(0));
