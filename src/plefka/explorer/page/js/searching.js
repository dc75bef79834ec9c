// A worker: the search among all names, so that typing never waits for it.
// Every word of the query must occur in a name; names that begin with the query come first.

import { distance } from "./units.js";

const SHORTEST = 3; // letters of a word that is compared: shorter ones resemble everything
const LONGEST = 40;
const MOST = 3; // words that resemble one, and queries that are offered
const ALIKE = 0.5; // letters by which these may differ from the nearest one
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

// {found: indexes, elsewhere: how many there are in the other role}
function search(query, role) {
	const words = query.split(/\s+/).map(fold);
	const whole = fold(query.trim());
	const [first, others] = [[], []];
	let elsewhere = 0;
	folded.forEach((name, index) => {
		if (!words.every((word) => name.includes(word))) return;
		if (role !== "a" && roles[index] !== role) elsewhere += 1;
		else (whole && name.startsWith(whole) ? first : others).push(index);
	});
	return { found: Int32Array.from([...first, ...others]), elsewhere };
}

// The query with its unknown words exchanged for similar ones: those that are found, in this role first.
function corrected(query, role) {
	vocabulary ??= wordsOfNames();
	const words = query.split(/[\s_]+/).filter(Boolean);
	const choices = words.map((word) => (search(word, "a").found.length ? [word] : similar(word)));
	const isPossible = choices.every(({ length }) => length);
	const queries = Array.from({ length: isPossible ? MOST : 0 }, (_, k) => choices.map((each) => each[k] ?? each[0]));
	return [...new Set([...queries.map((each) => each.join(" ")), ...similar(words.join(""))])]
		.map((text) => ({ text, ...search(text, role) }))
		.map(({ text, found, elsewhere }) => ({ text, found: found.length, elsewhere }))
		.filter(({ found, elsewhere }) => found || elsewhere)
		.sort((one, other) => (other.found > 0) - (one.found > 0))
		.slice(0, MOST);
}

const isCompared = ({ length }) => length >= SHORTEST && length <= LONGEST;

// Folded -> as it is written in a name; also all words of a name, as if written without spaces.
function wordsOfNames() {
	const found = new Map();
	const add = (word, written) => {
		const key = word.toLowerCase();
		if (isCompared(key) && !found.has(key)) found.set(key, written);
	};
	for (const name of names) {
		const parts = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
		for (const part of parts) for (const piece of [part, ...part.split(/(?<=\p{Ll})(?=\p{Lu})/u)]) add(piece, piece);
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
