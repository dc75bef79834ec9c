// Tabs, and what all panels share: they ask only when they are in sight, and only what has changed.

import { announce, button, byId, make } from "./elements.js";
import { latest, STALE, Unreachable } from "./service.js";
import { duration, sentence } from "./words.js";

const SLOW = 3; // seconds: from then on a panel waits for a click

// A panel that failed, or whose questions were given up again and again, is quiet until it is asked: it would only keep
// the service from the next ranking.
export class Panel {
  // key(state): what the question is; canAsk(state); ask(signal, state) -> answer; draw(answer, state) -> elements
  constructor(id, { ask, key, draw, canAsk = () => true, isSlow = false, needsPossible = true, invitation = "" }) {
    Object.assign(this, { key, draw, canAsk, needsPossible, invitation });
    this.box = byId(`panel-${id}`);
    this.ask = latest(ask);
    this.asked = null; // the question whose answer is shown, or is waited for
    this.seconds = isSlow ? Infinity : 0;
    this.wasted = 0; // seconds of questions that were given up since the last answer
    this.started = null;
    this.failure = null; // {text, method}, until it is asked again
  }

  get isInSight() {
    return !this.box.hidden;
  }

  // An answer is kept until the question changes.
  refresh(state) {
    if (!this.isInSight) return;
    if (!state.isAnswered) return this.#wait();
    if (this.failure && this.failure.method !== state.method) this.failure = null; // as it may have advised
    const key = this.key(state);
    if (key === this.asked) return;
    this.asked = key;
    this.#giveUp();
    if (this.needsPossible && !state.isPossible)
      this.#say("The observations contradict each other. Take one back first.");
    else if (!this.canAsk(state)) this.#show(state, this.draw(null, state));
    else if (this.failure) this.#quiet(state);
    else if (Math.max(this.seconds, this.wasted) > SLOW) this.#offer(state);
    else this.#go(state);
  }

  // The case has changed: what is asked now is of no use, and the ranking comes first.
  cancel() {
    const buttons = this.box.querySelectorAll(".asks");
    for (const each of buttons) each.disabled = true;
    if (this.#giveUp() || buttons.length) this.asked = null;
    this.#wait();
  }

  #giveUp() {
    const isRunning = this.started !== null;
    this.ask.cancel();
    if (isRunning) this.wasted += (performance.now() - this.started) / 1000;
    this.started = null;
    return isRunning;
  }

  #wait() {
    if (this.box.childElementCount === 0 || this.box.querySelector(".waits")) this.#say("Waits for the ranking …");
  }

  #offer(state) {
    const known = this.#known();
    const ask = button(this.invitation, () => this.#go(state), { class: "button is-primary asks" });
    this.#show(state, [make("div", { class: "offer" }, ask, make("span", { class: "hint", text: known }))]);
  }

  #known() {
    if (this.wasted > SLOW) return ` It was not finished after ${duration(this.wasted)}.`;
    return Number.isFinite(this.seconds) ? ` It took ${duration(this.seconds)} last time.` : "";
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
    if (this.box.childElementCount === 0 || this.box.querySelector(".asks, .waits"))
      this.#say("computing …");
    const start = performance.now();
    this.started = start;
    try {
      const answer = await this.ask(state);
      if (answer === STALE) return;
      Object.assign(this, { seconds: (performance.now() - start) / 1000, wasted: 0, started: null, failure: null });
      this.#show(state, this.draw(answer, state));
    } catch (error) {
      this.started = null;
      this.#failed(error, state);
    }
  }

  #failed(error, state) {
    if (error instanceof Unreachable) {
      this.asked = null; // the page says so, and asks again
      return;
    }
    this.failure = { text: sentence(error.message), method: state.method };
    this.#complain(state, this.failure.text);
    announce(this.failure.text);
  }

  #quiet(state) {
    this.#complain(state, "This did not work last time, so it was not asked again by itself.", this.failure.text);
  }

  #complain(state, ...texts) {
    const again = button("Try again", () => this.#go(state), { class: "button asks" });
    const words = texts.map((text) => make("p", { text }));
    this.#show(state, [make("div", { class: "message is-bad" }, ...words, again)]);
  }

  #say(text) {
    this.box.replaceChildren(make("p", { class: "hint waits", text }));
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
    const tabs = this.tabs.filter((each) => !each.hidden);
    const here = tabs.indexOf(tab);
    const size = tabs.length;
    const places = { ArrowRight: here + 1, ArrowLeft: here - 1, Home: 0, End: size - 1 };
    if (!(event.key in places)) return;
    event.preventDefault();
    const next = tabs[(places[event.key] + size) % size];
    this.show(next.id.replace("tab-", ""));
    next.focus();
  }
}
