// The dialog of saved cases: the open one, and the list of all that this browser keeps for the network.

import { isSame } from "./case.js";
import { casesIn, exportAll, exportOne, isOpened, recordOf } from "./case_files.js";
import { button, byId, fill, listed, listen, make, put, told } from "./elements.js";
import { OpenCase } from "./open_case.js";
import { BadCase } from "./shared_case.js";
import { now } from "./storage.js";
import { about, counted, moment } from "./words.js";

const FEW = 8; // cases that need no search
const SHOWN = 200; // cases of a list; the search finds others
const LONG = 60; // letters of a name inside a sentence

export class Cases {
	// open(record, key): show a case on the page; compare(key): beside the open one, or null
	constructor(network, units, theCase, store, { open, compare }) {
		Object.assign(this, { network, units, theCase, store, open, compare });
		this.opened = new OpenCase(network, theCase, store, (key) => this.#list(key));
		this.deleted = []; // [key, record], which can be taken back until the page is left
		this.dialog = byId("cases-dialog");
		listen("cases", "click", () => this.show());
		listen("cases-search", "input", () => this.#list());
		listen("cases-export", "click", () => exportAll(this.#records(), network));
		listen("cases-file", "change", ({ target }) => this.#import([...target.files]));
		listen(this.dialog, "drop", (event) => {
			event.preventDefault();
			event.stopPropagation(); // the page itself would open it
			this.#import([...(event.dataTransfer?.files ?? [])]);
		});
		listen(window, "storage", ({ key }) => this.#elsewhere(key));
		listen(window, "beforeunload", (event) => {
			if (store.unstored.size) event.preventDefault();
		});
	}

	show() {
		put("cases-address", location.host);
		put("cases-said", "");
		put("cases-problems", "");
		byId("cases-search").value = "";
		this.opened.show();
		this.#list();
		if (!this.dialog.open) this.dialog.showModal();
	}

	#records() {
		return this.store.all().map(([, record]) => record);
	}

	// Another window changed or deleted a case.
	#elsewhere(key) {
		if (this.dialog.open) this.#list();
		if (key !== this.theCase.id) return;
		const record = this.store.get(key);
		if (record && !isSame(record.content, this.theCase.content)) this.#open(key, record);
		else this.opened.show();
	}

	// The list anew. The focus goes to the button with this word in the row of a case, or to its title.
	#list(focused = null, word = "") {
		const all = this.store.all();
		const words = byId("cases-search").value.toLowerCase().split(/\s+/).filter(Boolean);
		const found = all.filter(([, record]) => has(record, words));
		const none = all.length ? "No case has all of these words." : "None yet.";
		const more = found.length > SHOWN && `The newest ${SHOWN} are shown. Search for others.`;
		byId("cases-search-box").hidden = all.length <= FEW && !words.length;
		byId("cases-export").disabled = !all.length;
		put("cases-count", words.length ? `${found.length} of ${all.length}` : all.length);
		put("cases-none", found.length ? more : none);
		const rows = new Map(found.slice(0, SHOWN).map(([key, record]) => [key, this.#row(key, record)]));
		put("cases-list", [...rows.values()]);
		if (!focused) return;
		const buttons = [...(rows.get(focused)?.querySelectorAll("button") ?? [])];
		(buttons.find((each) => each.textContent === word) ?? buttons[0] ?? byId("case-name")).focus();
	}

	#row(key, record) {
		const isOpen = key === this.theCase.id;
		const row = fill("saved-case", {
			".case-title": { onclick: () => this.#open(key, record) },
			".case-title bdi": record.name,
			em: { hidden: !isOpen },
			".hint": this.#facts(key, record),
			".case-note bdi": record.note,
		});
		row.classList.toggle("is-open", isOpen);
		const acts = {
			Rename: () => this.#rename(key, record, row),
			Copy: () => this.#copy(record),
			Compare: () => this.compare(isOpen ? null : key),
			Export: () => exportOne(record, this.network),
			Delete: () => this.#delete(key, record),
		};
		for (const each of row.querySelectorAll(".case-actions button"))
			put(each, { "aria-label": `${each.textContent} ${record.name}`, onclick: acts[each.textContent] });
		return row;
	}

	#facts(key, { content, first, created, changed, fingerprint }) {
		const isOther = fingerprint && fingerprint !== this.network.fingerprint;
		return [
			counted(Object.keys(content.evidence).length, "observation"),
			first && [" · first: ", make("bdi", first.name), ` ${about(first.probability, first.accuracy)}`],
			` · changed ${moment(changed)} · created ${moment(created)}`,
			isOther && " · saved with another version of this network",
			!this.store.isStored(key) && make("strong", " · only in this window: export it"),
		];
	}

	// Where something of it does not fit the network, the rest is opened as another case, and the saved one stays.
	#open(key, { name, note, content }) {
		this.dialog.close();
		this.open({ ...content, name, note }, key);
	}

	#rename(key, record, row) {
		const leave = () => this.#list(key, "Rename");
		const onkeydown = (event) => {
			if (event.key !== "Escape") return;
			event.preventDefault(); // which would close the dialog
			leave();
		};
		const onsubmit = (event) => {
			event.preventDefault();
			this.store.put(key, { ...record, name: field.value.trim() || record.name, changed: now() });
			this.opened.show();
			leave();
		};
		const label = `New name of ${record.name}`;
		const form = fill("new-name", { input: { value: record.name, "aria-label": label, onkeydown } });
		const field = form.querySelector("input");
		put(row.querySelector(".case-head"), put(form, { onsubmit }));
		field.select();
	}

	#copy(record) {
		const key = this.store.newKey();
		this.store.put(key, { ...record, name: `${record.name} (copy)`, created: now(), changed: now() });
		this.#list(key);
		this.#say(record, " was copied.");
	}

	#delete(key, record) {
		this.deleted.push([key, record]);
		this.store.remove(key);
		this.opened.named(key, record); // the case on the page keeps its name
		this.opened.show();
		this.#list();
		this.#offerBack();
	}

	// The case that was deleted last can be taken back, then the one before it.
	#offerBack() {
		const back = button("Take back", () => this.#takeBack());
		this.#say(this.deleted.at(-1)[1], " was deleted.", back);
		back.focus();
	}

	#takeBack() {
		const [key, record] = this.deleted.pop();
		this.store.put(key, record);
		if (key === this.theCase.id) this.opened.follow();
		if (this.deleted.length) this.#offerBack();
		else this.#say(record, " is back.");
		this.#list(key);
	}

