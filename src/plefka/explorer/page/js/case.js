// The case: its content as links, files and storage have it, {method, exclusive, ranking, evidence, ...}, and an id of its
// own for each case that was opened. Every change can be undone, also back to the case before.

const MERGE = 1000; // milliseconds within which movements of one slider are one change

// units: "causes", "all" or "chosen"; faults: 0 or 1 by name, where another state is the fault than the rarer one
export const AS_USUAL = Object.freeze({ units: "causes", chosen: [], order: "auto", faults: {}, left_out: [] });

const LABELS = ["name", "note", "created", "changed", "fingerprint", "network_version"];
const NO_CONTENT = [...LABELS, "case", "token", "format", "version", "network", "cases"];

// As the service chooses it: the state that is rarer beforehand.
export const usualFault = (prior) => (prior !== null && prior - 0.5 > 1e-9 ? 0 : 1);

// Which state of a unit counts as its fault: the chosen one, or as it is ranked, or off where it is usually on.
export const faultOf = ({ faults, ranked }, name, usuallyOn = []) =>
	faults.get(name) ?? ranked.get(name)?.state ?? Number(!usuallyOn.includes(name));

// The probability of a state, from that of being on; and the other way round.
export const ofState = (state, p) => (state === 1 || p === null ? p : 1 - p);

// Whether two contents, or parts of them, are written in the same way.
export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

// The content of a case among what else a link or file says. What a page does not know of it is kept.
export function contentOf({ method, exclusive, ranking, evidence, ...rest }) {
	const others = Object.entries(rest).filter(([name]) => !NO_CONTENT.includes(name));
	return { method, exclusive, ranking, evidence, ...Object.fromEntries(others) };
}

// What of a ranking is not as usual.
export function unusual(ranking) {
	const parts = Object.entries(ranking).filter(([part, value]) => !isSame(value, AS_USUAL[part]));
	return parts.length ? Object.fromEntries(parts) : undefined;
}

export class Case extends EventTarget {
	// newId() -> what tells a case from those before and after it
	constructor(method, newId) {
		super();
		Object.assign(this, { newId, past: [] });
		this.#go({ id: newId(), content: { method, evidence: {} } }, []);
	}

	get evidence() {
		return this.content.evidence; // {name: 0 | 1 | {on, off}}, and observations: the same as a Map
	}

	get method() {
		return this.content.method;
	}

	get exclusive() {
		return this.content.exclusive === "causes" ? "causes" : null; // exactly one cause, or any number
	}

	// What every answer depends on.
	get key() {
		return JSON.stringify([this.evidence, this.method, this.exclusive]);
	}

	get ranked() {
		return { ...AS_USUAL, ...this.content.ranking };
	}

	// value: null if it is unknown again. isMove: of a slider
	observe(name, value, isMove = false) {
		const next = new Map(this.observations);
		if (value === null) next.delete(name);
		else next.set(name, value);
		const isSameMove = isMove && this.moved === name && performance.now() - this.time < MERGE;
		this.change({ evidence: Object.fromEntries(next) }, isSameMove); // own properties, "__proto__" too
		if (isMove) Object.assign(this, { moved: name, time: performance.now() });
	}

	// rank({order: "change"}): the rest of the ranking stays as it is
	rank(part) {
		this.change({ ranking: unusual({ ...this.ranked, ...part }) });
	}

	// change({method: "bethe"}): the rest of the case stays as it is
	change(part, isSameMove = false) {
		this.replace({ ...this.content, ...part }, this.id, isSameMove);
	}

	// Another case in the place of this one.
	replace(content, id = this.newId(), isSameMove = false) {
		const next = contentOf(content);
		if (id === this.id && isSame(next, this.content)) return;
		if (!isSameMove) this.past.push(this.#now);
		this.#go({ id, content: next }, []);
	}

	// What was opened first cannot be undone.
	forget() {
		this.past = [];
		this.#go({}, []);
	}

	undo() {
		this.#travel(this.past, this.future);
	}

	redo() {
		this.#travel(this.future, this.past);
	}

	get #now() {
		return { id: this.id, content: this.content };
	}

	#travel(from, to) {
		if (!from.length) return;
		to.push(this.#now);
		this.#go(from.pop(), this.future);
	}

	#go(state, future) {
		Object.assign(this, state, { future, moved: null }); // moved: the unit of a slider
		this.observations = new Map(Object.entries(this.evidence));
		this.dispatchEvent(new Event("change"));
	}
}
