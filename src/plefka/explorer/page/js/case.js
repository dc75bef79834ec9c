// The case: what was observed, whether exactly one cause is assumed, the method, and what is ranked and how. Every change
// can be undone. Each case that was opened has an id of its own, so that undo also goes back to the case before it.

const MERGE = 1000; // milliseconds within which movements of one slider are one change

// units: "causes", "all" or "chosen"; faults: [[name, 0 or 1]] where another state is the fault than the rarer one
export const AS_USUAL = Object.freeze({ units: "causes", chosen: [], order: "auto", faults: [], leftOut: [] });

// As the service chooses it: the state that is rarer beforehand.
export const usualFault = (prior) => (prior !== null && prior - 0.5 > 1e-9 ? 0 : 1);

export class Case extends EventTarget {
  // newId() -> what tells a case from those before and after it
  constructor(method, newId) {
    super();
    this.observations = new Map(); // name -> 0 | 1 | {on, off}
    this.method = method;
    this.isExclusive = false; // exactly one cause
    this.ranked = AS_USUAL;
    this.others = {}; // what a link or file says beyond this: kept for pages that know it
    this.newId = newId;
    this.id = newId();
    this.past = [];
    this.future = [];
    this.last = { name: null, time: 0 };
  }

  get evidence() {
    return Object.fromEntries(this.observations); // makes own properties, "__proto__" too
  }

  // What every answer depends on.
  get key() {
    return JSON.stringify([[...this.observations], this.method, this.isExclusive]);
  }

  // What a question says of the ranking.
  get rankingFields() {
    const { units, chosen, order, faults, leftOut } = this.ranked;
    const ranked = units === "chosen" ? chosen : units;
    return { units: ranked, order, faults: Object.fromEntries(faults), leave_out: leftOut };
  }

  get isSoft() {
    return [...this.observations.values()].some((value) => typeof value === "object");
  }

  // null: unknown again
  observe(name, value, { merge = false } = {}) {
    const now = performance.now();
    const isSame = merge && this.last.name === name && now - this.last.time < MERGE;
    const next = new Map(this.observations);
    if (value === null) next.delete(name);
    else next.set(name, value);
    this.#change({ observations: next }, isSame);
    this.last = { name: merge ? name : null, time: now };
  }

  // Another case in the place of this one; what is not given stays as it is.
  replace(observations, { others = this.others, id = this.newId(), ...given }) {
    const kept = Object.entries(given).filter(([, value]) => value !== undefined);
    this.#change({ observations: new Map(observations), others, id, ...Object.fromEntries(kept) });
  }

  // rank({order: "change"}): the rest of the ranking stays as it is
  rank(change) {
    this.#change({ ranked: { ...this.ranked, ...change } });
  }

  assumeOne(isExclusive) {
    this.#change({ isExclusive });
  }

  useMethod(method) {
    this.#change({ method });
  }

  clear() {
    this.#change({ observations: new Map(), id: this.newId() });
  }

  // What was opened first cannot be undone.
  forget() {
    this.past = [];
    this.future = [];
    this.dispatchEvent(new Event("change"));
  }

  undo() {
    this.#travel(this.past, this.future);
  }

  redo() {
    this.#travel(this.future, this.past);
  }

  #now() {
    const { observations, method, isExclusive, ranked, others, id } = this;
    return { observations, method, isExclusive, ranked, others, id };
  }

  #change(change, isSame = false) {
    const before = this.#now();
    const whole = () => `${this.key} ${this.id} ${JSON.stringify(this.ranked)}`;
    const key = whole();
    Object.assign(this, change);
    this.last = { name: null, time: 0 };
    if (whole() === key) return;
    if (!isSame) this.past.push(before);
    this.future = [];
    this.dispatchEvent(new Event("change"));
  }

  #travel(from, to) {
    if (!from.length) return;
    to.push(this.#now());
    Object.assign(this, from.pop());
    this.last = { name: null, time: 0 };
    this.dispatchEvent(new Event("change"));
  }
}
