// The case: what was observed, whether exactly one cause is assumed, and the method. Every change can be undone.

const MERGE = 1000; // milliseconds within which movements of one slider are one change

export class Case extends EventTarget {
  constructor(method) {
    super();
    this.observations = new Map(); // name -> 0 | 1 | {on, off}
    this.method = method;
    this.isExclusive = false; // exactly one cause
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

  replace(observations, method = this.method, isExclusive = this.isExclusive) {
    this.#change({ observations: new Map(observations), method, isExclusive });
  }

  assumeOne(isExclusive) {
    this.#change({ isExclusive });
  }

  useMethod(method) {
    this.#change({ method });
  }

  clear() {
    if (this.observations.size) this.#change({ observations: new Map() });
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
    return { observations: this.observations, method: this.method, isExclusive: this.isExclusive };
  }

  #change(change, isSame = false) {
    const before = this.#now();
    const key = this.key;
    Object.assign(this, change);
    this.last = { name: null, time: 0 };
    if (this.key === key) return;
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
