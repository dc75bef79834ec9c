// How probable the observations were, and how far to trust the answer.

import { button, fill, make, put, told } from "./elements.js";
import { duration, frequency, inWords, isExact, kindWords, meaning, minus, range, sentence, trust } from "./words.js";

const CHECK = "Check this answer";

export class Verdict {
	constructor(page) {
		this.page = page;
	}

	// null: there is none
	show(answer) {
		put("verdict", answer && this.#trusted(answer));
	}

	// Shown in the place of the ranking: what contradicts what, and which observation to take back. The service says "the
	// observations fever=yes and flu=no cannot both be true".
	contradiction({ contradiction, status_text: otherwise }) {
		const text = contradiction ?? otherwise;
		const all = [...this.page.case.observations.keys()];
		const named = all.filter((name) => text.includes(` ${name}=`));
		const some = (named.length ? named : all).slice(0, 12);
		const buttons = some.map((name) => button(`Remove ${name}`, () => this.page.observe(name, null)));
		return fill("contradiction", { span: sentence(text), ".choices": buttons });
	}

	// A check does not know of "exactly one cause", and what is exact needs none.
	#trusted(answer) {
		const { check, kind, log_likelihood: value, interval, method, seconds, notes } = answer;
		const { log_partition: clamped, log_partition_kind: its } = answer;
		const shown = (number) => (number === null ? "–" : minus(number, 4));
		const between = range(kind, interval, shown);
		const { observations, isSoft, isExclusive } = this.page.case;
		const isFrequency = observations.size > 0 && !isSoft && !isExclusive;
		const isChecked = check || isExclusive || isExact(answer);
		const problems = [!answer.converged && answer.status_text, ...answer.warnings].filter(Boolean);
		this.checkButton = button(CHECK, () => this.page.asking.check(), { id: "check" });
		const parts = {
			".problems": problems.map((text) => make("p.message.is-bad", sentence(text))),
			".check": check ? checked(check) : !isChecked && this.checkButton,
			".how": [`Computed by ${method} in ${duration(seconds)}.`, ...notes.map(inWords)].map((text) => make("p", text)),
		};
		return fill("trusted", parts, {
			...trust(answer, !isChecked),
			frequency: isFrequency && frequency(value),
			value: shown(value),
			kind: kindWords(kind) + (between && `, ${between}`),
			meaning: meaning(kind),
			clamped: its && told("clamped", shown(clamped), kindWords(its)),
		});
	}

	// A check runs, or has failed. A button that is disabled would lose the focus.
	checking(failure = null) {
		put(this.checkButton, { "aria-disabled": String(!failure) }, failure ? CHECK : "Checking …");
		const lead = make("strong", "The check failed; the answer is as it was. ");
		put("check-says", failure && make("p.message.is-bad#check-failed", lead, failure));
	}
}

function checked({ trusted, verdict }) {
	const lead = make("strong", trusted ? "Checked: you can rely on it. " : "Not confirmed. ");
	return make(`p.message.is-${trusted ? "good" : "bad"}#checked`, lead, sentence(verdict));
}
