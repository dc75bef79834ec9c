// Tabs, and what all panels share: they ask only when they are in sight, and only what has changed.

import { button, byId, make } from "./elements.js";
import { latest, STALE, Unreachable } from "./service.js";
import { duration, sentence } from "./words.js";

const SLOW = 3; // seconds: from then on a panel waits for a click

export class Panel {
  // key(state): what the question is; canAsk(state); ask(signal, state) -> answer; draw(answer, state) -> elements
  constructor(id, { ask, key, draw, canAsk = () => true, isSlow = false, needsPossible = true, invitation = "" }) {
    Object.assign(this, { key, draw, canAsk, needsPossible, invitation });
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
    this.asked = key;
    this.ask.cancel();
    if (this.needsPossible && !state.isPossible)
      this.#say("The observations contradict each other. Take one back first.");
    else if (!this.canAsk(state)) this.#show(state, this.draw(null, state));
    else if (this.seconds > SLOW) this.#offer(state);
    else this.#go(state);
  }

  #offer(state) {
    const known = Number.isFinite(this.seconds) ? ` It took ${duration(this.seconds)} last time.` : "";
    const ask = button(this.invitation, () => this.#go(state), { class: "button is-primary" });
    this.#show(state, [make("div", { class: "offer" }, ask, make("span", { class: "hint", text: known }))]);
  }

  // The focus stays in the panel when what had it is gone.
  #show(state, elements) {
    const hadFocus = this.box.contains(document.activeElement);
    this.box.replaceChildren(...(this.head?.(state) ?? []), ...elements);
    this.box.removeAttribute("aria-busy");
    if (hadFocus) this.box.focus({ preventScroll: true });
  }

  async #go(state) {
    this.box.setAttribute("aria-busy", "true");
    if (this.box.childElementCount === 0 || this.box.querySelector(".offer")) this.#say("computing …");
    const start = performance.now();
    try {
      const answer = await this.ask(state);
      if (answer === STALE) return;
      this.seconds = (performance.now() - start) / 1000;
      this.#show(state, this.draw(answer, state));
    } catch (error) {
      this.#failed(error, state);
    }
  }

  #failed(error, state) {
    this.asked = null;
    if (error instanceof Unreachable) return; // the page says so, and asks again
    const text = make("p", { text: sentence(error.message) });
    const again = button("Try again", () => this.refresh(state));
    this.#show(state, [make("div", { class: "message is-bad" }, text, again)]);
  }

  #say(text) {
    this.box.replaceChildren(make("p", { class: "hint", text }));
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
