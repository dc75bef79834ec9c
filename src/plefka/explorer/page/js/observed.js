// What was observed so far, with how sure, and a way to take it back.

import { byId, fill, listen, put, readable } from "./elements.js";
import { leaning } from "./words.js";

export const SURE = { on: 0.8, off: 0.2 }; // what "how sure" starts from

// A row with the name of a unit, and a button for each state: on, off, and "how sure". Pressed again, it is unknown.
// observe(value): 1, 0, {on, off} or null
export function unitRow(template, select, observe) {
	const state = (value) => ({
		onclick: ({ currentTarget }) => observe(currentTarget.ariaPressed === "true" ? null : value),
	});
	const states = { ".is-on": state(1), ".is-off": state(0), ".is-sure": state(SURE) };
	return fill(template, { ".unit-name": { onclick: select }, ...states });
}

export function showUnit(row, name, [offWord, onWord], value) {
	const state = (word, isPressed) => ({ "aria-label": `${name}: ${word}`, "aria-pressed": String(isPressed) });
	fill(row, {
		".unit-name": { unit: name, title: readable(name) },
		".states": { "aria-label": name },
		".is-on": { unit: onWord, title: readable(onWord), ...state(onWord, value === 1) },
		".is-off": { unit: offWord, title: readable(offWord), ...state(offWord, value === 0) },
		".is-sure": state("how sure", value instanceof Object),
	});
}

export function observedList(page) {
	const { units, case: theCase } = page;
	const list = byId("observed");
	const rows = new Map(); // by name

	function draw() {
		const { observations } = theCase;
		for (const [name, row] of rows) if (!observations.has(name)) remove(name, row);
		[...observations].forEach(([name, value], place) => {
			if (!rows.has(name)) rows.set(name, makeRow(name));
			const [row, there] = [rows.get(name), list.children[place]];
			if (there !== row) list.insertBefore(row, there ?? null);
			show(row, name, value);
		});
		put("observed-count", observations.size || "");
	}

	// The focus goes on to the next observation, or to the search.
	function remove(name, row) {
		const hadFocus = row.contains(document.activeElement);
		const next = row.nextElementSibling ?? row.previousElementSibling;
		row.remove();
		rows.delete(name);
		if (hadFocus) (next?.querySelector(".remove") ?? byId("search")).focus();
	}

	function makeRow(name) {
		const [offWord, onWord] = units.words(name);
		const observe = (value, isMove) => theCase.observe(name, value, isMove);
		const oninput = ({ target }) => {
			const on = target.valueAsNumber / 100;
			observe({ on, off: Number((1 - on).toFixed(2)) }, true);
		};
		const row = unitRow("observation", () => page.select(name), observe);
		return fill(row, {
			".remove": { "aria-label": `Remove ${name}`, onclick: () => observe(null) },
			".end": { unit: offWord },
			input: { "aria-label": `${name}: how sure`, oninput },
			"input + .end": { unit: onWord },
		});
	}

	function show(row, name, value) {
		const words = units.words(name);
		const isSoft = value instanceof Object;
		const reading = isSoft && leaning(value, words);
		showUnit(row, name, words, value);
		row.dataset.state = isSoft ? "" : readable(words[value]); // for paper, which has no buttons
		sliderOf(row).value = Math.round((100 * value.on) / (value.on + value.off));
		fill(row, { ".sure": { hidden: !isSoft }, ".reading": reading, input: { "aria-valuetext": reading } });
	}

	listen(theCase, "change", draw);
	draw();
	return { focusSlider: (name) => sliderOf(rows.get(name)).focus() };
}

const sliderOf = (row) => row.querySelector("input");
