// The parts of the page tied together: the case changes, the answer follows, the panels follow the answer.

import { Asking } from "./asking.js";
import { Case } from "./case.js";
import { savedCases } from "./cases.js";
import { announce, button, byId, fill, listen, put } from "./elements.js";
import { finder } from "./finder.js";
import { graphPanel } from "./graph.js";
import { interviewPanel } from "./interview.js";
import { nextPanel } from "./next.js";
import { observedList } from "./observed.js";
import { tabs } from "./panels.js";
import { isByChange, Ranking } from "./ranking.js";
import { rowsDialog } from "./rows.js";
import { sharing } from "./share.js";
import { CaseStore } from "./storage.js";
import { explanationsPanel, jointPanel } from "./together.js";
import { twoCases } from "./two_cases.js";
import { Units } from "./units.js";
import { comparePanel, Verdict } from "./verdict.js";
import { tornadoPanel, whyPanel } from "./why.js";
import { about, counted, kindWords, moment, numbers, sentence } from "./words.js";

const PANELS = [
	...[nextPanel, interviewPanel, whyPanel, tornadoPanel],
	...[explanationsPanel, jointPanel, graphPanel, comparePanel],
];
const FEW = 3; // examples shown at first, as the style sheet has it
const REST = 250; // milliseconds

