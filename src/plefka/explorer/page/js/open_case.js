// The case on the page as one of the saved cases: its name and note, and that it is kept in step once it is saved.

import { byId, make } from "./elements.js";
import { contentOf, labelOf } from "./shared_case.js";
import { read, write } from "./storage.js";
import { counted, moment } from "./words.js";

const OPEN = "plefka-open-case"; // of this tab
export const UNSTORED =
  "The browser's storage is full or blocked, so this is kept only until this window is closed. Export it as a file, " +
  "or delete other cases.";

export class OpenCase {
  // listChanged(key): a saved case changed; the key of one that wants the focus
  constructor(network, theCase, store, listChanged) {
    Object.assign(this, { network, theCase, store, listChanged });
    this.drafts = new Map(); // id -> {name, note} of a case that is not saved
    this.before = read(OPEN, "sessionStorage"); // the case that was open when the page was loaded again
    this.last = null; // the first cause of the last answer, and of which case it is
    for (const id of ["case-name", "case-note"]) byId(id).addEventListener("input", () => this.#typed());
    byId("case-form").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#save();
    });
    theCase.addEventListener("change", () => this.follow());
  }

  get isSaved() {
    return this.store.get(this.theCase.id) !== null;
  }

  get isStored() {
    return this.store.isStored(this.theCase.id);
  }

  // {name, note, ...} of a case, or null
  label(id = this.theCase.id) {
    const record = this.store.get(id);
    return record ? labelOf(record) : (this.drafts.get(id) ?? null);
  }

  // A case that has a name, and is not saved.
  named(id, { name, note }) {
    this.drafts.set(id, { name, note });
  }

  // What the address holds is the case that was open before, if it is the same.
  resume() {
    const record = this.before && this.store.get(this.before);
    if (record && isSame(record.content, contentOf(this.theCase))) this.theCase.id = this.before;
  }

  // The first cause of the answer, for the list; `name`: with its state.
  answered({ ranking, status }, name) {
    const [best] = status === "impossible" ? [] : ranking;
    const first = best ? { name, probability: best.probability, accuracy: best.accuracy } : null;
    this.last = { key: this.theCase.key, first };
    const record = this.store.get(this.theCase.id);
    if (record && !isSame(first, record.first ?? null)) this.#put({ ...record, first });
  }

  // The case changed: a saved one is kept in step.
  follow() {
    const record = this.store.get(this.theCase.id);
    const content = contentOf(this.theCase);
    if (record && !isSame(record.content, content))
      this.#put({ ...record, ...this.#networkNow(), content, changed: now(), first: null });
    write(OPEN, this.theCase.id, "sessionStorage");
    this.show();
  }

  show() {
    const label = this.label();
    byId("case-name").value = label?.name ?? "";
    byId("case-note").value = label?.note ?? "";
    byId("this-case").textContent = `The open case: ${counted(this.theCase.observations.size, "observation")}`;
    this.#showState();
  }

  #save() {
    const created = now();
    const name = byId("case-name").value.trim() || `Case of ${moment(created)}`;
    const first = this.last?.key === this.theCase.key ? this.last.first : null;
    const label = { name, note: byId("case-note").value, created, changed: created };
    const isByButton = document.activeElement === byId("case-save");
    this.#put({ ...label, ...this.#networkNow(), content: contentOf(this.theCase), first });
    this.drafts.delete(this.theCase.id);
    write(OPEN, this.theCase.id, "sessionStorage");
    this.show();
    this.listChanged(isByButton ? this.theCase.id : null); // the button is gone now
  }

  // A saved case always has a name.
  #typed() {
    const [name, note] = ["case-name", "case-note"].map((id) => byId(id).value);
    const record = this.store.get(this.theCase.id);
    if (record) this.#put({ ...record, name: name.trim() || record.name, note, changed: now() });
    else this.named(this.theCase.id, { name, note });
    this.#showState();
    if (record) this.listChanged();
  }

  #networkNow() {
    const { fingerprint, network_version } = this.network;
    return { fingerprint, network_version };
  }

  #put(record) {
    this.store.put(this.theCase.id, record);
    this.#showState();
  }

  // In the bar, and below the note.
  #showState() {
    const { isSaved, isStored } = this;
    const name = this.label()?.name;
    const state = !isSaved ? " (not saved)" : isStored ? "" : " (not stored)";
    const shown = byId("case-shown");
    shown.hidden = !name;
    shown.title = isStored ? (name ?? "") : UNSTORED;
    if (shown.textContent !== `Case: ${name}${state}`) // which would be said again
      shown.replaceChildren("Case: ", make("bdi", { text: name ?? "" }), state);
    byId("case-save").hidden = isSaved;
    byId("case-kept").textContent = !isSaved ? "" : isStored ? "Saved. Changes are kept as you make them." : UNSTORED;
    for (const id of ["case-shown", "case-kept"]) byId(id).classList.toggle("is-bad", !isStored);
    byId("clear").disabled = this.theCase.observations.size === 0 && !isSaved;
  }
}

export const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

export const now = () => new Date().toISOString();
