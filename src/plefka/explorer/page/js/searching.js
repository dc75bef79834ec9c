// A worker: the search among all names, so that typing never waits for it.

import { distance } from "./units.js";

const SHORTEST = 3; // letters of a word that is compared: shorter ones resemble everything
const MOST = 3; // words that resemble one, and queries that are offered
const ALIKE = 0.5; // letters by which these may be further away than the nearest
let [names, folded, roles, vocabulary] = [[], [], "", []];

self.onmessage = ({ data: { query, role, ...given } }) => {
	if (given.names) {
		({ names, roles } = given);
		folded = names.map(fold);
		return;
	}
	const answer = search(query, role);
	const similar = answer.found.length || answer.elsewhere ? [] : corrected(query, role);
	self.postMessage({ query, role, ...answer, similar });
	if (!vocabulary.size) vocabulary = new Set(names.flatMap(wordsOf)); // before somebody misspells one
};

// An underscore and a space are the same.
const fold = (text) => text.toLowerCase().replaceAll("_", " ");

// {found: indexes, elsewhere: how many are in the other role}. Every word of the query must occur in a name; names that
// begin with the query come first.
function search(query, role) {
	const words = query.split(/\s+/).map(fold);
	const whole = fold(query.trim());
	const [first, others] = [[], []];
	let elsewhere = 0;
	folded.forEach((name, index) => {
		if (!words.every((word) => name.includes(word))) return;
		if (role !== "a" && roles[index] !== role) elsewhere += 1;
		else (name.startsWith(whole) ? first : others).push(index);
	});
	return { found: Int32Array.from([...first, ...others]), elsewhere };
}

// The query with its unknown words exchanged for similar ones: those that are found, in this role first.
function corrected(query, role) {
	const words = query.split(/[\s_]+/).filter(Boolean);
	const choices = words.map((word) => (search(word, "a").found.length ? [word] : similar(word)));
	const queries = [0, 1, 2].map((k) => choices.map((each) => each[k] ?? each[0]));
	const texts = queries.filter((each) => each.length && !each.includes(undefined)).map((each) => each.join(" "));
	return [...new Set([...texts, ...similar(words.join(""))])]
		.map((text) => ({ text, ...search(text, role) }))
		.filter(({ found, elsewhere }) => found.length || elsewhere)
		.map(({ text, found }) => ({ text, isHere: found.length > 0 }))
		.sort((one, other) => other.isHere - one.isHere)
		.slice(0, MOST);
}

// The words of a name, the words within them, and all of it, which may be typed without its spaces.
function wordsOf(name) {
	const words = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
	return [...words, ...words.flatMap((word) => word.split(/(?<=\p{Ll})(?=\p{Lu})/u)), words.join(" ")];
}

// The nearest words first, as they are written; [] if none is near.
function similar(word) {
	const wanted = word.toLowerCase();
	const most = wanted.length < 5 ? 1 : wanted.length < 9 ? 2 : 3;
	const near = new Map();
	for (const written of wanted.length < SHORTEST ? [] : vocabulary) {
		const other = written.toLowerCase().replaceAll(" ", "");
		if (other.length < SHORTEST || near.has(other)) continue;
		const cost = distance(wanted, other, most, wanted.length > SHORTEST && !written.includes(" "));
		if (cost <= most) near.set(other, { written, cost });
	}
	const found = [...near].sort(([a, one], [b, other]) => one.cost - other.cost || a.length - b.length);
	const isNear = ([, { cost }]) => cost <= found[0][1].cost + ALIKE;
	return found.filter(isNear).slice(0, MOST).map(([, { written }]) => written);
}
