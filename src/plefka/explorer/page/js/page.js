// The parts of the page tied together: the case changes, the answer follows, the panels follow the answer.

import { Asking } from "./asking.js";
import { Case } from "./case.js";
import { Cases } from "./cases.js";
import { comparePanel } from "./compare.js";
import { button, byId, make, set } from "./elements.js";
import { Finder } from "./finder.js";
import { graphPanel } from "./graph.js";
import { interviewPanel } from "./interview.js";
import { nextPanel } from "./next.js";
import { Observed } from "./observed.js";
import { Tabs } from "./panels.js";
import { keepPaper } from "./paper.js";
import { Ranking } from "./ranking.js";
import { RankingChoice } from "./ranking_choice.js";
import { Share } from "./share.js";
import { CaseStore } from "./storage.js";
import { TwoCases } from "./two_cases.js";
import { Units } from "./units.js";
import { Verdict } from "./verdict.js";
import { whyPanel } from "./why.js";
import { about, counted, sentence } from "./words.js";

const FEW = 3; // examples shown at first
const REST = 350; // milliseconds

export class Page {
  constructor(service, network, names, examples) {
    this.network = network;
    this.units = new Units(names);
    this.#words(network);
    const store = new CaseStore(network);
    this.case = new Case(network.default_method, () => store.newKey());
    this.chosen = null; // the unit that was clicked; otherwise panels are about the most probable cause
    const observe = (name, value) => this.observe(name, value);
    const select = (name) => this.select(name);
    this.observed = new Observed(this.units, this.case, select);
    this.finder = new Finder(this.units, this.case, observe, select);
    this.choice = new RankingChoice(this.units, this.case);
    this.explaining = network.questions.includes("explain") ? "why" : "graph"; // the tab about a unit
    this.ranking = new Ranking(
      this.units,
      this.choice,
      (name) => this.select(name, this.explaining),
      () => this.asking.now(),
    );
    this.verdict = new Verdict(network, this.case, {
      check: () => {
        this.asking.check();
      },
      useMethod: (method) => this.case.useMethod(method),
      remove: (name) => this.observe(name, null),
    });
    this.#makeCases(service, store);
    this.#makePanels(service, observe);
    const after = (answer) => this.#answered(answer);
    this.asking = new Asking(service, this.units, this.case, { ranking: this.ranking, verdict: this.verdict, after });
    this.#title();
    this.#examples(examples.cases);
    if (byId("tab-next").hidden) this.tabs.show("graph");
    byId("exclusive").addEventListener("change", ({ target }) => this.case.assumeOne(target.checked));
    this.case.addEventListener("change", () => this.#changed());
    this.#changed();
    new IntersectionObserver(([{ isIntersecting }]) =>
      byId("peek").classList.toggle("is-idle", isIntersecting),
    ).observe(byId("ranking"));
  }

  // The nouns of this network in the words of the page, and only what can be asked about it.
  #words({ questions, causes }) {
    const offered = [...questions, causes && "causes", causes > 1 && "exactly one"];
    for (const each of document.querySelectorAll("[data-noun]")) each.textContent = this.units.nouns[each.dataset.noun];
    for (const each of document.querySelectorAll("[data-needs]")) each.hidden = !offered.includes(each.dataset.needs);
  }

