// Tabs, and what all panels share: they ask only when they are in sight, and only what has changed.

import { announce, button, byId, listen, make, put, roam, steered, told } from "./elements.js";
import { latest, STALE, Unreachable } from "./service.js";
import { duration, sentence } from "./words.js";

const SLOW = 3; // seconds: from then on a panel waits for a click

// A panel that failed, or whose questions were given up again and again, is quiet until it is asked: it would only keep
// the service from the next ranking.
export class Panel {
	// key(state): what the question is; canAsk(state); ask(signal, state) -> answer; draw(answer, state) -> elements,
	// after those of head()
	constructor(id, { ask, key, draw, head, canAsk = () => true, isSlow = false, needsPossible = true, invitation = "" }) {
		Object.assign(this, { key, draw, head, canAsk, needsPossible, invitation, ask: latest(ask) });
		this.box = byId(`panel-${id}`);
		this.asked = null; // the question whose answer is shown, or is waited for
		this.seconds = isSlow ? Infinity : 0;
		this.wasted = 0; // seconds of questions that were given up since the last answer
		this.started = null;
		this.failure = null; // {text, method}, until it is asked again
	}

	// An answer is kept until the question changes.
	get isInSight() {
		return !this.box.closest("[hidden]");
	}

	refresh(state) {
		if (!this.isInSight) return;
		if (state.hasFailed) {
			this.asked = null;
			return this.#says(told("no-ranking"));
		}
		if (!state.isAnswered) return this.#waits();
		if (this.failure?.method !== state.method) this.failure = null; // as it may have advised another method
		const key = this.key(state);
		if (key === this.asked) return;
		this.asked = key;
		this.#giveUp();
		if (this.needsPossible && !state.isPossible) this.#says(told("take-one-back"));
		else if (!this.canAsk(state)) this.#show(state, this.draw(null, state));
		else if (this.failure) this.#complain(state, told("not-again"), this.failure.text);
		else if (Math.max(this.seconds, this.wasted) > SLOW) this.#offer(state);
		else this.#go(state);
	}

	// The case has changed: what is asked now is of no use, and the ranking comes first.
	cancel() {
		const buttons = this.box.querySelectorAll(".asks");
		for (const each of buttons) each.disabled = true;
		if (this.#giveUp() || buttons.length) this.asked = null;
		this.#waits();
	}

	#giveUp() {
		const isRunning = this.started !== null;
		this.ask.cancel();
		if (isRunning) this.wasted += (performance.now() - this.started) / 1000;
		this.started = null;
		return isRunning;
	}

	#asks(text, state, kind = "") {
		return button(text, () => this.#go(state), { class: `button asks ${kind}` });
	}

	#offer(state) {
		const { wasted, seconds } = this;
		const last = Number.isFinite(seconds) && ` It took ${duration(seconds)} last time.`;
		const known = wasted > SLOW ? ` It was not finished after ${duration(wasted)}.` : last;
		this.#show(state, make("div.offer", this.#asks(this.invitation, state, "is-primary"), make("span.hint", known)));
	}

	#show(state, parts) {
		this.#puts({ "aria-busy": null }, this.head?.(), parts);
	}

	// The focus stays where it was, or goes to what bears the same label now, or at least stays in the panel.
	#puts(...parts) {
		const focused = this.box.contains(document.activeElement) && document.activeElement;
		put(this.box, ...parts);
		const same = [...this.box.querySelectorAll("[aria-label]")].find((each) => each.ariaLabel === focused.ariaLabel);
		if (focused) (focused.isConnected ? focused : (same ?? this.box)).focus({ preventScroll: true });
	}

	async #go(state) {
		put(this.box, { "aria-busy": "true" });
		this.#waits("computing …", ".asks, .waits");
		const start = performance.now();
		this.started = start;
		try {
			const answer = await this.ask(state);
			if (answer === STALE) return;
			Object.assign(this, { seconds: (performance.now() - start) / 1000, wasted: 0, started: null, failure: null });
			this.#show(state, this.draw(answer, state));
		} catch (error) {
			this.started = null;
			if (error instanceof Unreachable) {
				this.asked = null; // the page says so, and asks again
				return;
			}
			this.failure = { text: sentence(error.message), method: state.method };
			this.#complain(state, this.failure.text);
			announce(this.failure.text);
		}
	}

	#complain(state, ...texts) {
		const words = texts.map((text) => make("p", text));
		this.#show(state, make("div.message.is-bad", words, this.#asks("Try again", state)));
	}

	// In the place of nothing, or of what has had its time; an answer stays.
	#waits(text = "Waits for the ranking …", past = ".waits") {
		if (this.box.childElementCount === 0 || this.box.querySelector(past)) this.#says(text);
	}

	#says(text) {
		this.#puts(make("p.hint.waits", text));
	}
}

// Arrow keys move between tabs, as screen readers expect.
export class Tabs {
	constructor(onShow) {
		this.onShow = onShow;
		this.tabs = [...document.querySelectorAll("[role=tab]")];
		for (const tab of this.tabs) {
			listen(tab, "click", () => this.show(nameOf(tab)));
			listen(tab, "keydown", (event) => {
				const offered = this.tabs.filter(({ hidden }) => !hidden);
				const next = steered(event, offered, tab, ["ArrowLeft", "ArrowRight"], true);
				next?.focus();
				if (next) this.show(nameOf(next));
			});
		}
	}

	show(name) {
		for (const tab of this.tabs) {
			const isShown = nameOf(tab) === name;
			put(tab, { "aria-selected": String(isShown) });
			byId(`panel-${nameOf(tab)}`).hidden = !isShown;
			const list = tab.parentElement; // which scrolls where the window is narrow
			if (isShown) list.scrollLeft = tab.offsetLeft - list.offsetLeft - (list.clientWidth - tab.offsetWidth) / 2;
		}
		roam(this.tabs, byId(`tab-${name}`));
		this.onShow(name);
	}
}

const nameOf = (tab) => tab.id.replace("tab-", "");