export class Page {
	constructor(service, network, names, examples) {
		const store = new CaseStore(network);
		const units = new Units(names);
		const theCase = new Case(network.default_method, () => store.newKey());
		Object.assign(this, { network, units, case: theCase });
		this.chosen = null; // the unit that was clicked; otherwise panels are about the most probable cause
		this.#words();
		this.observed = observedList(this);
		finder(this);
		this.ranking = new Ranking(this);
		this.verdict = new Verdict(this);
		const compare = twoCases(service, units, theCase, store);
		const open = (record, key) => this.share.take(record, "this case", key);
		this.cases = savedCases(network, units, theCase, store, { open, compare });
		this.share = sharing(network, units, theCase, this.cases);
		rowsDialog(service, network, units, theCase, (content) => this.share.take(content, "this row"));
		this.tabs = tabs(() => this.refresh());
		this.panels = PANELS.map((panel) => panel(service, this));
		this.asking = new Asking(service, this);
		this.#examples(examples.cases);
		if (byId("tab-next").hidden) this.tabs.show("graph");
		listen(document, "click", ({ target }) => this.#pressed(target.closest("button")?.dataset ?? {}));
		listen("exclusive", "change", ({ target }) => theCase.change({ exclusive: target.checked ? "causes" : undefined }));
		listen(theCase, "change", () => this.#changed());
		listen(window, "beforeprint", () => this.#paper());
		listen(matchMedia("print"), "change", () => this.#paper());
		this.#changed();
		const peek = ([{ isIntersecting }]) => byId("peek").classList.toggle("is-idle", isIntersecting);
		new IntersectionObserver(peek).observe(byId("ranking"));
	}

	// What the network is, its nouns in the words of the page, and only what can be asked about it.
	#words() {
		const { title, units, values, temperature, causes, findings, edges, about: text, questions } = this.network;
		const { nouns, isMachine } = this.units;
		const counts = isMachine
			? [`${counted(units, "unit")} of ${values.join(" and ").replace("-", "−")}`, `temperature ${temperature}`]
			: [counted(causes, "cause"), counted(findings, "finding")];
		put("title", title);
		put("counts", [...counts, counted(edges, nouns.link)].join(" · "));
		put("about", sentence(text));
		const offered = [...questions, causes && "causes", causes > 1 && "exactly one"];
		this.explaining = questions.includes("explain") ? "why" : "graph"; // the tab about a unit
		for (const each of document.querySelectorAll("[data-noun]")) put(each, nouns[each.dataset.noun]);
		for (const each of document.querySelectorAll("[data-needs]")) each.hidden = !offered.includes(each.dataset.needs);
	}

	#examples(cases) {
		const start = ({ evidence }) => this.share.take({ ...this.case.content, evidence }, "this example");
		const chips = cases.map((each) => button(each.title, () => start(each), { class: "button is-small" }));
		const showAll = () => {
			more.remove();
			chips[FEW].focus();
		};
		const more = button(`${cases.length - FEW} more`, showAll, { class: "button is-small is-quiet" });
		put("examples", chips, cases.length > FEW && more);
	}

	// What buttons about a unit do, wherever they are.
	#pressed({ unit, observe, open }) {
		if (observe) this.observe(unit, Number(observe));
		if (open) this.select(unit, open);
	}

	observe(name, value) {
		this.case.observe(name, value);
		if (value instanceof Object) this.observed.focusSlider(name);
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
		const { evidence, observations, method, exclusive, ranked, key } = this.case;
		const { chosen, selected } = this;
		const state = {
			...{ evidence, observations, method, exclusive, key, chosen, selected, hasFailed },
			faults: new Map(Object.entries(ranked.faults)),
			isPossible: answer !== null && answer.status !== "impossible",
			isAnswered: isCurrent,
			isHidden: selected !== null && ![0, 1].includes(observations.get(selected)), // the selected unit
			ranked: new Map(answer?.ranking.map((each) => [each.name, each])),
		};
		for (const panel of this.panels) panel.refresh(state);
	}

	// The answer everywhere. Panels wait for a pause, so that they do not delay the next one.
	answered(answer) {
		const { units, verdict, ranking } = this;
		const isImpossible = answer.status === "impossible";
		const [best] = answer.ranking;
		const first = answer.ranking
			.slice(0, 3)
			.map((each) => `${units.inState(each.name, each.state)} ${about(each.probability, each.accuracy)}`);
		this.complain(isImpossible && verdict.contradiction(answer));
		verdict.show(isImpossible ? null : answer);
		ranking.show(answer, this.selected);
		const { name, state, probability, accuracy } = best ?? {};
		this.cases.answered(best && !isImpossible ? { name: units.inState(name, state), probability, accuracy } : null);
		put("peek", { hidden: !best || isImpossible, unit: `${first[0]} – see the ranking` });
		clearTimeout(this.resting);
		const isAwaited = this.resting === undefined || isImpossible || !byId("panel-interview").hidden;
		this.resting = setTimeout(() => this.refresh(), isAwaited ? 0 : REST);
		announce(isImpossible ? byId("failure").querySelector("p").textContent : this.#summary(answer, first));
	}

	#summary(answer, first) {
		const order = isByChange(answer) ? "First by change" : "Most probable";
		const ranked = first.length ? `${order}: ${first.join(", ")}.` : "Nothing is ranked.";
		const total = counted(this.case.observations.size, "observation");
		return `${total}. ${ranked} Kind of answer: ${kindWords(answer.kind)}. ${sentence(answer.check?.verdict)}`;
	}

	// Nothing is known of this case.
	unanswered() {
		this.ranking.empty();
		this.verdict.show(null);
		this.refresh();
	}

	complain(parts) {
		put("failure", { hidden: !parts }, parts);
	}

	#changed() {
		const { observations, past, future, exclusive, id } = this.case;
		if (this.caseShown !== id) Object.assign(this, { caseShown: id, chosen: null });
		clearTimeout(this.resting);
		for (const panel of this.panels) panel.cancel();
		byId("undo").disabled = !past.length;
		byId("redo").disabled = !future.length;
		byId("welcome").hidden = observations.size > 0;
		byId("exclusive").checked = exclusive;
		byId("not-assumed").hidden = !exclusive;
		document.title = `${observations.size ? `${observations.size} observed · ` : ""}${this.network.title} · plefka`;
	}

	// The head of a printed page: whose case it is, when it was printed, of which network, and what its numbers are.
	#paper() {
		const { title, causes, network_version: version, fingerprint } = this.network;
		const { exclusive, observations, method } = this.case;
		const { name, note } = this.cases.label();
		const { answer } = this.asking;
		fill("paper", {
			".paper-name bdi": name || "Case without a name",
			".paper-note bdi": note,
			".printed": moment(Date.now()),
			".network": [title, version && `, version ${version}`, `, fingerprint ${fingerprint}`],
			".observed-number": counted(observations.size, "observation"),
			".assumed": causes > 0 && `There ${exclusive ? "is exactly one cause" : "may be any number of causes"}.`,
			".method-used": method,
			".numbers": answer !== null && answer.status !== "impossible" && numbers(answer),
		});
	}
}
