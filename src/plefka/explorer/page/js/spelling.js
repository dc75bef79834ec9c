// The words of all names that are spelt nearly as another word.

const SHORTEST = 3; // letters of a word that is compared: shorter ones resemble everything
const LONGEST = 40;
const MOST = 3;
const UNFINISHED = 0.5; // what it costs that the word goes on: somebody may still be typing

export class Spelling {
	constructor(names) {
		this.words = new Map(); // folded -> as it is written in a name
		for (const name of names) {
			const parts = name.split(/[^\p{L}\p{N}]+/u).filter(Boolean);
			for (const part of parts) for (const piece of [part, ...part.split(/(?<=\p{Ll})(?=\p{Lu})/u)]) this.#add(piece);
			this.#add(parts.join(""), parts.join(" ")); // written without a space
		}
	}

	#add(word, written = word) {
		const folded = word.toLowerCase();
		if (isCompared(folded) && !this.words.has(folded)) this.words.set(folded, written);
	}

	// The nearest first, as they are written; [] if none is near.
	similar(word) {
		const wanted = word.toLowerCase();
		if (!isCompared(wanted)) return [];
		const most = wanted.length < 5 ? 1 : wanted.length < 9 ? 2 : 3;
		const found = [];
		for (const [other, written] of this.words) {
			if (other.length < wanted.length - most) continue;
			const cost = distance(wanted, other, most, written.includes(" "));
			if (cost <= most) found.push({ written, cost, size: other.length });
		}
		found.sort((a, b) => a.cost - b.cost || a.size - b.size);
		const near = found.filter(({ cost }) => cost <= found[0].cost + UNFINISHED);
		return near.slice(0, MOST).map(({ written }) => written);
	}
}

const isCompared = ({ length }) => length >= SHORTEST && length <= LONGEST;

let [before, previous, current] = [0, 0, 0].map(() => new Uint16Array(1002)); // names have 1,000 letters at most

// Letters to add, leave out, exchange, or swap with their neighbour, between the word and the other one, or how the
// other one begins; more than `most` if it is more. `isWhole`: only the whole other one counts.
export function distance(word, other, most, isWhole) {
	const size = Math.min(other.length, word.length + most);
	for (let k = 0; k <= size; k += 1) previous[k] = k;
	for (let row = 1; row <= word.length; row += 1) {
		current[0] = row;
		let least = row;
		for (let k = 1; k <= size; k += 1) {
			const exchanged = previous[k - 1] + (word[row - 1] === other[k - 1] ? 0 : 1);
			let cost = Math.min(previous[k] + 1, current[k - 1] + 1, exchanged);
			const isSwapped = row > 1 && k > 1 && word[row - 1] === other[k - 2] && word[row - 2] === other[k - 1];
			if (isSwapped) cost = Math.min(cost, before[k - 2] + 1);
			current[k] = cost;
			least = Math.min(least, cost);
		}
		if (least > most) return Infinity;
		[before, previous, current] = [previous, current, before];
	}
	const whole = size === other.length ? previous[size] : Infinity;
	if (isWhole || word.length <= SHORTEST) return whole;
	return Math.min(whole, UNFINISHED + Math.min(...previous.subarray(0, size + 1)));
}
