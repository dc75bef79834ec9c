// What to look at next: which observation is expected to make the causes most certain.

import { button, make } from "./elements.js";
import { Panel } from "./panels.js";
import { remarks } from "./why.js";
import { about } from "./words.js";

const TOP = 8;

export function nextPanel(service, units, { observe, select }) {
  const ask = (signal, { evidence, exclusive, method }) =>
    service.post("ask", { evidence, exclusive, method, top: TOP }, signal);
  const key = ({ key }) => key;
  const canAsk = ({ observations }) => !isAllKnown(observations);

  // Nothing is left to look at, or nothing to find out.
  function isAllKnown(observations) {
    const known = [...observations].filter(([, value]) => typeof value !== "object").map(([name]) => name);
    const causes = known.filter((name) => units.isCause(name)).length;
    return causes === units.numCauses || known.length - causes === units.names.length - units.numCauses;
  }

  function draw(answer) {
    const title = make("h3", { text: "What to look at next" });
    if (!answer?.candidates.length)
      return [title, make("p", { class: "hint", text: "Everything that could be observed is observed." })];
    const most = Math.max(...answer.candidates.map((each) => each.information ?? 0), 1e-12);
    return [
      title,
      make("p", { class: "hint", text: "Longest bar first: what is expected to tell most about the causes." }),
      make("ol", { class: "candidates" }, ...answer.candidates.map((each) => candidate(each, most, answer.entropy))),
      ...remarks(answer),
    ];
  }

  function candidate({ unit, information, probability: chance, accuracy }, most, entropy) {
    const fill = make("span", { class: "fill" });
    fill.style.transform = `scaleX(${Math.max(0, information ?? 0) / most})`;
    const [off, on] = units.words(unit);
    return make(
      "li",
      { class: "candidate" },
      make("button", { type: "button", class: "unit-name", unit, onclick: () => select(unit) }),
      make(
        "span",
        { class: "choices" },
        button(on, () => observe(unit, 1), { class: "button is-small", "aria-label": `Observe ${unit}: ${on}` }),
        button(off, () => observe(unit, 0), { class: "button is-small", "aria-label": `Observe ${unit}: ${off}` }),
      ),
      make("span", { class: "track", "aria-hidden": "true" }, fill),
      make(
        "span",
        { class: "hint gain", title: nats(information) },
        make("span", { text: gain(information, entropy) }),
        make("span", { unit: `chance of ${on} ${about(chance, accuracy)}` }),
      ),
    );
  }

  return new Panel("next", { ask, key, canAsk, draw, invitation: "What should I look at next?" });
}

// The information as a share of what is uncertain now.
function gain(information, entropy) {
  if (information === null) return "its gain could not be computed";
  const share = entropy > 0 ? (100 * information) / entropy : 0;
  const percent = share >= 10 ? share.toFixed(0) : share >= 0.1 ? share.toFixed(1) : "less than 0.1";
  return `resolves ${percent} % of the uncertainty`;
}

const nats = (information) =>
  information === null ? null : `Expected information about the causes: ${information.toFixed(4)} nats`;
