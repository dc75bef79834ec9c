// What was observed so far, with how sure, and a way to take it back.

import { byId, fill, listen, put, readable } from "./elements.js";
import { stateButtons } from "./state_buttons.js";
import { leaning } from "./words.js";

export class Observed {
	constructor(units, theCase, select) {
		Object.assign(this, { units, theCase, select, rows: new Map() });
		this.list = byId("observed");
		listen(theCase, "change", () => this.draw());
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
		byId("observed-hint").hidden = observations.size > 0;
		byId("observed-count").hidden = !observations.size;
		put("observed-count", observations.size);
	}

	focusSlider(name) {
		this.rows.get(name)?.slider.focus();
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
		const oninput = () => {
			const on = slider.valueAsNumber / 100;
			observe({ on, off: Number((1 - on).toFixed(2)) }, { merge: true });
		};
		const element = fill("observation", {
			".unit-name": { unit: name, title: readable(name), onclick: () => this.select(name) },
			".remove": { "aria-label": `Remove ${name}`, onclick: () => observe(null) },
			".end": { unit: words[0] },
			input: { "aria-label": `${name}: how sure`, oninput },
			"input + .end": { unit: words[1] },
		});
		element.firstElementChild.after(states.group);
		const [sure, slider, reading] = [".sure", "input", ".reading"].map((part) => element.querySelector(part));
		const show = (value) => {
			states.show(name, words, value);
			element.dataset.state = typeof value === "object" ? "" : readable(words[value]); // for paper, which has no buttons
			sure.hidden = typeof value !== "object";
			if (sure.hidden) return;
			const position = Math.round((100 * value.on) / (value.on + value.off));
			if (slider.valueAsNumber !== position) slider.value = position;
			put(reading, leaning(value, words));
			put(slider, { "aria-valuetext": reading.textContent });
		};
		return { element, slider, show };
	}
}
