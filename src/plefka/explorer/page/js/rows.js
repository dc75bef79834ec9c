// Rows: a table of cases is read, and its rows are answered and written, or compared with a column of truth.

import { cellsOf, csvTable, lineOf, rowsOf, some } from "./csv_table.js";
import { button, byId, download, fill, listen, make, put, told } from "./elements.js";
import { answersTo } from "./row_answers.js";
import { about, count, counted, duration, probability, sentence } from "./words.js";

const [MOST_CELLS, AT_ONCE] = [2e7, 2e5]; // probabilities that are written, in all and in one answer
const SHOWN = 20; // rows of the list, and rows of each failure
const GOOD = ["converged", "exact", "estimate"];

// open(content): a row as a case on the page
export function rowsDialog(service, network, units, theCase, open) {
	let table = null;
	let run = null; // {asked, isCompared, ending: column, most, at, pace, parts, head: columns, ends: word -> rows, page}
	let stopping = null; // while it runs

	listen("rows", "click", () => byId("rows-dialog").showModal());
	listen("rows-file", "change", ({ target }) => read(target.files[0]));
	listen("rows-start", "click", start);
	listen("rows-stop", "click", () => (stopping ? stopping.abort() : go()));
	listen("rows-save", "click", save);
	listen("rows-page", "click", () => download(run.page, `${table.name}-validation`, "html"));
	listen("rows-dialog", "drop", (event) => {
		event.preventDefault();
		event.stopPropagation(); // the page itself would open it
		read(event.dataTransfer.files[0]);
	});
	listen(window, "beforeunload", (event) => stopping && event.preventDefault());

	async function read(file) {
		byId("rows-file").value = "";
		if (!file || stopping) return;
		show({ "rows-form": false, "rows-run": false });
		complain("");
		try {
			table = await csvTable(file, units);
			recognise();
			await service.post("table-case", table.part(0, most(0)));
		} catch ({ code, message }) {
			complain(message);
			if (code === "invalid_evidence" && !/^line/i.test(message)) show({ "rows-form": false }); // it is of columns
		}
	}

	// How many rows are asked at once.
	const most = (width) =>
		Math.ceil(Math.max(1, Math.min(network.limits.rows - 9, AT_ONCE / Math.max(width, table.names.length))));

	// What is seen before anything runs.
	function recognise() {
		const { name, rows, observed, others } = table;
		const guessed = (other, k) => {
			const near = k < SHOWN && units.nearest(other);
			return near ? `${other} (did you mean ${near}?)` : other;
		};
		const causes = observed.filter((unit) => units.isCause(unit));
		const truths = [...others, ...causes].map((column) => [column, [column]]);
		if (causes.length > 1) truths.push(["all columns of causes", causes]);
		const options = truths.map(([text, columns]) => make("option", { value: JSON.stringify(columns), text }));
		put("rows-truth", byId("rows-truth").options[0], options);
		byId("rows-what").selectedIndex = units.names.length > 1000 ? 2 : 0;
		put("rows-name", `${name}: ${counted(rows.length, "row")}`);
		put("rows-observed", `${observed.length}: ${some(observed)}`);
		put("rows-others", some(others.map(guessed)) || "none");
		show({ "rows-form": true });
	}

	function start() {
		const truth = JSON.parse(byId("rows-truth").value);
		const isCompared = truth.length > 0;
		const what = isCompared ? { top: 1 } : JSON.parse(byId("rows-what").value);
		const width = what.top ?? (what.units === "all" ? units.names.length : network.causes);
		const cells = width * table.rows.length;
		if (cells > MOST_CELLS) return complain(told("rows-too-wide", count(cells)));
		const { method, exclusive } = theCase;
		const asked = { ...what, truth, method, exclusive, visits: isCompared ? [] : table.visits() };
		const ending = isCompared ? "accuracy" : "status"; // says how a row ended
		const nothing = { at: 0, pace: 0, parts: [], head: null, ends: new Map(), page: null };
		run = { asked, isCompared, ending, most: most(width), ...nothing };
		for (const id of ["rows-list", "rows-validation"]) put(id, []);
		show({ "rows-of-answers": !isCompared, "rows-of-cases": isCompared, "rows-run": true });
		return go();
	}

	async function go() {
		stopping = new AbortController();
		complain("");
		progress();
		byId("rows-stop").focus();
		try {
			for await (const part of answersTo(service, table, run, stopping.signal)) take(part);
			if (run.isCompared && run.head) await validate();
		} catch (error) {
			complain(error.message);
		}
		stopping = null;
		progress();
		if (document.activeElement === document.body) byId("rows-save").focus(); // where Stop was
	}

	function progress() {
		const { at, pace, parts, ends, page } = run;
		const total = table.rows.length;
		const left = stopping && pace ? ` · about ${duration(pace * (total - at))} left` : "";
		const words = [...ends].map(([word, rows]) => `${word} ${count(rows)}`).join(", ");
		byId("rows-start").disabled = byId("rows-file").disabled = stopping !== null;
		put("rows-progress", { max: total, value: at });
		put("rows-count", `${count(at)} of ${count(total)} rows${left}`);
		put("rows-word", stopping ? `Rows ${Math.floor((100 * at) / total)} %` : "Rows");
		put("rows-ends", stopping ? "" : `${at === total ? "All rows are done" : "Stopped"}: ${words || "no answer yet"}.`);
		put("rows-stop", { hidden: at === total, text: stopping ? "Stop" : "Go on" });
		show({ "rows-save": parts.length > 0, "rows-page": page !== null });
	}

	// first: what a ranking puts first in some of the rows
	function take({ at, why, csv = "", first = {}, ...joined }) {
		const [head = "", ...rows] = rowsOf(csv).map((row) => csv.slice(...row));
		if (head) run.head ??= cellsOf(head);
		run.parts.push({ at, why, body: csv.slice(head.length + 1), ...joined });
		if (why) end("no answer", at, () => failed(at, why));
		const place = run.head?.indexOf(run.ending);
		rows.forEach((row, k) => {
			const [word] = cellsOf(row, ",", place + 1).slice(place);
			end(word, at + k, () => ({ ...recordOf(run.head, cellsOf(row)), best: best(first[k]) }));
		});
		progress();
	}

	// A row ended so. It is listed if it is one of the first, or of the first that failed so.
	function end(word, row, record) {
		const ended = (run.ends.get(word) ?? 0) + 1;
		run.ends.set(word, ended);
		if (row >= SHOWN && (ended > SHOWN || GOOD.includes(word))) return;
		const found = record();
		const columns = [...document.querySelectorAll("#rows-run tr:not([hidden]) [data-column]")];
		const cells = columns.map(({ dataset: { column } }) => make("td", { unit: short(found[column] ?? "") }));
		const name = nameOf(row);
		const opening = button(name, () => openRow(row), { class: "link", "aria-label": `Open row ${row}: ${name}` });
		byId("rows-list").append(make("tr", make("th", { scope: "row" }, opening), cells));
	}

	const best = ({ name, state, probability: p = null, accuracy } = {}) =>
		p === null ? "" : `${units.inState(name, state)} ${about(p, accuracy)}`;

	const failed = (row, why) => ({
		...recordOf(table.others, table.namesOf(row)),
		...{ row, visit: run.asked.visits[row], case: nameOf(row), [run.ending]: why },
	});

	// The first of the other columns, without that of truth.
	const nameOf = (row) => table.namesOf(row).find((_, k) => table.others[k] !== run.asked.truth[0]) || row;

	async function openRow(row) {
		try {
			const { evidence } = await service.post("table-case", table.part(row, 1));
			const kept = Object.entries(evidence).filter(([name]) => !run.isCompared || !units.isCause(name));
			byId("rows-dialog").close();
			open({ ...theCase.content, evidence: Object.fromEntries(kept), name: `Row ${row} of ${table.name}`, note: "" });
		} catch (error) {
			complain(error.message);
		}
	}

	function save() {
		const names = run.head ?? ["row", ...table.others, "status"];
		const line = (record) => lineOf(names.map((name) => record[name]));
		const bodies = run.parts.map(({ at, why, body }) => (why ? line(failed(at, why)) : body));
		download(new Blob([lineOf(names), ...bodies]), `${table.name}-${run.isCompared ? "cases" : "answers"}`, "csv");
	}

	async function validate() {
		const joined = (field) => run.parts.flatMap((part) => part[field] ?? []);
		const lists = ["sums", "known", "ignored", "unknown"].map((field) => [field, joined(field)]);
		const csv = lineOf(run.head) + joined("body").join("");
		const question = { csv, method: run.asked.method, ...Object.fromEntries(lists) };
		const { notes, measures, page } = await service.post("table-validation", question);
		const without = run.ends.get("no answer");
		if (without) notes.push(told("rows-unanswered", counted(without, "row")));
		const measured = ([name, value]) => make("tr", make("th", { scope: "row" }, name), make("td", short(value)));
		const [first, all] = pictures(page);
		const found = fill("validation", {
			".notes": notes.map((text) => make("p.hint", sentence(text))),
			tbody: Object.entries(measures).map(measured),
			img: { src: first },
			"img + img": { src: all },
		});
		put("rows-validation", found);
		run.page = page;
	}
}

const recordOf = (names, cells) => Object.fromEntries(names.map((name, k) => [name, cells[k]]));

const complain = (text) => put("rows-problems", sentence(text));

// {id: whether it is shown}
function show(parts) {
	for (const [id, is] of Object.entries(parts)) byId(id).hidden = !is;
}

// A number with three digits, or a text as it is.
function short(value) {
	const number = Number(value);
	if (value === "inf") return "missed";
	if (value === "" || Number.isNaN(number)) return value;
	return value !== null && Number.isInteger(number) ? count(number) : probability(value && number);
}

// The drawings of a page as pictures, in which nothing runs, with the style that holds their colours.
function pictures(page) {
	const [, style] = /<style>([^]*?)<\/style>/.exec(page);
	const styled = `><style><![CDATA[${style} svg { background: var(--paper); }]]></style>`;
	const drawings = page.match(/<svg[^]*?<\/svg>/g).map((svg) => svg.replace(">", () => styled));
	return drawings.map((drawing) => URL.createObjectURL(new Blob([drawing], { type: "image/svg+xml" })));
}
