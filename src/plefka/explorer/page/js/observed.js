// What was observed so far, with how sure, and a way to take it back.

import { byId, icon, make, readable } from "./elements.js";
import { stateButtons } from "./state_buttons.js";
import { leaning } from "./words.js";

export class Observed {
  constructor(units, theCase, select) {
    Object.assign(this, { units, theCase, select, rows: new Map() });
    this.list = byId("observed");
    theCase.addEventListener("change", () => this.draw());
    this.draw();
  }

  draw() {
    const { observations } = this.theCase;
    for (const [name, row] of this.rows) if (!observations.has(name)) this.#remove(name, row);
    [...observations].forEach(([name, value], place) => this.#row(name, place).show(value));
    const total = observations.size;
    byId("observed-hint").hidden = total > 0;
    byId("observed-count").hidden = total === 0;
    byId("observed-count").textContent = total;
  }

  focusSlider(name) {
    this.rows.get(name)?.slider.focus();
  }

  // The focus goes on to the next observation, or to the search.
  #remove(name, row) {
    const hadFocus = row.element.contains(document.activeElement);
    const next = row.element.nextElementSibling ?? row.element.previousElementSibling;
    row.element.remove();
    this.rows.delete(name);
    if (hadFocus) (next?.querySelector(".remove") ?? byId("search")).focus();
  }

  #row(name, place) {
    if (!this.rows.has(name)) this.rows.set(name, this.#makeRow(name));
    const row = this.rows.get(name);
    if (this.list.children[place] !== row.element)
      this.list.insertBefore(row.element, this.list.children[place] ?? null);
    return row;
  }

  #makeRow(name) {
    const words = this.units.words(name);
    const states = stateButtons((value) => this.theCase.observe(name, value));
    const slider = make("input", { type: "range", min: 1, max: 99, step: 1, "aria-label": `${name}: how sure` });
    const reading = make("span", { class: "reading" });
    const sure = make(
      "div",
      { class: "sure" },
      make("span", { unit: words[0], class: "end" }),
      slider,
      make("span", { unit: words[1], class: "end" }),
      reading,
    );
    slider.addEventListener("input", () => {
      const on = Number(slider.value) / 100;
      this.theCase.observe(name, { on, off: Number((1 - on).toFixed(2)) }, { merge: true });
    });
    const title = make("button", {
      type: "button",
      class: "unit-name",
      unit: name,
      title: readable(name),
      onclick: () => this.select(name),
    });
    const remove = make(
      "button",
      {
        type: "button",
        class: "tool remove",
        "aria-label": `Remove ${name}`,
        title: "Remove",
        onclick: () => this.theCase.observe(name, null),
      },
      icon("close"),
    );
    const element = make("li", { class: "observation" }, title, states.group, remove, sure);
    const show = (value) => {
      states.show(name, words, value);
      element.dataset.state = typeof value === "object" ? "" : readable(words[value]); // for paper, which has no buttons
      sure.hidden = typeof value !== "object";
      if (sure.hidden) return;
      const position = Math.round((100 * value.on) / (value.on + value.off));
      if (Number(slider.value) !== position) slider.value = position;
      reading.textContent = leaning(value, words);
      slider.setAttribute("aria-valuetext", reading.textContent);
    };
    return { element, slider, show };
  }
}
