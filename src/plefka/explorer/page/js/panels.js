// Tabs, and what all panels share: they ask only when they are in sight, and only what has changed.

import { announce, button, byId, listen, make, put, roam, steered, told } from "./elements.js";
import { latest } from "./service.js";
import { duration } from "./words.js";

const SLOW = 3; // seconds: from then on a panel waits for a click

// A panel that failed, or whose questions were given up again and again, is quiet until it is asked: it would only keep
// the service from the next ranking.
export class Panel {
	// key(state): what the question is; canAsk(state); ask(signal, state) -> answer; draw(answer, state) -> elements,
	// after those of head()
	constructor(id, { ask, key, draw, head, canAsk = () => true, isSlow = false, needsPossible = true, invitation }) {
		Object.assign(this, { key, draw, head, canAsk, needsPossible, invitation, ask: latest(ask) });
		this.box = byId(`panel-${id}`);
		this.asked = null; // the question whose answer is shown, or is waited for
		this.started = 0; // when that question was put, until there is an answer
		this.seconds = isSlow ? Infinity : 0; // that the last answer took
		this.wasted = 0; // seconds of questions that were given up since then
		this.failure = null; // {text, method}, until it is asked again
	}

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
		this.#giveUp();
		Object.assign(this, { asked: key, state });
		if (this.needsPossible && !state.isPossible) this.#says(told("take-one-back"));
		else if (!this.canAsk(state)) this.#show(this.draw(null, state));
		else if (this.failure) this.#complain(told("not-again"), this.failure.text);
		else if (Math.max(this.seconds, this.wasted) > SLOW) this.#offer();
		else this.#go();
	}

	// The case has changed: what is asked now is of no use, and the ranking comes first.
	cancel() {
		const buttons = this.box.querySelectorAll(".asks");
		for (const each of buttons) each.disabled = true;
		if (this.#giveUp() || buttons.length) this.asked = null;
		this.#waits();
	}

	#giveUp() {
		const { started } = this;
		this.ask.cancel();
		if (started) this.wasted += (performance.now() - started) / 1000;
		this.started = 0;
		return started > 0;
	}

	async #go() {
		const { state } = this;
		put(this.box, { "aria-busy": "true" });
		this.#waits("computing …", ".asks, .waits");
		this.started = performance.now();
		try {
			const answer = await this.ask(state);
			this.seconds = (performance.now() - this.started) / 1000;
			Object.assign(this, { started: 0, wasted: 0, failure: null });
			this.#show(this.draw(answer, state));
		} catch (error) {
			const text = error.message;
			this.started = 0;
			if (error.code === "unreachable") this.asked = null; // the page says so, and asks again
			else {
				this.failure = { text, method: state.method };
				this.#complain(text);
				announce(text);
			}
		}
	}

	#asks(text, kind = "") {
		return button(text, () => this.#go(), { class: `button asks ${kind}` });
	}

	#offer() {
		const last = Number.isFinite(this.seconds) && told("took", duration(this.seconds));
		const known = this.wasted > SLOW ? told("unfinished", duration(this.wasted)) : last;
		this.#show(make("div.offer", this.#asks(this.invitation, "is-primary"), make("span.hint", known)));
	}

	#complain(...texts) {
		this.#show(make("div.message.is-bad", texts.map((text) => make("p", text)), this.#asks("Try again")));
	}

	#show(parts) {
		this.#puts({ "aria-busy": null }, this.head?.(), parts);
	}

	// In the place of nothing, or of what has had its time; an answer stays.
	#waits(text = "Waits for the ranking …", past = ".waits") {
		if (!this.box.childElementCount || this.box.querySelector(past)) this.#says(text);
	}

	#says(text) {
		this.#puts(make("p.hint.waits", text));
	}

	// The focus stays where it was, or goes to what bears the same label now, or at least stays in the panel.
	#puts(...parts) {
		const focused = this.box.contains(document.activeElement) && document.activeElement;
		put(this.box, ...parts);
		const same = [...this.box.querySelectorAll("[aria-label]")].find((each) => each.ariaLabel === focused.ariaLabel);
		if (focused) (focused.isConnected ? focused : (same ?? this.box)).focus({ preventScroll: true });
	}
}

// Arrow keys move between tabs, as screen readers expect.
export function tabs(onShow) {
	const all = [...document.querySelectorAll("[role=tab]")];
	const list = all[0].parentElement;
	for (const tab of all) listen(tab, "click", () => show(tab.id.replace("tab-", "")));
	listen(list, "keydown", (event) => {
		const offered = all.filter(({ hidden }) => !hidden);
		const next = steered(event, offered, event.target, ["ArrowLeft", "ArrowRight"], true);
		next?.focus();
		next?.click();
	});

	function show(name) {
		const chosen = byId(`tab-${name}`);
		for (const tab of all) {
			put(tab, { "aria-selected": String(tab === chosen) });
			byId(tab.getAttribute("aria-controls")).hidden = tab !== chosen;
		}
		list.scrollLeft = chosen.offsetLeft - list.offsetLeft - (list.clientWidth - chosen.offsetWidth) / 2;
		roam(all, chosen);
		onShow();
	}

	return { show };
}
