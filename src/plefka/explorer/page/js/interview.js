// One question at a time: the unit that is expected to tell most, until one cause is certain or no question tells much.

import { announce, button, byId, make } from "./elements.js";
import { Panel } from "./panels.js";
import { remarks } from "./why.js";
import { counted, leaning, probability } from "./words.js";

const KEPT = "plefka-interview"; // in this tab: what was answered, in which order
const LATER = "later"; // asked once more, at the end; null is "don't know", which is not asked again
const KEYS = { y: 1, n: 0, d: null, l: LATER };
const CERTAIN = 0.95; // a cause that is so probable ends it, unless it was more probable than not beforehand
const EXPECTED = 0.5;
const LITTLE = 0.01; // nats that a question must be expected to give

export function interviewPanel(service, page) {
  const { units, case: theCase } = page;
  const answers = new Answers(page.network, theCase);
  let unit = null; // that is being asked about
  let isEndless = false;

  async function ask(signal, { evidence, exclusive, method }) {
    const asked = { evidence, exclusive, method, top: 3, stop_below: isEndless ? null : LITTLE };
    let found = { candidates: [], notes: [], stop: true };
    for (const without of answers.skipped()) {
      const next = await service.post("ask", { ...asked, without }, signal).catch((error) => {
        if (error.code !== "invalid_evidence") throw error; // nothing is left to ask
      });
      found = next ?? found;
      if (next && !next.stop) break;
    }
    return { ...found, certain: isEndless ? undefined : certain() };
  }

  const certain = () =>
    page.asking.answer?.ranking.find(({ probability: p, prior }) => p >= CERTAIN && !(prior > EXPECTED));

  function draw(answer) {
    const isOver = answer.stop || Boolean(answer.certain);
    const [best] = answer.candidates;
    unit = isOver ? null : best.unit;
    const box = byId("panel-interview");
    const parts = isOver ? ending(answer) : question(answer, best);
    const tools = answers.list.length ? [button("Undo the last answer", undo, { "aria-keyshortcuts": "U" })] : [];
    if (isOver && answer.candidates.length) tools.push(button("Ask further questions", () => goOn(), { class: "button is-quiet" }));
    if (box.contains(document.activeElement)) announce(parts.map((part) => part.textContent).join(" "));
    return [...parts, make("div", { class: "interview-tools" }, ...tools), ...given(), ...(answer.method ? remarks(answer) : [])];
  }

  function question(answer, best) {
    const [off, on] = units.words(best.unit);
    const choice = (value, text, key) =>
      button(text, () => take(value), { class: "button", "aria-keyshortcuts": key, title: `Key ${key}` });
    return [
      make("h3", { text: `Question ${answers.list.length + 1}` }),
      make("p", { class: "question", text: `${best.unit}?` }),
      make("p", { class: "hint", text: `${why(best, off, on)} It should resolve ${share(answer, best)} of what is uncertain.` }),
      make(
        "div",
        { class: "answers", role: "group", "aria-label": `Answers about ${best.unit}` },
        choice(1, on, "Y"),
        choice(0, off, "N"),
        choice(null, "don’t know", "D"),
        choice(LATER, "later", "L"),
      ),
      make("p", { class: "hint keys", text: "Keys: Y and N for the first two, D don’t know, L later, U undo." }),
    ];
  }

  function ending(answer) {
    const [best] = answer.candidates;
    const { certain: cause } = answer;
    const reason = cause
      ? `${label(cause.name)} has probability ${probability(cause.probability)}.`
      : best
        ? `No question left tells much: the best should resolve ${share(answer, best)} of what is uncertain.`
        : "Nothing is left to ask.";
    const unanswered = answers.list.filter(([name]) => !theCase.observations.has(name)).map(([name]) => name);
    const left = answer.candidates.map((each) => `${each.unit} (${share(answer, each)})`);
    const lines = [
      [unanswered, "Asked, but without an answer"],
      [left, "Not asked"],
    ].filter(([names]) => names.length);
    return [
      make("h3", { text: "Time to stop" }),
      make("p", { class: "message is-good", text: reason }),
      ...lines.map(([names, title]) => make("p", { class: "hint", text: `${title}: ${[...new Set(names)].join(", ")}.` })),
    ];
  }

  // What was asked and answered, in order.
  function given() {
    if (!answers.list.length) return [];
    const words = (name, value) => {
      const state = typeof value === "number" ? theCase.observations.get(name) : value;
      if (typeof state === "number") return units.words(name)[state];
      return state === null ? "don’t know" : state === LATER ? "later" : leaning(state, units.words(name));
    };
    const rows = answers.list.map(([name, value]) =>
      make("li", {}, make("span", { text: name }), make("em", { text: words(name, value) })),
    );
    return [make("h4", { text: counted(rows.length, "answer") }), make("ol", { class: "interview-list" }, ...rows)];
  }

  // Between which causes it decides; if one leads in either case, what it would change most.
  function why({ outcomes }, off, on) {
    const words = { on, off };
    const [first, last] = [outcomes[0].leading[0], outcomes.at(-1).leading[0]];
    if (first[0] !== last[0] && ![first, last].some(([name]) => isExpected(name)))
      return `It would separate ${said(first)} if ${on}) from ${said(last)} if ${off}).`;
    const size = ({ changed: [, now, then] }) => Math.abs(then - now);
    const most = outcomes.reduce((a, b) => (size(b) > size(a) ? b : a));
    const [name, now, then] = most.changed;
    return `If ${words[most.state]}, ${label(name)} would go from ${probability(now)} to ${probability(then)}.`;
  }

  const said = ([name, p]) => `${label(name)} (${probability(p)}`;

  // A cause, with its word for on where that is not yes.
  const label = (name) => `${name} ${units.words(name)[1]}`.replace(/ yes$/i, "");

  const isExpected = (name) =>
    page.asking.answer?.ranking.some((each) => each.name === name && each.prior > EXPECTED);

  // An answer is taken once: until the next question is there, keys and buttons do nothing.
  function take(value) {
    if (unit === null) return;
    const name = unit;
    unit = null;
    for (const each of byId("panel-interview").querySelectorAll(".answers button")) each.disabled = true;
    byId("panel-interview").focus({ preventScroll: true });
    answers.add(name, value);
    if (typeof value === "number") page.observe(name, value);
    else page.refresh();
  }

  function undo() {
    const last = answers.list.at(-1);
    if (!last) return;
    unit = null;
    const [name] = last;
    const before = theCase.past.at(-1)?.observations;
    const isLastChange = before && !before.has(name) && before.size === theCase.observations.size - 1;
    if (typeof last[1] === "number" && isLastChange) theCase.undo();
    else if (typeof last[1] === "number") page.observe(name, null);
    else {
      answers.removeLast();
      page.refresh();
    }
  }

  function goOn() {
    isEndless = true;
    page.refresh();
  }

  byId("panel-interview").addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    if (key === "u") undo();
    else if (Object.hasOwn(KEYS, key)) take(KEYS[key]);
  });
  byId("clear").addEventListener("click", () => {
    isEndless = false;
    answers.forget();
    page.refresh();
  });

  function key(state) {
    answers.restore();
    return JSON.stringify([state.key, answers.list, isEndless]);
  }

  return new Panel("interview", { ask, key, draw, invitation: "Ask the next question" });
}

