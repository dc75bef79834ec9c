// What this browser keeps for this address. Its storage may be blocked or full: then nothing here throws.

export function tried(act, otherwise) {
	try {
		return act();
	} catch {
		return otherwise;
	}
}

export const read = (key, kind = "localStorage") => tried(() => globalThis[kind].getItem(key), null);

// Whether it is kept now.
export const write = (key, value, kind = "localStorage") =>
	tried(() => globalThis[kind].setItem(key, value) ?? true, false);

export const remove = (key) => tried(() => localStorage.removeItem(key));

export const now = () => new Date().toISOString();

const PREFIX = "plefka-case";

// Named cases: {name, note, created, changed, first, content}. What storage refuses stays in memory and is in the list.
export class CaseStore {
	constructor({ name, fingerprint }) {
		this.network = [fingerprint ?? "", encodeURIComponent(name)];
		this.unstored = new Map(); // key -> record
	}

	// Of a case that is not there yet.
	newKey() {
		return [PREFIX, ...this.network, crypto.getRandomValues(new Uint32Array(3)).join("")].join("/");
	}

	get(key) {
		return this.unstored.get(key) ?? tried(() => recordIn(read(key)), null);
	}

	isStored(key) {
		return !this.unstored.has(key);
	}

	put(key, record) {
		if (write(key, JSON.stringify(record))) this.unstored.delete(key);
		else this.unstored.set(key, record);
	}

	remove(key) {
		this.unstored.delete(key);
		remove(key);
	}

	// [key, record] of this network, newest first: of its name, as it may have been edited, or of its fingerprint, as its
	// file may have another name now.
	all() {
		const stored = tried(() => Object.keys(localStorage), []).filter((key) => this.#isOfNetwork(key));
		const found = [...new Set([...stored, ...this.unstored.keys()])].map((key) => [key, this.get(key)]);
		return found.filter(([, record]) => record).sort(([, a], [, b]) => (a.changed < b.changed) - (b.changed < a.changed));
	}

	#isOfNetwork(key) {
		const [prefix, ...network] = key.split("/", 3);
		return prefix === PREFIX && network.some((part, k) => part && part === this.network[k]);
	}
}

function recordIn(text) {
	const record = JSON.parse(text);
	return typeof record.name === "string" && record.content.evidence instanceof Object ? record : null;
}
