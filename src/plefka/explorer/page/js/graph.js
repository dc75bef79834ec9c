// What hangs together with what was observed, or with one unit: causes at the left, what they cause at the right (of a
// machine, the middle at the left), and how probable each is now.

import { drawing } from "./drawing.js";
import { bar, byId, fill, listen, make, pressOne, put, readable, told } from "./elements.js";
import { Panel } from "./panels.js";
import { about, count, counted, leaning, sentence } from "./words.js";

const [FEW, MANY] = [24, 60]; // units of each distance
const ASKED = 150; // of which these are chosen
const MOST_OBSERVED = 40; // in the middle
const MOST = 1000; // that may be asked about at once
const GROUPS = ["Observed", "Causes", "Findings", "In the middle", "It depends on", "It shows in", "Further away"];

export function graphPanel(service, page) {
	const { units } = page;
	const past = [];
	const wanted = { hops: 1, each: FEW };
	let shown = null; // the unit in the middle; null: what was observed

	const change = (wish) => {
		Object.assign(wanted, wish);
		page.refresh();
	};
	const go = (name) => {
		if (name === shown) return;
		past.push(shown);
		page.select(name, "graph");
	};
	const stage = fill("graph-stage", {
		".hops": { onclick: ({ target: { dataset } }) => dataset.hops && change({ hops: Number(dataset.hops) }) },
		".back": { onclick: () => page.select(past.pop(), "graph") },
		".all": { onclick: () => go(null) },
		".further": { onclick: () => change({ each: wanted.each === FEW ? MANY : FEW }) },
	});
	const slot = fillsWindow(stage, byId("graph-full"), stage.querySelector(".large"));

	const middleOf = ({ chosen, observations, selected }) => (chosen === null && observations.size ? null : selected);
	const key = (state) => JSON.stringify([middleOf(state), wanted, state.key]);
	const canAsk = ({ selected, observations }) => selected !== null || observations.size > 0;

	async function ask(signal, state) {
		const { observations, evidence, method, exclusive, isPossible } = state;
		const middle = middleOf(state);
		const isAbsent = (name) => observations.get(name) === 0; // what is there comes first
		const seen = [...observations.keys()].sort((a, b) => isAbsent(a) - isAbsent(b)).slice(0, MOST_OBSERVED);
		const asked = { units: middle === null ? seen : [middle], hops: wanted.hops, limit: MOST, each_hop: ASKED };
		const around = await service.post("neighbourhood", asked, signal);
		// All probabilities in one question. Without an answer there is a picture all the same.
		const question = { evidence, method, exclusive, units: around.nodes.map(({ name }) => name), top: MOST };
		const failed = (error) => {
			if (signal.aborted || error.code === "unreachable") throw error;
			return { problem: told("failed-probabilities", sentence(error.message)) };
		};
		const impossible = { problem: told("no-probabilities") };
		const found = isPossible ? await service.post("infer", question, signal).catch(failed) : impossible;
		const { problem = "", ranking = [] } = found;
		return { ...around, problem, beliefs: new Map(ranking.map((each) => [each.name, each])) };
	}

	function draw(answer, state) {
		if (answer === null) return make("p.hint", told("no-centre"));
		shown = middleOf(state);
		const { observations } = state;
		const { beliefs, problem } = answer;
		const hops = new Map(answer.nodes.map((node) => [node.name, node.hops]));
		// What was observed comes first, then what it moved most; around one unit, then the strongest links.
		const moved = ({ probability, prior } = {}) => (shown === null && Math.abs(probability - prior)) || 0;
		const names = chosen(answer, wanted.each, (name) => (observations.has(name) ? 2 : moved(beliefs.get(name))));
		const edges = answer.edges.filter(({ parent, child }) => names.includes(parent) && names.includes(child));
		const linked = new Set(edges.flatMap(({ parent, child }) => [parent, child]));
		const drawn = linked.size ? names.filter((name) => linked.has(name)) : names;
		const alone = names.length - drawn.length;
		const forwards = edges.filter(({ parent, child }) => !units.isMachine || hops.get(parent) !== hops.get(child));
		const describe = (name) => description(name, observations.get(name), beliefs.get(name), units.words(name));
		const focused = stage.contains(document.activeElement) && document.activeElement;
		if (focused) queueMicrotask(() => focused.isConnected || stage.querySelector(".is-centre")?.focus());
		const makes = units.isMachine ? "each makes the other" : "makes";
		pressOne(stage.querySelector(".hops"), "hops", String(wanted.hops));
		fill(stage, {
			".middle": { unit: shown ?? "what was observed" },
			".summary": shown === null ? observed(observations.size) : links(answer, units),
			".message": problem,
			".back": { hidden: past.length === 0 },
			".all": { hidden: shown === null || observations.size === 0 },
			".chooser": units.isMachine && shown !== null && page.ranking.chooserFor(shown),
			".alone": alone > 0 && told("in-list", counted(alone, "observed unit")),
			".wide": drawing(drawn, edges, forwards, (name) => node(name, describe(name))),
			".is-dashed": edges.some(({ weight }) => weight < 0) && told("dashed", makes),
			...further(answer, names.length),
		});
		return [slot, list(names, edges, hops, describe)];
	}

	const node = (name, { kind, text, title, chance, prior }) =>
		make(
			`button.node.${name === shown ? "is-centre." : ""}${kind}`,
			{ type: "button", title, "aria-label": `${name}: ${text}`, onclick: () => go(name) },
			make("span.node-name", { unit: name }),
			" ",
			make("span.node-state.number", { unit: text }),
			chance !== null && bar(chance, prior),
		);

	// How many units are not shown.
	function further({ nodes, left_out: left }, number) {
		const hidden = nodes.length + left - number;
		const others = count(nodes.filter((node) => node.hops > 0).length + left);
		const near = `${shown === null ? "the" : "its"} ${others} neighbours`;
		const of = wanted.hops === 1 ? near : `the ${others} units within ${wanted.hops} links`;
		return {
			".further": [{ hidden: !hidden && wanted.each === FEW }, wanted.each === FEW ? "Show more" : "Show fewer"],
			".rest": hidden > 0 && told("hidden-units", count(hidden), of, hidden === 1 ? "is" : "are"),
		};
	}

	// What the picture shows, for the keyboard and for screen readers.
	function list(names, edges, hops, describe) {
		const isLinked = (above, below) => edges.some(({ parent, child }) => parent === above && child === below);
		const groupOf = (name) => {
			if (hops.get(name) === 0) return shown === null ? "Observed" : "In the middle";
			if (shown === null) return units.isCause(name) ? "Causes" : "Findings";
			return isLinked(name, shown) ? "It depends on" : isLinked(shown, name) ? "It shows in" : "Further away";
		};
		const row = (name) => {
			const link = make("button.link", { type: "button", unit: name, onclick: () => go(name) });
			return make("li", link, " ", make("em", { unit: describe(name).text }));
		};
		const groups = Object.groupBy(names, groupOf);
		const parts = GROUPS.filter((title) => groups[title]).map((title) => [
			make("h4", units.nouns[title] ?? title),
			make("ul.neighbours", groups[title].map(row)),
		]);
		return fill("graph-list", { div: parts });
	}

	return new Panel("graph", { ask, key, canAsk, draw, needsPossible: false });
}

