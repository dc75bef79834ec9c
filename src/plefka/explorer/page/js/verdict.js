// How probable the observations were, how far to trust the answer, and by which method.

import { button, byId, fill, listen, make, put, told } from "./elements.js";
import { duration, inWords, isExact, kindWords, minus, range, sentence, trust } from "./words.js";

export class Verdict {
	constructor(page) {
		Object.assign(this, { page, theCase: page.case, select: byId("method") });
		offer(page.network, this.select);
		listen(this.select, "change", () => this.theCase.change({ method: this.select.value }));
		listen(this.theCase, "change", () => this.#syncMethod());
		this.#syncMethod();
	}

	// null: there is none
	show(answer) {
		put("verdict", answer && this.#trusted(answer));
	}

	// Shown in the place of the ranking: what contradicts what, and which observation to take back.
	contradiction({ contradiction, status_text: otherwise }) {
		const text = contradiction ?? otherwise;
		const all = [...this.theCase.observations];
		const named = all.filter(([name, value]) => isNamed(text, name, this.page.units.words(name)[value]));
		const some = (named.length ? named : all).slice(0, 12);
		const buttons = some.map(([name]) => button(`Remove ${name}`, () => this.page.observe(name, null)));
		return fill("contradiction", { span: sentence(text), ".choices": buttons });
	}

	// A check does not know of "exactly one cause", and what is exact needs none.
	#trusted(answer) {
		const { check, kind, log_likelihood: value, interval, method, seconds, notes } = answer;
		const { log_partition: clamped, log_partition_kind: its } = answer;
		const shown = (number) => (number === null ? "–" : minus(number, 4));
		const between = range(kind, interval, shown);
		const isChecked = check || this.theCase.exclusive || isExact(answer);
		const { lead, detail } = trust(answer, !isChecked);
		this.checkButton = button("Check this answer", () => this.page.asking.check(), { id: "check" });
		const problems = [!answer.converged && answer.status_text, ...answer.warnings].filter(Boolean);
		return fill("trusted", {
			"#estimates strong": lead,
			"#estimates span": detail,
			".frequency": sentence(answer.frequency),
			".problems": problems.map((text) => make("p.message.is-bad", sentence(text))),
			".check": check ? checked(check) : !isChecked && this.checkButton,
			"#log-likelihood": shown(value),
			".kind": [kindWords(kind), between && `, ${between}`],
			".meaning": [told(kind), its && ` ${told("clamped", shown(clamped), kindWords(its))}`],
			".how": [`Computed by ${method} in ${duration(seconds)}.`, ...notes.map(inWords)].map((text) => make("p", text)),
		});
	}

	checking() {
		byId("check-failed")?.remove();
		this.#checkSays("Checking …", true);
	}

	checkFailed(text) {
		this.#checkSays("Check this answer", false);
		const lead = make("strong", "The check failed; the answer is as it was. ");
		this.checkButton.after(make("p.message.is-bad", { id: "check-failed" }, lead, text));
	}

	// A button that is disabled would lose the focus.
	#checkSays(text, isBusy) {
		put(this.checkButton, { "aria-disabled": String(isBusy) }, text);
	}

	// A shared case may use a method with options, which is not in the list.
	#syncMethod() {
		const { method } = this.theCase;
		const isListed = [...this.select.options].some(({ value }) => value === method);
		if (!isListed) this.select.append(make("option", method));
		this.select.value = method;
		put("method-about", methodWords(method));
	}
}

function checked({ trusted, verdict }) {
	const lead = make("strong", trusted ? "Checked: you can rely on it. " : "Not confirmed. ");
	return make(`p.message.is-${trusted ? "good" : "bad"}`, { id: "checked" }, lead, sentence(verdict));
}

// The list has the library's methods with a line about each: those that cannot serve this network go, and methods of the
// user's own come last.
function offer({ methods, default_method: recommended }, select) {
	const spellings = new Map(methods.map((spelling) => [nameOf(spelling), spelling]));
	for (const option of [...select.options]) {
		const value = spellings.get(option.text);
		spellings.delete(option.text);
		if (value) put(option, { value }, value === recommended ? `${value} (recommended)` : value);
		else option.remove();
	}
	put(select.lastElementChild, [...spellings.values()].map((spelling) => make("option", spelling)));
	for (const group of [...select.children]) if (!group.childElementCount) group.remove();
}

// A spelling may have options: "gibbs[seed=0]".
const nameOf = (spelling) => spelling.split("[")[0];

// What a method does, in a line: the names alone say nothing to most readers. More: docs/choosing.md.
export const methodWords = (spelling) =>
	[...byId("method").options].find(({ value }) => nameOf(value) === nameOf(spelling))?.title ?? "";

// The service says "the observations fever=yes and flu=no cannot both be true", with 0 and 1 where there are no words.
function isNamed(text, name, word) {
	return [word, { no: "0", yes: "1" }[word]].some((state) => state && text.includes(`${name}=${state}`));
}
