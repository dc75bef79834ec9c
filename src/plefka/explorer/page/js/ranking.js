// The causes, or other units, and what is wrong with each, as bars that move to their new places. What is ranked, by
// what it is sorted, and which units are left out or chosen is part of the case.

import { ofState, usualFault } from "./case.js";
import { button, byId, calm, fill, filled, listen, press, pressOne, put, readable, roam, steered } from "./elements.js";
import { about, counted, range, times } from "./words.js";

const MOVE = { duration: 350, easing: "cubic-bezier(.2, .7, .2, 1)" };
const STEP = 20; // causes shown at first, and added by "show more"
const MOST = 500;
const SMALL = 0.1; // probabilities that are all below this are drawn on a scale of their own

// Whether it is sorted by change, and anything changed.
export const isByChange = ({ order, ranking }) =>
	order === "change" && ranking.some((each) => Math.abs(each.probability - each.prior) > 5e-4);

export class Ranking {
	constructor(page) {
		const { units, case: theCase } = page;
		Object.assign(this, { page, units, theCase, rows: new Map(), top: STEP, opened: null, used: "probability" });
		this.list = byId("ranking");
		this.chooser = button("", () => this.#choose(this.offered), { class: "button is-quiet" });
		listen(this.list, "keydown", (event) => {
			const here = event.target.closest("li").firstElementChild;
			steered(event, this.#causes, here, ["ArrowUp", "ArrowDown"])?.focus();
			roam(this.#causes, here);
		});
		listen("more", "click", () => {
			this.top = Math.min(MOST, this.top + (this.top < 100 ? STEP : 100));
			page.asking.now();
		});
		listen("targets", "change", ({ target }) => theCase.rank({ units: target.value }));
		listen("orders", "click", ({ target: { dataset } }) => dataset.order && theCase.rank({ order: dataset.order }));
		listen("left-out-again", "click", () => {
			theCase.rank({ left_out: [] });
			byId("targets").focus();
		});
		listen(theCase, "change", () => this.#choice());
		this.#choice();
	}

	// Of impossible observations there is a choice, but no rows.
	show(answer, selected) {
		const { ranking, units_total: total, order, status } = answer;
		const { cause, causes, Causes } = this.units.nouns;
		const isOfCauses = this.theCase.ranked.units === "causes";
		const ofCauses = [cause, Causes, `Most probable ${causes}`];
		const [one, all, most] = isOfCauses ? ofCauses : ["unit", "Units", "What is most probable"];
		put("answer-title", isByChange(answer) ? `${all} by change` : most);
		this.used = order;
		this.#choice();
		if (status === "impossible") return this.empty();
		this.#place(ranking, selected);
		const left = total - ranking.length;
		put("more", { hidden: left <= 0 || this.top >= MOST }, `Show more (${counted(left, `further ${one}`)})`);
	}

	#place(ranking, selected) {
		const before = new Map([...this.list.children].map((row) => [row, row.offsetTop]));
		const focused = this.list.contains(document.activeElement) && document.activeElement;
		const scale = scaleOf(ranking);
		this.ranked = new Map(ranking.map((each) => [each.name, each]));
		for (const [name, row] of this.rows) if (!this.ranked.has(name) && this.rows.delete(name)) row.remove();
		ranking.forEach((each, place) => {
			if (!this.rows.has(each.name)) this.rows.set(each.name, this.#makeRow(each.name));
			const row = this.rows.get(each.name);
			if (this.list.children[place] !== row) this.list.insertBefore(row, this.list.children[place]);
			this.#draw(row, each, scale);
		});
		if (focused) focused.focus({ preventScroll: true }); // what moves has lost it
		this.mark(selected);
		if (!calm()) this.#move(before);
		if (focused && focused !== document.activeElement) this.list.querySelector("[tabindex='0']")?.focus();
		put("scale", { hidden: scale === 1 }, `bars end at ${scale.toLocaleString("en", { maximumSignificantDigits: 1 })}`);
	}

	mark(selected) {
		if (selected !== this.opened) this.opened = null;
		for (const [name, { children: [cause, actions] }] of this.rows) {
			press(cause, name === selected);
			actions.hidden = name !== this.opened;
		}
		roam(this.#causes, this.rows.get(selected)?.firstElementChild);
	}

	empty() {
		this.#place([], this.opened);
		byId("more").hidden = true;
	}

	// Each row starts from where it was, if it was there, and goes where it is now.
	#move(before) {
		for (const row of this.list.children) {
			const far = before.get(row) - row.offsetTop;
			if (far !== 0) row.animate([far ? { transform: `translateY(${far}px)` } : { opacity: 0 }, {}], MOVE);
		}
	}

	#makeRow(name) {
		const open = () => {
			this.opened = name;
			this.page.select(name, this.page.explaining);
		};
		const turn = () => this.#turn(this.ranked.get(name));
		const leaveOut = () => this.#leaveOut(name);
		const parts = { ".cause": { onclick: open }, ".turn": { onclick: turn }, ".leave-out": { onclick: leaveOut } };
		return fill("cause-row", parts, { name });
	}

	#draw(row, { name, state, probability, accuracy, prior, prior_accuracy: before, ...ends }, scale) {
		const word = this.units.stateWord(name, state);
		const [short, long] = times(probability, prior) ?? [];
		const between = range(accuracy, ends.interval);
		const title = accuracy === "estimate" ? `An estimate${between && `: ${between}`}` : "Exact";
		const beforehand = prior !== null && `beforehand ${about(prior, before, ends.prior_interval)}`;
		const instead = `Rank “${readable(this.units.words(name)[1 - state])}” instead`;
		fill(row, {
			".cause-state": { unit: word && ` ${word}` },
			".number": [{ title }, about(probability, accuracy)],
			".unseen": [between, beforehand, long].filter(Boolean).map((text) => `, ${text}`),
			".times": short,
			".turn": [{ "aria-label": `${instead}: ${name}` }, instead],
			...filled(probability / scale, prior === null ? null : prior / scale),
		});
	}

	get #causes() {
		return [...this.list.querySelectorAll(".cause")];
	}

	// A button that takes a unit into the chosen ones, and out of them.
	chooserFor(name) {
		this.offered = name;
		this.#choice();
		return this.chooser;
	}

	#choose(name) {
		const { chosen, left_out: leftOut } = this.theCase.ranked;
		const others = (names) => names.filter((each) => each !== name);
		this.theCase.rank({ chosen: chosen.includes(name) ? others(chosen) : [...chosen, name], left_out: others(leftOut) });
	}

