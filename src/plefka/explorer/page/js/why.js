// Why this cause: what speaks for it and against it, what would change it, and which numbers of the network matter.

import { faultOf, ofState, usualFault } from "./case.js";
import { fill, make, told } from "./elements.js";
import { Panel } from "./panels.js";
import { about, counted, minus, probability, range, sentence, signed } from "./words.js";

const TOP = 6; // further observations
const TELLING = 0.005; // log-odds: less than this is shown as nothing
const OF_UNIT = {
	key: ({ key, selected, faults }) => `${key} ${selected} ${faults.get(selected)}`,
	canAsk: ({ isHidden }) => isHidden,
};

export function whyPanel(service, page) {
	const { units } = page;
	const ask = (signal, { evidence, method, selected: unit }) =>
		service.post("explain", { evidence, unit, method, top: TOP }, signal);

	// The ranking may speak of the state off, "toner Low": then all is about that state.
	function draw(answer, { selected: unit, observations: seen, faults }) {
		if (unit === null) return make("p.hint", told("choose-a-cause"));
		const [off, on] = units.words(unit);
		const state = faults.get(unit) ?? usualFault(answer?.prior ?? null);
		const { observations = [], changes = [] } = answer ?? {};
		const telling = observations.filter(({ shift }) => shift === null || Math.abs(shift) >= TELLING);
		const most = Math.max(...telling.map(({ shift }) => Math.abs(shift)), 1e-9);
		const silent = observations.length - telling.length;
		const bar = ({ shift }) => ({ ".fill": { style: `width: ${(50 * Math.abs(shift)) / most}%` } });
		const parts = {
			".explained": { hidden: !answer },
			".shifts": telling.map((each) => fill("shift", bar(each), moved(each, state))),
			".changes": changes.slice(0, TOP).map((each) => fill("change", {}, moved(each, state))),
			".around": { onclick: () => page.tabs.show("graph") },
			".chooser": page.ranking.chooserFor(unit),
		};
		const it = answer ? units.inState(unit, state) : unit;
		const now = answer ? moves(answer, state) : told("is-observed", [off, on][seen.get(unit)]);
		const says = silent > 0 && told("silent", counted(silent, "observation says", "observations say"));
		return [fill("reasons", parts, { unit, off, on, it, now, silent: says }), answer && remarks(answer)];
	}

	// What has moved the probability of a state, or would.
	function moved({ unit, state: seen, shift, probability: p, accuracy, interval, chance }, state) {
		const isOn = Number(seen.endsWith("on"));
		const word = (seen.startsWith("likely") ? "probably " : "") + units.words(unit)[isOn];
		const by = state === 1 || shift === null ? shift : -shift;
		const between = range(accuracy, endsOf(state, interval));
		return {
			...{ unit, isOn, word, by: signed(by), side: by < 0 ? "against" : "for" },
			now: about(ofState(state, p), accuracy),
			between: between && ` (${between})`,
			then: between && `then ${between}; `,
			chance: about(chance, accuracy),
		};
	}

	return new Panel("reasons", { ...OF_UNIT, ask, draw, invitation: "Explain this cause" });
}

const endsOf = (state, interval) => (state === 1 ? interval : interval.map((p) => ofState(0, p)).reverse());

function moves({ probability, prior, accuracy, prior_accuracy: before, interval, prior_interval: lay }, state) {
	if (probability === null || prior === null) return told("not-computed");
	const [p, was] = [probability, prior].map((each) => ofState(state, each));
	const value = about(p, accuracy, endsOf(state, interval));
	if (Math.abs(p - was) < 5e-4) return told("as-before", value);
	return told(p > was ? "rose" : "fell", about(was, before, endsOf(state, lay)), value);
}

export function tornadoPanel(service, { units }) {
	const ask = (signal, { evidence, selected: target }) =>
		service.post("sensitivity", { evidence, target }, signal).catch((error) => {
			if (error.code !== "method_does_not_apply") throw error;
			return { numbers: [] };
		});

	function draw(answer, state) {
		if (!answer) return [];
		const { target, numbers, numbers_total: total } = answer;
		if (!numbers.length) return make("p", told("no-tornado"));
		const fault = faultOf(state, target, answer.usually_on);
		const of = (p) => ofState(fault, p);
		const now = of(answer.probability);
		const ends = numbers.map((each) => [of(each.at_low), of(each.at_high)]);
		const [low, high] = [Math.min(now, ...ends.flat()), Math.max(now, ...ends.flat())];
		const at = (p) => (high > low ? `${(100 * (p - low)) / (high - low)}%` : "0%");
		const ul = numbers.map(({ name, kind, ...number }, k) => {
			const [divided, multiplied] = ends[k];
			const style = `--now: ${at(now)}; --divided: ${at(divided)}; --multiplied: ${at(multiplied)}`;
			const words = ["bias", "weight"].includes(kind) ? (each) => minus(each, 2) : probability;
			const [is, less, more] = [number.value, number.low, number.high].map(words);
			const from = { divided: probability(divided), multiplied: probability(multiplied) };
			return fill("number", { ".track": { style } }, { name: name.replace(" -> ", " → "), ...from, is, less, more });
		});
		const name = units.inState(target, fault);
		const scale = { now: probability(now), low: probability(low), high: probability(high) };
		const how = remarks({ ...answer, method: "elimination", unused: state.method });
		return [fill("tornado", { ul }, { name, shown: numbers.length, total, ...scale }), how];
	}

	const invitation = "Which numbers of the network matter?";
	return new Panel("numbers", { ...OF_UNIT, ask, draw, isSlow: true, invitation });
}

// How an answer was computed. `unused`: the method of the ranking, where it cannot answer this question.
export function remarks({ method, is_exact: isExact, accuracy, notes, unused = "auto" }, estimated = "estimated-by") {
	const how = told((isExact ?? accuracy === "exact") ? "exactly-by" : estimated, method);
	const instead = unused === "auto" ? [] : [told("unused", unused)];
	return make("p.hint.remarks", [how, ...notes.map(sentence), ...instead].join(" "));
}
