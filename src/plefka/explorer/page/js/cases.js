// The dialog of saved cases: the open one, and the list of all that this browser keeps for the network.

import { exportAll, exportOne, readCases, recordOf, unreadable } from "./case_files.js";
import { button, byId, make } from "./elements.js";
import { isSame, now, OpenCase, UNSTORED } from "./open_case.js";
import { contentOf, fromContent } from "./shared_case.js";
import { about, counted, moment } from "./words.js";

const FEW = 8; // cases that need no search
const SHOWN = 200; // cases of a list; the search finds others
const MOST_PROBLEMS = 200;
const LONG = 60; // letters of a name inside a sentence

export class Cases {
  // open(content): show a case on the page; compare(key, key): two side by side
  constructor(network, units, theCase, store, { open, compare }) {
    Object.assign(this, { network, units, theCase, store, open, compare });
    this.opened = new OpenCase(network, theCase, store, (key) => this.#openCaseChanged(key));
    this.deleted = []; // [key, record], which can be taken back until the page is left
    this.dialog = byId("cases-dialog");
    this.#listen();
  }

  #listen() {
    byId("cases").addEventListener("click", () => this.show());
    byId("cases-close").addEventListener("click", () => this.dialog.close());
    byId("cases-search").addEventListener("input", () => this.#list());
    byId("cases-export").addEventListener("click", () => exportAll(this.#records(), this.network));
    byId("cases-import").addEventListener("click", () => byId("cases-file").click());
    byId("cases-file").addEventListener("change", ({ target }) => this.#import([...target.files]));
    this.dialog.addEventListener("drop", (event) => this.#drop(event));
    addEventListener("storage", (event) => this.#elsewhere(event));
    addEventListener("beforeunload", (event) => {
      if (this.store.unstored.size) event.preventDefault();
    });
  }

  show() {
    byId("cases-address").textContent = location.host;
    this.#say();
    this.#complain();
    byId("cases-search").value = "";
    this.opened.show();
    this.#list();
    if (!this.dialog.open) this.dialog.showModal();
  }

  #records() {
    return this.store.all().map(([, record]) => record);
  }

  // Another window changed or deleted a case.
  #elsewhere({ key }) {
    if (this.dialog.open) this.#list();
    if (key !== this.theCase.id) return;
    const record = this.store.get(key);
    if (record && !isSame(record.content, contentOf(this.theCase))) this.#open(key, record);
    else this.opened.show();
  }

  #openCaseChanged(key) {
    this.#list();
    if (key) this.#focus(key);
  }

  #list() {
    const all = this.store.all();
    const words = byId("cases-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter(([, record]) => matches(record, words));
    byId("cases-search-box").hidden = all.length <= FEW && !words.length;
    byId("cases-count").textContent = words.length ? `${found.length} of ${all.length}` : all.length;
    byId("cases-none").textContent = found.length ? "" : all.length ? "No case has all of these words." : "None yet.";
    if (found.length > SHOWN) byId("cases-none").textContent = `The newest ${SHOWN} are shown. Search for others.`;
    byId("cases-list").replaceChildren(...found.slice(0, SHOWN).map(([key, record]) => this.#row(key, record)));
    byId("cases-export").disabled = all.length === 0;
  }

  #row(key, record) {
    const row = byId("saved-case").content.firstElementChild.cloneNode(true);
    const [title, note] = row.querySelectorAll("bdi");
    const isOpen = key === this.theCase.id;
    row.dataset.key = key;
    row.classList.toggle("is-open", isOpen);
    row.querySelector("em").hidden = !isOpen;
    row.querySelector(".hint").append(...this.#facts(key, record));
    title.textContent = record.name;
    note.textContent = record.note;
    const acts = {
      Rename: () => this.#rename(key, record, row),
      Copy: () => this.#copy(record),
      Compare: () => this.compare(this.theCase.id, isOpen ? null : key),
      Export: () => exportOne(record, this.network),
      Delete: () => this.#delete(key, record),
    };
    row.querySelector(".case-title").addEventListener("click", () => this.#open(key, record));
    for (const each of row.querySelectorAll(".case-actions button")) {
      each.setAttribute("aria-label", `${each.textContent} ${record.name}`);
      each.addEventListener("click", acts[each.textContent]);
    }
    return row;
  }

  #facts(key, { content, first, created, changed, fingerprint }) {
    const isOther = fingerprint && fingerprint !== this.network.fingerprint;
    const number = first && about(first.probability, first.accuracy);
    const best = first ? [" · first: ", make("bdi", { text: first.name }), ` ${number}`] : [];
    return [
      counted(Object.keys(content.evidence).length, "observation"),
      ...best,
      ` · changed ${moment(changed)} · created ${moment(created)}`,
      isOther ? " · saved with another version of this network" : "",
      this.store.isStored(key) ? "" : make("strong", { text: " · only in this window: export it" }),
    ];
  }

  #focus(key, word) {
    const row = [...byId("cases-list").children].find((each) => each.dataset.key === key);
    const buttons = [...(row?.querySelectorAll("button") ?? [])];
    (buttons.find((each) => each.textContent === word) ?? buttons[0] ?? byId("case-name")).focus();
  }

  // Where something of it does not fit the network, the rest is opened as another case, and the saved one stays.
  #open(key, record) {
    this.dialog.close();
    this.open({ ...fromContent(record.content), name: record.name, note: record.note, id: key });
  }

  #rename(key, record, row) {
    const field = make("input", { type: "text", "aria-label": `New name of ${record.name}`, maxlength: 200 });
    field.value = record.name;
    const leave = () => {
      this.#list();
      this.#focus(key, "Rename");
    };
    const form = make("form", { class: "link-row" }, field, make("button", { class: "button", text: "Rename" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.store.put(key, { ...record, name: field.value.trim() || record.name, changed: now() });
      this.opened.show();
      leave();
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault(); // which would close the dialog
      leave();
    });
    row.querySelector(".case-head").replaceChildren(form);
    field.select();
  }

  #copy(record) {
    const key = this.store.newKey();
    this.store.put(key, { ...record, name: `${record.name} (copy)`, created: now(), changed: now() });
    this.#list();
    this.#focus(key);
    this.#say(named(record, " was copied."));
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
    const [, record] = this.deleted.at(-1);
    const back = button("Take back", () => this.#takeBack());
    this.#say(named(record, " was deleted."), back);
    back.focus();
  }

  #takeBack() {
    const [key, record] = this.deleted.pop();
    this.store.put(key, record);
    if (key === this.theCase.id) this.opened.follow();
    this.#list();
    if (this.deleted.length) this.#offerBack();
    else this.#say(named(record, " is back."));
    this.#focus(key);
  }

  #drop(event) {
    event.preventDefault();
    event.stopPropagation(); // the page itself would open it
    this.#import([...(event.dataTransfer?.files ?? [])]);
  }

  async #import(files) {
    const { cases, refused } = await readCases(files);
    byId("cases-file").value = "";
    this.#add(cases, refused);
  }

