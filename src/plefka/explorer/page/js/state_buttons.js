// Three buttons for one unit: its on word, its off word, and "how sure". Pressed again, the unit is unknown.

import { fill, put, readable } from "./elements.js";

export const SURE = { on: 0.8, off: 0.2 }; // what "how sure" starts from

// choose(value): 1, 0, {on, off} or null
export function stateButtons(choose) {
	const onclick = ({ currentTarget: { dataset, ariaPressed } }) =>
		choose(ariaPressed === "true" ? null : { on: 1, off: 0, sure: SURE }[dataset.part]);
	const parts = { ".is-on": { onclick }, ".is-off": { onclick }, ".is-sure": { onclick } };
	const group = fill("states", parts);
	const buttons = [...group.children];

	function show(name, [offWord, onWord], value) {
		const pressed = [value === 1, value === 0, typeof value === "object" && value !== null];
		put(group, { "aria-label": name });
		[onWord, offWord, "how sure"].forEach((word, k) => {
			put(buttons[k], { "aria-pressed": String(pressed[k]), "aria-label": `${name}: ${word}` });
			if (k < 2 && buttons[k].textContent !== word) put(buttons[k], { unit: word, title: readable(word) });
		});
	}

	return { group, buttons, show };
}

// Y, N, S and Delete do the same for the unit that has the focus.
const KEYS = { y: 1, n: 0, s: SURE, u: null, delete: null, backspace: null };

export function valueOfKey({ key, ctrlKey, metaKey, altKey }) {
	const isOne = Object.hasOwn(KEYS, key.toLowerCase()) && !(ctrlKey || metaKey || altKey);
	return isOne ? KEYS[key.toLowerCase()] : undefined;
}
