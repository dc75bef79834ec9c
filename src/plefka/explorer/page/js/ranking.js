// The causes, or other units, and what is wrong with each, as bars that move to their new places.

import { byId, calm, fill, listen, press, put, readable, roam, setBar, steered } from "./elements.js";
import { about, counted, range, times } from "./words.js";

const MOVE = { duration: 350, easing: "cubic-bezier(.2, .7, .2, 1)" };
const STEP = 20; // causes shown at first, and added by "show more"
const MOST = 500;
const SMALL = 0.1; // probabilities that are all below this are drawn on a scale of their own

export class Ranking {
	constructor(page) {
		Object.assign(this, { page, rows: new Map(), top: STEP, opened: null, list: byId("ranking") });
		listen(this.list, "keydown", (event) => {
			const here = event.target.closest("li").firstElementChild;
			steered(event, this.#causes, here, ["ArrowUp", "ArrowDown"])?.focus();
			roam(this.#causes, here);
		});
		listen("more", "click", () => {
			this.top = Math.min(MOST, this.top + (this.top < 100 ? STEP : 100));
			page.asking.now();
		});
	}

	show({ ranking, units_total: total }, selected) {
		const before = new Map([...this.rows].map(([name, { element }]) => [name, element.offsetTop]));
		const focused = this.list.contains(document.activeElement) && document.activeElement;
		const scale = scaleOf(ranking);
		this.#keep(ranking);
		ranking.forEach((each, place) => {
			if (!this.rows.has(each.name)) this.rows.set(each.name, this.#makeRow(each.name));
			const { element, show } = this.rows.get(each.name);
			const there = this.list.children[place];
			if (there !== element) this.list.insertBefore(element, there ?? null);
			show(each, scale);
		});
		if (focused) focused.focus({ preventScroll: true }); // what moves has lost it
		this.mark(selected);
		if (!calm()) this.#move(before);
		if (focused && focused !== document.activeElement) this.list.querySelector("[tabindex='0']")?.focus();
		const [left, noun] = [total - ranking.length, this.page.choice.isOfCauses ? this.page.units.nouns.cause : "unit"];
		put("more", { hidden: !(left > 0 && this.top < MOST) }, `Show more (${counted(left, `further ${noun}`)})`);
		byId("ranking-legend").hidden = !ranking.some(({ prior }) => prior !== null);
		const end = scale.toLocaleString("en", { maximumSignificantDigits: 1 });
		put("scale", { hidden: scale === 1 }, `bars end at ${end}`);
	}

	mark(selected) {
		if (selected !== this.opened) this.opened = null;
		for (const [name, { cause, actions }] of this.rows) {
			press(cause, name === selected);
			actions.hidden = name !== this.opened;
		}
		roam(this.#causes, this.rows.get(selected)?.cause);
	}

	empty() {
		this.#keep([]);
		byId("more").hidden = true;
		byId("ranking-legend").hidden = true;
	}

	#keep(ranking) {
		const names = new Set(ranking.map(({ name }) => name));
		for (const [name, { element }] of this.rows) if (!names.has(name) && this.rows.delete(name)) element.remove();
	}

	// Each row starts from where it was, and goes where it is now.
	#move(before) {
		for (const [name, { element }] of this.rows) {
			const far = (before.get(name) ?? element.offsetTop) - element.offsetTop;
			if (far) element.animate([{ transform: `translateY(${far}px)` }, { transform: "none" }], MOVE);
			else if (!before.has(name)) element.animate([{ opacity: 0 }, { opacity: 1 }], MOVE);
		}
	}

	#makeRow(name) {
		let [state, priorOn] = [1, null];
		const open = () => {
			this.opened = name;
			this.page.select(name, this.page.explaining);
		};
		const turn = () => this.page.choice.useState(name, 1 - state, priorOn);
		const leaveOut = { "aria-label": `Leave it out of the ranking: ${name}`, onclick: () => this.page.choice.leaveOut(name) };
		const parts = { ".cause": { onclick: open }, ".cause-name": { unit: name }, ".turn": { onclick: turn } };
		const element = fill("cause-row", { ...parts, ".leave-out": leaveOut });
		const [cause, actions] = element.children;
		const show = ({ state: ranked, probability, accuracy, prior, prior_accuracy: before, ...ends }, scale) => {
			state = ranked;
			priorOn = prior === null || state ? prior : 1 - prior;
			const spoken = this.page.units.stateWord(name, state);
			const [short, long] = times(probability, prior) ?? ["", ""];
			const beforehand = prior !== null && `, beforehand ${about(prior, before, ends.prior_interval)}`;
			const between = range(accuracy, ends.interval);
			const title = accuracy === "estimate" ? `An estimate${between && `: ${between}`}` : "Exact";
			const instead = `Rank “${readable(this.page.units.words(name)[1 - state])}” instead`;
			fill(element, {
				".cause-state": { unit: spoken && ` ${spoken}` },
				".number": [{ title }, about(probability, accuracy)],
				".unseen": [between && `, ${between}`, beforehand, long && `, ${long}`],
				".times": short,
				".turn": [{ "aria-label": `${instead}: ${name}` }, instead],
			});
			setBar(element.querySelector(".track"), probability / scale, prior === null ? null : prior / scale);
		};
		return { element, cause, actions, show };
	}

	get #causes() {
		return [...this.list.querySelectorAll(".cause")];
	}
}

// What a full bar means: 1, or a round number just above where all probabilities are small, so that they are seen.
function scaleOf(ranking) {
	const most = Math.max(0, ...ranking.flatMap(({ probability, prior }) => [probability ?? 0, prior ?? 0]));
	if (most === 0 || most > SMALL) return 1;
	const power = 10 ** Math.floor(Math.log10(most));
	return Number((power * [1, 2, 5, 10].find((step) => step * power >= most * (1 - 1e-9))).toPrecision(1));
}
