// Which numbers of the network matter: the probability of a unit if one of them after another were different.

import { faultOf } from "./case.js";
import { fill, make, told } from "./elements.js";
import { Panel } from "./panels.js";
import { minus, probability } from "./words.js";

const TOP = 10;

export function tornadoPanel(service, { units }) {
	const ask = (signal, { evidence, selected }) =>
		service.post("sensitivity", { evidence, target: selected, top: TOP }, signal).catch((error) => {
			if (error.code !== "method_does_not_apply") throw error;
			return { numbers: [] };
		});

	function draw(answer, state) {
		if (!answer) return [];
		const { target, numbers, numbers_total: total, probability: p, usually_on: usuallyOn } = answer;
		if (!numbers.length) return make("p", told("no-tornado"));
		const fault = faultOf(state, target, usuallyOn);
		const all = [p, ...numbers.flatMap((each) => [each.at_low, each.at_high])];
		const [now, ...ends] = all.map((each) => (fault ? each : 1 - each));
		const [low, high] = [Math.min(now, ...ends), Math.max(now, ...ends)];
		const at = (each) => (high > low ? (100 * (each - low)) / (high - low) : 0);
		const rows = numbers.map(({ name, kind, ...number }, k) => {
			const words = ["bias", "weight"].includes(kind) ? (each) => minus(each, 2) : probability;
			const [divided, multiplied] = ends.slice(2 * k, 2 * k + 2);
			const row = fill("number", {
				span: { unit: name.replace(" -> ", " → ") },
				".number": `${probability(divided)} to ${probability(multiplied)}`,
				".hint": told("changed-to", words(number.value), words(number.low), words(number.high)),
			});
			[divided, multiplied, now].forEach((end, part) => {
				const { style } = row.querySelector(".track").children[part];
				style.left = `${Math.min(at(now), at(end))}%`;
				if (end !== now) style.width = `${Math.abs(at(end) - at(now))}%`;
			});
			return row;
		});
		return fill("tornado", {
			".name": { unit: units.inState(target, fault) },
			".shown": `${numbers.length} of ${total}`,
			".middle": probability(now),
			".first": probability(low),
			".last": probability(high),
			ul: rows,
		});
	}

	const key = ({ key, selected, faults }) => `${key} ${selected} ${faults.get(selected)}`;
	const canAsk = ({ isHidden }) => isHidden;
	return new Panel("numbers", { ask, key, canAsk, draw, isSlow: true, invitation: "Which numbers of the network matter?" });
}
