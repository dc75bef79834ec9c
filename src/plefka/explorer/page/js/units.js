// The names, roles and state words of all units, and the search among them, which a worker does.

import { distance } from "./spelling.js";

const PLAIN = ["0", "1"];
// What readers of a machine see in the place of these words, which other modules ask of `units.nouns`.
const OF_MACHINES = {
	...{ cause: "unit", Cause: "Unit", causes: "units", Causes: "Units", Findings: "Coupled units", link: "coupling" },
	"It shows in": "Coupled with",
};

export class Units {
	constructor({ names, roles, states }) {
		Object.assign(this, { names, roles, states, number: 0, waiting: null });
		this.isMachine = roles.startsWith("u"); // a Boltzmann machine, whose units are neither causes nor findings
		const nouns = Object.entries(OF_MACHINES).map(([noun, other]) => [noun, this.isMachine ? other : noun]);
		this.nouns = Object.fromEntries(nouns);
		this.numCauses = roles.split("c").length - 1;
		this.indexes = new Map(names.map((name, index) => [name, index]));
		this.worker = new Worker(new URL("./searching.js", import.meta.url), { type: "module" });
		this.worker.onmessage = ({ data }) => data.number === this.number && this.waiting?.(data);
		this.worker.postMessage({ names, roles });
	}

	has(name) {
		return this.indexes.has(name);
	}

	isCause(name) {
		return this.roles[this.indexes.get(name)] === "c";
	}

	#given(name) {
		return this.states?.others?.[this.indexes.get(name)] ?? this.states?.default ?? PLAIN;
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
		const places = [this.#given(name), this.words(name), PLAIN].map((words) =>
			words.findIndex((each) => each.toLowerCase() === folded),
		);
		return places.find((place) => place >= 0) ?? null;
	}

	// {found: indexes, elsewhere: how many there are in the other role, similar: what may be meant if nothing was found};
	// null if a newer search was started.
	search(query, role) {
		this.waiting?.(null);
		this.number += 1;
		this.worker.postMessage({ query, role, number: this.number });
		return new Promise((resolve) => {
			this.waiting = resolve;
		});
	}

	// The most similar name, for "did you mean".
	nearest(word) {
		const folded = word.toLowerCase();
		let [best, least] = [null, word.length / 3];
		for (const name of this.names) {
			if (Math.abs(name.length - word.length) >= least) continue;
			const cost = distance(folded, name.toLowerCase(), Math.floor(least), true);
			if (cost < least) [best, least] = [name, cost];
		}
		return best;
	}
}
