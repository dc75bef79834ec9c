// The parts of the page tied together: the case changes, the answer follows, the panels follow the answer.

import { Asking } from "./asking.js";
import { Case } from "./case.js";
import { savedCases } from "./cases.js";
import { button, byId, listen, put } from "./elements.js";
import { Finder } from "./finder.js";
import { graphPanel } from "./graph.js";
import { interviewPanel } from "./interview.js";
import { nextPanel } from "./next.js";
import { Observed } from "./observed.js";
import { Tabs } from "./panels.js";
import { keepPaper } from "./paper.js";
import { Ranking } from "./ranking.js";
import { rowsDialog } from "./rows.js";
import { sharing } from "./share.js";
import { CaseStore } from "./storage.js";
import { explanationsPanel, jointPanel } from "./together.js";
import { twoCases } from "./two_cases.js";
import { Units } from "./units.js";
import { comparePanel, Verdict } from "./verdict.js";
import { tornadoPanel, whyPanel } from "./why.js";
import { about, counted, sentence } from "./words.js";

const FEW = 3; // examples shown at first
const REST = 350; // milliseconds

export class Page {
	constructor(service, network, names, examples) {
		const store = new CaseStore(network);
		this.network = network;
		this.units = new Units(names);
		this.#words();
		this.case = new Case(network.default_method, () => store.newKey());
		this.chosen = null; // the unit that was clicked; otherwise panels are about the most probable cause
		this.observed = new Observed(this.units, this.case, (name) => this.select(name));
		this.finder = new Finder(this);
		this.ranking = new Ranking(this);
		this.verdict = new Verdict(this);
		this.#makeCases(service, store);
		this.#makePanels(service);
		this.asking = new Asking(service, this);
		this.#title();
		this.#examples(examples.cases);
		if (byId("tab-next").hidden) this.tabs.show("graph");
		listen(document, "click", ({ target }) => this.#pressed(target.closest("button")?.dataset ?? {}));
		listen("exclusive", "change", ({ target }) => this.case.assumeOne(target.checked));
		listen(this.case, "change", () => this.#changed());
		this.#changed();
		const peek = ([{ isIntersecting }]) => byId("peek").classList.toggle("is-idle", isIntersecting);
		new IntersectionObserver(peek).observe(byId("ranking"));
	}

	// The nouns of this network in the words of the page, and only what can be asked about it.
	#words() {
		const { questions, causes } = this.network;
		const offered = [...questions, causes && "causes", causes > 1 && "exactly one"];
		this.explaining = questions.includes("explain") ? "why" : "graph"; // the tab about a unit
		for (const each of document.querySelectorAll("[data-noun]")) put(each, this.units.nouns[each.dataset.noun]);
		for (const each of document.querySelectorAll("[data-needs]")) each.hidden = !offered.includes(each.dataset.needs);
	}

	#makeCases(service, store) {
		const { network, units } = this;
		const compare = twoCases(service, units, this.case, store);
		const open = (record, key) => this.share.take(record, "this case", key);
		this.cases = savedCases(network, units, this.case, store, { open, compare });
		this.share = sharing(network, units, this.case, this.cases);
		rowsDialog(service, network, units, this.case, (content) => this.share.take(content, "this row"));
		keepPaper(network, this.case, { label: this.cases.label, answer: () => this.asking.answer });
	}

	#makePanels(service) {
		this.tabs = new Tabs(() => this.refresh());
		const panels = [nextPanel, interviewPanel, whyPanel, tornadoPanel, explanationsPanel, jointPanel, graphPanel, comparePanel];
		this.panels = panels.map((panel) => panel(service, this));
	}

	// What buttons about a unit do, wherever they are.
	#pressed({ unit, observe, open }) {
		if (observe) this.observe(unit, Number(observe));
		if (open) this.select(unit, open);
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
		const { answer, isCurrent, hasFailed } = this.asking;
		const { evidence, observations, method, isExclusive, ranked, key } = this.case;
		const { chosen, selected } = this;
		const state = {
			...{ evidence, observations, method, key, chosen, selected },
			exclusive: isExclusive ? "causes" : null,
			faults: new Map(ranked.faults),
			isPossible: answer !== null && answer.status !== "impossible",
			isAnswered: isCurrent,
			hasFailed,
			isHidden: selected !== null && ![0, 1].includes(observations.get(selected)), // the selected unit
			ranked: new Map(answer?.ranking.map((each) => [each.name, each])),
		};
		for (const panel of this.panels) panel.refresh(state);
	}

	// The panels follow.
	answered(answer) {
		const [isImpossible, best] = [answer.status === "impossible", answer.ranking[0]];
		const name = best && this.units.inState(best.name, best.state);
		this.ranking.show(answer, this.selected);
		const { probability, accuracy } = best ?? {};
		this.cases.answered(best && !isImpossible ? { name, probability, accuracy } : null);
		const unit = best && `${name} ${about(probability, accuracy)} – see the ranking`;
		put("peek", { hidden: !best || isImpossible, unit });
		clearTimeout(this.resting); // panels wait for a pause, so that they do not delay the next answer
		const isFirst = this.resting === undefined;
		this.resting = setTimeout(() => this.refresh(), isFirst || isImpossible ? 0 : REST);
	}

	#changed() {
		const { observations, past, future, isExclusive, id } = this.case;
		if (this.caseShown !== id) Object.assign(this, { caseShown: id, chosen: null });
		clearTimeout(this.resting);
		for (const panel of this.panels) panel.cancel();
		byId("undo").disabled = !past.length;
		byId("redo").disabled = !future.length;
		byId("welcome").hidden = observations.size > 0;
		byId("exclusive").checked = isExclusive;
		byId("not-assumed").hidden = !isExclusive;
		document.title = `${observations.size ? `${observations.size} observed · ` : ""}${this.network.title} · plefka`;
	}

	#title() {
		const { title, units, values, temperature, causes, findings, edges, about: text } = this.network;
		const counts = this.units.isMachine
			? [`${counted(units, "unit")} of ${values.join(" and ").replace("-", "−")}`, `temperature ${temperature}`]
			: [counted(causes, "cause"), counted(findings, "finding")];
		put("title", title);
		put("counts", [...counts, counted(edges, this.units.nouns.link)].join(" · "));
		put("about", sentence(text));
	}

	#examples(cases) {
		const start = ({ evidence }) => this.share.take({ ...this.case.content, evidence }, "this example");
		const chips = cases.map((each) => button(each.title, () => start(each), { class: "button is-small" }));
		const showAll = () => {
			more.replaceWith(...chips.slice(FEW));
			chips[FEW].focus();
		};
		const more = button(`${cases.length - FEW} more`, showAll, { class: "button is-small is-quiet" });
		put("examples", chips.slice(0, FEW), cases.length > FEW && more);
		byId("or-example").hidden = !cases.length;
	}
}
