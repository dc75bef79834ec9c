// What each method does, in a line: the names alone say nothing to most readers. More: docs/choosing.md.

const GROUPS = [
  [
    "Chosen for you",
    { auto: "Exact where that is quick. Otherwise the best estimate that about a second allows." },
  ],
  ["The true answer", { exact: "Sums over everything that may be the case. Impossible where too much is unknown." }],
  [
    "Messages: quick estimates",
    {
      bethe: "Neighbours in the network exchange messages until they agree. Usually the best of the quick estimates.",
      loops: "As bethe, with small groups of neighbours. Often better where links form short circles.",
    },
  ],
  [
    "Random draws: estimates with a margin of error",
    {
      findings: "Sums over the effects of some findings exactly, and draws at random for the others.",
      smc: "Draws many possible cases at random and moves them step by step towards what was observed.",
      gibbs: "Changes one unit after another at random, very often. Slow, but right in the long run.",
    },
  ],
  [
    "Part exact, part estimate",
    {
      conditioned: "Goes through all states of a few important units, and estimates the rest for each.",
      mixture: "Combines several simple estimates. Never overstates how probable the observations are.",
    },
  ],
  [
    "Bounds on the probability of the observations",
    {
      minibucket: "Splits the sum into small parts. Never understates how probable the observations are.",
      SJJ: "Treats units as independent, with one further number for each. Never overstates how probable they are.",
    },
  ],
  [
    "Treat units as independent (mean field)",
    {
      G1: "The best approximation by independent units. Never overstates how probable the observations are.",
      G10: "A first, rough approximation by independent units.",
      G11: "Independent units, with the effect of causes taken as a straight line.",
      G12: "Independent units, with the effect of causes taken as a curve. The usual choice for learning.",
      G13: "As G12, with a finer curve.",
      G14: "As G13, with a still finer curve.",
    },
  ],
  [
    "Independent units, corrected for pairs and more",
    {
      G2: "G1, corrected for how pairs of units depend on each other.",
      G21: "G11, corrected for pairs of units, both roughly.",
      G22: "G12, corrected for pairs of units. May fail where findings rarely appear by themselves.",
      G221: "G12, with a rough correction for pairs of units. The quickest of the corrected ones.",
      G212: "G11, with a finer correction for pairs of units.",
      G3: "G2, corrected for groups of three units. For small networks.",
      G4: "G3, corrected for groups of four units. For small networks.",
    },
  ],
];
const WORDS = Object.assign({}, ...GROUPS.map(([, methods]) => methods));

// A spelling may have options: "gibbs[seed=0]".
const nameOf = (spelling) => spelling.split("[")[0];

export const methodWords = (spelling) => (Object.hasOwn(WORDS, nameOf(spelling)) ? WORDS[nameOf(spelling)] : "");

// [title, spellings] in the order of a list; methods of the user's own last.
export function methodGroups(spellings) {
  const groups = GROUPS.map(([title, methods]) => [
    title,
    spellings.filter((spelling) => Object.hasOwn(methods, nameOf(spelling))),
  ]);
  const others = spellings.filter((spelling) => !methodWords(spelling));
  return [...groups, ["Others", others]].filter(([, names]) => names.length);
}
