// What to look at next: which observation, or which few together, should make the causes most certain, for its cost.

import { faultOf, ofState } from "./case.js";
import { fill, filled, make, told } from "./elements.js";
import { Panel } from "./panels.js";
import { unknown } from "./shared_case.js";
import { remarks } from "./why.js";
import { about } from "./words.js";

const TOP = 8;

export function nextPanel(service, page) {
	const { units, case: theCase } = page;
	const options = fill("next-options", {
		select: { onchange: () => page.refresh() },
		form: { onsubmit: priced },
		".link": { onclick: () => setCosts([]) },
	});
	const [together, unitField, costField] = options.querySelectorAll("select, input");

	// Costs belong to the case, as a link or file may have them: {unit: cost}.
	const given = () => Object.entries(Object(theCase.content.costs));
	const isUsable = ([name, cost]) => units.has(name) && cost > 0 && Number.isFinite(cost);
	const used = (isGood = true) => given().filter((each) => isUsable(each) === isGood);
	const setCosts = (costs) => theCase.change({ costs: costs.length ? Object.fromEntries(costs) : undefined });

	function setCost(name, field) {
		const others = given().filter(([each]) => each !== name);
		const cost = field.valueAsNumber;
		if (field.reportValidity()) setCosts(cost === 1 ? others : [...others, [name, cost]]);
	}

	function priced(event) {
		event.preventDefault();
		const typed = unitField.value.trim();
		const name = [typed, typed.replaceAll(" ", "_")].find((each) => units.has(each));
		fill(options, { ".said": { unit: name ? "" : unknown(typed, units) } });
		if (name) setCost(name, costField);
	}

	function ask(signal, { evidence, exclusive, method }) {
		const costs = Object.fromEntries(used());
		const asked = { evidence, exclusive, method, costs, together: Number(together.value), top: TOP };
		return service.post("ask", asked, signal);
	}

	function head() {
		const listed = (costs) => costs.map(([name, cost]) => `${name} ${JSON.stringify(cost)}`).join(", ");
		const [good, bad] = [listed(used()), listed(used(false))];
		const unit = [good && `Costs: ${good}.`, bad && told("no-costs", bad)].filter(Boolean).join(" ");
		if (bad) options.open = true;
		fill(options, { ".given": { unit }, ".link": { hidden: !unit } });
		return [make("h3", "What to look at next"), options];
	}

	function draw(answer, state) {
		if (!answer) return make("p.hint", told("all-observed"));
		const { candidates, best_set: best, entropy, usually_on: usuallyOn } = answer;
		const isPriced = used().length > 0;
		const worth = ({ information, cost }) => Math.max(0, information ?? 0) / cost;
		const most = Math.max(...candidates.map(worth), 1e-12);
		const percent = (information) => {
			const share = entropy > 0 ? (100 * information) / entropy : 0;
			return `${share >= 10 ? share.toFixed(0) : share >= 0.1 ? share.toFixed(1) : "less than 0.1"} %`;
		};
		const gain = ({ information, cost, accuracy }) => {
			if (information === null) return told("no-gain");
			const share = (accuracy === "estimate" ? "≈ " : "") + percent(isPriced ? information / cost : information);
			return told(isPriced ? "per-cost" : "gain", share, cost);
		};
		const rows = candidates.map((each) => {
			const row = candidate(each, gain(each), (name) => faultOf(state, name, usuallyOn));
			return fill(row, filled(worth(each) / most));
		});
		const hint = make("p.hint", told(isPriced ? "longest-per-cost" : "longest"));
		return [best && setOf(best, gain(best), percent(best.bound)), hint, make("ol.candidates", rows), remarks(answer)];
	}

	function setOf({ units: names, is_best: isBest }, gain, most) {
		const size = together.options[names.length - 1].text;
		const ul = names.map((unit) => make("li", fill("unit-button", {}, { unit, name: unit, open: "graph" })));
		return fill("set", { ul }, { size, gain, how: told(isBest ? "best-set" : "found-set", size, most) });
	}

	function candidate({ unit, information, probability, accuracy, interval, cost, outcomes }, gain, fault) {
		const [off, on] = units.words(unit);
		const parts = {
			input: { onchange: ({ target }) => setCost(unit, target) },
			".outcomes": outcomes.map((each) => make("p", { unit: outcome(each, { off, on }, accuracy, fault) })),
		};
		const nats = information !== null && told("nats", information.toFixed(4));
		return fill("candidate", parts, { unit, off, on, cost, gain, nats, chance: about(probability, accuracy, interval) });
	}

	// The causes after an answer: the most probable ones, and the one that moves most.
	function outcome({ state, chance, leading, changed: [name, ...ends] }, words, accuracy, fault) {
		const first = leading.filter(([each]) => fault(each)).map(([each, on]) => `${each} ${about(on, accuracy)}; `);
		const moved = ends.map((on) => about(ofState(fault(name), on), accuracy));
		const changes = units.inState(name, fault(name));
		return told("outcome", words[state], about(chance, accuracy), first.join(""), changes, ...moved);
	}

	// Nothing is left to look at, or nothing to find out.
	function canAsk({ observations }) {
		const known = [...observations].filter(([, value]) => typeof value !== "object");
		const causes = known.filter(([name]) => units.isCause(name)).length;
		const total = page.network.causes;
		return causes < total && known.length - causes < units.names.length - total;
	}

	const key = ({ key, faults }) => JSON.stringify([key, given(), together.value, ...faults]);
	return new Panel("next", { ask, key, canAsk, draw, head, invitation: "What should I look at next?" });
}
