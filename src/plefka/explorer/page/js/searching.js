// A worker: the search among all names, so that typing never waits for it.
// Every word of the query must occur in a name; names that begin with the query come first.

import { Spelling } from "./spelling.js";

const QUIET = 300; // milliseconds after which the words of all names are gathered, before somebody misspells one
const MOST = 3; // that are offered
let [names, folded, roles, spelling] = [[], [], "", null];

self.onmessage = ({ data: { query, role, number, ...given } }) => {
	if (given.names) {
		({ names, roles } = given);
		folded = names.map(fold);
		setTimeout(() => (spelling ??= new Spelling(names)), QUIET);
		return;
	}
	const answer = search(query, role);
	const similar = answer.found.length || answer.elsewhere ? [] : corrected(query, role);
	self.postMessage({ number, ...answer, similar }, [answer.found.buffer]);
};

// An underscore and a space are the same.
const fold = (text) => text.toLowerCase().replaceAll("_", " ");

const wordsOf = (query) => query.split(/\s+/).filter(Boolean);

function search(query, role) {
	const words = wordsOf(query).map(fold);
	const whole = fold(query.trim());
	const first = [];
	const others = [];
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
	spelling ??= new Spelling(names);
	const words = wordsOf(query.replaceAll("_", " "));
	const isKnown = (word) => folded.some((name) => name.includes(fold(word)));
	const choices = words.map((word) => (isKnown(word) ? [word] : spelling.similar(word)));
	const most = choices.every((each) => each.length) ? Math.max(...choices.map((each) => each.length)) : 0;
	const queries = Array.from({ length: most }, (_, k) => choices.map((each) => each[k] ?? each[0]).join(" "));
	return [...new Set([...queries, ...spelling.similar(words.join(""))])]
		.map((text) => ({ text, ...search(text, role) }))
		.map(({ text, found, elsewhere }) => ({ text, found: found.length, elsewhere }))
		.filter(({ found, elsewhere }) => found || elsewhere)
		.sort((one, other) => (other.found > 0) - (one.found > 0))
		.slice(0, MOST);
}
