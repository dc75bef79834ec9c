// Two cases side by side: what was observed in one and not in the other, and how probable each cause is in both.

import { byId, make } from "./elements.js";
import { checked, contentOf, fromContent } from "./shared_case.js";
import { latest, STALE } from "./service.js";
import { about, leaning, numbers, probability, sentence } from "./words.js";

const TOP = 20; // causes

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
    this.cases = new Map(this.store.all());
    const name = this.store.get(this.theCase.id)?.name;
    const content = contentOf(this.theCase);
    this.cases.set(this.theCase.id, { name: name ? `${name} (open)` : "The open case", content });
    const second = other ?? [...this.cases.keys()].find((key) => key !== one) ?? one;
    this.choices.forEach((choice, k) => {
      choice.replaceChildren(...[...this.cases].map(([value, { name: text }]) => make("option", { value, text })));
      choice.value = [one, second][k];
    });
    this.dialog.showModal();
    this.#compare();
  }

  async #compare() {
    const both = this.choices.map(({ value }) => this.#caseOf(value));
    const notes = both.filter(({ problems }) => problems.length).map(leftOut);
    const say = (...more) => byId("two-notes").replaceChildren(...notes, ...more);
    this.#observations(both);
    this.#causes(both, []);
    say(make("p", { class: "hint", text: "computing …" }));
    try {
      const answers = await this.ask(both);
      if (answers === STALE) return;
      const impossible = both.filter((_, k) => answers[k].status === "impossible");
      say(...impossible.map(contradicting));
      if (!impossible.length) this.#causes(both, answers);
    } catch (error) {
      say(complaint(sentence(error.message)));
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
    const names = new Set(answers.flatMap(namesIn));
    const whole = async (answer, k) => {
      const ranked = new Set(namesIn(answer));
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

  #observations(both) {
    const each = both.map(({ observed }) => observed);
    const names = [...new Set(each.flatMap((observed) => [...observed.keys()]))];
    const isSame = (name) => JSON.stringify(each[0].get(name)) === JSON.stringify(each[1].get(name));
    const told = (name) => each.map((observed) => this.#told(observed, name));
    const rows = names.filter((name) => !isSame(name)).map((name) => [name, ...told(name)]);
    const same = names.filter(isSame).map((name) => `${name} ${told(name)[0]}`);
    fill("two-observed", ["Observation", ...both.map(({ name }) => name)], rows);
    byId("two-same").textContent = `The same in both: ${same.join(", ") || "nothing"}.`;
  }

  #told(observed, name) {
    const value = observed.get(name);
    if (value === undefined) return "not observed";
    return isHard(value) ? this.units.words(name)[value] : leaning(value, this.units.words(name));
  }

  #causes(both, answers) {
    const ranked = answers.map(({ ranking }) => new Map(ranking.map((each) => [each.name, each])));
    const cell = (name) => (of, k) => cellOf(of.get(name), both[k].observed.get(name), this.units.words(name));
    const names = [...new Set(answers.flatMap(namesIn))];
    const rows = names.map((name) => [name, ...ranked.map(cell(name))]);
    rows.sort((a, b) => Math.max(b[1].value, b[2].value) - Math.max(a[1].value, a[2].value));
    const shown = rows.slice(0, TOP).map(([name, one, other]) => [name, one.text, other.text, change(one, other)]);
    fill("two-causes", [this.units.nouns.Cause, ...both.map(({ name }) => name), "Change"], shown);
    byId("two-kinds").textContent = answers.length ? numbers(together(answers)) : "";
  }
}

const namesIn = ({ ranking }) => ranking.map(({ name }) => name);

const isHard = (value) => value === 0 || value === 1;

// What was observed is certain.
function cellOf(ranked, observed, words) {
  if (!ranked) return { value: observed ?? 0, text: words[observed] ?? "–" };
  const { probability: value, accuracy } = ranked;
  return { value: value ?? 0, text: about(value, accuracy), isEstimate: accuracy === "estimate" };
}

function change(one, other) {
  const by = other.value - one.value;
  const text = Math.abs(by) < 0.0005 ? "0" : `${by < 0 ? "−" : "+"}${probability(Math.abs(by))}`;
  return `${one.isEstimate || other.isEstimate ? "≈ " : ""}${text}`;
}

const leftOut = ({ name, problems }) => complaint("Left out of ", name, `: ${problems.join(" ")}`);

const contradicting = ({ name }) =>
  complaint("The observations of ", name, " contradict each other, so that its causes cannot be ranked.");

const complaint = (before, name = "", after = "") =>
  make("p", { class: "message is-bad" }, before, make("bdi", { text: name }), after);

// A table of texts.
function fill(id, heads, rows) {
  const named = (scope) => (text) => make("th", { scope, title: text }, make("bdi", { text }));
  byId(`${id}-head`).replaceChildren(make("tr", {}, ...heads.map(named("col"))));
  const row = ([name, ...texts]) => make("tr", {}, named("row")(name), ...texts.map((text) => make("td", { text })));
  byId(id).replaceChildren(...rows.map(row));
}

// What the numbers of both are.
const together = (answers) => ({
  kind: answers.every(({ kind }) => kind === "exact") ? "exact" : "estimate",
  ranking: answers.flatMap(({ ranking }) => ranking),
});
