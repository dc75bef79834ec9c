// After each change of the case: ask, show the answer, and drop answers that came too late. A check asks beside that, and
// cannot harm an answer that is shown.

import { announce, button, listen, make, put, told } from "./elements.js";
import { latest } from "./service.js";

const PAUSE = 60; // milliseconds without a change before a question is sent, where changes follow each other closely
const CLOSELY = 300;
const PATIENCE = 250; // milliseconds before the old answer is dimmed
const LONG = 4000; // milliseconds before the reader is told to wait
const AGAIN = 3000; // milliseconds before a question is put again to a service that is busy
const PASSING = ["busy", "closing", "worker_ended"]; // refusals that waiting helps against

export class Asking {
	constructor(service, page) {
		Object.assign(this, { page, theCase: page.case, answer: null, changed: 0 });
		const infer = (signal, check) => service.post("infer", { ...this.#question, check }, signal);
		[this.infer, this.checked] = [latest(infer), latest(infer)];
		listen(page.case, "change", () => {
			const isClose = performance.now() - this.changed < CLOSELY;
			this.changed = performance.now();
			this.checked.cancel();
			this.#soon(isClose ? PAUSE : 0);
		});
	}

	get #question() {
		const { evidence, exclusive, method, ranked } = this.theCase;
		const { units, chosen, order, faults, left_out: leave_out } = ranked;
		const asked = { units: units === "chosen" ? chosen : units, order, faults, leave_out };
		return { evidence, exclusive, method, ...asked, top: this.page.ranking.top };
	}

	// Whether the answer that is shown is of the case as it is now.
	get isCurrent() {
		return this.answer !== null && this.answeredKey === this.theCase.key;
	}

	#soon(pause) {
		clearTimeout(this.timer);
		this.timer = setTimeout(() => this.now(), pause);
	}

	async now() {
		clearTimeout(this.timer);
		clearTimeout(this.dimming);
		this.hasFailed = false;
		this.dimming = setTimeout(() => {
			this.#waits("computing …");
			this.dimming = setTimeout(() => this.#waits(told("long")), LONG);
		}, PATIENCE);
		const { key } = this.theCase;
		try {
			const answer = await this.infer(false);
			this.answeredKey = key;
			this.checked.cancel();
			this.#waits("");
			this.#show(answer);
		} catch (error) {
			this.#failed(error);
		}
	}

	// In the background: whatever comes of it, the ranking stays.
	async check() {
		this.page.verdict.checking();
		try {
			this.#show(await this.checked(true));
		} catch (error) {
			this.page.verdict.checking(error.message);
			announce(`The check failed. ${error.message}`);
		}
	}

	#show(answer) {
		this.answer = answer;
		this.page.answered(answer);
	}

	// Why the ranking that is shown is not of this case; "" if it is.
	#waits(text) {
		clearTimeout(this.dimming);
		put("busy", { hidden: !text }, text);
	}

	#failed(error) {
		if (error.code === "unreachable") return this.#waits("not up to date"); // until the service is back
		if (PASSING.includes(error.code)) this.#soon(AGAIN);
		this.#waits("");
		this.page.complain([make("p", error.message), button("Try again", () => this.now())]);
		announce(error.message);
		if (this.isCurrent) return;
		Object.assign(this, { answer: null, hasFailed: true });
		this.page.unanswered();
	}
}
