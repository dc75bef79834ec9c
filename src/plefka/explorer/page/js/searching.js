// A worker: the search among all names, so that typing never waits for it.

import { distance } from "./units.js";

const SHORTEST = 3; // letters of a word that is compared: shorter ones resemble everything
const LONGEST = 40;
const MOST = 3; // words that resemble one, and queries that are offered
const ALIKE = 0.5; // letters by which these may be further away than the nearest
let [names, folded, roles, vocabulary] = [[], [], "", null];

self.onmessage = ({ data: { query, role, ...given } }) => {
	if (given.names) {
		({ names, roles } = given);
		folded = names.map(fold);
		return;
	}
	const answer = search(query, role);
	const similar = answer.found.length || answer.elsewhere ? [] : corrected(query, role);
	self.postMessage({ query, role, ...answer, similar });
	vocabulary ??= wordsOfNames(); // before somebody misspells one
};

// An underscore and a space are the same.
const fold = (text) => text.toLowerCase().replaceAll("_", " ");

// {found: indexes, elsewhere: how many there are in the other role}. Every word of the query must occur in a name; names
// that begin with the query come first.
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
	vocabulary ??= wordsOfNames();
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

const isCompared = ({ length }) => length >= SHORTEST && length <= LONGEST;

// Folded -> as it is written in a name: each word, the words within it, and the whole name as if it had no spaces.
function wordsOfNames() {
	const found = new Map();
	const add = (word, written) => {
		const key = word.toLowerCase();
		if (isCompared(key) && !found.has(key)) found.set(key, written);
	};
	for (const name of names) {
		const parts = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
		const pieces = parts.flatMap((part) => [part, ...part.split(/(?<=\p{Ll})(?=\p{Lu})/u)]);
		for (const piece of pieces) add(piece, piece);
		add(parts.join(""), parts.join(" "));
	}
	return found;
}

// The nearest words first, as they are written; [] if none is near.
function similar(word) {
	const wanted = word.toLowerCase();
	const most = wanted.length < 5 ? 1 : wanted.length < 9 ? 2 : 3;
	const near = [];
	for (const [other, written] of isCompared(wanted) ? vocabulary : []) {
		const cost = distance(wanted, other, most, wanted.length > SHORTEST && !written.includes(" "));
		if (cost <= most) near.push({ written, cost, size: other.length });
	}
	near.sort((one, other) => one.cost - other.cost || one.size - other.size);
	return near.filter(({ cost }) => cost <= near[0].cost + ALIKE).slice(0, MOST).map(({ written }) => written);
}