function share({ entropy }, { information }) {
  const percent = entropy > 0 ? (100 * (information ?? 0)) / entropy : 0;
  return percent >= 10 ? `${percent.toFixed(0)} %` : percent >= 0.1 ? `${percent.toFixed(1)} %` : "less than 0.1 %";
}

// What was answered, kept for this tab. Observations are those of the case: an answer that it loses is no answer any
// more, and a case that changes by more than one observation is another one.
class Answers {
  constructor({ name, units, edges }, theCase) {
    Object.assign(this, { network: [name, units, edges].join(), theCase, list: null, seen: null });
    theCase.addEventListener("change", () => this.list && this.#follow());
  }

  // Of the tab, if it was about this case.
  restore() {
    if (this.list) return;
    const kept = JSON.parse(sessionStorage.getItem(KEPT) ?? "{}");
    [this.list, this.seen] = kept.network === this.network ? [kept.list, kept.seen] : [[], this.#names];
    this.#follow();
  }

  add(name, value) {
    this.list.push([name, value]);
    this.#keep();
  }

  removeLast() {
    this.list.pop();
    this.#keep();
  }

  forget() {
    this.list = [];
    this.#keep();
  }

  // What is not asked: first also what was put back, which comes again where nothing else is left.
  skipped() {
    const names = this.list.map(([name]) => name);
    const known = [...this.theCase.observations.keys()];
    const waiting = new Set(
      this.list
        .filter(([name, value]) => value === LATER && !known.includes(name))
        .map(([name]) => name)
        .filter((name) => names.filter((other) => other === name).length === 1),
    );
    const all = [...new Set([...names, ...known])];
    return waiting.size ? [all, all.filter((name) => !waiting.has(name))] : [all];
  }

  get #names() {
    return [...this.theCase.observations.keys()];
  }

  #follow() {
    const [now, before] = [new Set(this.#names), new Set(this.seen)];
    const changed = [...now].filter((name) => !before.has(name)).length + this.seen.filter((name) => !now.has(name)).length;
    if (changed > 1) this.list = [];
    const isThere = ([name, value]) => typeof value !== "number" || now.has(name);
    this.list = this.list.filter(isThere);
    this.#keep();
  }

  #keep() {
    this.seen = this.#names;
    sessionStorage.setItem(KEPT, JSON.stringify({ network: this.network, list: this.list, seen: this.seen }));
  }
}