  #makeCases(service, store) {
    const { network, units } = this;
    const two = new TwoCases(service, units, this.case, store);
    this.cases = new Cases(network, units, this.case, store, {
      open: (record, key) => this.share.take(record, "this case", key),
      compare: (key) => two.open(key),
    });
    this.share = new Share(network, units, this.case, this.cases);
    keepPaper(network, this.case, { label: () => this.cases.opened.label, answer: () => this.asking.answer });
  }

  #makePanels(service, observe) {
    this.tabs = new Tabs(() => this.refresh());
    const select = (name) => this.select(name, "graph");
    const useMethod = (method) => this.case.useMethod(method);
    const chooser = (name) => this.choice.chooserFor(name);
    this.graph = graphPanel(service, this.units, { select, chooser });
    this.panels = [
      nextPanel(service, this.units, { observe, select }),
      this.graph,
      comparePanel(service, this.units, useMethod),
      interviewPanel(service, this),
      whyPanel(service, this.units, {
        observe,
        showGraph: () => this.tabs.show("graph"),
        chooser,
      }),
    ];
  }

  observe(name, value) {
    this.case.observe(name, value);
    if (typeof value === "object" && value !== null) this.observed.focusSlider(name);
  }

  // Without a tab: the one that is open, if it is about a unit.
  select(name, tab = null) {
    this.chosen = name;
    this.ranking.mark(name);
    const isAboutUnit = ["why", "graph"].some((id) => !byId(`panel-${id}`).hidden);
    const otherwise = this.case.observations.has(name) ? "graph" : this.explaining;
    if (tab || !isAboutUnit) this.tabs.show(tab ?? otherwise);
    else this.refresh();
  }

  get selected() {
    return this.chosen ?? this.asking.answer?.ranking[0]?.name ?? null;
  }

  refresh() {
    const { answer } = this.asking;
    const { evidence, observations, method, isExclusive, ranked, key } = this.case;
    const isPossible = answer !== null && answer.status !== "impossible";
    const state = {
      evidence,
      observations,
      method,
      exclusive: isExclusive ? "causes" : null,
      faults: new Map(ranked.faults),
      key,
      isPossible,
      isAnswered: this.asking.isCurrent,
      chosen: this.chosen,
      selected: this.selected,
    };
    for (const panel of this.panels) panel.refresh(state);
  }

  #answered(answer) {
    this.choice.show(answer);
    if (answer.status !== "impossible") this.ranking.show(answer, this.selected);
    const best = answer.ranking[0];
    const name = best && this.units.inState(best.name, best.state);
    this.cases.opened.answered(answer, name);
    byId("peek").hidden = !best || answer.status === "impossible";
    if (best) set(byId("peek"), "unit", `${name} ${about(best.probability, best.accuracy)} – see the ranking`);
    clearTimeout(this.resting); // panels wait for a pause, so that they do not delay the next answer
    const isFirst = this.resting === undefined;
    this.resting = setTimeout(() => this.refresh(), isFirst || answer.status === "impossible" ? 0 : REST);
  }

  #changed() {
    clearTimeout(this.resting);
    for (const panel of this.panels) panel.cancel();
    const total = this.case.observations.size;
    byId("undo").disabled = !this.case.past.length;
    byId("redo").disabled = !this.case.future.length;
    byId("welcome").hidden = total > 0;
    byId("exclusive").checked = this.case.isExclusive;
    byId("not-assumed").hidden = !this.case.isExclusive;
    document.title = `${total ? `${total} observed · ` : ""}${this.network.title} · plefka`;
  }

  #title() {
    const { title, units, values, temperature, causes, findings, edges, about } = this.network;
    byId("title").textContent = title;
    const parts = this.units.isMachine
      ? [`${counted(units, "unit")} of ${values.join(" and ").replace("-", "−")}`, `temperature ${temperature}`]
      : [counted(causes, "cause"), counted(findings, "finding")];
    byId("counts").textContent = [...parts, counted(edges, this.units.nouns.link)].join(" · ");
    if (about) byId("welcome").prepend(make("p", { class: "about", text: sentence(about) }));
  }

  #examples(cases) {
    const start = ({ evidence }) => this.share.take({ ...this.case.content, evidence }, "this example");
    const chips = cases.map((each) => button(each.title, () => start(each), { class: "button is-small" }));
    const more = button(
      `${cases.length - FEW} more`,
      () => {
        more.replaceWith(...chips.slice(FEW));
        chips[FEW].focus();
      },
      { class: "button is-small is-quiet" },
    );
    byId("examples").append(...chips.slice(0, FEW), ...(cases.length > FEW ? [more] : []));
    byId("or-example").hidden = !cases.length;
  }
}
