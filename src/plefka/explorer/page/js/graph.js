// What hangs together with what was observed, or with one unit: causes at the left, what they cause at the right (of a
// machine, the middle at the left), and how probable each is now.

import { drawing } from "./drawing.js";
import { button, make, readable } from "./elements.js";
import { fullScreen } from "./full_screen.js";
import { chosen, layered } from "./layers.js";
import { Panel } from "./panels.js";
import { Unreachable } from "./service.js";
import { about, count, counted, leaning, sentence } from "./words.js";

const FEW = 24; // units of each distance
const MANY = 60;
const ASKED = 150; // of which these are chosen
const MOST_OBSERVED = 40;
const HOPS = [1, 2, 3];

export function graphPanel(service, units, { select, chooser }) {
  const past = [];
  const wanted = { hops: 1, each: FEW };
  const stage = make("div", { class: "stage" });
  const full = fullScreen(stage, "The graph");
  let shown = null; // the unit in the middle; null: what was observed

  const isOfAll = ({ chosen: unit, observations }) => unit === null && observations.size > 0;
  const key = (state) => JSON.stringify([isOfAll(state) ? null : state.selected, wanted, state.key, state.isPossible]);
  const canAsk = ({ selected, observations }) => selected !== null || observations.size > 0;

  async function ask(signal, state) {
    const centres = isOfAll(state) ? mainObserved(state.observations) : [state.selected];
    const { hops } = wanted;
    const limit = centres.length + hops * ASKED;
    const around = await service.post("neighbourhood", { units: centres, hops, limit, each_hop: ASKED }, signal);
    const names = around.nodes.map(({ name }) => name);
    return { ...around, centres, hops, ...(await believed(names, state, signal)) };
  }

  // Of all units in one question. Without an answer there is a picture all the same.
  async function believed(names, { evidence, method, exclusive, isPossible }, signal) {
    const known = new Map();
    if (!isPossible) return { known, problem: "The observations contradict each other: no unit has a probability." };
    const question = { evidence, method, exclusive, units: names, top: names.length };
    try {
      const { ranking } = await service.post("infer", question, signal);
      for (const each of ranking) known.set(each.name, each);
      return { known, problem: "" };
    } catch (error) {
      if (signal.aborted || error instanceof Unreachable) throw error;
      return { known, problem: `The probabilities could not be computed. ${sentence(error.message)}` };
    }
  }

  function draw(answer, state) {
    if (answer === null)
      return [make("p", { class: "hint", text: "Choose a unit to see what it hangs together with." })];
    const { observations } = state;
    const { centres, known, problem } = answer;
    shown = isOfAll(state) ? null : state.selected;
    const names = chosen(answer, centres, wanted.each, worth(answer, observations));
    const there = new Set(names);
    const edges = answer.edges.filter(({ parent, child }) => there.has(parent) && there.has(child));
    const linked = new Set(edges.flatMap(({ parent, child }) => [parent, child]));
    const drawn = linked.size ? names.filter((name) => linked.has(name)) : names;
    const hops = new Map(answer.nodes.map((node) => [node.name, node.hops]));
    const outwards = ({ parent, child }) => !units.isMachine || hops.get(parent) !== hops.get(child);
    const layers = layered(drawn, edges.filter(outwards));
    const describe = (name) => description(name, observations.get(name), known.get(name), units.words(name));
    const title = shown === null ? "Around what was observed" : `Around ${shown}`;
    const some = observations.size > MOST_OBSERVED ? `The first ${MOST_OBSERVED} of ${observations.size} observed` : "Observed";
    const summary = shown === null ? `${some} units, and those beside them that they moved most` : links(answer, units);
    const label = `${title}. ${summary}. Arrow keys move; the same is in a list below.`;
    const focus = focused();
    stage.replaceChildren(
      make("h3", { unit: title }),
      make("p", { class: "hint", text: `${summary}. Click a unit to go there.` }),
      ...(problem ? [make("p", { class: "message is-bad", text: problem })] : []),
      controls(answer, names.length, state),
      drawn.length < names.length ? make("p", { class: "hint", text: alone(names.length - drawn.length) }) : "",
      make("div", { class: "wide" }, drawing({ layers, edges, middle: shown, label }, describe, go)),
      legend(edges.some(({ weight }) => weight < 0), units),
    );
    if (focus) queueMicrotask(() => stage.querySelector(focus)?.focus());
    return [full.place(), list(names, answer, describe)];
  }

  // What had the focus has it again: the unit in the middle for the one that was clicked, or the same button.
  function focused() {
    const before = stage.contains(document.activeElement) ? document.activeElement : null;
    return before?.matches(".node") ? ".is-centre" : before?.dataset.key ? `[data-key="${before.dataset.key}"]` : null;
  }

  // What was observed comes first, then what it moved most; around one unit, then the strongest links.
  function worth({ known }, observations) {
    const moved = (name) => {
      const { probability, prior } = known.get(name) ?? {};
      return Math.abs((probability ?? 0) - (prior ?? 0));
    };
    return (name) => (observations.has(name) ? 2 : shown === null ? moved(name) : 0);
  }

  function go(name) {
    if (name === shown) return;
    past.push(shown);
    select(name);
  }

  function controls({ nodes, left_out: left, centres, hops }, number, state) {
    const others = nodes.length + left - centres.length;
    const hidden = nodes.length + left - number;
    const change = (wish) => () => {
      Object.assign(wanted, wish);
      panel.refresh(state);
    };
    const quiet = (id, text, onclick) => button(text, onclick, { class: "button is-quiet", "data-key": id });
    const steps = HOPS.map((step) =>
      button(String(step), change({ hops: step }), {
        class: "button is-small",
        "aria-pressed": String(step === hops),
        "aria-label": counted(step, "link"),
        "data-key": `hops-${step}`,
      }),
    );
    const of = hops === 1 ? `${count(others)} neighbours` : `${count(others)} units within ${hops} links`;
    const is = hidden === 1 ? "is" : "are";
    const rest = `${count(hidden)} of ${shown !== null && hops === 1 ? "its" : "the"} ${of} ${is} not shown.`;
    return make(
      "div",
      { class: "choices" },
      make("span", { class: "choices", role: "group", "aria-label": "How many links away" }, "Links away", ...steps),
      past.length ? quiet("back", "Back", () => select(past.pop())) : null,
      shown !== null && state.observations.size ? quiet("all", "Around what was observed", () => go(null)) : null,
      hidden && wanted.each === FEW ? quiet("more", "Show more", change({ each: MANY })) : null,
      wanted.each === MANY ? quiet("more", "Show fewer", change({ each: FEW })) : null,
      full.button,
      units.isMachine && shown !== null && chooser(shown),
      hidden ? make("p", { class: "hint", text: rest }) : null,
    );
  }

  // What the picture shows, for the keyboard and for screen readers.
  function list(names, { nodes, edges, centres }, describe) {
    const roles = new Map(nodes.map(({ name, role }) => [name, role]));
    const others = names.filter((name) => !centres.includes(name));
    const above = new Set(edges.filter(({ child }) => child === shown).map(({ parent }) => parent));
    const below = new Set(edges.filter(({ parent }) => parent === shown).map(({ child }) => child));
    const parts =
      shown === null
        ? [
            ["Observed", centres],
            ["Causes", others.filter((name) => roles.get(name) === "cause")],
            [units.nouns.Findings, others.filter((name) => roles.get(name) !== "cause")],
          ]
        : [
            ["In the middle", centres],
            ["It depends on", others.filter((name) => above.has(name))],
            [units.nouns.effects, others.filter((name) => below.has(name))],
            ["Further away", others.filter((name) => !above.has(name) && !below.has(name))],
          ];
    const row = (name) =>
      make(
        "li",
        {},
        make("button", { type: "button", class: "link", unit: name, onclick: () => go(name) }),
        " ",
        make("em", { unit: describe(name).text }),
      );
    return make(
      "details",
      { open: true },
      make("summary", { text: "The same as a list" }),
      ...parts
        .filter(([, part]) => part.length)
        .flatMap(([title, part]) => [
          make("h4", { text: title }),
          make("ul", { class: "neighbours" }, ...part.map(row)),
        ]),
    );
  }

  const panel = new Panel("graph", { ask, key, canAsk, draw, needsPossible: false });
  return panel;
}