	#leaveOut(name) {
		const { units, left_out: leftOut } = this.theCase.ranked;
		if (units === "chosen") this.#choose(name);
		else this.theCase.rank({ left_out: [...leftOut, name] });
	}

	// The other state is the fault.
	#turn({ name, state, prior }) {
		const { [name]: _, ...others } = this.theCase.ranked.faults;
		const isUsual = usualFault(ofState(state, prior)) !== state;
		this.theCase.rank({ faults: isUsual ? others : { ...others, [name]: 1 - state } });
	}

	#choice() {
		const { units, chosen, order, left_out: leftOut } = this.theCase.ranked;
		pressOne("orders", "order", order === "auto" ? this.used : order);
		put("chosen", `Chosen (${chosen.length})`);
		byId("targets").value = units;
		byId("none-chosen").hidden = units !== "chosen" || chosen.length > 0;
		byId("left-out").hidden = leftOut.length === 0;
		put("left-out-count", `${counted(leftOut.length, "unit is", "units are")} left out.`);
		put(this.chooser, chosen.includes(this.offered) ? "Take it from the chosen units" : "Add it to the chosen units");
	}
}

// What a full bar means: 1, or a round number just above where all probabilities are small, so that they are seen.
function scaleOf(ranking) {
	const most = Math.max(0, ...ranking.flatMap(({ probability, prior }) => [probability, prior]));
	if (most === 0 || most > SMALL) return 1;
	const power = 10 ** Math.floor(Math.log10(most));
	return Number((power * [1, 2, 5, 10].find((step) => step * power >= most * (1 - 1e-9))).toPrecision(1));
}