  // The cases of a file of many, which was opened or dropped on the page.
  add(found, fileName) {
    this.show();
    this.#add(found.many, found.unreadable ? [unreadable(found, fileName)] : []);
  }

  #add(cases, refused) {
    const known = new Set(this.#records().map(keyOf));
    const misfits = [];
    const guesses = { left: 20 }; // of all cases together
    let added = 0;
    for (const each of cases) {
      const { record, problems } = recordOf(each, this.network, this.units, guesses);
      misfits.push(...problems.map((problem) => `${short(record.name)}: ${problem}`));
      if (known.has(keyOf(record))) continue;
      known.add(keyOf(record));
      this.store.put(this.store.newKey(), record);
      added += 1;
    }
    this.#list();
    this.#say(make("p", { text: this.#summary(added, cases.length - added) }));
    this.#complain(refused, misfits);
  }

  #summary(added, there) {
    return [
      `${counted(added, "case")} ${added === 1 ? "was" : "were"} added.`,
      there ? `${counted(there, "case")} ${there === 1 ? "was" : "were"} in the list already.` : "",
      this.store.unstored.size ? UNSTORED : "",
    ].join(" ");
  }

  #say(...elements) {
    byId("cases-said").replaceChildren(...elements);
  }

  #complain(refused = [], misfits = []) {
    byId("cases-problems").replaceChildren(
      ...listed("Not taken:", refused),
      ...listed("What does not fit this network stays with its case, and is left out when it is opened:", misfits),
    );
  }
}

function listed(title, sentences) {
  if (!sentences.length) return [];
  const shown = sentences.slice(0, MOST_PROBLEMS).map((text) => make("li", { text }));
  const more = sentences.length - shown.length;
  const rest = more > 0 ? [make("li", { text: `and ${more} more` })] : [];
  return [make("p", {}, make("strong", { text: title })), make("ul", {}, ...shown, ...rest)];
}

const keyOf = ({ name, note, content }) => JSON.stringify([name, note, content]);

const texts = new WeakMap(); // of records, for the search

function matches(record, words) {
  if (!words.length) return true;
  const { name, note, content } = record;
  if (!texts.has(record)) texts.set(record, [name, note, ...Object.keys(content.evidence)].join("\n").toLowerCase());
  return words.every((word) => texts.get(record).includes(word));
}

function short(name) {
  const letters = [...name];
  return letters.length > LONG ? `${letters.slice(0, LONG - 1).join("")}…` : name;
}

const named = ({ name }, happened) => make("p", {}, make("bdi", { text: short(name) }), happened);
