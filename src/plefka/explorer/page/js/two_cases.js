// Two cases side by side: what was observed in one and not in the other, and how probable each cause is in both.

import { isSame } from "./case.js";
import { byId, listen, make, put, told } from "./elements.js";
import { latest } from "./service.js";
import { checked } from "./shared_case.js";
import { about, leaning, numbers, probability, sentence } from "./words.js";

const TOP = 20; // causes

// -> what shows the open case, and the one of a key, or the newest that is not open
export function twoCases(service, units, theCase, store) {
	const dialog = byId("two-dialog");
	const choices = [byId("two-one"), byId("two-other")];
	const ask = latest(answers);
	let cases = new Map(); // key -> {name, content}

	for (const choice of choices) listen(choice, "change", compare);
	listen(dialog, "close", ask.cancel);

	async function compare() {
		const both = choices.map(({ value }) => caseOf(cases.get(value)));
		draw(both, [], make("p.hint", "computing …"));
		try {
			draw(both, await ask(both));
		} catch (error) {
			draw(both, [], complaint(sentence(error.message)));
		}
	}

	function caseOf({ name, content }) {
		const { good: observed, problems } = checked(content.evidence, units);
		const exclusive = content.exclusive === "causes" ? "causes" : null;
		const question = { evidence: Object.fromEntries(observed), exclusive, method: content.method ?? theCase.method };
		return { name, observed, problems, question };
	}

	// The causes that are ranked first differ: those that one ranking lacks are asked for by name.
	async function answers(signal, both) {
		const { faults } = theCase.ranked; // of all others, the rarer state
		const infer = ({ question }, of) => service.post("infer", { ...question, top: 2 * TOP, units: of, faults }, signal);
		const first = await Promise.all(both.map((each) => infer(each, "causes")));
		if (first.some(isImpossible)) return first;
		const whole = async (answer, k) => {
			const isCertain = (name) => [0, 1].includes(both[k].observed.get(name));
			const others = namesIn(first).filter((name) => !rankedIn(answer, name) && !isCertain(name));
			const { ranking } = others.length ? await infer(both[k], others) : { ranking: [] };
			return { ...answer, ranking: [...answer.ranking, ...ranking] };
		};
		return Promise.all(first.map(whole));
	}

	function draw(both, found, said) {
		const notes = ({ name, problems }, k) => [
			problems.length > 0 && complaint("Left out of ", name, `: ${problems.join(" ")}`),
			isImpossible(found[k]) && complaint("The observations of ", name, ` ${told("nothing-ranked")}`),
		];
		put("two-notes", both.map(notes), said);
		both.forEach(({ name }, k) => {
			for (const head of dialog.querySelectorAll(`thead th:nth-child(${k + 2})`))
				put(head, { title: name }, make("bdi", name));
		});
		drawObserved(both);
		drawCauses(both, found.some(isImpossible) ? [] : found);
	}

	function drawObserved(both) {
		const names = [...new Set(both.flatMap(({ observed }) => [...observed.keys()]))];
		const values = (name) => both.map(({ observed }) => observed.get(name));
		const texts = (name) => values(name).map((value) => observation(value, units.words(name)));
		const isEqual = (name) => isSame(...values(name));
		const same = names.filter(isEqual).map((name) => `${name} ${texts(name)[0]}`);
		table("two-observed", names.filter((name) => !isEqual(name)).map((name) => [name, ...texts(name)]));
		put("two-same", `The same in both: ${same.join(", ") || "nothing"}.`);
	}

	function drawCauses(both, found) {
		const ranking = found.flatMap((answer) => answer.ranking);
		const rows = namesIn(found).map((name) => {
			const { state } = rankedIn({ ranking }, name);
			const cell = (answer, k) => cellOf(rankedIn(answer, name), both[k].observed.get(name), state, units.words(name));
			const [one, other] = found.map(cell);
			const texts = [units.inState(name, state), one.text, other.text, change(one, other)];
			return { texts, most: Math.max(one.value, other.value) };
		});
		const shown = rows.sort((a, b) => b.most - a.most).slice(0, TOP);
		table("two-causes", shown.map(({ texts }) => texts));
		const kind = found.every((answer) => answer.kind === "exact") ? "exact" : "estimate";
		put("two-kinds", found.length > 0 && numbers({ kind, ranking }));
	}

	return (key) => {
		const { id, content } = theCase;
		const name = store.get(id)?.name;
		cases = new Map(store.all()).set(id, { name: name ? `${name} (open)` : "The open case", content });
		const other = [key, ...cases.keys()].find((each) => each !== id) ?? id;
		[id, other].forEach((chosen, k) => {
			const option = ([value, each]) => make("option", { value, selected: value === chosen }, each.name);
			put(choices[k], [...cases].map(option));
		});
		dialog.showModal();
		compare();
	};
}

// Rows of texts.
function table(id, rows) {
	const head = (name) => make("th", { scope: "row", title: name }, make("bdi", name));
	put(id, rows.map(([name, ...texts]) => make("tr", head(name), texts.map((text) => make("td", text)))));
}

const isImpossible = (answer) => answer?.status === "impossible";

const rankedIn = ({ ranking }, name) => ranking.find((each) => each.name === name);

const namesIn = (answers) => [...new Set(answers.flatMap(({ ranking }) => ranking.map(({ name }) => name)))];

const observation = (value, words) => words[value] ?? (value ? leaning(value, words) : "not observed");

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
