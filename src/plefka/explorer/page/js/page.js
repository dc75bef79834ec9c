// The parts of the page tied together: the case changes, the answer follows, the panels follow the answer.

import { Asking } from "./asking.js";
import { Case } from "./case.js";
import { comparePanel } from "./compare.js";
import { button, byId, make } from "./elements.js";
import { Finder } from "./finder.js";
import { graphPanel } from "./graph.js";
import { interviewPanel } from "./interview.js";
import { nextPanel } from "./next.js";
import { Observed } from "./observed.js";
import { Tabs } from "./panels.js";
import { Ranking } from "./ranking.js";
import { Share } from "./share.js";
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
    this.case = new Case(network.default_method);
    this.chosen = null; // the unit that was clicked; otherwise panels are about the most probable cause
    const observe = (name, value) => this.observe(name, value);
    const select = (name) => this.select(name);
    this.observed = new Observed(this.units, this.case, select);
    this.finder = new Finder(this.units, this.case, observe, select);
    this.ranking = new Ranking(
      (name) => this.select(name, "why"),
      () => this.asking.now(),
    );
    this.verdict = new Verdict(network, this.case, {
      check: () => {
        this.verdict.checking();
        this.asking.now({ check: true });
      },
      useMethod: (method) => this.case.useMethod(method),
      remove: (name) => this.observe(name, null),
    });
    this.share = new Share(network, this.units, this.case);
    this.#makePanels(service, observe);
    const after = (answer) => this.#answered(answer);
    this.asking = new Asking(service, this.units, this.case, { ranking: this.ranking, verdict: this.verdict, after });
    this.#title();
    this.#examples(examples.cases);
    byId("assume").hidden = network.causes < 2;
    byId("exclusive").addEventListener("change", ({ target }) => this.case.assumeOne(target.checked));
    this.case.addEventListener("change", () => this.#changed());
    this.#changed();
    new IntersectionObserver(([{ isIntersecting }]) =>
      byId("peek").classList.toggle("is-idle", isIntersecting),
    ).observe(byId("ranking"));
  }

  #makePanels(service, observe) {
    this.tabs = new Tabs(() => this.refresh());
    const select = (name) => this.select(name, "graph");
    const useMethod = (method) => this.case.useMethod(method);
    this.graph = graphPanel(service, this.units, { select });
    this.panels = [
      nextPanel(service, this.units, { observe, select }),
      this.graph,
      comparePanel(service, useMethod),
      interviewPanel(service, this),
      whyPanel(service, this.units, { observe, showGraph: () => this.tabs.show("graph") }),
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
    const otherwise = this.case.observations.has(name) ? "graph" : "why";
    if (tab || !isAboutUnit) this.tabs.show(tab ?? otherwise);
    else this.refresh();
  }

  get selected() {
    return this.chosen ?? this.asking.answer?.ranking[0]?.name ?? null;
  }

  refresh() {
    const { answer } = this.asking;
    const { evidence, observations, method, isExclusive, key } = this.case;
    const isPossible = answer !== null && answer.status !== "impossible";
    const state = {
      evidence,
      observations,
      method,
      exclusive: isExclusive ? "causes" : null,
      key,
      isPossible,
      isAnswered: answer !== null,
      selected: this.selected,
    };
    for (const panel of this.panels) panel.refresh(state);
  }

  #answered(answer) {
    if (answer.status !== "impossible") this.ranking.show(answer, this.selected);
    const best = answer.ranking[0];
    byId("peek").hidden = !best || answer.status === "impossible";
    if (best) byId("peek").textContent = `${best.name} ${about(best.probability, best.accuracy)} – see the ranking`;
    clearTimeout(this.resting); // panels wait for a pause, so that they do not delay the next answer
    const isFirst = this.resting === undefined;
    this.resting = setTimeout(() => this.refresh(), isFirst || answer.status === "impossible" ? 0 : REST);
  }

  #changed() {
    clearTimeout(this.resting);
    const total = this.case.observations.size;
    byId("undo").disabled = !this.case.past.length;
    byId("redo").disabled = !this.case.future.length;
    byId("clear").disabled = total === 0;
    byId("welcome").hidden = total > 0;
    byId("exclusive").checked = this.case.isExclusive;
    byId("not-assumed").hidden = !this.case.isExclusive;
    document.title = `${total ? `${total} observed · ` : ""}${this.network.title} · plefka`;
  }

  #title() {
    const { title, causes, findings, edges, about } = this.network;
    byId("title").textContent = title;
    byId("counts").textContent = [counted(causes, "cause"), counted(findings, "finding"), counted(edges, "link")].join(
      " · ",
    );
    if (about) byId("welcome").prepend(make("p", { class: "about", text: sentence(about) }));
  }

  #examples(cases) {
    const start = ({ evidence }) => this.share.take({ evidence, method: null }, "this example");
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
    if (!cases.length) byId("welcome-text").textContent = "Tick what you see, and the causes are ranked here at once.";
  }
}
