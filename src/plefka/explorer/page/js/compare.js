// The same question to several methods, side by side.

import { bar, fill, make } from "./elements.js";
import { Panel } from "./panels.js";
import { methodWords } from "./verdict.js";
import { about, duration, kindWords, minus, sentence } from "./words.js";

const TOP = 10; // causes

export function comparePanel(service, { units, case: theCase }) {
	const ask = (signal, { evidence }) => service.post("compare", { evidence, methods: null }, signal);
	const key = ({ key }) => `compare ${key}`;
	const head = () => fill("compared", {});

	const draw = ({ methods }, { method: used }) => [
		likelihoods(methods, used),
		causes(methods.filter(({ means }) => means && Object.keys(means).length)),
	];

	function likelihoods(methods, used) {
		const rows = methods.flatMap(({ method, log_likelihood: value, kind, status, status_text: text, seconds }) => {
			const use = { type: "button", title: `Use ${method}`, onclick: () => theCase.change({ method }) };
			const found = [number(minus(value ?? 0, 4)), make("td", kindWords(kind ?? ""))];
			const failed = make("td", { colspan: 2 }, sentence(text ?? status));
			const cells = [value === null ? failed : found, number(duration(seconds))];
			const row = method === used ? "tr.is-used" : "tr";
			const words = make("td", { colspan: 4 }, methodWords(method));
			return [make(row, headCell("row", make("button.link", use, method)), cells), make("tr.method-words", words)];
		});
		const heads = ["Method", "ln P(evidence)", "It is", "Time"];
		return make("div.wide", table("How probable the observations are", heads, rows));
	}

	function causes(methods) {
		if (!methods.length) return null;
		const [{ means: first }] = methods;
		const names = [...new Set(methods.flatMap(({ means }) => Object.keys(means)))];
		names.sort((a, b) => (first[b] ?? 0) - (first[a] ?? 0));
		const rows = names.slice(0, TOP).map((name) => {
			const cells = methods.map(({ means, accuracy }) => number(about(means[name], accuracy[name]), bar(means[name])));
			return make("tr", make("th", { scope: "row", title: name, unit: units.inState(name, 1) }), cells);
		});
		const { Cause, causes: nouns, Causes } = units.nouns;
		const shown = table(`How probable the ${nouns} are`, [Cause, ...methods.map(({ method }) => method)], rows);
		return make("div.wide", { tabindex: 0, role: "region", "aria-label": `${Causes} by method` }, shown);
	}

	return new Panel("compare", { ask, key, draw, head, isSlow: true, invitation: "Compare the methods" });
}

const number = (...children) => make("td.number", children);

const headCell = (scope, ...children) => make("th", { scope }, children);

function table(caption, heads, rows) {
	const top = make("thead", make("tr", heads.map((text) => headCell("col", text))));
	return make("table", make("caption", caption), top, make("tbody", rows));
}
