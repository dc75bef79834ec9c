// The dialog of saved cases: the open one, and the list of all that this browser keeps for the network.

import { exportAll, exportOne, readCases, recordOf, unreadable } from "./case_files.js";
import { button, byId, make } from "./elements.js";
import { isSame, now, OpenCase, UNSTORED } from "./open_case.js";
import { contentOf, fromContent } from "./shared_case.js";
import { about, counted, moment } from "./words.js";

const FEW = 8; // cases that need no search
const SHOWN = 50; // cases at first, and added by "show more"
const MOST_PROBLEMS = 200;
const LONG = 60; // letters of a name inside a sentence

export class Cases {
  // open(content): show a case on the page; compare(key, key): two side by side
  constructor(network, units, theCase, store, { open, compare }) {
    Object.assign(this, { network, units, theCase, store, open, compare });
    this.opened = new OpenCase(network, theCase, store, (saved) => this.#openCaseChanged(saved));
    this.deleted = []; // [key, record], which can be taken back until the page is left
    this.shown = SHOWN;
    this.dialog = byId("cases-dialog");
    this.#listen();
  }

  #listen() {
    byId("cases").addEventListener("click", () => this.show());
    byId("cases-close").addEventListener("click", () => this.dialog.close());
    byId("cases-search").addEventListener("input", () => this.#list());
    byId("cases-more").addEventListener("click", () => this.#showMore());
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
    byId("cases-where").textContent =
      `Cases stay in this browser, for the address ${location.host}. They are sent nowhere, and links do not hold ` +
      "their names and notes. Whoever uses this browser can read them. Export them to keep them elsewhere.";
    this.#say();
    this.#complain();
    this.shown = SHOWN;
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

  // saved: the key of a case that was saved just now, by a button that is gone
  #openCaseChanged(saved) {
    this.#list();
    if (saved && document.activeElement.closest("form") !== byId("case-form")) this.#focus(saved);
  }

  // ---- the list ------------------------------------------------------------------------------------------------------

  #list() {
    const all = this.store.all();
    const words = byId("cases-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const found = all.filter(([, record]) => matches(record, words));
    byId("cases-search-box").hidden = all.length <= FEW && !words.length;
    byId("cases-count").textContent = words.length ? `${found.length} of ${all.length}` : String(all.length);
    byId("cases-none").hidden = found.length > 0;
    byId("cases-none").textContent = all.length ? "No case has all of these words." : "No case is saved yet.";
    byId("cases-list").replaceChildren(...found.slice(0, this.shown).map(([key, record]) => this.#row(key, record)));
    byId("cases-more").hidden = found.length <= this.shown;
    byId("cases-export").disabled = all.length === 0;
  }

  #showMore() {
    const next = this.shown;
    this.shown += SHOWN;
    this.#list();
    byId("cases-list").children[next].querySelector("button").focus();
  }

  #row(key, record) {
    const { name, note } = record;
    const isOpen = key === this.theCase.id;
    const act = (text, onclick) => make("button", { ...LINK, text, "aria-label": `${text} ${name}`, onclick });
    const title = make("button", { ...LINK, class: "link case-title", onclick: () => this.#open(key, record) });
    title.append(make("bdi", { text: name }));
    const row = make(
      "li",
      { class: isOpen ? "saved-case is-open" : "saved-case", "data-key": key },
      make("div", { class: "case-head" }, title, isOpen && make("em", { text: "open" })),
      make("p", { class: "hint" }, ...this.#facts(key, record)),
      Boolean(note) && make("p", { class: "case-note" }, make("bdi", { text: note })),
      make(
        "div",
        { class: "case-actions" },
        act("Rename", () => this.#rename(key, record, row)),
        act("Copy", () => this.#copy(record)),
        act("Compare", () => this.compare(this.theCase.id, isOpen ? null : key)),
        act("Export", () => exportOne(record, this.network)),
        act("Delete", () => this.#delete(key, record)),
      ),
    );
    return row;
  }

  #facts(key, { content, first, created, changed, fingerprint }) {
    const isOther = fingerprint && fingerprint !== this.network.fingerprint;
    return [
      counted(Object.keys(content.evidence).length, "observation"),
      ...(first ? [" · first: ", make("bdi", { text: first.name }), ` ${about(first.probability, first.accuracy)}`] : []),
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

  // ---- files ---------------------------------------------------------------------------------------------------------

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
    let added = 0;
    for (const each of cases) {
      const { record, problems } = recordOf(each, this.network, this.units);
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

const LINK = { type: "button", class: "link" };

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
