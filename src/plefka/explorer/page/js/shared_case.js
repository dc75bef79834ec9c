// Cases as text, behind the # of an address and in files. What comes in is checked name by name; what this page does
// not know is kept.

import { AS_USUAL, contentOf, unusual } from "./case.js";
import { download, told } from "./elements.js";
import { tried } from "./storage.js";

const LONGEST = 2000; // characters of a value that this page does not know, in a link
const LARGEST = 5e6; // bytes of a file
const GUESSES = 20; // "did you mean", which takes time in a large network
const [ONE, MANY, NETWORK] = ["plefka-case", "plefka-cases", "plefka"]; // formats of files
const NETWORK_NAMES =
	/(\.(bif|xmlbif|bifxml|xml|uai|erg|xdsl|net|dne|dnet|dsc|npz|xlsx)|(causes|findings)\.csv)(\.gz)?$/i;
const NETWORK_FIELDS = "weights bias causes findings nodes edges links units variables cpds".split(" ");

// The address of the page with a case.
export function addressOf({ method, exclusive, ranking, costs, evidence, ...others }, usualMethod) {
	const given = { case: evidence, method, exclusive, ranking, costs };
	if (!Object.keys(evidence).length) delete given.case;
	if (method === usualMethod) delete given.method;
	const parts = new URLSearchParams();
	for (const [name, value] of Object.entries({ ...given, ...others })) {
		const text = typeof value === "string" && valueIn(value) === value ? value : JSON.stringify(value);
		if (text?.length <= (Object.hasOwn(others, name) ? LONGEST : Infinity)) parts.set(name, text);
	}
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

function parsed(text, what) {
	const content = tried(() => JSON.parse(JSON.stringify(JSON.parse(text)))); // not too deep to be written again
	if (!isObject(content)) throw new Error(told(content === undefined ? "no-json" : "no-observations", what));
	return content;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// record: {name, note, ..., content}; without a name, note and dates where the case has none
export const exportOne = (record, network) => save(ONE, flat(record), network, record.name || "case");

export const exportAll = (records, network) => save(MANY, { cases: records.map(flat) }, network, "cases");

function save(format, rest, { name: network }, name) {
	download(JSON.stringify({ format, version: 1, network, ...rest }, null, 2), `${network}-${name}`, "json");
}

const flat = ({ content, first, ...label }) => ({ ...label, ...content });

// {cases: [{evidence, method, name, note, ...}], isList, unreadable: how many of a list} of a file of this page; null
// if it is a network, and the service opens these. One of just {"unit": 0 or 1, ...} leaves the rest of the case as it
// is at present.
export async function casesIn(file, files, present = {}) {
	const unreadable = () => Promise.reject(new Error(`${file.name} could not be read.`));
	const isLarge = file.size > LARGEST;
	const isSeen = isLarge || NETWORK_NAMES.test(file.name);
	const content = isSeen ? { format: NETWORK } : parsed(await file.text().catch(unreadable), "The file");
	if (isNetwork(content)) {
		const event = new CustomEvent("networkfiles", { detail: files, cancelable: true });
		if (!document.dispatchEvent(event)) return null;
		const word = /^[\w.-]+$/.test(file.name) ? file.name : `"${file.name}"`; // of a command
		throw new Error(told(isLarge ? "too-large" : "is-network", file.name, word));
	}
	const isList = content.format === MANY;
	if (!isList && content.format !== ONE) return { cases: [{ ...present, evidence: content }] };
	if (content.version !== 1) throw new Error(told("other-version", JSON.stringify(content.version)));
	if (isList && !Array.isArray(content.cases)) throw new Error(told("no-cases"));
	const all = isList ? content.cases : [content];
	const cases = all.filter((each) => isObject(each?.evidence)).map(labelled);
	if (!isList && !cases.length) throw new Error(told("no-evidence"));
	return { cases, isList, unreadable: all.length - cases.length };
}

// A case has one number, word or pair of likelihoods for each name.
function isNetwork(content) {
	const isPart = (part) => Array.isArray(part) || (isObject(part) && !isLikelihood(part));
	return content.format === NETWORK || NETWORK_FIELDS.filter((field) => isPart(content[field])).length > 1;
}

function labelled(found) {
	const textOf = (text) => (typeof text === "string" ? text : "");
	const timeOf = (date) => tried(() => new Date(`${date}`).toISOString());
	const { name, note, created, changed } = found;
	return { ...found, name: textOf(name), note: textOf(note), created: timeOf(created), changed: timeOf(changed) };
}

// The observations that fit this network, and a sentence for each that does not. Another name is guessed
// in the first few of them; guessed: in how many already.
export function checked(evidence, units, guessed = 0) {
	const good = new Map();
	const problems = [];
	for (const [name, given] of Object.entries(evidence)) {
		const isKnown = units.has(name);
		const value = isKnown ? valueOf(given, name, units) : null;
		const words = () => [...new Set(["0", "1", ...units.words(name)])].join(", ");
		if (!isKnown) problems.push(unknown(name, units, guessed + problems.length < GUESSES));
		else if (value === undefined) problems.push(told("no-value", name, words(), JSON.stringify(given)));
		else if (value !== null) good.set(name, value);
	}
	return { good, problems };
}

// null: not observed; undefined: cannot be meant
function valueOf(given, name, units) {
	if (given === null) return null;
	if ([0, 1, false, true].includes(given)) return Number(given);
	if (typeof given === "string") return units.valueOf(name, given) ?? undefined;
	return isLikelihood(given) ? { on: given.on, off: given.off } : undefined;
}

const isLikelihood = ({ on, off }) => [on, off].every(Number.isFinite) && Math.min(on, off) >= 0 && on + off > 0;

// What is ranked and how, and a sentence for each name in it that no unit has. What cannot be meant is as usual.
export function checkedRanking(given, units) {
	const { units: targets, chosen, order, faults, left_out } = Object(given);
	const unknowns = new Set();
	const isKnown = (name) => {
		if (!units.has(name)) unknowns.add(name);
		return units.has(name);
	};
	const isName = (name) => typeof name === "string" && isKnown(name);
	const names = (list) => (Array.isArray(list) ? [...new Set(list)].filter(isName) : []);
	const states = Object.entries(faults ?? {}).filter(([name, state]) => [0, 1].includes(state) && isKnown(name));
	const ranking = unusual({
		units: ["all", "chosen"].includes(targets) ? targets : AS_USUAL.units,
		chosen: names(chosen),
		order: ["change", "probability"].includes(order) ? order : AS_USUAL.order,
		faults: Object.fromEntries(states),
		left_out: names(left_out),
	});
	return { ranking, problems: [...unknowns].map((name, k) => unknown(name, units, k < GUESSES)) };
}

export function unknown(name, units, isGuessed = true) {
	const near = isGuessed && units.nearest(name);
	return `This network has no unit “${name}”.${near ? ` Did you mean “${near}”?` : ""}`;
}
