// Which method answers, and the same question to several methods side by side.

import { bar } from "./bars.js";
import { ofState } from "./case.js";
import { byId, fill, listen, make, put } from "./elements.js";
import { Panel } from "./panels.js";
import { about, duration, kindWords, minus, sentence } from "./words.js";

const TOP = 10; // causes

export function comparePanel(service, { units, network, case: theCase }) {
	const select = byId("method");
	offer(network, select);
	listen(select, "change", () => theCase.useMethod(select.value));
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
		const parts = {
			".likelihoods": methods.map((each) => likelihood(each, each.method === used)),
			".by-method": { hidden: !found.length },
			".by-method tr": [units.nouns.Cause, ...found.map(({ method }) => method)].map((name) => headCell("col", name)),
			".by-method tbody": rows(found, faults),
		};
		return fill("methods", parts, units.nouns);
	}

	function likelihood({ method, log_likelihood: value, kind, status_text: why, seconds }, isUsed) {
		const [found, isFound] = [minus(value, 4), value !== null];
		const parts = {
			button: { onclick: () => theCase.useMethod(method) },
			".found": { hidden: !isFound },
			".kind": { colspan: isFound ? null : 2 },
		};
		const words = { kind: isFound ? kindWords(kind) : sentence(why), time: duration(seconds), about: wordsOf(method) };
		return [...fill("method-lines", parts, { method, found, ...words, used: isUsed && "is-used" }).children];
	}

	// Of the states that count as faults, most probable first by the first method.
	function rows(found, faults) {
		const now = (name, { means }) => ofState(faults[name], means[name]);
		const names = Object.keys(faults).sort((a, b) => now(b, found[0]) - now(a, found[0]));
		return names.slice(0, TOP).map((name) => {
			const cells = found.map((each) => [about(now(name, each), each.accuracy[name]), bar(now(name, each))]);
			const head = put(headCell("row", units.inState(name, faults[name])), { title: name });
			return make("tr", head, cells.map((cell) => make("td.number", cell)));
		});
	}

	return new Panel("compare", { ask, key, draw, head, isSlow: true, invitation: "Compare the methods" });
}

const headCell = (scope, unit) => make("th", { scope, unit });

// The list has the library's methods with a line about each: those that cannot serve this network go, and methods of the
// user's own come last.
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
