// The case on the page as one of the saved cases: its name and note, and that it is kept in step once it is saved.

import { isSame } from "./case.js";
import { byId, listen, make, put, told } from "./elements.js";
import { now, read, write } from "./storage.js";
import { counted, moment } from "./words.js";

const OPEN = "plefka-open-case"; // of this tab
const FIELDS = ["case-name", "case-note"];

export class OpenCase {
	// listChanged(key): a saved case changed; the key of one that wants the focus
	constructor(network, theCase, store, listChanged) {
		Object.assign(this, { network, theCase, store, listChanged });
		this.drafts = new Map(); // id -> {name, note} of a case that is not saved
		this.before = read(OPEN, "sessionStorage"); // the case that was open when the page was loaded again
		this.last = {}; // of the last answer: the first cause, and of which case it is
		for (const field of FIELDS) listen(field, "input", () => this.#typed());
		listen("case-form", "submit", (event) => {
			event.preventDefault();
			this.#save();
		});
		listen(theCase, "change", () => this.follow());
	}

	get record() {
		return this.store.get(this.theCase.id);
	}

	// {name, note, ...}, if there is a name
	get label() {
		return this.record ?? this.drafts.get(this.theCase.id) ?? {};
	}

	// A case that has a name, and is not saved.
	named(id, { name, note }) {
		this.drafts.set(id, { name, note });
	}

	// What the address holds is the case that was open before, if it is the same.
	resume() {
		const record = this.before && this.store.get(this.before);
		if (record && isSame(record.content, this.theCase.content)) this.theCase.id = this.before;
	}

	// The first cause of the answer, for the list; `name`: with its state.
	answered({ ranking, status }, name) {
		const [best] = status === "impossible" ? [] : ranking;
		const first = best ? { name, probability: best.probability, accuracy: best.accuracy } : null;
		this.last = { key: this.theCase.key, first };
		if (this.record && !isSame(first, this.record.first)) this.#put({ first });
	}

	// The case changed: a saved one is kept in step.
	follow() {
		const { content } = this.theCase;
		if (this.record && !isSame(this.record.content, content)) this.#put({ ...this.#now(), content, first: null });
		write(OPEN, this.theCase.id, "sessionStorage");
		this.show();
	}

	show() {
		const { name = "", note = "" } = this.label;
		FIELDS.forEach((field, k) => {
			byId(field).value = [name, note][k];
		});
		put("this-case", `The open case: ${counted(this.theCase.observations.size, "observation")}`);
		this.#showState();
	}

	#save() {
		const { theCase, last } = this;
		const [name, note] = this.#written();
		const label = { name: name || `Case of ${moment(Date.now())}`, note, created: now() };
		const isByButton = document.activeElement === byId("case-save");
		this.drafts.delete(theCase.id);
		const first = last.key === theCase.key ? last.first : null;
		this.#put({ ...label, ...this.#now(), content: theCase.content, first });
		this.show();
		this.listChanged(isByButton && theCase.id); // the button is gone now
	}

	// A saved case always has a name.
	#typed() {
		const { record } = this;
		const [name, note] = this.#written();
		if (record) this.#put({ name: name || record.name, note, changed: now() });
		else this.named(this.theCase.id, { name, note });
		this.#showState();
		if (record) this.listChanged();
	}

	#written() {
		const [name, note] = FIELDS.map((field) => byId(field).value);
		return [name.trim(), note];
	}

	#now() {
		const { fingerprint, network_version } = this.network;
		return { changed: now(), fingerprint, network_version };
	}

	#put(change) {
		this.store.put(this.theCase.id, { ...this.record, ...change });
		this.#showState();
	}

	// In the bar, and below the note.
	#showState() {
		const isSaved = this.record !== null;
		const isStored = this.store.isStored(this.theCase.id);
		const { name = "" } = this.label;
		const state = !isSaved ? " (not saved)" : isStored ? "" : " (not stored)";
		const shown = byId("case-shown");
		shown.hidden = !name;
		if (shown.textContent !== `Case: ${name}${state}`) // which would be said again
			put(shown, { title: name }, "Case: ", make("bdi", name), state);
		byId("case-save").hidden = isSaved;
		put("case-kept", isSaved && told(isStored ? "saved" : "unstored"));
		for (const each of [shown, byId("case-kept")]) each.classList.toggle("is-bad", !isStored);
		byId("clear").disabled = !this.theCase.observations.size && !isSaved;
	}
}
