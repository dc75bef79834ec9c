// Search units and tick what was seen.

import { button as textButton, byId, make, readable, set } from "./elements.js";
import { stateButtons, valueOfKey } from "./state_buttons.js";
import { VirtualList } from "./virtual_list.js";
import { count, counted } from "./words.js";

const NOUNS = { f: "finding", c: "cause", a: "unit" };
const LONG_NAME = 44; // letters: longer names, and longer words for states, have a line of their own
const LONG_WORD = 12;

export class Finder {
  // observe(name, value); select(name)
  constructor(units, theCase, observe, select) {
    Object.assign(this, { units, theCase, observe, select, found: new Int32Array(0) });
    this.role = units.roles.includes("f") ? "f" : "a";
    this.list = new VirtualList(byId("units-scroll"), byId("units"), () => this.#makeRow());
    this.message = make("div", { class: "nothing", role: "status" });
    byId("roles").before(this.message); // right below what was typed
    this.input = byId("search");
    this.input.addEventListener("input", () => this.search());
    this.input.addEventListener("keydown", (event) => this.#onKey(event));
    for (const button of this.#roleButtons()) button.addEventListener("click", () => this.use(button.dataset.role));
    theCase.addEventListener("change", () => this.list.draw());
    this.use(this.role);
  }

  use(role) {
    this.role = role;
    for (const button of this.#roleButtons()) button.setAttribute("aria-pressed", String(button.dataset.role === role));
    return this.search();
  }

  async search() {
    const answer = await this.units.search(this.input.value, this.role);
    if (answer === null) return;
    this.found = answer.found;
    this.list.resize(this.found.length, (position) => this.#isLong(this.units.names[this.found[position]]));
    this.#say(answer);
  }

  #say({ elsewhere, similar }) {
    const total = this.found.length;
    const isFiltered = this.input.value.trim() !== "";
    const status = byId("found");
    status.textContent = total || !isFiltered ? count(total) : "";
    if (total || !isFiltered) return this.message.replaceChildren();
    const typed = this.input.value.trim();
    const nobody = elsewhere ? `No ${NOUNS[this.role]}` : "Nothing";
    const meant = similar.length ? " Did you mean" : "";
    const text = make("p", { text: `${nobody} has “${typed}” in its name.${meant}` });
    const does = elsewhere === 1 ? "has" : "have";
    const show = `Show ${counted(elsewhere, NOUNS[this.#otherRole])} that ${does} it`;
    const others = elsewhere ? [textButton(show, () => this.use(this.#otherRole))] : [];
    const offered = similar.map((each) => textButton(`${each.text}?`, () => this.#take(each)));
    this.message.replaceChildren(text, make("div", { class: "choices" }, ...others, ...offered));
  }

  // What was meant, in the role that has it.
  #take({ text, found }) {
    this.input.value = text;
    this.input.focus();
    this.use(found ? this.role : this.#otherRole);
  }

  get #otherRole() {
    return this.role === "f" ? "c" : "f";
  }

  #isLong(name) {
    return name.length > LONG_NAME || this.units.words(name).some((word) => word.length > LONG_WORD);
  }

  #makeRow() {
    const row = { name: "" };
    const states = stateButtons((value) => this.observe(row.name, value));
    const name = make("button", { type: "button", class: "unit-name", onclick: () => this.select(row.name) });
    const element = make("li", { class: "unit" }, name, states.group);
    element.addEventListener("keydown", (event) => {
      const value = valueOfKey(event);
      if (value === undefined) return;
      event.preventDefault();
      this.observe(row.name, value);
    });
    const show = (position) => {
      row.name = this.units.names[this.found[position]];
      const value = this.theCase.observations.get(row.name);
      if (name.textContent !== row.name) set(name, "unit", row.name);
      name.title = readable(row.name);
      element.classList.toggle("is-high", this.#isLong(row.name));
      element.classList.toggle("is-observed", value !== undefined);
      states.show(row.name, this.units.words(row.name), value);
    };
    return { element, buttons: [name, ...states.buttons], show };
  }

  #onKey(event) {
    if (event.key === "ArrowDown") {
      event.preventDefault();
      this.list.part = 1;
      this.list.focus(0);
    } else if (event.key === "Escape" && this.input.value) {
      event.preventDefault();
      this.input.value = "";
      this.search();
    }
  }

  #roleButtons() {
    return byId("roles").querySelectorAll("button[data-role]");
  }
}
