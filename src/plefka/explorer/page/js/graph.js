// What hangs together with what was observed, or with one unit: causes at the left, what they cause at the right (of a
// machine, the middle at the left), and how probable each is now.

import { drawing } from "./drawing.js";
import { fill, make, pressOne, readable, told } from "./elements.js";
import { fullScreen } from "./full_screen.js";
import { chosen, layered } from "./layers.js";
import { Panel } from "./panels.js";
import { about, count, counted, leaning, sentence } from "./words.js";

const FEW = 24; // units of each distance
const MANY = 60;
const ASKED = 150; // of which these are chosen
const MOST_OBSERVED = 40;
const GROUPS = ["Observed", "Causes", "Findings", "In the middle", "It depends on", "It shows in", "Further away"];

export function graphPanel(service, page) {
	const { units } = page;
	const past = [];
	const wanted = { hops: 1, each: FEW };
	const stage = fill("graph-stage", {});
	let shown = null; // the unit in the middle; null: what was observed
	let drawnOf = null; // the state of which the picture is

	const change = (wish) => {
		Object.assign(wanted, wish);
		panel.refresh(drawnOf);
	};
	fill(stage, {
		".hops": { onclick: ({ target: { dataset } }) => dataset.hops && change({ hops: Number(dataset.hops) }) },
		".back": { onclick: () => page.select(past.pop(), "graph") },
		".all": { onclick: () => go(null) },
		".further": { onclick: () => change({ each: wanted.each === FEW ? MANY : FEW }) },
	});
	const full = fullScreen(stage, "The graph");
	stage.querySelector(".further").after(full.button);

	const middleOf = (state) => (state.chosen === null && state.observations.size ? null : state.selected);
	const key = (state) => JSON.stringify([middleOf(state), wanted, state.key, state.isPossible]);
	const canAsk = ({ selected, observations }) => selected !== null || observations.size > 0;

	async function ask(signal, state) {
		const middle = middleOf(state);
		const centres = middle === null ? mainObserved(state.observations) : [middle];
		const { hops } = wanted;
		const limit = centres.length + hops * ASKED;
		const around = await service.post("neighbourhood", { units: centres, hops, limit, each_hop: ASKED }, signal);
		const names = around.nodes.map(({ name }) => name);
		return { ...around, centres, hops, ...(await believed(names, state, signal)) };
	}

	// Of all units in one question. Without an answer there is a picture all the same.
	async function believed(names, { evidence, method, exclusive, isPossible }, signal) {
		const known = new Map();
		if (!isPossible) return { known, problem: told("no-probabilities") };
		try {
			const question = { evidence, method, exclusive, units: names, top: names.length };
			for (const each of (await service.post("infer", question, signal)).ranking) known.set(each.name, each);
			return { known };
		} catch (error) {
			if (signal.aborted || error.code === "unreachable") throw error;
			return { known, problem: `The probabilities could not be computed. ${sentence(error.message)}` };
		}
	}

	function draw(answer, state) {
		if (answer === null) return [make("p.hint", told("no-centre"))];
		const { observations } = state;
		const { centres, known, problem = "" } = answer;
		drawnOf = state;
		shown = middleOf(state);
		const names = chosen(answer, centres, wanted.each, worth(known, observations));
		const edges = answer.edges.filter(({ parent, child }) => names.includes(parent) && names.includes(child));
		const linked = new Set(edges.flatMap(({ parent, child }) => [parent, child]));
		const drawn = linked.size ? names.filter((name) => linked.has(name)) : names;
		const hops = new Map(answer.nodes.map((node) => [node.name, node.hops]));
		const isOutwards = ({ parent, child }) => !units.isMachine || hops.get(parent) !== hops.get(child);
		const layers = layered(drawn, edges.filter(isOutwards));
		const describe = (name) => description(name, observations.get(name), known.get(name), units.words(name));
		const title = shown === null ? "Around what was observed" : `Around ${shown}`;
		const summary = shown === null ? observed(observations.size) : links(answer, units);
		const label = `${title}. ${summary}. Arrow keys move; the same is in a list below.`;
		const makes = units.isMachine ? "each makes the other" : "makes";
		const before = document.activeElement;
		const centre = () => stage.querySelector(".is-centre");
		if (stage.contains(before)) queueMicrotask(() => (stage.contains(before) ? before : centre())?.focus());
		fill(stage, {
			h3: { unit: title },
			".summary": `${summary}. Click a unit to go there.`,
			".message": problem,
			".alone": alone(names.length - drawn.length),
			".wide": drawing({ layers, edges, middle: shown, label }, describe, go),
			".is-dashed": edges.some(({ weight }) => weight < 0) && told("dashed", makes),
			".chooser": units.isMachine && shown !== null && page.ranking.chooserFor(shown),
			...controls(answer, names.length, observations.size),
		});
		return [full.place(), list(names, answer, describe)];
	}

	// What was observed comes first, then what it moved most; around one unit, then the strongest links.
	function worth(known, observations) {
		const moved = ({ probability, prior } = {}) => Math.abs((probability ?? 0) - (prior ?? 0));
		return (name) => (observations.has(name) ? 2 : shown === null ? moved(known.get(name)) : 0);
	}

	function go(name) {
		if (name === shown) return;
		past.push(shown);
		page.select(name, "graph");
	}

	function controls({ nodes, left_out: left, centres, hops }, number, numObserved) {
		const others = nodes.length + left - centres.length;
		const hidden = nodes.length + left - number;
		const of = hops === 1 ? `${count(others)} neighbours` : `${count(others)} units within ${hops} links`;
		const whose = shown !== null && hops === 1 ? "its" : "the";
		pressOne(stage.querySelector(".hops"), "hops", String(hops));
		return {
			".back": { hidden: past.length === 0 },
			".all": { hidden: shown === null || numObserved === 0 },
			".further": [{ hidden: !hidden && wanted.each === FEW }, wanted.each === FEW ? "Show more" : "Show fewer"],
			".rest": hidden > 0 && told("hidden-units", count(hidden), whose, of, hidden === 1 ? "is" : "are"),
		};
	}

	// What the picture shows, for the keyboard and for screen readers.
	function list(names, { edges, centres }, describe) {
		const above = edges.filter(({ child }) => child === shown).map(({ parent }) => parent);
		const below = edges.filter(({ parent }) => parent === shown).map(({ child }) => child);
		const groupOf = (name) => {
			if (centres.includes(name)) return shown === null ? "Observed" : "In the middle";
			if (shown === null) return units.isCause(name) ? "Causes" : "Findings";
			return above.includes(name) ? "It depends on" : below.includes(name) ? "It shows in" : "Further away";
		};
		const row = (name) => {
			const link = make("button.link", { type: "button", unit: name, onclick: () => go(name) });
			return make("li", link, " ", make("em", { unit: describe(name).text }));
		};
		const parts = GROUPS.map((title) => {
			const rows = names.filter((name) => groupOf(name) === title).map(row);
			return rows.length > 0 && [make("h4", units.nouns[title] ?? title), make("ul.neighbours", rows)];
		});
		return make("details", { open: true }, make("summary", "The same as a list"), parts);
	}

	const panel = new Panel("graph", { ask, key, canAsk, draw, needsPossible: false });
	return panel;
}

