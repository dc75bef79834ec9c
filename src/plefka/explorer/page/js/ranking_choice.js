// What is ranked, by what it is sorted, and which units are left out or chosen: all of it is part of the case.

import { usualFault } from "./case.js";
import { button, byId } from "./elements.js";
import { counted } from "./words.js";

// Whether it is sorted by change, and anything changed.
export const isByChange = ({ order, ranking }) =>
  order === "change" && ranking.some((each) => Math.abs(each.probability - each.prior) > 5e-4);

export class RankingChoice {
  constructor({ nouns }, theCase) {
    Object.assign(this, { nouns, theCase, about: null, used: "probability" });
    this.targets = byId("targets");
    this.targets.addEventListener("change", () => theCase.rank({ units: this.targets.value }));
    for (const each of this.#orders()) each.addEventListener("click", () => theCase.rank({ order: each.dataset.order }));
    byId("left-out-again").addEventListener("click", () => {
      theCase.rank({ leftOut: [] });
      this.targets.focus();
    });
    this.chooser = button("", () => this.#choose(this.about), { class: "button is-quiet" });
    theCase.addEventListener("change", () => this.#draw());
    this.#draw();
  }

  show(answer) {
    this.used = answer.order;
    const { Causes, causes } = this.nouns;
    byId("answer-title").textContent = isByChange(answer)
      ? `${this.isOfCauses ? Causes : "Units"} by change`
      : this.isOfCauses ? `Most probable ${causes}` : "What is most probable";
    this.#draw();
  }

  get isOfCauses() {
    return this.theCase.ranked.units === "causes";
  }

  // A button that takes a unit into the chosen ones, and out of them.
  chooserFor(name) {
    this.about = name;
    this.#draw();
    return this.chooser;
  }

  leaveOut(name) {
    const { units, chosen, leftOut } = this.theCase.ranked;
    if (units === "chosen") this.theCase.rank({ chosen: chosen.filter((each) => each !== name) });
    else this.theCase.rank({ leftOut: [...leftOut, name] });
  }

  // prior: that of the unit being on
  useState(name, state, prior) {
    const others = this.theCase.ranked.faults.filter(([each]) => each !== name);
    this.theCase.rank({ faults: state === usualFault(prior) ? others : [...others, [name, state]] });
  }

  #choose(name) {
    const { chosen, leftOut } = this.theCase.ranked;
    const isIn = chosen.includes(name);
    this.theCase.rank({
      chosen: isIn ? chosen.filter((each) => each !== name) : [...chosen, name],
      leftOut: leftOut.filter((each) => each !== name),
    });
  }

  #draw() {
    const { units, chosen, order, leftOut } = this.theCase.ranked;
    const pressed = order === "auto" ? this.used : order;
    for (const each of this.#orders()) each.setAttribute("aria-pressed", String(each.dataset.order === pressed));
    this.targets.value = units;
    this.targets.querySelector("[value=chosen]").textContent = `Chosen (${chosen.length})`;
    byId("none-chosen").hidden = units !== "chosen" || chosen.length > 0;
    byId("left-out").hidden = leftOut.length === 0;
    byId("left-out-count").textContent = `${counted(leftOut.length, "unit is", "units are")} left out.`;
    const isIn = chosen.includes(this.about);
    this.chooser.textContent = isIn ? "Take it from the chosen units" : "Add it to the chosen units";
  }

  #orders() {
    return byId("orders").querySelectorAll("button");
  }
}
