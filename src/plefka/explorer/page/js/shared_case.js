// A case in the part of an address behind #; and what comes in there, by a file or from storage is checked name by name.

import { AS_USUAL, contentOf, unusual } from "./case.js";
import { told } from "./elements.js";
import { tried } from "./storage.js";

const LONGEST = 2000; // characters of a value that this page does not know, in a link

export class BadCase extends Error {}

// The address of the page with a case.
export function addressOf({ method, exclusive, ranking, costs, evidence, ...others }, usualMethod) {
	const parts = new URLSearchParams();
	const set = (name, value, most = Infinity) => {
		const text = typeof value === "string" && valueIn(value) === value ? value : JSON.stringify(value);
		if (text?.length <= most) parts.set(name, text);
	};
	if (Object.keys(evidence).length) set("case", evidence);
	if (method !== usualMethod) set("method", method);
	set("exclusive", exclusive);
	set("ranking", ranking);
	set("costs", costs);
	for (const [name, value] of Object.entries(others)) set(name, value, LONGEST);
	return `${location.pathname}${location.search}${parts.size ? `#${parts}` : ""}`;
}

// The content that an address holds, or null.
export function contentInAddress() {
	const { case: evidence = "{}", ranking, ...rest } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
	const others = Object.entries(rest).map(([name, text]) => [name, valueIn(text)]);
	const read = { evidence: parsed(evidence, "The link"), ranking: tried(() => JSON.parse(ranking)) };
	return location.hash.length > 1 ? contentOf({ ...Object.fromEntries(others), ...read }) : null;
}

// Values in a link are text: JSON is taken for what it says, where it would be written in the same way again.
const valueIn = (text) =>
	tried(() => {
		const value = JSON.parse(text);
		return JSON.stringify(value) === text ? value : text;
	}, text);

export function parsed(text, what) {
	const content = tried(() => JSON.parse(text));
	if (!isObject(content)) throw new BadCase(told(content === undefined ? "no-json" : "no-observations", what));
	return content;
}

export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// The observations that fit this network, and a sentence for each that does not. To guess a name takes time where there
// are many, so that only the first few are guessed.
export function checked(evidence, units, guesses = { left: 20 }) {
	const good = new Map();
	const problems = [];
	for (const [name, given] of Object.entries(evidence)) {
		const value = units.has(name) ? valueOf(given, name, units) : undefined;
		const words = () => [...new Set(["0", "1", ...units.words(name)])].join(", ");
		if (!units.has(name)) problems.push(unknown(name, units, guesses));
		else if (value === undefined) problems.push(told("no-value", name, words(), JSON.stringify(given)));
		else if (value !== null) good.set(name, value);
	}
	return { good, problems };
}

// null: not observed; undefined: cannot be meant
function valueOf(given, name, units) {
	if (given === null || [0, 1].includes(given)) return given;
	if (typeof given === "boolean") return Number(given);
	if (typeof given === "string") return units.valueOf(name, given) ?? undefined;
	return isLikelihood(given) ? { on: given.on, off: given.off } : undefined;
}

export const isLikelihood = ({ on, off }) => [on, off].every(Number.isFinite) && Math.min(on, off) >= 0 && on + off > 0;

// What is ranked and how, and a sentence for each name in it that no unit has. What cannot be meant is as usual.
export function checkedRanking(given, units) {
	const { units: targets, chosen, order, faults, left_out } = isObject(given) ? given : {};
	const unknowns = new Set();
	const isKnown = (name) => {
		if (!units.has(name)) unknowns.add(name);
		return units.has(name);
	};
	const names = (list) => [...new Set(Array.isArray(list) ? list.map(String) : [])].filter(isKnown);
	const states = Object.entries(faults ?? {}).filter(([name, state]) => [0, 1].includes(state) && isKnown(name));
	const ranking = unusual({
		units: ["all", "chosen"].includes(targets) ? targets : AS_USUAL.units,
		chosen: names(chosen),
		order: ["change", "probability"].includes(order) ? order : AS_USUAL.order,
		faults: Object.fromEntries(states),
		left_out: names(left_out),
	});
	const guesses = { left: 20 };
	return { ranking, problems: [...unknowns].map((name) => unknown(name, units, guesses)) };
}

export function unknown(name, units, guesses = { left: 1 }) {
	guesses.left -= 1;
	const near = guesses.left >= 0 && units.nearest(name);
	return `This network has no unit “${name}”.${near ? ` Did you mean “${near}”?` : ""}`;
}
