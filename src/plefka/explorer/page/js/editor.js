// The editor of a network as two tables, with undo, and with what plefka lint says as you type. What is not used yet is
// kept in the browser's storage as a draft.

import { CellTable } from "./cell_table.js";
import { button, byId, download, listed, listen, make, put } from "./elements.js";
import { contentsOf, fileName, openNetwork } from "./networks.js";
import { latest } from "./service.js";
import { read, remove, write } from "./storage.js";
import { counted, sentence } from "./words.js";

const PAUSE = 400; // milliseconds without a change before the tables are read
const TABLES = ["causes", "findings"];
const DRAFT = "plefka-draft/"; // and the key of the network that is edited
export const NOTHING = { key: "", name: "", causes: [], findings: [] };

export class Editor {
	constructor(service) {
		Object.assign(this, { service, dialog: byId("editor") });
		this.lint = latest(async (signal) =>
			service.post("networks", { files: await contentsOf(this.#files()), keep: false }, signal),
		);
		const leave = () => byId("editor-use").focus();
		const refused = (text) => this.#complain(text);
		this.tables = TABLES.map((id) => {
			const changed = (lines, step) => this.#change({ [id]: lines }, step && id + step);
			return new CellTable(byId(`editor-${id}`), { changed, refused, leave });
		});
		listen("editor-use", "click", () => this.#use());
		listen("editor-csv", "click", () => this.#files().map((file) => download(file, file.name.slice(0, -4), "csv")));
		listen("editor-discard", "click", () => this.#change(this.start));
		listen("editor-undo", "click", () => this.#travel(this.past, this.future));
		listen("editor-redo", "click", () => this.#travel(this.future, this.past));
		listen("editor-name", "input", ({ target }) => this.#change({ name: target.value }, "name"));
		listen(this.dialog, "keydown", (event) => this.#onKey(event));
		listen(this.dialog, "close", () => this.#keep());
		listen(window, "pagehide", () => this.dialog.open && this.#keep());
	}

	// start: {key, name, causes, findings}: the key of a network, its name, and two lists of lines of words
	open(start) {
		Object.assign(this, { start, draft: DRAFT + start.key, past: [], future: [], step: null });
		const draft = JSON.parse(read(this.draft));
		this.#show({ ...start, ...draft });
		put("editor-kept", draft && "This is your draft, as you left it.");
		this.dialog.showModal();
		this.tables[0].focus(0, 0);
	}

	// ---- changes, which can be undone ----

	// Changes of the same step, such as letters of one cell, are one.
	#change(part, step = null) {
		if (!step || step !== this.step) this.past.push(this.now);
		Object.assign(this, { step, future: [] });
		this.#show({ ...this.now, ...part });
	}

	#travel(from, to) {
		to.push(this.now);
		this.step = null;
		this.#show(from.pop())?.focus();
	}

	// Gives the first cell that is not as it was.
	#show(now) {
		this.now = now;
		if (byId("editor-name").value !== now.name) byId("editor-name").value = now.name;
		byId("editor-undo").disabled = !this.past.length;
		byId("editor-redo").disabled = !this.future.length;
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.#review(), PAUSE);
		return TABLES.map((id, k) => this.tables[k].show(now[id])).find(Boolean);
	}

	#onKey(event) {
		const key = event.key.toLowerCase();
		if (!(event.ctrlKey || event.metaKey) || !["z", "y"].includes(key)) return;
		event.preventDefault();
		byId(key === "y" || event.shiftKey ? "editor-redo" : "editor-undo").click();
	}

	#keep() {
		const [now, start] = [this.now, this.start].map((each) => JSON.stringify(each));
		if (now === start) remove(this.draft);
		else if (!write(this.draft, now))
			put("editor-kept", "The browser’s storage is full or blocked: save the tables before you leave.");
	}

	// ---- what is said of them ----

	async #review() {
		this.#keep();
		this.lint.cancel();
		if (TABLES.every((id) => !this.now[id].length)) return this.#say([]);
		try {
			this.#praise(await this.lint());
		} catch (error) {
			this.#complain(error.message);
		}
	}

	async #use() {
		clearTimeout(this.timer);
		this.lint.cancel();
		const names = new Set(TABLES.flatMap((id) => this.now[id].map(([name]) => name.trim())));
		try {
			await openNetwork(this.service, await contentsOf(this.#files()), () => {
				this.now = this.start; // no draft is left
				this.dialog.close();
				return fitting(names);
			});
		} catch (error) {
			this.#complain(error.message)?.click();
		}
	}

	#praise({ units, edges, notes, suspicions }) {
		const about = new Set(suspicions.flatMap((each) => each.units));
		const doubts = [...notes, ...suspicions.map((each) => each.sentence)].map(sentence);
		const complete = make("p", `Complete: ${counted(units, "unit")}, ${counted(edges, "link")}.`);
		const seldom = doubts.length > 0 && listed("Not wrong, but seldom meant:", doubts);
		this.#say([complete, seldom], "is-suspected", ([name]) => about.has(name));
	}

	// Gives the button that goes to the line, if the service named one.
	#complain(message) {
		const place = /^File [^:]*: (?:(\w+), line (\d+): )?(.*)/s.exec(message);
		const [, id, number, text] = place ?? ["", "", "", message];
		const line = number - 2; // behind the titles, and counted from 0
		const isNamed = ([name]) => text.includes(`'${name}'`) || text.includes(` ${name} -> `); // as in a cycle
		const table = this.tables[TABLES.indexOf(id)];
		const column = table?.columns.findIndex((each) => text.startsWith(`${each} must`));
		const focus = () => table.focus(line, Math.max(column, 0));
		const go = table && button(`Line ${line + 1} of ${id}`, focus, { class: "link" });
		const isMeant = (cells, at, where) => (table ? where === table && at === line : isNamed(cells));
		this.#say(make("div.message.is-bad", go, make("p", sentence(text))), "is-wrong", isMeant);
		return go;
	}

	// Elements, and how lines are marked of which a test is true. A screen reader hears the same words once.
	#say(parts, kind = "", test = () => false) {
		for (const table of this.tables) table.mark(kind, (cells, at) => test(cells, at, table));
		const said = make("div", parts);
		if (byId("editor-said").textContent !== said.textContent) put("editor-said", said);
	}

	#files() {
		return this.tables.map(({ columns }, k) => {
			const lines = [columns, ...this.now[TABLES[k]]].map((line) => line.map(quoted).join(","));
			return new File([`${lines.join("\n")}\n`], `${fileName(this.now.name)}.${TABLES[k]}.csv`);
		});
	}
}

export const hasDraft = ({ key }) => read(DRAFT + key) !== null;

const quoted = (text) => (/[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

// The case in the address, without observations of units that have other names now.
function fitting(names) {
	const parts = new URLSearchParams(location.hash.slice(1));
	const seen = Object.entries(JSON.parse(parts.get("case") ?? "{}")).filter(([name]) => names.has(name));
	if (parts.has("case")) parts.set("case", JSON.stringify(Object.fromEntries(seen)));
	return parts.size ? `#${parts}` : "";
}