// What is there comes before what is not.
function mainObserved(observations) {
  const names = [...observations.keys()];
  return names.sort((a, b) => (observations.get(a) === 0) - (observations.get(b) === 0)).slice(0, MOST_OBSERVED);
}

const alone = (number) =>
  `${counted(number, "observed unit that is", "observed units that are")} linked with none of these ` +
  `${number === 1 ? "stands" : "stand"} in the list only.`;

function links({ parents, children }, { isMachine }) {
  if (isMachine) return `Coupled with ${counted(parents, "unit")}`;
  const depends = parents ? `Depends on ${counted(parents, "unit")}` : "Depends on nothing";
  return `${depends}, ${children ? `shows in ${counted(children, "unit")}` : "shows in nothing"}`;
}

// Its state in words if it was observed, and otherwise how probable it is to be on.
function description(name, value, belief, words) {
  const { probability = null, prior = null, accuracy } = belief ?? {};
  const isPlain = ["yes", "true"].includes(words[1].toLowerCase());
  const chance = `${isPlain ? "" : `${words[1]} `}${about(probability, accuracy)}`;
  const told = prior === null ? "" : `, ${about(prior, belief.prior_accuracy)} beforehand`;
  if (value === 0 || value === 1)
    return { kind: value ? "is-on" : "is-off", text: words[value], title: said(name, words[value]), probability: null };
  if (value === undefined) return { kind: "is-hidden", text: chance, title: said(name, chance + told), probability, prior };
  const seen = leaning(value, words);
  return { kind: "is-soft", text: `${chance}, seen: ${seen}`, title: said(name, `${chance}, ${seen}`), probability, prior };
}

const said = (name, text) => readable(`${name}: ${text}`);

function legend(isSomeNegative, { isMachine }) {
  const entry = (kind, text) =>
    make("span", { class: "key" }, make("span", { class: `dot ${kind}`, "aria-hidden": "true" }), text);
  const entries = [
    ["is-on", "observed: yes"],
    ["is-off", "observed: no"],
    ["is-soft", "how sure"],
    ["is-hidden", "not observed: probability now, and beforehand"],
  ];
  return make(
    "p",
    { class: "legend" },
    ...entries.map(([kind, text]) => entry(kind, text)),
    isSomeNegative && make("span.key", `dashed: ${isMachine ? "each makes the other" : "makes"} less probable`),
  );
}
