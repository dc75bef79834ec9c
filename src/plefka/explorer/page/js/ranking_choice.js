// What is ranked, by what it is sorted, and which units are left out or chosen: all of it is part of the case.

import { usualFault } from "./case.js";
import { button, byId, listen, pressOne, put } from "./elements.js";
import { counted } from "./words.js";

// Whether it is sorted by change, and anything changed.
export const isByChange = ({ order, ranking }) =>
	order === "change" && ranking.some((each) => Math.abs(each.probability - each.prior) > 5e-4);

export class RankingChoice {
	constructor({ units: { nouns }, case: theCase }) {
		Object.assign(this, { nouns, theCase, about: null, used: "probability", targets: byId("targets") });
		listen(this.targets, "change", () => theCase.rank({ units: this.targets.value }));
		listen("orders", "click", ({ target: { dataset } }) => dataset.order && theCase.rank({ order: dataset.order }));
		listen("left-out-again", "click", () => {
			theCase.rank({ left_out: [] });
			this.targets.focus();
		});
		this.chooser = button("", () => this.#choose(this.about), { class: "button is-quiet" });
		listen(theCase, "change", () => this.#draw());
		this.#draw();
	}

	show(answer) {
		this.used = answer.order;
		const { Causes, causes } = this.nouns;
		const most = this.isOfCauses ? `Most probable ${causes}` : "What is most probable";
		put("answer-title", isByChange(answer) ? `${this.isOfCauses ? Causes : "Units"} by change` : most);
		this.#draw();
	}

	get isOfCauses() {
		return this.theCase.ranked.units === "causes";
	}

	// A button that takes a unit into the chosen ones, and out of them.
	chooserFor(name) {
		this.about = name;
		this.#draw();
		return this.chooser;
	}

	leaveOut(name) {
		const { units, left_out: leftOut } = this.theCase.ranked;
		if (units === "chosen") this.#choose(name);
		else this.theCase.rank({ left_out: [...leftOut, name] });
	}

	// prior: that of the unit being on
	useState(name, state, prior) {
		const { [name]: _, ...faults } = this.theCase.ranked.faults;
		this.theCase.rank({ faults: state === usualFault(prior) ? faults : { ...faults, [name]: state } });
	}

	#choose(name) {
		const { chosen, left_out: leftOut } = this.theCase.ranked;
		const others = (names) => names.filter((each) => each !== name);
		this.theCase.rank({ chosen: chosen.includes(name) ? others(chosen) : [...chosen, name], left_out: others(leftOut) });
	}

	#draw() {
		const { units, chosen, order, left_out: leftOut } = this.theCase.ranked;
		pressOne("orders", "order", order === "auto" ? this.used : order);
		put("chosen", `Chosen (${chosen.length})`);
		this.targets.value = units;
		byId("none-chosen").hidden = units !== "chosen" || chosen.length > 0;
		byId("left-out").hidden = leftOut.length === 0;
		put("left-out-count", `${counted(leftOut.length, "unit is", "units are")} left out.`);
		put(this.chooser, chosen.includes(this.about) ? "Take it from the chosen units" : "Add it to the chosen units");
	}
}
