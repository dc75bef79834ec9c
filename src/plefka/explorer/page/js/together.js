// Which causes there are together: the most probable explanations, and two causes side by side.

import { faultOf } from "./case.js";
import { bar, byId, fill, listen, make, put, readable, set, told } from "./elements.js";
import { Panel } from "./panels.js";
import { remarks } from "./why.js";
import { about, chance, probability, range } from "./words.js";

const COUNT = 3; // explanations
const NAMED = 12; // causes of one of them
const FEW = 300; // units that are all offered
const LITTLE = 0.01; // a correlation that is as good as none

export function explanationsPanel(service, page) {
	const { units } = page;
	const about_ = { units: units.isMachine ? "all" : "causes", count: COUNT };
	const ask = (signal, { evidence }) => service.post("most-probable", { evidence, ...about_ }, signal);

	function draw({ states, accuracy, units: chosen, ...answer }, state) {
		if (!chosen.length) return make("p.hint", told("no-causes", units.nouns.causes));
		const fault = (name) => faultOf(state, name, answer.usually_on);
		const rows = states.map(({ on, probability: p, interval }) => {
			const isOn = new Set(on);
			const there = chosen.filter((name) => isOn.has(name) === (fault(name) === 1));
			const names = there.slice(0, NAMED).map((name) => page.unitButton(name, page.explaining, units.inState(name, fault(name))));
			const more = there.length > NAMED && `and ${there.length - NAMED} more`;
			const none = !there.length && `none of the ${units.nouns.causes}`;
			const number = make("b.number", about(p, accuracy, [], chance));
			return make("li.candidate", make("span.names", names, more, none), number, bar(p), make("span.hint", range(accuracy, interval, chance)));
		});
		const proof = told(states.every(({ proven }) => proven) ? "proven" : "not-proven");
		return [make("ol.candidates", rows), make("p", proof), remarks({ ...answer, accuracy })];
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
		const at = (x, y) => states.filter((each) => (x ?? each.state[a]) === each.state[a] && (y ?? each.state[b]) === each.state[b]);
		const table = fill("two-by-two", {});
		const heads = [[b, B], [b, 1 - B], [a, A], [a, 1 - A]].map(([name, value]) => `${name} ${units.words(name)[value]}`);
		table.querySelectorAll("th:empty").forEach((each, k) => set(each, "unit", heads[k]));
		const sums = [A, 1 - A, null].flatMap((x) => [B, 1 - B, null].map((y) => at(x, y)));
		table.querySelectorAll("td:empty").forEach((each, k) => {
			const error = errorOf(sums[k]);
			put(each, about(total(sums[k]), accuracy), error && make("span.error", `± ${probability(error)}`));
		});
		const names = [units.inState(a, A), units.inState(b, B)];
		const words = relation(names, at(A, B), at(A, null), at(null, B), accuracy);
		return [table, make("p", { unit: words }), errorOf(states) && make("p.hint", told("errors")), remarks(answer)];
	}

	const panel = new Panel("joint", {
		ask: (signal, { evidence, method }) => service.post("joint", { evidence, method, units: pair }, signal),
		key: ({ key, faults }) => JSON.stringify([key, pair, ...faults]),
		canAsk: () => pair[1],
		draw,
		invitation: "How do these two go together?",
	});
	const refresh = (state) => {
		if (panel.isInSight) offer(state);
		panel.refresh(state);
	};
	return { refresh, cancel: () => panel.cancel() };
}

const total = (states) => states.reduce((sum, each) => sum + each.probability, 0);

// Of a sum of estimates, at most the sum of their errors; undefined where one is not known.
const errorOf = (states) =>
	states.reduce((sum, { standard_error: error }) => (error === null ? undefined : sum + error), 0) || undefined;

// Whether two causes explain each other away: how probable both are, beside independent ones of the same probabilities.
function relation([first, second], both, one, other, accuracy) {
	const [p, q, pq] = [one, other, both].map(total);
	const spread = Math.sqrt(p * (1 - p) * q * (1 - q));
	const apart = pq - p * q;
	if (!(spread > 0)) return told("one-certain");
	if (Math.abs(apart) < 2 * (errorOf(both) ?? 0)) return told("too-coarse");
	const how = told(Math.abs(apart) < LITTLE * spread ? "strangers" : apart < 0 ? "away" : "along");
	const [now, alone, given, without] = [pq, p * q, pq / p, (q - pq) / (1 - p)].map((each) => about(each, accuracy));
	return `${how} ${told("both", now, alone, first, second, given, without)}`;
}
