// Search units and tick what was seen.

import { byId, make } from "./elements.js";
import { stateButtons, valueOfKey } from "./state_buttons.js";
import { VirtualList } from "./virtual_list.js";
import { count, counted } from "./words.js";

const NOUNS = { f: "finding", c: "cause", a: "unit" };

export class Finder {
  // observe(name, value); select(name)
  constructor(units, theCase, observe, select) {
    Object.assign(this, { units, theCase, observe, select, found: new Int32Array(0) });
    this.role = units.roles.includes("f") ? "f" : "a";
    this.list = new VirtualList(byId("units-scroll"), byId("units"), () => this.#makeRow());
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
    this.list.resize(this.found.length);
    this.#say(answer.elsewhere);
  }

  #say(elsewhere) {
    const total = this.found.length;
    const isFiltered = this.input.value.trim() !== "";
    const status = byId("found");
    status.textContent = total || !isFiltered ? count(total) : "";
    this.empty?.remove();
    if (total || !isFiltered) return;
    this.empty = make("p", { class: "hint nothing", text: `No ${NOUNS[this.role]} has this in its name.` });
    if (elsewhere) {
      const other = this.role === "f" ? "c" : "f";
      const does = elsewhere === 1 ? "has" : "have";
      const text = `Show ${counted(elsewhere, NOUNS[other])} that ${does} it`;
      this.empty.append(make("button", { type: "button", class: "button", text, onclick: () => this.use(other) }));
    }
    byId("units-scroll").after(this.empty);
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
      if (name.textContent !== row.name) name.textContent = name.title = row.name;
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
