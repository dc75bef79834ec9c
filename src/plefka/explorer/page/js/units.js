// The names, roles and state words of all units, and what may be meant by a name that none has.

const PLAIN = ["0", "1"];
// What readers of a machine see in the place of these words, which other modules ask of `units.nouns`.
const OF_MACHINES = {
	...{ cause: "unit", Cause: "Unit", causes: "units", Causes: "Units", Findings: "Coupled units", link: "coupling" },
	"It shows in": "Coupled with",
};
const UNFINISHED = 0.5; // what it costs that a word goes on: somebody may still be typing
const FURTHEST = 4; // letters that are wrong in a name

export class Units {
	constructor({ names, roles, states }) {
		Object.assign(this, { names, roles, states });
		this.isMachine = roles.startsWith("u"); // a Boltzmann machine, whose units are neither causes nor findings
		const nouns = Object.entries(OF_MACHINES).map(([noun, other]) => [noun, this.isMachine ? other : noun]);
		this.nouns = Object.fromEntries(nouns);
		this.indexes = new Map(names.map((name, index) => [name, index]));
	}

	has(name) {
		return this.indexes.has(name);
	}

	isCause(name) {
		return this.roles[this.indexes.get(name)] === "c";
	}

	#given(name) {
		return this.states.others[this.indexes.get(name)] ?? this.states.default;
	}

	// [word for off, word for on]
	words(name) {
		if (this.isMachine) return ["off", "on"];
		const given = this.#given(name);
		return given.join() === PLAIN.join() ? ["no", "yes"] : given;
	}

	// The word beside a name in a ranking; none where a unit is simply there, as in "flu 0.42".
	stateWord(name, state) {
		const words = this.words(name);
		return state === 1 && (this.isMachine || words.join(" ").toLowerCase() === "no yes") ? "" : words[state];
	}

	// "toner Low"
	inState(name, state) {
		return `${name} ${this.stateWord(name, state)}`.trim();
	}

	// Also the words that only files know: "0", "1", or those of the unit.
	valueOf(name, word) {
		const folded = word.trim().toLowerCase();
		const known = [...this.#given(name), ...this.words(name), ...PLAIN];
		const place = known.findIndex((each) => each.toLowerCase() === folded);
		return place < 0 ? null : place % 2;
	}

	// The most similar name, for "did you mean".
	nearest(word) {
		const folded = word.toLowerCase();
		for (let most = 0; most < word.length / 3 && most <= FURTHEST; most += 1) {
			const near = this.names.find((name) => distance(folded, name.toLowerCase(), most) <= most);
			if (near) return near;
		}
		return null;
	}
}

// Letters to add, leave out, exchange, or swap with their neighbour until a word is the other one, or how that begins;
// Infinity if they are more than `most`.
export function distance(word, other, most, isBeginning = false) {
	let same = 0;
	while (same < word.length && word[same] === other[same]) same += 1;
	const [left, there] = [word.length - same, other.length - same];
	if (!left || !there) {
		const cost = left || (isBeginning ? Math.min(there, UNFINISHED) : there);
		return cost <= most ? cost : Infinity;
	}
	if (most < 1 || left > there + most || (there > left + most && !isBeginning)) return Infinity;
	const after = (skipped, taken) =>
		1 + distance(word.slice(same + skipped), other.slice(same + taken), most - 1, isBeginning);
	const isSwapped = word[same] === other[same + 1] && word[same + 1] === other[same];
	return Math.min(after(1, 1), after(1, 0), after(0, 1), isSwapped ? after(2, 2) : Infinity);
}
