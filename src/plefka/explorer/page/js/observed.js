// What was observed so far, with how sure, and a way to take it back.

import { byId, fill, listen, put, readable } from "./elements.js";
import { leaning } from "./words.js";

export const SURE = { on: 0.8, off: 0.2 }; // what "how sure" starts from

// Three buttons for one unit: its on word, its off word, and "how sure". choose(value): 1, 0, {on, off}, or null where
// they are pressed again. show(name, words, value)
export function stateButtons(choose) {
	const group = fill("states", {});
	const buttons = [...group.children];
	[1, 0, SURE].forEach((value, k) => {
		listen(buttons[k], "click", () => choose(buttons[k].ariaPressed === "true" ? null : value));
	});
	const show = (name, [offWord, onWord], value) => {
		const parts = [[onWord, value === 1], [offWord, value === 0], ["how sure", value instanceof Object]];
		put(group, { "aria-label": name });
		parts.forEach(([word, isPressed], k) => {
			const shown = k < 2 && { unit: word, title: readable(word) };
			put(buttons[k], { ...shown, "aria-label": `${name}: ${word}`, "aria-pressed": String(isPressed) });
		});
	};
	return { group, buttons, show };
}

export class Observed {
	constructor(page) {
		Object.assign(this, { page, units: page.units, theCase: page.case, rows: new Map(), list: byId("observed") });
		listen(page.case, "change", () => this.draw());
		this.draw();
	}

	draw() {
		const { observations } = this.theCase;
		for (const [name, { element }] of this.rows) if (!observations.has(name)) this.#remove(name, element);
		[...observations].forEach(([name, value], place) => {
			if (!this.rows.has(name)) this.rows.set(name, this.#makeRow(name));
			const { element, show } = this.rows.get(name);
			const there = this.list.children[place];
			if (there !== element) this.list.insertBefore(element, there ?? null);
			show(value);
		});
		put("observed-count", observations.size || "");
	}

	focusSlider(name) {
		this.rows.get(name).element.querySelector("input").focus();
	}

	// The focus goes on to the next observation, or to the search.
	#remove(name, element) {
		const hadFocus = element.contains(document.activeElement);
		const next = element.nextElementSibling ?? element.previousElementSibling;
		element.remove();
		this.rows.delete(name);
		if (hadFocus) (next?.querySelector(".remove") ?? byId("search")).focus();
	}

	#makeRow(name) {
		const words = this.units.words(name);
		const observe = (value, options) => this.theCase.observe(name, value, options);
		const states = stateButtons(observe);
		const oninput = ({ target }) => {
			const on = target.valueAsNumber / 100;
			observe({ on, off: Number((1 - on).toFixed(2)) }, { merge: true });
		};
		const element = fill("observation", {
			".unit-name": { unit: name, title: readable(name), onclick: () => this.page.select(name) },
			".remove": { "aria-label": `Remove ${name}`, onclick: () => observe(null) },
			".end": { unit: words[0] },
			input: { "aria-label": `${name}: how sure`, oninput },
			"input + .end": { unit: words[1] },
		});
		element.firstElementChild.after(states.group);
		const slider = element.querySelector("input");
		const show = (value) => {
			const isSoft = value instanceof Object;
			const reading = isSoft && leaning(value, words);
			states.show(name, words, value);
			element.dataset.state = isSoft ? "" : readable(words[value]); // for paper, which has no buttons
			slider.value = Math.round((100 * value.on) / (value.on + value.off));
			fill(element, {
				".sure": { hidden: !isSoft },
				".reading": reading,
				input: { "aria-valuetext": reading },
			});
		};
		return { element, show };
	}
}
