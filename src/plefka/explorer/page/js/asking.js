// After each change of the case: ask, show the answer, and drop answers that came too late. A check asks beside that, and
// cannot harm an answer that is shown.

import { announce, button, byId, listen, make, put, told } from "./elements.js";
import { isByChange } from "./ranking.js";
import { latest, STALE, Unreachable } from "./service.js";
import { about, counted, kindWords, sentence } from "./words.js";

const PAUSE = 60; // milliseconds without a change before a question is sent, where changes follow each other closely
const CLOSELY = 300;
const PATIENCE = 250; // milliseconds before the old answer is dimmed
const LONG = 4000; // milliseconds before the reader is told to wait
const AGAIN = 3000; // milliseconds before a question is put again to a service that is busy
const PASSING = ["busy", "closing", "worker_ended"]; // refusals that waiting helps against

export class Asking {
	constructor(service, page) {
		Object.assign(this, { page, theCase: page.case, answer: null, changed: 0 });
		const infer = (signal, check) => service.post("infer", this.#question(check), signal);
		this.infer = latest(infer);
		this.checked = latest(infer);
		listen(page.case, "change", () => {
			const time = performance.now();
			const pause = time - this.changed > CLOSELY ? 0 : PAUSE;
			this.changed = time;
			this.checked.cancel();
			this.#soon(pause);
		});
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
			if (answer === STALE) return;
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
			const answer = await this.checked(true);
			if (answer !== STALE) this.#show(answer);
		} catch (error) {
			const text = sentence(error.message);
			this.page.verdict.checking(text);
			announce(`The check failed. ${text}`);
		}
	}

	#question(check) {
		const { evidence, method, isExclusive, rankingFields } = this.theCase;
		const exclusive = isExclusive ? "causes" : null;
		return { evidence, exclusive, method, check, top: this.page.ranking.top, ...rankingFields };
	}

	// Why the ranking that is shown is not of this case; "" if it is.
	#waits(text) {
		if (!text) clearTimeout(this.dimming);
		put("busy", { hidden: !text }, text);
		byId("ranking").classList.toggle("is-old", text !== "");
	}

	#show(answer) {
		this.answer = answer;
		const isImpossible = answer.status === "impossible";
		this.#say(isImpossible && this.page.verdict.contradiction(answer));
		this.page.verdict.show(isImpossible ? null : answer);
		this.page.answered(answer);
		announce(isImpossible ? byId("failure").querySelector("p").textContent : this.#summary(answer));
	}

	#summary({ order, ranking, kind, check }) {
		const best = ranking
			.slice(0, 3)
			.map((each) => `${this.page.units.inState(each.name, each.state)} ${about(each.probability, each.accuracy)}`);
		const first = isByChange({ order, ranking }) ? "First by change" : "Most probable";
		const ranked = best.length ? `${first}: ${best.join(", ")}.` : "Nothing is ranked.";
		const total = counted(this.theCase.observations.size, "observation");
		return `${total}. ${ranked} Kind of answer: ${kindWords(kind)}. ${sentence(check?.verdict)}`;
	}

	#failed(error) {
		this.#waits("");
		if (error instanceof Unreachable) return this.#waits("not up to date"); // until the service is back
		if (PASSING.includes(error.code)) this.#soon(AGAIN);
		const text = sentence(error.message);
		this.#say([make("p", text), button("Try again", () => this.now())]);
		if (!this.isCurrent) {
			this.answer = null;
			this.page.ranking.empty();
			this.page.verdict.show(null);
			this.hasFailed = true;
			this.page.refresh();
		}
		announce(text);
	}

	#say(parts) {
		put("failure", { hidden: !parts }, parts);
	}
}
