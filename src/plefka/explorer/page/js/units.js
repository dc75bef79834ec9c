// The names, roles and state words of all units, and the search among them, which a worker does.

// What readers call units in a network of causes, and in a machine, which has none; other modules ask for `units.nouns`.
const NOUNS = {
  cause: ["cause", "unit"],
  Cause: ["Cause", "Unit"],
  causes: ["causes", "units"],
  Causes: ["Causes", "Units"],
  Findings: ["Findings", "Coupled units"],
  effects: ["It shows in", "Coupled with"],
  link: ["link", "coupling"],
};

export class Units {
  constructor({ names, roles, states }) {
    this.isMachine = roles.startsWith("u"); // a Boltzmann machine, whose units are neither causes nor findings
    this.nouns = Object.fromEntries(Object.entries(NOUNS).map(([noun, two]) => [noun, two[Number(this.isMachine)]]));
    this.names = names;
    this.roles = roles;
    this.states = states;
    this.numCauses = roles.split("c").length - 1;
    this.indexes = new Map(names.map((name, index) => [name, index]));
    this.worker = new Worker(new URL("./searching.js", import.meta.url), { type: "module" });
    this.worker.onmessage = ({ data }) => this.#found(data);
    this.worker.postMessage({ names, roles });
    this.number = 0;
    this.waiting = null;
  }

  has(name) {
    return this.indexes.has(name);
  }

  isCause(name) {
    return this.roles[this.indexes.get(name)] === "c";
  }

  // [word for off, word for on]
  words(name) {
    if (this.isMachine) return ["off", "on"];
    const given = this.states?.others?.[this.indexes.get(name)] ?? this.states?.default ?? ["0", "1"];
    return given[0] === "0" && given[1] === "1" ? ["no", "yes"] : given;
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
    const index = this.indexes.get(name);
    const given = this.states?.others?.[index] ?? this.states?.default ?? ["0", "1"];
    const folded = word.trim().toLowerCase();
    for (const words of [given, this.words(name), ["0", "1"]]) {
      const value = words.findIndex((each) => each.toLowerCase() === folded);
      if (value >= 0) return value;
    }
    return null;
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

  #found({ number, ...answer }) {
    if (number !== this.number) return;
    const resolve = this.waiting;
    this.waiting = null;
    resolve?.(answer);
  }

  // The most similar name, for "did you mean".
  nearest(word) {
    const wanted = pairs(word);
    let best = null;
    let most = 0.5;
    for (const name of this.names) {
      const alike = similarity(wanted, word, name);
      if (alike > most) [best, most] = [name, alike];
    }
    return best;
  }
}

function pairs(word) {
  const folded = ` ${word.toLowerCase()} `;
  return new Set(Array.from({ length: folded.length - 1 }, (_, k) => folded.slice(k, k + 2)));
}

// Dice's coefficient of letter pairs.
function similarity(wanted, word, name) {
  if (Math.abs(word.length - name.length) > word.length) return 0;
  const own = pairs(name);
  let shared = 0;
  for (const pair of own) shared += wanted.has(pair);
  return (2 * shared) / (own.size + wanted.size);
}
