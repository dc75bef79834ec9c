// Two cases side by side: what was observed in one and not in the other, and how probable each cause is in both.

import { isSame } from "./case.js";
import { byId, listen, make, put } from "./elements.js";
import { latest } from "./service.js";
import { checked } from "./shared_case.js";
import { about, leaning, numbers, probability, sentence } from "./words.js";

const TOP = 20; // causes

export class TwoCases {
	constructor(service, units, theCase, store) {
		Object.assign(this, { service, units, theCase, store, dialog: byId("two-dialog") });
		this.choices = [byId("two-one"), byId("two-other")];
		this.ask = latest((signal, both) => this.#answers(both, signal));
		for (const choice of this.choices) listen(choice, "change", () => this.#compare());
		listen(this.dialog, "close", () => this.ask.cancel());
	}

	// The open case, and this one or the newest that is not open.
	open(other = null) {
		const { id, content } = this.theCase;
		const name = this.store.get(id)?.name;
		this.cases = new Map(this.store.all()).set(id, { name: name ? `${name} (open)` : "The open case", content });
		const second = other ?? [...this.cases.keys()].find((key) => key !== id) ?? id;
		this.choices.forEach((choice, k) => {
			put(choice, [...this.cases].map(([value, each]) => make("option", { value }, each.name)));
			choice.value = [id, second][k];
		});
		this.dialog.showModal();
		this.#compare();
	}

	async #compare() {
		const both = this.choices.map(({ value }) => this.#caseOf(value));
		const misfits = both.filter(({ problems }) => problems.length);
		const left = misfits.map(({ name, problems }) => complaint("Left out of ", name, `: ${problems.join(" ")}`));
		const say = (...more) => put("two-notes", left, more);
		this.#observations(both);
		this.#causes(both, []);
		say(make("p.hint", "computing …"));
		try {
			const answers = await this.ask(both);
			const impossible = both.filter((_, k) => answers[k].status === "impossible");
			const why = " contradict each other, so that nothing can be ranked for it.";
			say(impossible.map(({ name }) => complaint("The observations of ", name, why)));
			if (!impossible.length) this.#causes(both, answers);
		} catch (error) {
			say(complaint(sentence(error.message)));
		}
	}

	#caseOf(key) {
		const { name, content } = this.cases.get(key);
		const { good: observed, problems } = checked(content.evidence, this.units);
		const exclusive = content.exclusive === "causes" ? "causes" : null;
		const question = { evidence: Object.fromEntries(observed), exclusive, method: content.method ?? this.theCase.method };
		return { name, observed, problems, question };
	}

	// The causes that are ranked first differ: those that one ranking lacks are asked for by name.
	async #answers(both, signal) {
		const { faults } = this.theCase.ranked; // of all others, the rarer state
		const ask = ({ question }, units) => this.service.post("infer", { ...question, top: 2 * TOP, units, faults }, signal);
		const answers = await Promise.all(both.map((each) => ask(each, "causes")));
		if (answers.some(({ status }) => status === "impossible")) return answers;
		const whole = async (answer, k) => {
			const ranked = new Set(namesIn([answer]));
			const units = namesIn(answers).filter((name) => !ranked.has(name) && !isHard(both[k].observed.get(name)));
			const { ranking } = units.length ? await ask(both[k], units) : { ranking: [] };
			return { ...answer, ranking: [...answer.ranking, ...ranking] };
		};
		return Promise.all(answers.map(whole));
	}

	#observations(both) {
		const values = (name) => both.map(({ observed }) => observed.get(name));
		const names = [...new Set(both.flatMap(({ observed }) => [...observed.keys()]))];
		const rows = names.map((name) => [name, ...values(name).map((value) => observation(value, this.units.words(name)))]);
		const isEqual = ([name]) => isSame(...values(name));
		const same = rows.filter(isEqual).map(([name, text]) => `${name} ${text}`);
		this.#table("two-observed", both, rows.filter((row) => !isEqual(row)));
		put("two-same", `The same in both: ${same.join(", ") || "nothing"}.`);
	}

	#causes(both, answers) {
		const ranked = answers.map(({ ranking }) => new Map(ranking.map((each) => [each.name, each])));
		const rows = namesIn(answers).map((name) => {
			const { state } = ranked.map((of) => of.get(name)).find(Boolean);
			const cell = (of, k) => cellOf(of.get(name), both[k].observed.get(name), state, this.units.words(name));
			const [one, other] = ranked.map(cell);
			return { name: this.units.inState(name, state), one, other };
		});
		const most = ({ one, other }) => Math.max(one.value, other.value);
		const shown = rows.sort((a, b) => most(b) - most(a)).slice(0, TOP);
		put(byId("two-causes-head").rows[0].cells[0], make("bdi", this.units.nouns.Cause));
		const line = ({ name, one, other }) => [name, one.text, other.text, change(one, other)];
		this.#table("two-causes", both, shown.map(line));
		const ranking = answers.flatMap((answer) => answer.ranking);
		const kind = answers.every((answer) => answer.kind === "exact") ? "exact" : "estimate";
		put("two-kinds", answers.length > 0 && numbers({ kind, ranking }));
	}

	// Rows of texts below the names of both.
	#table(id, both, rows) {
		const head = (scope, text) => [{ scope, title: text }, make("bdi", text)];
		const cells = (texts) => texts.map((text) => make("td", text));
		const line = ([name, ...texts]) => make("tr", make("th", ...head("row", name)), cells(texts));
		both.forEach(({ name }, k) => put(byId(`${id}-head`).rows[0].cells[k + 1], ...head("col", name)));
		put(id, rows.map(line));
	}
}

const namesIn = (answers) => [...new Set(answers.flatMap(({ ranking }) => ranking.map(({ name }) => name)))];

const isHard = (value) => value === 0 || value === 1;

function observation(value, words) {
	if (value === undefined) return "not observed";
	return isHard(value) ? words[value] : leaning(value, words);
}

// What was observed is certain.
function cellOf(ranked, observed, state, words) {
	if (!ranked) return { value: Number(observed === state), text: words[observed] ?? "–" };
	const { probability: value, accuracy } = ranked;
	return { value: value ?? 0, text: about(value, accuracy), isEstimate: accuracy === "estimate" };
}

function change(one, other) {
	const by = other.value - one.value;
	const text = Math.abs(by) < 0.0005 ? "0" : `${by < 0 ? "−" : "+"}${probability(Math.abs(by))}`;
	return `${one.isEstimate || other.isEstimate ? "≈ " : ""}${text}`;
}

const complaint = (before, name = "", after = "") => make("p.message.is-bad", before, make("bdi", name), after);
