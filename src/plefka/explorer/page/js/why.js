// Why this cause: what speaks for it and against it, and what would change it.

import { usualFault } from "./case.js";
import { fill, make, told } from "./elements.js";
import { Panel } from "./panels.js";
import { about, counted, range, sentence, signed } from "./words.js";

const TOP = 6; // further observations
const TELLING = 0.005; // log-odds: less than this is shown as nothing

export function whyPanel(service, page) {
	const { units } = page;
	const ask = (signal, { evidence, method, selected }) =>
		service.post("explain", { evidence, unit: selected, method, top: TOP }, signal);
	const key = ({ selected, faults, key }) => `${key} ${selected} ${faults.get(selected)}`;
	const canAsk = ({ isHidden }) => isHidden;

	// The ranking may speak of the state off, "toner Low": then all is about that state.
	function draw(found, { selected, observations: seen, faults }) {
		if (selected === null) return make("p.hint", told("choose-a-cause"));
		const state = faults.get(selected) ?? usualFault(found?.prior ?? null);
		const answer = found && (state === 1 ? found : ofOff(found));
		const { observations = [], changes = [] } = answer ?? {};
		const telling = observations.filter(({ shift: by }) => by === null || Math.abs(by) >= TELLING);
		const most = Math.max(...telling.map(({ shift: by }) => Math.abs(by ?? 0)), 1e-9);
		const silent = observations.length - telling.length;
		const it = (value) => {
			const word = units.words(selected)[value];
			return { unit: word, onclick: () => page.observe(selected, value), "aria-label": `${selected}: ${word}` };
		};
		const shown = fill("reasons", {
			h3: { unit: `Why ${answer ? units.inState(selected, state) : selected}?` },
			".now": answer ? now(answer) : told("is-observed", units.words(selected)[seen.get(selected)]),
			".evidence": { hidden: !observations.length },
			".shifts": telling.map((each) => shift(each, most)),
			".silent": silent > 0 && told("silent", counted(silent, "observation says", "observations say")),
			".nothing": { hidden: !answer || observations.length > 0 },
			".possible": { hidden: !changes.length },
			".changes": changes.slice(0, TOP).map(change),
			".known": { hidden: !answer },
			".yes": it(1),
			".no": it(0),
			".around": { onclick: () => page.tabs.show("graph") },
		});
		shown.querySelector(".links").append(page.choice.chooserFor(selected));
		return [shown, answer && remarks(answer)];
	}

	function shift({ unit, state, shift: by, probability, accuracy, interval }, most) {
		const row = fill("shift", {
			".shift-name span": { unit },
			em: { unit: stateWord(unit, state) },
			".number": signed(by),
			".fill": { class: `fill ${side(by)}` },
			".without": `without it ${about(probability, accuracy, interval)}`,
		});
		row.querySelector(".fill").style.width = `${(50 * Math.abs(by ?? 0)) / most}%`;
		return row;
	}

	function change({ unit, state, shift: by, probability, chance, accuracy, interval }) {
		const word = stateWord(unit, state);
		const between = range(accuracy, interval);
		const onclick = () => page.observe(unit, Number(state.endsWith("on")));
		const row = fill("change", {
			"span span": { unit },
			em: { unit: word },
			".number": about(probability, accuracy),
			".chance": `${between && `then ${between}; `}chance of this ${about(chance, accuracy)}`,
			button: { unit: `It is ${word}`, onclick, "aria-label": `It is ${word}: ${unit}` },
		});
		row.classList.add(side(by));
		return row;
	}

	function stateWord(unit, state) {
		const word = units.words(unit)[Number(state.endsWith("on"))];
		return state.startsWith("likely") ? `probably ${word}` : word;
	}

	return new Panel("reasons", { ask, key, canAsk, draw, invitation: "Explain this cause" });
}

const side = (shift) => (shift < 0 ? "against" : "for");

// What was said of the state on, said of the state off.
function ofOff({ prior, prior_interval: lay, observations, changes, ...answer }) {
	const other = (p) => (p === null ? null : 1 - p);
	const turned = ({ shift = null, probability, interval, ...each }) => ({
		...each,
		shift: shift && -shift,
		probability: other(probability),
		interval: interval.map(other).reverse(),
	});
	const before = { prior: other(prior), prior_interval: lay.map(other).reverse() };
	return { ...turned(answer), ...before, observations: observations.map(turned), changes: changes.map(turned) };
}

function now({ probability, prior, accuracy, prior_accuracy: before, interval, prior_interval: lay }) {
	if (probability === null || prior === null) return told("not-computed");
	const value = about(probability, accuracy, interval);
	if (Math.abs(probability - prior) < 5e-4) return told("as-before", value);
	return told(probability > prior ? "rose" : "fell", about(prior, before, lay), value);
}

// How an answer was computed.
export function remarks({ method, is_exact: isExact, accuracy, notes }) {
	const how = told((isExact ?? accuracy === "exact") ? "exactly-by" : "estimated-by", method);
	return make("p.hint.remarks", [how, ...notes.map(sentence)].join(" "));
}
