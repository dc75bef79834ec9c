// Which causes there are together: the most probable explanations, and two causes side by side.

import { faultOf } from "./case.js";
import { byId, fill, filled, listen, make, put, readable, told } from "./elements.js";
import { Panel } from "./panels.js";
import { remarks } from "./why.js";
import { about, chance, probability, range } from "./words.js";

const NAMED = 12; // causes of one explanation
const FEW = 300; // units that are all offered
const LITTLE = 0.01; // a correlation that is as good as none

export function explanationsPanel(service, page) {
	const { units } = page;
	const asked = units.isMachine ? "all" : "causes";
	const ask = (signal, { evidence }) => service.post("most-probable", { evidence, units: asked }, signal);

	function draw({ states, accuracy, units: chosen, usually_on: usuallyOn, ...answer }, state) {
		const { causes } = units.nouns;
		if (!chosen.length) return make("p.hint", told("no-causes", causes));
		const fault = (name) => faultOf(state, name, usuallyOn);
		const named = (unit) => ({ unit, name: units.inState(unit, fault(unit)), open: page.explaining });
		const button = (unit) => fill("unit-button", {}, named(unit));
		const rows = states.map(({ on, probability: p, interval }) => {
			const isOn = new Set(on);
			const there = chosen.filter((name) => isOn.has(name) === (fault(name) === 1));
			const more = there.length > NAMED && `and ${there.length - NAMED} more`;
			const names = there.length ? [there.slice(0, NAMED).map(button), more] : `none of the ${causes}`;
			const words = { p: about(p, accuracy, [], chance), between: range(accuracy, interval, chance) };
			return fill("explanation", { ".names": [names], ...filled(p) }, words);
		});
		const proof = told(states.every(({ proven }) => proven) ? "proven" : "not-proven");
		return [make("ol.candidates", rows), make("p", proof), remarks({ ...answer, accuracy, unused: state.method })];
	}

	const key = ({ key, faults }) => JSON.stringify([key, ...faults]);
	return new Panel("explanations", { ask, key, draw, invitation: "What are the most probable explanations?" });
}

export function jointPanel(service, page) {
	const { units } = page;
	const selects = [byId("pair-first"), byId("pair-second")];
	let wanted = [];
	let pair = []; // those that were chosen, as long as they are hidden, and otherwise the first of the ranking

	function offer({ observations, chosen, ranked }) {
		const isHidden = (name) => units.has(name) && ![0, 1].includes(observations.get(name));
		const some = [...ranked.keys(), ...wanted, chosen, ...(units.names.length <= FEW ? units.names : [])];
		const names = [...new Set(some)].filter(isHidden);
		const others = names.filter((name) => ranked.has(name) && !wanted.includes(name));
		pair = [0, 1].map((k) => (names.includes(wanted[k]) ? wanted[k] : others.shift()));
		byId("pair").hidden = !pair[1];
		selects.forEach((each, k) => {
			put(each, names.map((value) => make("option", { value }, readable(value)))).value = pair[k];
		});
		return pair;
	}

	selects.forEach((each, k) =>
		listen(each, "change", () => {
			wanted = pair.map((name, place) => (place === k ? each.value : name === each.value ? pair[k] : name));
			page.refresh();
		}),
	);

	function draw(answer, state) {
		if (!answer) return make("p.hint", told("no-pair", units.nouns.causes));
		const { states, accuracy } = answer;
		const [[a, b], [A, B]] = [pair, pair.map((name) => faultOf(state, name, answer.usually_on))];
		const at = (x, y) => states.filter(({ state: of }) => (x ?? of[a]) === of[a] && (y ?? of[b]) === of[b]);
		const sums = [A, 1 - A, null].flatMap((x) => [B, 1 - B, null].map((y) => at(x, y)));
		const head = (name, value) => `${name} ${units.words(name)[value]}`;
		const heads = { a: head(a, A), otherwise: head(a, 1 - A), b: head(b, B), without: head(b, 1 - B) };
		const table = fill("two-by-two", {}, heads);
		table.querySelectorAll("td:empty").forEach((each, k) => {
			const error = errorOf(sums[k]);
			put(each, about(total(sums[k]), accuracy), error && make("span.error", `± ${probability(error)}`));
		});
		const unit = relation([units.inState(a, A), units.inState(b, B)], sums, accuracy);
		return [table, make("p", { unit }), errorOf(states) && make("p.hint", told("errors")), remarks(answer)];
	}

	return new Panel("joint", {
		ask: (signal, { evidence, method }) => service.post("joint", { evidence, method, units: pair }, signal),
		key: (state) => JSON.stringify([state.key, offer(state), ...state.faults]),
		canAsk: () => pair[1],
		draw,
		invitation: "How do these two go together?",
	});
}

const total = (states) => states.reduce((sum, each) => sum + each.probability, 0);

// Of a sum of estimates, at most the sum of their errors; undefined where one is not known.
const errorOf = (states) =>
	states.reduce((sum, { standard_error: error }) => (error === null ? undefined : sum + error), 0) || undefined;

// Whether two causes explain each other away: how probable both are, beside independent ones of the same probabilities.
function relation(names, [both, , one, , , , other], accuracy) {
	const [p, q, pq] = [one, other, both].map(total);
	const spread = Math.sqrt(p * (1 - p) * q * (1 - q));
	const apart = pq - p * q;
	if (!(spread > 0)) return told("one-certain");
	if (Math.abs(apart) < 2 * (errorOf(both) ?? 0)) return told("too-coarse");
	const how = told(Math.abs(apart) < LITTLE * spread ? "strangers" : apart < 0 ? "away" : "along");
	const [now, alone, given, without] = [pq, p * q, pq / p, (q - pq) / (1 - p)].map((each) => about(each, accuracy));
	return `${how} ${told("both", now, alone, ...names, given, without)}`;
}
