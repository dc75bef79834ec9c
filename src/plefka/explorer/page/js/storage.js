// What this browser keeps for this address. Its storage may be blocked or full: then nothing here throws.

export function read(key, kind = "localStorage") {
  try {
    return globalThis[kind].getItem(key);
  } catch {
    return null;
  }
}

// Whether it is kept now.
export function write(key, value, kind = "localStorage") {
  try {
    globalThis[kind].setItem(key, value);
    return true;
  } catch {
    return false;
  }
}

function remove(key) {
  try {
    localStorage.removeItem(key);
  } catch {
    return; // what is blocked holds nothing
  }
}

const PREFIX = "plefka-case";

// Named cases: {name, note, created, changed, first, content}. What storage refuses stays in memory and is in the list.
export class CaseStore {
  constructor({ name, fingerprint }) {
    this.network = [fingerprint ?? "", encodeURIComponent(name)];
    this.unstored = new Map(); // key -> record
    this.known = new Map(); // key -> [text, record], so that a list of many is not read anew at every key
  }

  // Of a case that is not there yet.
  newKey() {
    const random = [...crypto.getRandomValues(new Uint32Array(3))].map((part) => part.toString(36)).join("");
    return [PREFIX, ...this.network, random].join("/");
  }

  get(key) {
    if (this.unstored.has(key)) return this.unstored.get(key);
    const text = read(key);
    if (this.known.get(key)?.[0] !== text) this.known.set(key, [text, readable(text)]);
    return this.known.get(key)[1];
  }

  isStored(key) {
    return !this.unstored.has(key);
  }

  put(key, record) {
    this.unstored.delete(key);
    if (!write(key, JSON.stringify(record))) this.unstored.set(key, record);
    return this.isStored(key);
  }

  remove(key) {
    this.unstored.delete(key);
    remove(key);
  }

  // [key, record] of this network, newest first: of its name, as it may have been edited, or of its fingerprint, as its
  // file may have another name now.
  all() {
    const keys = new Set([...ownKeys().filter((key) => this.#isOfNetwork(key)), ...this.unstored.keys()]);
    const found = [...keys].map((key) => [key, this.get(key)]).filter(([, record]) => record);
    return found.sort(([, a], [, b]) => (a.changed < b.changed ? 1 : a.changed > b.changed ? -1 : 0));
  }

  #isOfNetwork(key) {
    const [prefix, ...network] = key.split("/", 3);
    return prefix === PREFIX && network.some((part, k) => part && part === this.network[k]);
  }
}

function ownKeys() {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

function readable(text) {
  try {
    const record = JSON.parse(text);
    return typeof record.name === "string" && record.content.evidence instanceof Object ? record : null;
  } catch {
    return null;
  }
}
