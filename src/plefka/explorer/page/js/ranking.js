// The causes, or other units, and what is wrong with each, as bars that move to their new places.

import { button, byId, calm, make, readable, set } from "./elements.js";
import { about, counted, times } from "./words.js";

const MOVE = { duration: 350, easing: "cubic-bezier(.2, .7, .2, 1)" };
export const STEP = 20; // causes shown at first, and added by "show more"
const MOST = 500;
const SMALL = 0.1; // probabilities that are all below this are drawn on a scale of their own

export class Ranking {
  // choice: a RankingChoice
  constructor(units, choice, select, showMore) {
    Object.assign(this, { units, choice, select, rows: new Map(), top: STEP, opened: null });
    this.list = byId("ranking");
    this.list.addEventListener("keydown", (event) => this.#onKey(event));
    byId("more").addEventListener("click", () => {
      this.top = Math.min(MOST, this.top + (this.top < 100 ? STEP : 100));
      showMore();
    });
  }

  show({ ranking, units_total: total }, selected) {
    const before = this.#tops();
    const names = new Set(ranking.map((each) => each.name));
    const hadFocus = this.list.contains(document.activeElement);
    for (const [name, row] of this.rows) if (!names.has(name)) this.#drop(name, row);
    const scale = scaleOf(ranking);
    for (const each of ranking) this.#row(each.name).show(each, scale);
    this.#order(ranking);
    this.mark(selected);
    this.#move(before);
    if (hadFocus && !this.list.contains(document.activeElement)) this.list.querySelector("[tabindex='0']")?.focus();
    const left = total - ranking.length;
    const noun = `further ${this.choice.isOfCauses ? this.units.nouns.cause : "unit"}`;
    byId("more").hidden = !(left > 0 && this.top < MOST);
    byId("more").textContent = `Show more (${counted(left, noun)})`;
    byId("ranking-legend").hidden = !ranking.some((each) => each.prior !== null);
    byId("scale").hidden = scale === 1;
    byId("scale").textContent = `bars end at ${scale.toLocaleString("en", { maximumSignificantDigits: 1 })}`;
  }

  mark(selected) {
    if (selected !== this.opened) this.opened = null;
    for (const [name, { button, actions }] of this.rows) {
      button.setAttribute("aria-pressed", String(name === selected));
      actions.hidden = name !== this.opened;
    }
    this.#roam(this.rows.get(selected)?.button);
  }

  dim(isOld) {
    this.list.classList.toggle("is-old", isOld);
  }

  empty() {
    for (const [name, row] of this.rows) this.#drop(name, row);
    byId("more").hidden = true;
    byId("ranking-legend").hidden = true;
  }

  #order(ranking) {
    const focused = document.activeElement;
    ranking.forEach(({ name }, place) => {
      const { element } = this.#row(name);
      const there = this.list.children[place];
      if (there !== element) this.list.insertBefore(element, there ?? null);
    });
    if (this.list.contains(focused) && focused !== document.activeElement) focused.focus({ preventScroll: true });
  }

  #tops() {
    return new Map([...this.rows].map(([name, { element }]) => [name, element.offsetTop]));
  }

  // Each row starts from where it was, and goes where it is now.
  #move(before) {
    if (calm()) return;
    for (const [name, { element }] of this.rows) {
      const far = (before.get(name) ?? element.offsetTop) - element.offsetTop;
      if (far) element.animate([{ transform: `translateY(${far}px)` }, { transform: "none" }], MOVE);
      else if (!before.has(name)) element.animate([{ opacity: 0 }, { opacity: 1 }], MOVE);
    }
  }

  #drop(name, row) {
    row.element.remove();
    this.rows.delete(name);
  }

  #row(name) {
    if (!this.rows.has(name)) this.rows.set(name, this.#makeRow(name));
    return this.rows.get(name);
  }

  #makeRow(name) {
    const fill = make("span", { class: "fill" });
    const prior = make("span", { class: "prior" });
    const number = make("span", { class: "number" });
    const factor = make("span", { class: "times", "aria-hidden": "true" });
    const before = make("span", { class: "unseen" });
    const word = make("em", { class: "cause-state" });
    const open = () => {
      this.opened = name;
      this.select(name);
    };
    const cause = make(
      "button",
      { type: "button", class: "cause", tabindex: -1, onclick: open },
      make("span", {}, make("span", { class: "cause-name", unit: name }), word),
      " ",
      number,
      before,
      factor,
      make("span", { class: "track", "aria-hidden": "true" }, fill, prior),
    );
    let [state, priorOn] = [1, null];
    const turn = button("", () => this.choice.useState(name, 1 - state, priorOn), { class: "button is-small" });
    const leaveOut = button("Leave it out", () => this.choice.leaveOut(name), {
      class: "button is-small",
      "aria-label": `Leave it out of the ranking: ${name}`,
    });
    const actions = make("div", { class: "choices cause-actions" }, turn, leaveOut);
    actions.hidden = true;
    const element = make("li", {}, cause, actions);
    const show = (each, scale) => {
      state = each.state;
      priorOn = each.prior === null || state ? each.prior : 1 - each.prior;
      const spoken = this.units.stateWord(name, state);
      set(word, "unit", spoken && ` ${spoken}`);
      turn.textContent = `Rank “${readable(this.units.words(name)[1 - state])}” instead`;
      turn.setAttribute("aria-label", `${turn.textContent}: ${name}`);
      const [short, long] = times(each.probability, each.prior) ?? ["", ""];
      factor.textContent = short;
      number.textContent = about(each.probability, each.accuracy);
      number.title = each.accuracy === "estimate" ? "An estimate" : "Exact";
      fill.style.transform = `scaleX(${(each.probability ?? 0) / scale})`;
      prior.hidden = each.prior === null;
      prior.style.left = `${(100 * (each.prior ?? 0)) / scale}%`;
      const beforehand = each.prior === null ? [] : [`beforehand ${about(each.prior, each.prior_accuracy)}`];
      before.textContent = ["", ...beforehand, ...(long ? [long] : [])].join(", ");
    };
    return { element, button: cause, actions, show };
  }

  #roam(preferred) {
    const buttons = [...this.list.querySelectorAll(".cause")];
    const isThere = buttons.includes(document.activeElement);
    const active = isThere ? document.activeElement : (preferred ?? buttons[0]);
    for (const button of buttons) button.tabIndex = button === active ? 0 : -1;
  }

  #onKey(event) {
    const buttons = [...this.list.querySelectorAll(".cause")];
    const here = buttons.indexOf(document.activeElement.closest("li")?.querySelector(".cause"));
    const places = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 };
    if (!(event.key in places)) return;
    event.preventDefault();
    buttons[Math.min(Math.max(places[event.key], 0), buttons.length - 1)].focus();
    this.#roam();
  }
}

// What a full bar means: 1, or a round number just above where all probabilities are small, so that they are seen.
function scaleOf(ranking) {
  const most = Math.max(0, ...ranking.flatMap(({ probability, prior }) => [probability ?? 0, prior ?? 0]));
  if (most === 0 || most > SMALL) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return Number((power * [1, 2, 5, 10].find((step) => step * power >= most * (1 - 1e-9))).toPrecision(1));
}