// A part of the page that can fill the window in a dialog, and comes back to this slot.
function fillsWindow(part, dialog, toggle) {
	const slot = make("div", part);
	const turn = () => {
		(dialog.open ? dialog : slot).append(part);
		put(toggle, dialog.open ? "Close full screen" : "Full screen").focus();
	};
	listen(dialog, "close", turn);
	listen(toggle, "click", () => {
		if (dialog.open) return dialog.close();
		dialog.showModal();
		turn();
	});
	return slot;
}

// The names that are shown: `each` of every distance, those that are worth most first, if something shown leads there.
function chosen({ nodes, edges }, each, worth) {
	const kept = new Set();
	for (const [hops, ring] of Map.groupBy(nodes, (node) => node.hops)) {
		const beside = new Set(edges.map(({ parent, child }) => (kept.has(parent) ? child : kept.has(child) && parent)));
		const reached = ring.map(({ name }) => name).filter((name) => hops === 0 || beside.has(name));
		reached.sort((a, b) => worth(b) - worth(a));
		for (const name of reached.slice(0, [MOST, each][hops] ?? each / 2)) kept.add(name);
	}
	return [...kept];
}

const observed = (total) =>
	total > MOST_OBSERVED ? told("some-around", MOST_OBSERVED, total) : told("all-around");

function links({ parents, children }, { isMachine }) {
	if (isMachine) return `Coupled with ${counted(parents, "unit")}`;
	const [above, below] = [parents, children].map((number) => (number ? counted(number, "unit") : "nothing"));
	return `Depends on ${above}, shows in ${below}`;
}

// Its state in words if it was observed, and otherwise how probable it is to be on.
function description(name, value, { probability = null, prior = null, ...accuracy } = {}, words) {
	const [isHard, isHidden] = [value === 0 || value === 1, value === undefined];
	const word = /^(yes|true)$/i.test(words[1]) ? "" : `${words[1]} `;
	const seen = isHidden || isHard ? "" : `, seen: ${leaning(value, words)}`;
	const text = isHard ? words[value] : `${word}${about(probability, accuracy.accuracy)}${seen}`;
	const beforehand = isHidden && prior !== null ? `, ${about(prior, accuracy.prior_accuracy)} beforehand` : "";
	const kind = isHard ? ["is-off", "is-on"][value] : isHidden ? "is-hidden" : "is-soft";
	return { kind, text, title: readable(`${name}: ${text}${beforehand}`), chance: isHard ? null : probability, prior };
}
