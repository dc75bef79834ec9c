// The head of a printed page: whose case it is, when it was printed, of which network, and what its numbers are.

import { byId, make } from "./elements.js";
import { counted, moment, numbers } from "./words.js";

// label() and answer(): of the case as it is now
export function keepPaper(network, theCase, { label, answer }) {
  const draw = () => {
    const { name, note } = label() ?? {};
    byId("paper").replaceChildren(
      make("p", { class: "paper-name" }, make("bdi", { text: name || "Case without a name" })),
      ...(note ? [make("p", { class: "paper-note" }, make("bdi", { text: note }))] : []),
      make("dl", {}, ...facts(network, theCase, answer()).flatMap(described)),
    );
  };
  addEventListener("beforeprint", draw);
  matchMedia("print").addEventListener("change", draw);
}

const described = ([term, text]) => [make("dt", { text: term }), make("dd", { text })];

function facts(network, theCase, answer) {
  const version = network.network_version ? `, version ${network.network_version}` : "";
  const isAnswered = answer !== null && answer.status !== "impossible";
  return [
    ["Printed", moment(Date.now())],
    ["Network", `${network.title}${version}, fingerprint ${network.fingerprint}`],
    ["Observed", counted(theCase.observations.size, "observation")],
    ["Assumed", theCase.isExclusive ? "There is exactly one cause." : "There may be any number of causes."],
    ["Method", theCase.method],
    ...(isAnswered ? [["Numbers", numbers(answer)]] : []),
  ].filter(([term]) => network.causes || term !== "Assumed");
}
