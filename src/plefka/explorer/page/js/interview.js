// One question at a time, as pf.Interview asks them: the service says which, why, and when to stop.

import { announce, byId, fill, listen, make } from "./elements.js";
import { Panel } from "./panels.js";
import { read, write } from "./storage.js";
import { remarks } from "./why.js";
import { counted, leaning } from "./words.js";

const KEPT = "plefka-interview"; // in this tab: what was answered, in which order
const LATER = "later"; // asked once more, at the end; null is "don't know", which is not asked again
const ENDLESS = { stop_below: 0, certain_above: 2 };

export function interviewPanel(service, page) {
	const { units, case: theCase } = page;
	const box = byId("panel-interview");
	const network = ["name", "units", "edges"].map((fact) => page.network[fact]).join();
	const withoutState = () => answers().filter(([name]) => !theCase.observations.has(name));
	let unit = null; // that is being asked about
	let endless = null; // the case about which further questions are asked
	let kept = null; // {list, ...} for this tab

	// What was answered. States are those of the case: an answer whose state it loses is no answer any more, and a case
	// that changes by more than one observation is another one.
	function answers() {
		if (kept) return kept.list;
		kept = { ...JSON.parse(read(KEPT, "sessionStorage")), id: theCase.id };
		if (kept.network !== network || numChanged()) keep([]);
		return kept.list;
	}

	function keep(list) {
		kept = { network, list, seen: [...theCase.observations.keys()], id: theCase.id };
		write(KEPT, JSON.stringify(kept), "sessionStorage");
	}

	const numChanged = () => new Set(kept.seen).symmetricDifference(theCase.observations).size;

	listen(theCase, "change", () => {
		if (!kept) return;
		const isAnother = kept.id !== theCase.id || numChanged() > 1;
		keep(isAnother ? [] : kept.list.filter(([each, value]) => !isState(value) || theCase.observations.has(each)));
	});

	function ask(signal, { evidence, exclusive, method }) {
		const named = (said) => withoutState().flatMap(([name, value]) => (value === said ? [name] : []));
		const rules = endless === theCase.id ? ENDLESS : {};
		const asked = { evidence, exclusive, method, unknown: named(null), later: named(LATER), ...rules };
		return service.post("interview", asked, signal);
	}

	function draw({ unit: next, why, left, ...how }) {
		unit = next;
		const shown = unit === null ? ending(why, left) : question(why);
		if (box.contains(document.activeElement)) announce(shown.textContent);
		const row = ([name, value]) => make("li", make("span", { unit: name }), make("em", said(name, value)));
		const rows = answers().map(row);
		const rest = fill("interview-rest", {
			".undo": { hidden: !rows.length, onclick: undo },
			".go-on": { hidden: unit !== null || !left.length, onclick: goOn },
			h4: [{ hidden: !rows.length }, counted(rows.length, "answer")],
			ol: rows,
		});
		return [shown, rest, remarks(how, "only-estimates")];
	}

	function question(why) {
		const [off, on] = units.words(unit);
		const onclick = ({ target }) => target.closest("button") && take(JSON.parse(target.closest("button").value));
		return fill("question", { ".answers": { onclick } }, { number: answers().length + 1, unit, why, off, on });
	}

	function ending(why, left) {
		const asked = [...new Set(withoutState().map(([name]) => name))].join(", ");
		const rest = left.map(([name, share]) => `${name} (${(100 * share).toFixed(1)} %)`).join(", ");
		return fill("end", { ".asked": { hidden: !asked }, ".not-asked": { hidden: !rest } }, { why, asked, rest });
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
		keep([...answers(), [name, value]]);
		if (isState(value)) page.observe(name, value);
		else page.refresh();
	}

	function undo() {
		if (!answers().length) return;
		unit = null;
		const [name, value] = answers().at(-1);
		const before = theCase.past.length && Object.keys(theCase.past.at(-1).content.evidence);
		const isLastChange = before && !before.includes(name) && before.length === theCase.observations.size - 1;
		if (!isState(value)) {
			keep(answers().slice(0, -1));
			page.refresh();
		} else if (isLastChange) theCase.undo();
		else page.observe(name, null);
	}

	function goOn() {
		endless = theCase.id;
		page.refresh();
	}

	listen(box, "keydown", ({ key, ctrlKey, metaKey, altKey }) => {
		const button = box.querySelector(`[aria-keyshortcuts="${CSS.escape(key.toUpperCase())}"]:not([hidden])`);
		if (!(ctrlKey || metaKey || altKey)) button?.click();
	});
	const key = (state) => JSON.stringify([state.key, answers(), endless === theCase.id]);
	return new Panel("interview", { ask, key, draw, invitation: "Ask the next question" });
}

const isState = (value) => typeof value === "number";
