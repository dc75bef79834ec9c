// Rows: a table of cases is read, and its rows are answered and written, or compared with a column of truth.

import { cellsOf, csvTable, lineOf, rowsOf } from "./csv_table.js";
import { button, byId, download, listen, make, put, told } from "./elements.js";
import { rowRun } from "./row_run.js";
import { about, count, counted, duration, probability, sentence } from "./words.js";

const [MOST_ROWS, LARGEST] = [20000, 2e7]; // rows and bytes of a file
const [MOST_CELLS, AT_ONCE] = [2e7, 2e5]; // probabilities that are written, in all and in one answer
const SHOWN = 20; // rows of the list, and rows of each failure
const GOOD = ["converged", "exact", "estimate"];

// open(content): a row as a case on the page
export function rowsDialog(service, network, units, theCase, open) {
	let [file, table, run, isRunning, truth] = ["", null, null, false, []];
	let [parts, head, ends, page] = [[], null, new Map(), null]; // of a run

	listen("rows", "click", () => byId("rows-dialog").showModal());
	listen("rows-file", "change", ({ target }) => read(target.files[0]));
	listen("rows-truth", "change", ({ target }) => show({ "rows-writes": target.selectedIndex === 0 }));
	listen("rows-start", "click", start);
	listen("rows-stop", "click", () => (isRunning ? run.stop() : go()));
	listen("rows-save", "click", save);
	listen("rows-page", "click", () => download(page, `${file}-validation`, "html"));
	listen("rows-dialog", "drop", (event) => {
		event.preventDefault();
		event.stopPropagation(); // the page itself would open it
		read(event.dataTransfer.files[0]);
	});
	listen(window, "beforeunload", (event) => isRunning && event.preventDefault());

	async function read(given) {
		byId("rows-file").value = "";
		if (!given || isRunning) return;
		file = given.name;
		show({ "rows-form": false, "rows-run": false });
		try {
			table = given.size < LARGEST ? await csvTable(given, units) : null;
			complain(problem());
			if (problem()) return;
			recognise();
			await service.post("table-case", table.part(0, most(0)));
		} catch (error) {
			complain(error.message);
			show({ "rows-form": error.code !== "invalid_evidence" || /^line/i.test(error.message) }); // or it is of columns
		}
	}

	function problem() {
		if (!table || table.rows.length > MOST_ROWS) return told("rows-too-many", count(MOST_ROWS), LARGEST / 1e6, file, file);
		if (!table.observed.length) return told("rows-no-units", some(table.names) || "nothing");
		return table.rows.length ? "" : told("rows-none", file);
	}

	// How many rows are asked at once.
	const most = (width) =>
		Math.ceil(Math.max(1, Math.min(network.limits.rows - 9, AT_ONCE / Math.max(width, table.names.length))));

	// What is seen before anything runs.
	function recognise() {
		const { rows, observed, others } = table;
		const guessed = (name, k) => {
			const near = k < SHOWN && units.nearest(name);
			return near ? `${name} (did you mean ${near}?)` : name;
		};
		const causes = observed.filter((name) => units.isCause(name));
		const truths = [...others, ...causes].map((name) => [[name], name]);
		if (causes.length > 1) truths.push([causes, "all columns of causes"]);
		const options = truths.map(([names, text]) => make("option", { value: JSON.stringify(names), text }));
		put("rows-truth", byId("rows-truth").options[0], options);
		byId("rows-truth").selectedIndex = 0;
		byId("rows-what").selectedIndex = units.names.length > 1000 ? 2 : 0;
		put("rows-name", `${file}: ${counted(rows.length, "row")}`);
		put("rows-observed", `${observed.length}: ${some(observed)}`);
		put("rows-others", some(others.map(guessed)) || "none");
		show({ "rows-form": true, "rows-writes": true });
	}

	function start() {
		truth = JSON.parse(byId("rows-truth").value);
		const isCompared = truth.length > 0;
		const what = isCompared ? { top: 1 } : JSON.parse(byId("rows-what").value);
		const width = what.top ?? (what.units === "all" ? units.names.length : network.causes);
		if (width * table.rows.length > MOST_CELLS) return complain(told("rows-too-wide", count(width * table.rows.length)));
		const { method, exclusive } = theCase;
		const asked = { ...what, truth, method, exclusive, visits: isCompared ? [] : table.visits() };
		run = Object.assign(rowRun(service, table, asked, most(width), take), { asked });
		[parts, head, ends, page] = [[], null, new Map(), null];
		for (const id of ["rows-list", "rows-validation"]) byId(id).replaceChildren();
		show({ "rows-of-answers": !isCompared, "rows-of-cases": isCompared, "rows-run": true });
		return go();
	}

	async function go() {
		isRunning = true;
		complain("");
		progress();
		byId("rows-stop").focus();
		try {
			await run.go();
			if (truth.length && head) await validate();
		} catch (error) {
			complain(error.message);
		}
		isRunning = false;
		progress();
		if (document.activeElement === document.body) byId("rows-save").focus(); // where Stop was
	}

	function progress() {
		const { at, total, pace } = run;
		const left = isRunning && pace ? ` · about ${duration(pace * (total - at))} left` : "";
		const words = [...ends].map(([word, rows]) => `${word} ${count(rows)}`).join(", ");
		byId("rows-start").disabled = byId("rows-file").disabled = isRunning;
		put("rows-progress", { max: total, value: at });
		put("rows-count", `${count(at)} of ${count(total)} rows${left}`);
		put("rows-word", isRunning ? `Rows ${Math.floor((100 * at) / total)} %` : "Rows");
		put("rows-ends", isRunning ? "" : `${at === total ? "All rows are done" : "Stopped"}: ${words || "no answer yet"}.`);
		put("rows-stop", { hidden: at === total, text: isRunning ? "Stop" : "Go on" });
		show({ "rows-save": parts.length > 0, "rows-page": page !== null });
	}

	function take(part) {
		const [first = "", ...rows] = rowsOf(part.csv ?? "").map((row) => part.csv.slice(...row));
		if (first) head ??= cellsOf(first);
		parts.push({ ...part, body: part.csv?.slice(first.length + 1) });
		if (part.why) end("no answer", part.at, () => ({}), part.why);
		rows.forEach((row, k) => {
			const status = head.indexOf(truth.length ? "accuracy" : "status");
			const record = () => Object.fromEntries(cellsOf(row).map((cell, place) => [head[place], cell]));
			end(cellsOf(row, ",", status + 1)[status], part.at + k, record);
		});
		progress();
	}

	// A row ended so; `record` makes its cells by the names of columns. `why`: a sentence, if it has none.
	function end(word, row, record, why) {
		const ended = (ends.get(word) ?? 0) + 1;
		ends.set(word, ended);
		if (row < SHOWN || (ended <= SHOWN && !GOOD.includes(word))) list(row, record(), why);
	}

	function failed({ at: row, why }) {
		const names = table.namesOf(row).map((cell, k) => [table.others[k], cell]);
		const [, name = row] = names.find(([column]) => column !== truth[0]) ?? [];
		return { ...Object.fromEntries(names), row, visit: run.asked.visits[row], case: name, status: why, accuracy: why };
	}

	function list(row, record, why) {
		const columns = [...document.querySelectorAll("#rows-run tr:not([hidden]) [data-column]")];
		const name = (record.case ?? table.namesOf(row)[0]) || row;
		const opening = button(name, () => openRow(row), { class: "link", "aria-label": `Open row ${row}: ${name}` });
		const cells = columns.map(({ dataset: { column } }) =>
			make("td", { unit: column === "best" ? best(record) : short(record[column] ?? "") }),
		);
		const message = why && make("td", { colspan: columns.length }, why);
		byId("rows-list").append(make("tr", make("th", { scope: "row" }, opening), message ?? cells));
	}

	// The most probable cause, or what was written first.
	function best({ estimates = "", unit_1, probability_1, ...record }) {
		const causes = Object.entries(record).filter(([name]) => units.isCause(name));
		if (unit_1) causes.push([unit_1, probability_1]);
		const [[name, p] = []] = causes.sort(([, one], [, other]) => other - one);
		const isEstimate = estimates === "all" || estimates.split(";").includes(name);
		return p ? `${units.inState(name, 1)} ${about(Number(p), isEstimate && "estimate")}` : "";
	}

	async function openRow(row) {
		try {
			const { evidence } = await service.post("table-case", table.part(row, 1));
			const kept = Object.entries(evidence).filter(([name]) => !truth.length || !units.isCause(name));
			byId("rows-dialog").close();
			open({ ...theCase.content, evidence: Object.fromEntries(kept), name: `Row ${row} of ${file}`, note: "" });
		} catch (error) {
			complain(error.message);
		}
	}

	function save() {
		const names = head ?? ["row", ...table.others, "status"];
		const line = (record) => lineOf(names.map((name) => record[name]));
		const bodies = parts.map((part) => part.body ?? line(failed(part)));
		download(new Blob([lineOf(names), ...bodies]), `${file}-${truth.length ? "cases" : "answers"}`, "csv");
	}

	async function validate() {
		const answered = parts.filter(({ csv }) => csv);
		const csv = lineOf(head) + answered.map(({ body }) => body).join("");
		const lists = ["sums", "known", "ignored", "unknown"].map((field) => [field, answered.flatMap((part) => part[field])]);
		const { method } = run.asked;
		const found = await service.post("table-validation", { csv, method, ...Object.fromEntries(lists) });
		const without = ends.get("no answer");
		const notes = [...found.notes, without && `these measures leave out ${counted(without, "row")} without an answer`];
		const cells = ([name, value]) => make("tr", make("th", { scope: "row" }, name), make("td", short(value)));
		put(
			"rows-validation",
			notes.map((text) => make("p.hint", sentence(text))),
			make("table", make("caption", "Measures"), make("tbody", Object.entries(found.measures).map(cells))),
			pictures(found.page),
		);
		page = found.page;
	}
}

const some = (names) => names.slice(0, SHOWN).join(", ") + (names.length > SHOWN ? ` and ${names.length - SHOWN} more` : "");

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

const MARKS = { amp: "&", lt: "<", gt: ">", quot: '"', "#39": "'", "#x27": "'" };
const labelOf = (svg) =>
	/aria-label="([^"]*)"/.exec(svg)[1].replace(/&(#?\w+);/g, (all, name) => MARKS[name] ?? all);

// The drawings of a page as pictures, in which nothing runs, with the style that holds their colours.
function pictures(page) {
	const [, style] = /<style>([^]*?)<\/style>/.exec(page);
	return page.match(/<svg[^]*?<\/svg>/g).map((svg) => {
		const styled = `><style><![CDATA[${style} svg { background: var(--paper); }]]></style>`;
		const drawing = svg.replace(">", () => styled);
		const src = URL.createObjectURL(new Blob([drawing], { type: "image/svg+xml" }));
		return make("img.drawing", { src, alt: labelOf(svg) });
	});
}
