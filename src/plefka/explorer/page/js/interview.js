// One question at a time, as pf.Interview asks them: the service says which, why, and when to stop.

import { isSame } from "./case.js";
import { announce, button, byId, fill, listen, make } from "./elements.js";
import { Panel } from "./panels.js";
import { read, write } from "./storage.js";
import { counted, leaning, sentence } from "./words.js";

const KEPT = "plefka-interview"; // in this tab: what was answered, in which order
const LATER = "later"; // asked once more, at the end; null is "don't know", which is not asked again
const KEYS = { y: 1, n: 0, d: null, l: LATER };
const ENDLESS = { stop_below: 0, certain_above: 2 };

export function interviewPanel(service, page) {
	const { units, case: theCase } = page;
	const box = byId("panel-interview");
	const answers = answersOf(theCase, page.network, () => {
		isEndless = false;
	});
	const withoutState = () => answers.list.filter(([name]) => !theCase.observations.has(name));
	let unit = null; // that is being asked about
	let isEndless = false;

	function ask(signal, { evidence, exclusive, method }) {
		const named = (said) => withoutState().flatMap(([name, value]) => (value === said ? [name] : []));
		const asked = { evidence, exclusive, method, unknown: named(null), later: named(LATER), ...(isEndless && ENDLESS) };
		return service.post("interview", asked, signal);
	}

	function draw({ unit: next, why, left, method, notes, is_exact: isExact }) {
		unit = next;
		const shown = unit === null ? ending(why, left) : question(why);
		if (box.contains(document.activeElement)) announce(shown.textContent);
		const how = isExact ? `Computed exactly (${method}).` : `Computed by ${method}: all numbers are estimates.`;
		return [
			shown,
			make(
				"div.interview-tools",
				answers.list.length > 0 && button("Undo the last answer", undo, { "aria-keyshortcuts": "U" }),
				unit === null && left.length > 0 && button("Ask further questions", goOn, { class: "button is-quiet" }),
			),
			given(),
			method && make("p.hint.remarks", [how, ...notes.map(sentence)].join(" ")),
		];
	}

	function question(why) {
		const [off, on] = units.words(unit);
		const onclick = ({ target }) => {
			const { key: letter } = target.closest("button")?.dataset ?? {};
			if (letter) take(KEYS[letter]);
		};
		return fill("question", {
			h3: `Question ${answers.list.length + 1}`,
			".question": { unit: `${unit}?` },
			".why": { unit: why },
			".answers": { "aria-label": `Answers about ${unit}`, onclick },
			"[data-key=y]": { unit: on },
			"[data-key=n]": { unit: off },
		});
	}

	function ending(why, left) {
		const list = (title, names) => ({ unit: names.length ? `${title}: ${[...new Set(names)].join(", ")}.` : "" });
		const asked = withoutState().map(([name]) => name);
		const notAsked = left.map(([name, share]) => `${name} (${(100 * share).toFixed(1)} %)`);
		return fill("end", {
			".message": { unit: why },
			".asked": list("Asked, but without an answer", asked),
			".not-asked": list("Not asked", notAsked),
		});
	}

	// What was asked and answered, in order.
	function given() {
		const rows = answers.list.map(([name, value]) => make("li", make("span", { unit: name }), make("em", said(name, value))));
		return rows.length > 0 && [make("h4", counted(rows.length, "answer")), make("ol.interview-list", rows)];
	}

	function said(name, value) {
		const [words, state] = [units.words(name), isState(value) ? theCase.observations.get(name) : value];
		return words[state] ?? (state === null ? "don’t know" : state === LATER ? state : leaning(state, words));
	}

	// An answer is taken once: until the next question is there, keys and buttons do nothing.
	function take(value) {
		if (unit === null) return;
		const name = unit;
		unit = null;
		for (const each of box.querySelectorAll(".answers button")) each.disabled = true;
		box.focus({ preventScroll: true });
		answers.list = [...answers.list, [name, value]];
		if (isState(value)) page.observe(name, value);
		else page.refresh();
	}

	function undo() {
		if (!answers.list.length) return;
		unit = null;
		const [name, value] = answers.list.at(-1);
		const before = theCase.past.length && Object.keys(theCase.past.at(-1).content.evidence);
		const isLastChange = before && !before.includes(name) && before.length === theCase.observations.size - 1;
		if (!isState(value)) {
			answers.list = answers.list.slice(0, -1);
			page.refresh();
		} else if (isLastChange) theCase.undo();
		else page.observe(name, null);
	}

	function goOn() {
		isEndless = true;
		page.refresh();
	}

	listen(box, "keydown", ({ key, ctrlKey, metaKey, altKey }) => {
		if (ctrlKey || metaKey || altKey) return;
		const letter = key.toLowerCase();
		if (letter === "u") undo();
		else if (Object.hasOwn(KEYS, letter)) take(KEYS[letter]);
	});
	const key = (state) => JSON.stringify([state.key, answers.list, isEndless]);
	return new Panel("interview", { ask, key, draw, invitation: "Ask the next question" });
}

const isState = (value) => typeof value === "number";

// What was answered, kept for this tab. States are those of the case: an answer whose state it loses is no answer any
// more, and a case that changes by more than one observation is another one.
function answersOf(theCase, { name, units, edges }, begin) {
	const network = [name, units, edges].join();
	const observed = () => [...theCase.observations.keys()];
	let kept = null;
	let id = null; // of the case

	function keep(list) {
		kept = { network, list, seen: observed() };
		write(KEPT, JSON.stringify(kept), "sessionStorage");
	}

	function follow() {
		const [now, { seen, list }] = [observed(), kept];
		const changed = [...new Set([...now, ...seen])].filter((each) => now.includes(each) !== seen.includes(each));
		keep(changed.length > 1 ? [] : list.filter(([each, value]) => !isState(value) || now.includes(each)));
	}

	listen(theCase, "change", () => {
		if (id !== theCase.id) begin();
		if (id !== theCase.id && kept) keep([]);
		else if (kept) follow();
		id = theCase.id;
	});
	return {
		get list() {
			if (kept) return kept.list;
			kept = JSON.parse(read(KEPT, "sessionStorage") ?? "{}");
			const isOfThis = kept.network === network && isSame(kept.seen.toSorted(), observed().toSorted());
			if (!isOfThis) keep([]);
			return kept.list;
		},
		set list(list) {
			keep(list);
		},
	};
}
