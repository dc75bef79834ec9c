// The most probable causes as bars that move to their new places.

import { byId, calm, make } from "./elements.js";
import { about, counted } from "./words.js";

const MOVE = { duration: 350, easing: "cubic-bezier(.2, .7, .2, 1)" };
export const STEP = 20; // causes shown at first, and added by "show more"
const MOST = 500;

export class Ranking {
  constructor(select, showMore) {
    Object.assign(this, { select, rows: new Map(), top: STEP });
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
    for (const [name, row] of this.rows) if (!names.has(name)) this.#drop(name, row);
    for (const each of ranking) this.#row(each.name).show(each);
    this.#order(ranking);
    this.mark(selected);
    this.#move(before);
    const left = total - ranking.length;
    byId("more").hidden = !(left > 0 && this.top < MOST);
    byId("more").textContent = `Show more (${counted(left, "further cause")})`;
    byId("ranking-legend").hidden = !ranking.some((each) => each.prior !== null);
  }

  mark(selected) {
    for (const [name, { button }] of this.rows) button.setAttribute("aria-pressed", String(name === selected));
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
    const before = make("span", { class: "unseen" });
    const button = make(
      "button",
      { type: "button", class: "cause", tabindex: -1, onclick: () => this.select(name) },
      make("span", { class: "cause-name", unit: name }),
      " ",
      number,
      before,
      make("span", { class: "track", "aria-hidden": "true" }, fill, prior),
    );
    const element = make("li", {}, button);
    const show = (each) => {
      number.textContent = about(each.probability, each.accuracy);
      number.title = each.accuracy === "estimate" ? "An estimate" : "Exact";
      fill.style.transform = `scaleX(${each.probability ?? 0})`;
      prior.hidden = each.prior === null;
      prior.style.left = `${100 * (each.prior ?? 0)}%`;
      before.textContent = each.prior === null ? "" : `, beforehand ${about(each.prior, each.prior_accuracy)}`;
    };
    return { element, button, show };
  }

  #roam(preferred) {
    const buttons = [...this.list.querySelectorAll("button")];
    const isThere = buttons.includes(document.activeElement);
    const active = isThere ? document.activeElement : (preferred ?? buttons[0]);
    for (const button of buttons) button.tabIndex = button === active ? 0 : -1;
  }

  #onKey(event) {
    const buttons = [...this.list.querySelectorAll("button")];
    const here = buttons.indexOf(document.activeElement);
    const places = { ArrowDown: here + 1, ArrowUp: here - 1, Home: 0, End: buttons.length - 1 };
    if (!(event.key in places)) return;
    event.preventDefault();
    buttons[Math.min(Math.max(places[event.key], 0), buttons.length - 1)].focus();
    this.#roam();
  }
}
