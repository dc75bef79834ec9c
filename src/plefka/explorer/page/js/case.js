// The case: what was observed, whether exactly one cause is assumed, and the method. Every change can be undone.
// Each case that was opened has an id of its own, so that undo also goes back to the case before it.

const MERGE = 1000; // milliseconds within which movements of one slider are one change

export class Case extends EventTarget {
  // newId() -> what tells a case from those before and after it
  constructor(method, newId) {
    super();
    this.observations = new Map(); // name -> 0 | 1 | {on, off}
    this.method = method;
    this.isExclusive = false; // exactly one cause
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

  get key() {
    return JSON.stringify([[...this.observations], this.method, this.isExclusive]);
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

  // Another case in the place of this one.
  replace(observations, method = this.method, isExclusive = this.isExclusive, others = this.others, id = this.newId()) {
    this.#change({ observations: new Map(observations), method, isExclusive, others, id });
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
    const { observations, method, isExclusive, others, id } = this;
    return { observations, method, isExclusive, others, id };
  }

  #change(change, isSame = false) {
    const before = this.#now();
    const { key, id } = this;
    Object.assign(this, change);
    this.last = { name: null, time: 0 };
    if (this.key === key && this.id === id) return;
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
