// Two cases side by side: what was observed in one and not in the other, and how probable each cause is in both.

import { byId, make } from "./elements.js";
import { checked, contentOf, fromContent } from "./shared_case.js";
import { latest, STALE } from "./service.js";
import { about, counted, estimates, leaning, probability, sentence } from "./words.js";

const TOP = 20; // causes of each case

export class TwoCases {
  constructor(service, units, theCase, store) {
    Object.assign(this, { service, units, theCase, store });
    this.dialog = byId("two-dialog");
    this.choices = [byId("two-one"), byId("two-other")];
    this.ask = latest((signal, both) => this.#answers(both, signal));
    for (const choice of this.choices) choice.addEventListener("change", () => this.#compare());
    byId("two-close").addEventListener("click", () => this.dialog.close());
    this.dialog.addEventListener("close", () => this.ask.cancel());
  }

  // Without another key: the newest case that is not the first.
  open(one, other) {
    const all = this.store.all();
    this.cases = new Map(all.map(([key, record]) => [key, { name: record.name, content: record.content }]));
    const name = this.store.get(this.theCase.id)?.name;
    const shown = name ? `${name} (open)` : "The open case";
    this.cases.set(this.theCase.id, { name: shown, content: contentOf(this.theCase) });
    const keys = [...this.cases.keys()];
    [one, other ?? keys.find((key) => key !== one) ?? one].forEach((key, k) => this.#offer(this.choices[k], key));
    this.dialog.showModal();
    this.#compare();
  }

  #offer(choice, key) {
    const options = [...this.cases].map(([value, { name }]) => make("option", { value, text: name }));
    choice.replaceChildren(...options);
    choice.value = key;
  }

  async #compare() {
    const both = this.choices.map(({ value }) => this.#caseOf(value));
    const observed = observations(both, this.units);
    const show = (...elements) => byId("two-body").replaceChildren(...observed, ...elements);
    show(make("p", { class: "hint", role: "status", text: "computing …" }));
    try {
      const answers = await this.ask(both);
      if (answers !== STALE) show(...causes(both, answers, this.units));
    } catch (error) {
      show(make("p", { class: "message is-bad", role: "alert", text: sentence(error.message) }));
    }
  }

  #caseOf(key) {
    const { name, content } = this.cases.get(key);
    const { evidence, method, isExclusive } = fromContent(content);
    const { good, problems } = checked(evidence, this.units);
    return { name, observed: good, problems, method: method ?? this.theCase.method, isExclusive };
  }

  // The causes that are ranked first differ: those that one ranking lacks are asked for by name.
  async #answers(both, signal) {
    const answers = await Promise.all(both.map((each) => this.#infer(each, "causes", signal)));
    if (answers.some(({ status }) => status === "impossible")) return answers;
    const names = new Set(answers.flatMap(({ ranking }) => ranking.map((each) => each.name)));
    const whole = async (answer, k) => {
      const ranked = new Set(answer.ranking.map((each) => each.name));
      const lacking = [...names].filter((name) => !ranked.has(name) && !isHard(both[k].observed.get(name)));
      const rest = lacking.length ? await this.#infer(both[k], lacking, signal) : { ranking: [] };
      return { ...answer, ranking: [...answer.ranking, ...rest.ranking] };
    };
    return Promise.all(answers.map(whole));
  }

  #infer({ observed, method, isExclusive }, units, signal) {
    const evidence = Object.fromEntries(observed);
    const exclusive = isExclusive ? "causes" : null;
    return this.service.post("infer", { evidence, exclusive, method, top: 2 * TOP, units }, signal);
  }
}

const isHard = (value) => value === 0 || value === 1;

function observations(both, units) {
  const [one, other] = both.map(({ observed }) => observed);
  const names = [...new Set([...one.keys(), ...other.keys()])];
  const differ = names.filter((name) => JSON.stringify(one.get(name)) !== JSON.stringify(other.get(name)));
  const same = names.filter((name) => !differ.includes(name));
  const cells = (name) => [one, other].map((observed) => make("td", { text: told(observed, name, units) }));
  const rows = differ.map((name) => row(name, ...cells(name)));
  const agree = same.map((name) => make("li", {}, make("bdi", { text: name }), ` ${told(one, name, units)}`));
  const title = `${counted(same.length, "observation")} in both`;
  return [
    ...both.filter(({ problems }) => problems.length).map(leftOut),
    ...(differ.length
      ? [table("Observations that differ", ["Observation", ...both.map(({ name }) => name)], rows)]
      : [make("p", { text: "The same was observed in both." })]),
    ...(same.length ? [make("details", {}, make("summary", { text: title }), make("ul", {}, ...agree))] : []),
  ];
}

function told(observed, name, units) {
  const value = observed.get(name);
  if (value === undefined) return "not observed";
  return isHard(value) ? units.words(name)[value] : leaning(value, units.words(name));
}

function leftOut({ name, problems }) {
  const count = counted(problems.length, "observation");
  const verb = problems.length === 1 ? "does" : "do";
  return complaint(`${count} of `, name, ` ${verb} not fit this network, and the answer goes without.`);
}

function causes(both, answers, units) {
  const impossible = both.filter((_, k) => answers[k].status === "impossible");
  if (impossible.length) return impossible.map(contradicting);
  const ranked = answers.map(({ ranking }) => new Map(ranking.map((each) => [each.name, each])));
  const names = [...new Set(ranked.flatMap((each) => [...each.keys()]))];
  const cells = (name) => ranked.map((each, k) => cellOf(each.get(name), both[k].observed.get(name), units.words(name)));
  const largest = (each) => Math.max(...each.cells.map(({ value }) => value));
  const rows = names.map((name) => ({ name, cells: cells(name) })).sort((a, b) => largest(b) - largest(a));
  const numbers = (each) => each.map(({ text }) => make("td", { class: "number", text }));
  const shown = rows.slice(0, TOP).map(({ name, cells: each }) => row(name, ...numbers(each), change(...each)));
  return [
    table("How probable the causes are", ["Cause", ...both.map(({ name }) => name), "Change"], shown),
    make("p", { class: "hint", text: `${estimates(answers.flatMap(({ ranking }) => ranking))} ${assumed(both)}` }),
  ];
}

function assumed(both) {
  const [one, other] = both.map(({ method, isExclusive }) => `${method}${isExclusive ? ", exactly one cause" : ""}`);
  return one === other ? `Both were computed by ${one}.` : `The first was computed by ${one}, the second by ${other}.`;
}

const contradicting = ({ name }) =>
  complaint("The observations of ", name, " contradict each other, so that its causes cannot be ranked.");

const complaint = (before, name, after) =>
  make("p", { class: "message is-bad" }, before, make("bdi", { text: name }), after);

// What was observed is certain.
function cellOf(ranked, observed, words) {
  if (!ranked) return isHard(observed) ? { value: observed, text: words[observed] } : { value: 0, text: "–" };
  const { probability: value, accuracy } = ranked;
  return { value: value ?? 0, text: about(value, accuracy), isEstimate: accuracy === "estimate" };
}

function change(one, other) {
  const by = other.value - one.value;
  const sign = by < 0 ? "−" : "+";
  const text = Math.abs(by) < 0.0005 ? "0" : `${sign}${probability(Math.abs(by))}`;
  const fill = make("span", { class: by < 0 ? "fill against" : "fill for" });
  fill.style.width = `${50 * Math.abs(by)}%`;
  const isEstimate = one.isEstimate || other.isEstimate;
  const bar = make("span", { class: "track is-diverging", "aria-hidden": "true" }, fill);
  return make("td", { class: "number" }, `${isEstimate ? "≈ " : ""}${text}`, bar);
}

const row = (name, ...cells) =>
  make("tr", {}, make("th", { scope: "row", title: name }, make("bdi", { text: name })), ...cells);

function table(caption, heads, rows) {
  const head = heads.map((text) => make("th", { scope: "col", title: text }, make("bdi", { text })));
  return make(
    "table",
    {},
    make("caption", { text: caption }),
    make("thead", {}, make("tr", {}, ...head)),
    make("tbody", {}, ...rows),
  );
}
