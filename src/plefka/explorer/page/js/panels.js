// Tabs, and what all panels share: they ask only when they are in sight, and only what has changed.

import { button, byId, make } from "./elements.js";
import { latest, STALE, Unreachable } from "./service.js";
import { duration, sentence } from "./words.js";

const SLOW = 3; // seconds: from then on a panel waits for a click

export class Panel {
  // ask(signal, state) -> answer; key(state) -> string, or null where there is nothing to ask; draw(answer, state)
  constructor(id, { ask, key, draw, isSlow = false, needsPossible = true, invitation = "Ask now" }) {
    Object.assign(this, { key, draw, needsPossible, invitation });
    this.id = id;
    this.box = byId(`panel-${id}`);
    this.ask = latest(ask);
    this.asked = null;
    this.seconds = isSlow ? Infinity : 0;
  }

  get isInSight() {
    return !this.box.hidden;
  }

  // An answer is kept until the question changes.
  refresh(state) {
    if (!this.isInSight || !state.isAnswered) return;
    const key = this.key(state);
    if (key === this.asked) return;
    if (this.needsPossible && !state.isPossible) {
      this.asked = key;
      this.#say("The observations contradict each other. Take one back first.", "hint");
      return;
    }
    if (this.seconds > SLOW && key !== null) this.#offer(state, key);
    else this.#go(state, key);
  }

  #offer(state, key) {
    this.asked = key;
    const known = Number.isFinite(this.seconds) ? ` It took ${duration(this.seconds)} last time.` : "";
    const ask = button(this.invitation, () => this.#go(state, key), { class: "button is-primary" });
    this.box.replaceChildren(
      ...this.#head(state),
      make("div", { class: "offer" }, ask, make("span", { class: "hint", text: known })),
    );
  }

  #head(state) {
    return this.head?.(state) ?? [];
  }

  async #go(state, key) {
    this.asked = key;
    this.box.setAttribute("aria-busy", "true");
    if (this.box.childElementCount === 0 || this.box.querySelector(".offer")) this.#say("computing …", "hint");
    const start = performance.now();
    try {
      const answer = key === null ? null : await this.ask(state);
      if (answer === STALE) return;
      if (answer !== null) this.seconds = (performance.now() - start) / 1000;
      this.box.replaceChildren(...this.#head(state), ...this.draw(answer, state));
    } catch (error) {
      this.#failed(error, state);
    }
    this.box.removeAttribute("aria-busy");
  }

  #failed(error, state) {
    this.asked = null;
    if (error instanceof Unreachable) return; // the page says so, and asks again
    const again = button("Try again", () => this.refresh(state));
    const text = make("p", { text: sentence(error.message) });
    this.box.replaceChildren(...this.#head(state), make("div", { class: "message is-bad" }, text, again));
  }

  #say(text, kind) {
    this.box.replaceChildren(make("p", { class: kind, text }));
  }
}

// Arrow keys move between tabs, as screen readers expect.
export class Tabs {
  constructor(onShow) {
    this.onShow = onShow;
    this.tabs = [...document.querySelectorAll("[role=tab]")];
    for (const tab of this.tabs) {
      tab.addEventListener("click", () => this.show(tab.id.replace("tab-", "")));
      tab.addEventListener("keydown", (event) => this.#onKey(event, tab));
    }
  }

  show(id) {
    for (const tab of this.tabs) {
      const isShown = tab.id === `tab-${id}`;
      tab.setAttribute("aria-selected", String(isShown));
      tab.tabIndex = isShown ? 0 : -1;
      byId(tab.getAttribute("aria-controls")).hidden = !isShown;
    }
    this.onShow(id);
  }

  #onKey(event, tab) {
    const here = this.tabs.indexOf(tab);
    const size = this.tabs.length;
    const places = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: size - 1 };
    if (!(event.key in places)) return;
    event.preventDefault();
    const next = this.tabs[(places[event.key] + size) % size];
    this.show(next.id.replace("tab-", ""));
    next.focus();
  }
}
