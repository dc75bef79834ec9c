// How probable the observations were, how far to trust the answer, by which method, and several of them side by side.

import { ofState } from "./case.js";
import { bar, button, byId, fill, listen, make, put, told } from "./elements.js";
import { Panel } from "./panels.js";
import { about, duration, inWords, isExact, kindWords, minus, range, sentence, trust } from "./words.js";

const TOP = 10; // causes that methods are compared by

export class Verdict {
	constructor(page) {
		this.page = page;
	}

	// null: there is none
	show(answer) {
		put("verdict", answer && this.#trusted(answer));
	}

	// Shown in the place of the ranking: what contradicts what, and which observation to take back. The service says "the
	// observations fever=yes and flu=no cannot both be true".
	contradiction({ contradiction, status_text: otherwise }) {
		const text = contradiction ?? otherwise;
		const all = [...this.page.case.observations.keys()];
		const named = all.filter((name) => text.includes(` ${name}=`));
		const some = (named.length ? named : all).slice(0, 12);
		const buttons = some.map((name) => button(`Remove ${name}`, () => this.page.observe(name, null)));
		return fill("contradiction", { span: sentence(text), ".choices": buttons });
	}

	// A check does not know of "exactly one cause", and what is exact needs none.
	#trusted(answer) {
		const { check, kind, log_likelihood: value, interval, method, seconds, notes } = answer;
		const { log_partition: clamped, log_partition_kind: its } = answer;
		const shown = (number) => (number === null ? "–" : minus(number, 4));
		const between = range(kind, interval, shown);
		const isChecked = check || this.page.case.exclusive || isExact(answer);
		const problems = [!answer.converged && answer.status_text, ...answer.warnings].filter(Boolean);
		const parts = {
			"#check": { onclick: () => this.page.asking.check() },
			...(isChecked && { ".check": check && checked(check) }),
			".problems": problems.map((text) => make("p.message.is-bad", sentence(text))),
			".how": [`Computed by ${method} in ${duration(seconds)}.`, ...notes.map(inWords)].map((text) => make("p", text)),
		};
		return fill("trusted", parts, {
			...trust(answer, !isChecked),
			frequency: sentence(answer.frequency),
			value: shown(value),
			kind: kindWords(kind) + (between && `, ${between}`),
			meaning: told(kind),
			clamped: its && told("clamped", shown(clamped), kindWords(its)),
		});
	}

	// A check runs, or has failed. A button that is disabled would lose the focus.
	checking(failure = null) {
		put("check", { "aria-disabled": String(!failure) }, failure ? "Check this answer" : "Checking …");
		const lead = make("strong", "The check failed; the answer is as it was. ");
		put("check-says", failure && make("p.message.is-bad", { id: "check-failed" }, lead, failure));
	}
}

function checked({ trusted, verdict }) {
	const lead = make("strong", trusted ? "Checked: you can rely on it. " : "Not confirmed. ");
	return make(`p.message.is-${trusted ? "good" : "bad"}`, { id: "checked" }, lead, sentence(verdict));
}

export function comparePanel(service, { units, network, case: theCase }) {
	const select = byId("method");
	offer(network, select);
	listen(select, "change", () => theCase.change({ method: select.value }));
	listen(theCase, "change", follow);
	follow();

	// A shared case may use a method with options, which is not in the list.
	function follow() {
		const { method } = theCase;
		select.value = method;
		if (select.selectedIndex < 0) select.append(make("option", { selected: true }, method));
		put("method-about", wordsOf(method));
	}

	// What a method does, in a line: the names alone say nothing to most readers. More: docs/choosing.md.
	function wordsOf(method) {
		return [...select.options].find(({ value }) => nameOf(value) === nameOf(method))?.title;
	}

	const ask = (signal, { evidence, faults }) =>
		service.post("compare", { evidence, faults: Object.fromEntries(faults) }, signal);
	const key = ({ key, faults }) => JSON.stringify([key, ...faults]);
	const head = () => fill("compared", {});

	function draw({ methods, faults }, { method: used }) {
		const found = methods.filter(({ means }) => Object.keys(means).length);
		const heads = [units.nouns.Cause, ...found.map(({ method }) => method)];
		const parts = {
			".likelihoods": methods.map((each) => likelihood(each, each.method === used)),
			".by-method": { hidden: !found.length },
			".by-method tr": heads.map((name) => make("th", { scope: "col" }, name)),
			".by-method tbody": rows(found, faults),
		};
		return fill("methods", parts, units.nouns);
	}

	function likelihood({ method, log_likelihood: value, kind, status_text: why, seconds }, isUsed) {
		const [found, isFound] = [minus(value, 4), value !== null];
		const parts = {
			button: { onclick: () => theCase.change({ method }) },
			".found": { hidden: !isFound },
			".kind": { colspan: isFound ? null : 2 },
		};
		const words = { kind: isFound ? kindWords(kind) : sentence(why), time: duration(seconds), about: wordsOf(method) };
		return [...fill("method-lines", parts, { method, found, ...words, used: isUsed && "is-used" }).children];
	}

	// Of the states that count as faults, most probable first by the first method.
	function rows(found, faults) {
		const first = ([name, state]) => ofState(state, found[0].means[name]);
		const sorted = Object.entries(faults).sort((one, other) => first(other) - first(one));
		return sorted.slice(0, TOP).map(([name, state]) => {
			const cells = found.map(({ means, accuracy }) => {
				const p = ofState(state, means[name]);
				return make("td.number", about(p, accuracy[name]), bar(p));
			});
			return make("tr", make("th", { scope: "row", title: name, unit: units.inState(name, state) }), cells);
		});
	}

	return new Panel("compare", { ask, key, draw, head, isSlow: true, invitation: "Compare the methods" });
}

// The list has the library's methods with a line about each: those that cannot serve this network go, and methods of
// the user's own come last.
function offer({ methods, default_method: recommended }, select) {
	const spellings = new Map(methods.map((spelling) => [nameOf(spelling), spelling]));
	for (const option of [...select.options]) {
		const value = spellings.get(option.text);
		spellings.delete(option.text);
		if (value) put(option, { value }, value === recommended ? `${value} (recommended)` : value);
		else option.remove();
	}
	put(select.lastElementChild, [...spellings.values()].map((spelling) => make("option", spelling)));
	for (const group of select.querySelectorAll("optgroup:not(:has(option))")) group.remove();
}

// A spelling may have options: "gibbs[seed=0]".
const nameOf = (spelling) => spelling.split("[")[0];
