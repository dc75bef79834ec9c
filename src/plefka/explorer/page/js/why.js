// Why this cause: what speaks for it and against it, and what would change it.

import { usualFault } from "./case.js";
import { button, make } from "./elements.js";
import { Panel } from "./panels.js";
import { about, counted, sentence, signed } from "./words.js";

const TOP = 6; // further observations
const TELLING = 0.005; // log-odds: less than this is shown as nothing

export function whyPanel(service, units, { observe, showGraph, chooser }) {
  const ask = (signal, { evidence, method, selected }) =>
    service.post("explain", { evidence, unit: selected, method, top: TOP }, signal);
  const key = ({ selected, faults, key }) => `${key} ${selected} ${faults.get(selected)}`;
  const canAsk = ({ selected, observations }) => selected !== null && ![0, 1].includes(observations.get(selected));

  // The ranking may speak of the state off, "toner Low": then all is about that state.
  function draw(found, { selected, observations, faults }) {
    if (selected === null) return [make("p", { class: "hint", text: "Choose a cause to see what speaks for it." })];
    const links = make(
      "div",
      { class: "choices" },
      button("Show its neighbourhood", showGraph, { class: "button is-quiet" }),
      chooser(selected),
    );
    if (found === null) return [heading(selected), ...observed(selected, observations), links];
    const state = faults.get(selected) ?? usualFault(found.prior);
    const answer = state === 1 ? found : ofOff(found);
    return [
      heading(units.inState(selected, state)),
      make("p", { class: "now", text: now(answer) }),
      ...evidence(answer),
      ...changes(answer),
      known(selected),
      links,
      ...remarks(answer),
    ];
  }

  function observed(name, observations) {
    const word = units.words(name)[observations.get(name)];
    const text = `It is observed: ${word}. Only what is not observed needs an explanation.`;
    return [make("p", { class: "now", text })];
  }

  function known(name) {
    const [off, on] = units.words(name);
    const choices = make(
      "div",
      { class: "choices" },
      button(on, () => observe(name, 1), { "aria-label": `${name}: ${on}` }),
      button(off, () => observe(name, 0), { "aria-label": `${name}: ${off}` }),
    );
    return make("div", { class: "known" }, make("h4", { text: "Do you know it already?" }), choices);
  }

  function evidence({ observations }) {
    if (!observations.length)
      return [make("p", { class: "hint", text: "Nothing is observed yet, so nothing speaks for it or against it." })];
    const telling = observations.filter((each) => each.shift === null || Math.abs(each.shift) >= TELLING);
    const most = Math.max(...telling.map((each) => Math.abs(each.shift ?? 0)), 1e-9);
    const silent = observations.length - telling.length;
    return [
      make("h4", { text: "What speaks against it, and for it" }),
      make("ul", { class: "shifts" }, ...telling.map((each) => shift(each, most))),
      ...(silent
        ? [make("p", { text: `${counted(silent, "observation says", "observations say")} nothing about it.` })]
        : []),
      make("p", {
        class: "hint",
        text: "Lengths are log-odds: what each observation adds to the others. What tells the same shares its effect.",
      }),
    ];
  }

  function shift({ unit, state, shift: by, probability: without, accuracy }, most) {
    const fill = make("span", { class: `fill ${by < 0 ? "against" : "for"}` });
    fill.style.width = `${(50 * Math.abs(by ?? 0)) / most}%`;
    return make(
      "li",
      { class: "shift" },
      make(
        "span",
        { class: "shift-name" },
        make("span", { unit }),
        " ",
        make("em", { unit: stateWord(unit, state) }),
      ),
      make("span", { class: "number", text: signed(by) }),
      make("span", { class: "track is-diverging", "aria-hidden": "true" }, fill),
      make("span", { class: "hint without", text: `without it ${about(without, accuracy)}` }),
    );
  }

  function changes({ changes: possible }) {
    if (!possible.length) return [];
    return [
      make("h4", { text: "What would change it" }),
      make("ul", { class: "changes" }, ...possible.slice(0, TOP).map(change)),
    ];
  }

  function change({ unit, state, shift: by, probability: then, chance, accuracy }) {
    const word = stateWord(unit, state);
    const value = state.endsWith("on") ? 1 : 0;
    return make(
      "li",
      { class: `change ${by < 0 ? "against" : "for"}` },
      make("span", { class: "change-text" }, make("span", { unit }), " ", make("em", { unit: word })),
      make("span", { class: "number", text: about(then, accuracy) }),
      make("span", { class: "hint chance", text: `chance of this ${about(chance, accuracy)}` }),
      button(`It is ${word}`, () => observe(unit, value), {
        class: "button is-small",
        "aria-label": `It is ${word}: ${unit}`,
      }),
    );
  }

  function stateWord(unit, state) {
    const [off, on] = units.words(unit);
    const word = state.endsWith("on") ? on : off;
    return state.startsWith("likely") ? `probably ${word}` : word;
  }

  return new Panel("why", { ask, key, canAsk, draw, invitation: "Explain this cause" });
}

// What was said of the state on, said of the state off.
function ofOff(answer) {
  const other = (p) => (p === null ? null : 1 - p);
  const opposite = (shift) => (shift === null ? null : -shift);
  const turned = (each) => ({ ...each, shift: opposite(each.shift), probability: other(each.probability) });
  const { probability, prior, observations, changes } = answer;
  return {
    ...answer,
    probability: other(probability),
    prior: other(prior),
    observations: observations.map(turned),
    changes: changes.map(turned),
  };
}

const heading = (name) => make("h3", { unit: `Why ${name}?` });

function now({ probability: value, prior, accuracy, prior_accuracy: before }) {
  if (value === null || prior === null) return "Its probability could not be computed by this method.";
  if (Math.abs(value - prior) < 5e-4)
    return `Its probability is ${about(value, accuracy)}, as before anything was observed.`;
  const direction = value > prior ? "rose" : "fell";
  return `Its probability ${direction} from ${about(prior, before)} to ${about(value, accuracy)}.`;
}

export function remarks({ method, is_exact: isExact, notes }) {
  const how = isExact ? `Computed exactly (${method}).` : `Computed by ${method}: ≈ is an estimate.`;
  return [make("p", { class: "hint remarks", text: [how, ...notes.map(sentence)].join(" ") })];
}