	#say({ name }, happened, ...more) {
		put("cases-said", make("p", make("bdi", short(name)), happened), more);
	}

	// Files of many cases, which were opened or dropped on the page.
	add(files) {
		this.show();
		this.#import(files);
	}

	async #import(files) {
		const [cases, refused] = [[], []];
		for (const file of files)
			try {
				const { cases: found, unreadable } = await casesIn(file);
				cases.push(...found.map((each) => ({ name: file.name.replace(/\.json$/i, ""), ...each })));
				if (unreadable) refused.push(told("unreadable", counted(unreadable, "case"), file.name));
			} catch (error) {
				if (isOpened(error, [file])) return;
				refused.push(error instanceof BadCase ? error.message : `${file.name} could not be read.`);
			}
		byId("cases-file").value = "";
		const known = new Set(this.#records().map(keyOf));
		const before = known.size;
		const misfits = [];
		const guesses = { left: 20 }; // of all cases together
		for (const each of cases) {
			const { record, problems } = recordOf(each, this.network, this.units, guesses);
			misfits.push(...problems.map((problem) => `${short(record.name)}: ${problem}`));
			if (!known.has(keyOf(record))) this.store.put(this.store.newKey(), record);
			known.add(keyOf(record));
		}
		this.#list();
		const added = known.size - before;
		put(
			"cases-said",
			`${were(added)} added.`,
			added < cases.length && ` ${were(cases.length - added)} in the list already.`,
			this.store.unstored.size > 0 && ` ${told("unstored")}`,
		);
		const wrong = [["Not taken:", refused], [told("misfits"), misfits]].filter(([, sentences]) => sentences.length);
		put("cases-problems", wrong.map((each) => listed(...each)));
	}
}

const were = (number) => `${counted(number, "case")} ${number === 1 ? "was" : "were"}`;

const keyOf = ({ name, note, content }) => JSON.stringify([name, note, content]);

function has({ name, note, content }, words) {
	if (!words.length) return true;
	const text = [name, note, ...Object.keys(content.evidence)].join("\n").toLowerCase();
	return words.every((word) => text.includes(word));
}

function short(name) {
	const letters = [...name];
	return letters.length > LONG ? `${letters.slice(0, LONG - 1).join("")}…` : name;
}