// What is there comes before what is not.
function mainObserved(observations) {
	const names = [...observations.keys()];
	return names.sort((a, b) => (observations.get(a) === 0) - (observations.get(b) === 0)).slice(0, MOST_OBSERVED);
}

function observed(total) {
	return told("around-observed", total > MOST_OBSERVED ? `The first ${MOST_OBSERVED} of ${total} observed` : "Observed");
}

function alone(number) {
	if (number === 0) return "";
	const units = counted(number, "observed unit that is", "observed units that are");
	return told("in-list", units, number === 1 ? "stands" : "stand");
}

function links({ parents, children }, { isMachine }) {
	if (isMachine) return `Coupled with ${counted(parents, "unit")}`;
	const [above, below] = [parents, children].map((number) => (number ? counted(number, "unit") : "nothing"));
	return `Depends on ${above}, shows in ${below}`;
}

// Its state in words if it was observed, and otherwise how probable it is to be on.
function description(name, value, belief, words) {
	const { probability = null, prior = null, accuracy, prior_accuracy: before } = belief ?? {};
	const [isHard, isHidden] = [value === 0 || value === 1, value === undefined];
	const word = /^(yes|true)$/i.test(words[1]) ? "" : `${words[1]} `;
	const chance = `${word}${about(probability, accuracy)}${isHidden || isHard ? "" : `, seen: ${leaning(value, words)}`}`;
	const beforehand = isHidden && prior !== null ? `, ${about(prior, before)} beforehand` : "";
	const text = isHard ? words[value] : chance;
	return {
		kind: isHard ? ["is-off", "is-on"][value] : isHidden ? "is-hidden" : "is-soft",
		text,
		title: readable(`${name}: ${text}${beforehand}`),
		probability: isHard ? null : probability,
		prior,
	};
}
