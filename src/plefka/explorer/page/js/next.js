// What to look at next: which observation, or which few together, is expected to make the causes most certain, for its cost.

import { faultOf } from "./case.js";
import { fill, listen, make, setBar, told } from "./elements.js";
import { Panel } from "./panels.js";
import { unknown } from "./shared_case.js";
import { remarks } from "./why.js";
import { about } from "./words.js";

const TOP = 8;
const NUMBERS = ["", "one", "two", "three"];

export function nextPanel(service, page) {
	const { units, case: theCase } = page;
	const options = fill("next-options", {});
	const [together, form] = options.querySelectorAll("select, form");
	const [unitField, costField] = form.elements;
	listen(together, "change", () => page.refresh());
	listen(options.querySelector(".link"), "click", () => setCosts([]));
	listen(form, "submit", (event) => {
		event.preventDefault();
		const typed = unitField.value.trim();
		const name = [typed, typed.replaceAll(" ", "_")].find((each) => units.has(each));
		fill(options, { ".said": { unit: name ? "" : unknown(typed, units) } });
		if (name) setCost(name, costField);
	});

	// They belong to the case, as a link or file may have them: {unit: cost}.
	const isUsable = ([name, cost]) => units.has(name) && cost > 0 && Number.isFinite(cost);
	const given = () => Object.entries(Object(theCase.content.costs));
	const setCosts = (costs) => theCase.change({ costs: costs.length ? Object.fromEntries(costs) : undefined });

	function setCost(name, field) {
		const others = given().filter(([each]) => each !== name);
		const cost = Number(field.value);
		if (field.reportValidity()) setCosts(cost === 1 ? others : [...others, [name, cost]]);
	}

	function ask(signal, { evidence, exclusive, method }) {
		const costs = Object.fromEntries(given().filter(isUsable));
		return service.post("ask", { evidence, exclusive, method, costs, together: Number(together.value), top: TOP }, signal);
	}

	function head() {
		const [good, bad] = [true, false].map((isGood) => {
			const some = given().filter((each) => isUsable(each) === isGood);
			return some.map(([name, cost]) => `${name} ${JSON.stringify(cost)}`).join(", ");
		});
		const unit = [good && `Costs: ${good}.`, bad && told("no-costs", bad)].filter(Boolean).join(" ");
		if (bad) options.open = true;
		fill(options, { ".given": { unit }, ".link": { hidden: !unit } });
		return [make("h3", "What to look at next"), options];
	}

	function draw(answer, state) {
		if (!answer?.candidates.length) return make("p.hint", told("all-observed"));
		const { candidates, best_set: best, entropy, usually_on: usuallyOn } = answer;
		const isPriced = given().some(isUsable);
		const worth = ({ information, cost }) => Math.max(0, information ?? 0) / cost;
		const most = Math.max(...candidates.map(worth), 1e-12);
		const percent = (information) => {
			const share = entropy > 0 ? (100 * information) / entropy : 0;
			return `${share >= 10 ? share.toFixed(0) : share >= 0.1 ? share.toFixed(1) : "less than 0.1"} %`;
		};
		const gain = ({ information, cost, accuracy }) => {
			if (information === null) return "its gain could not be computed";
			const mark = accuracy === "estimate" ? "≈ " : "";
			return isPriced ? told("per-cost", mark + percent(information / cost), cost) : told("gain", mark + percent(information));
		};
		const fault = (name) => faultOf(state, name, usuallyOn);
		const rows = candidates.map((each) => candidate(each, worth(each) / most, gain(each), fault));
		const hint = make("p.hint", told(isPriced ? "longest-per-cost" : "longest"));
		return [best && setOf(best, gain, percent), hint, make("ol.candidates", rows), remarks(answer)];
	}

	function setOf({ units: names, is_best: isBest, bound, ...set }, gain, percent) {
		const size = NUMBERS[names.length];
		return fill("set", {
			h4: `Observe these ${size} together`,
			ul: names.map((unit) => make("li", page.unitButton(unit, "graph"))),
			p: `This ${gain(set)}. ${isBest ? told("best-set", size) : told("found-set", size, percent(bound))}`,
		});
	}

	function candidate({ unit, information, probability, accuracy, cost, outcomes }, share, gain, fault) {
		const words = units.words(unit);
		const it = (value) => {
			const onclick = () => page.observe(unit, value);
			return { unit: words[value], onclick, "aria-label": `Observe ${unit}: ${words[value]}` };
		};
		const onchange = ({ target }) => setCost(unit, target);
		const row = fill("candidate", {
			".unit-name": { unit, onclick: () => page.select(unit, "graph") },
			input: { value: cost, "aria-label": `Cost of ${unit}`, onchange },
			".yes": it(1),
			".no": it(0),
			".gain": { title: information === null ? null : told("nats", information.toFixed(4)) },
			".gain span": gain,
			".chance": { unit: `chance of ${words[1]} ${about(probability, accuracy)}` },
			".unseen": ` of ${unit}`,
			".outcomes": outcomes.map((each) => make("p", { unit: outcome(each, words, accuracy, fault) })),
		});
		setBar(row.querySelector(".track"), share);
		return row;
	}

	// The causes after an answer: the most probable ones, and the one that moves most.
	function outcome({ state, chance, leading, changed: [name, ...ends] }, words, accuracy, fault) {
		const number = (each, on) => about(fault(each) || on === null ? on : 1 - on, accuracy);
		const first = leading.filter(([each]) => fault(each)).map(([each, on]) => `${each} ${number(each, on)}; `).join("");
		const moved = ends.map((on) => number(name, on));
		return told("outcome", words[Number(state === "on")], about(chance, accuracy), first, units.inState(name, fault(name)), ...moved);
	}

	// Nothing is left to look at, or nothing to find out.
	function canAsk({ observations }) {
		const known = [...observations].filter(([, value]) => typeof value !== "object").map(([name]) => name);
		const causes = known.filter((name) => units.isCause(name)).length;
		const total = page.network.causes;
		return causes < total && known.length - causes < units.names.length - total;
	}

	const key = ({ key, faults }) => JSON.stringify([key, given(), together.value, ...faults]);
	return new Panel("next", { ask, key, canAsk, draw, head, invitation: "What should I look at next?" });
}
