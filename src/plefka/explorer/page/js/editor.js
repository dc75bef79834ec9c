// The editor of a network as two tables, with undo, and with what plefka lint says as you type. What is not used yet is
// kept in the browser's storage as a draft.

import { cellTable } from "./cell_table.js";
import { lineOf } from "./csv_table.js";
import { button, byId, listed, listen, make, put, told } from "./elements.js";
import { contentsOf, downloadAll, fileName, openNetwork, remarksOf } from "./networks.js";
import { latest } from "./service.js";
import { read, remove, write } from "./storage.js";
import { counted, sentence } from "./words.js";

const PAUSE = 400; // milliseconds without a change before the tables are read
const DRAFT = "plefka-draft/"; // and the key of the network that is edited
const NOTHING = { key: "", name: "", causes: [], findings: [] };

// Gives what opens it: on the key of a network, its name, and two lists of lines of words.
export function networkEditor(service) {
	const dialog = byId("editor");
	const tables = ["causes", "findings"].map((id) => {
		const changed = (lines, isTyped) => change({ [id]: lines }, isTyped);
		return { id, ...cellTable(byId(`editor-${id}`), changed, complain) };
	});
	let [start, states, at, isTyping] = [null, [], 0, false]; // states[at] is shown

	listen("editor-use", "click", () => act(use));
	listen("editor-save", "click", () => act(save));
	listen("editor-discard", "click", () => change(start));
	listen("editor-undo", "click", () => travel(-1));
	listen("editor-redo", "click", () => travel(1));
	listen("editor-name", "input", ({ target }) => change({ name: target.value }, true));
	listen(dialog, "focusin", () => {
		isTyping = false;
	});
	listen(dialog, "keydown", onKey);
	listen(dialog, "close", keep);
	listen(window, "pagehide", () => dialog.open && keep());

	function open(given = NOTHING) {
		const draft = JSON.parse(read(DRAFT + given.key));
		[start, states, at] = [given, [{ ...given, ...draft }], 0];
		show();
		put("editor-kept", draft && "This is your draft, as you left it.");
		dialog.showModal();
		dialog.querySelector("td input").focus();
	}

	// Letters that are typed into one field are one change.
	function change(part, isTyped = false) {
		const next = { ...states[at], ...part };
		if (!isTyped || !isTyping) at += 1;
		isTyping = isTyped;
		states.splice(at, Infinity, next);
		show();
	}

	function travel(step) {
		at += step;
		isTyping = false;
		show()?.focus();
	}

	// Gives the first cell that is not as it was.
	function show() {
		const { name } = states[at];
		if (byId("editor-name").value !== name) byId("editor-name").value = name;
		byId("editor-undo").disabled = at === 0;
		byId("editor-redo").disabled = at === states.length - 1;
		review().catch(({ message }) => complain(message));
		return tables.map((table) => table.show(states[at][table.id])).find(Boolean);
	}

	function onKey(event) {
		const key = event.key.toLowerCase();
		const isStep = (event.ctrlKey || event.metaKey) && ["z", "y"].includes(key);
		const isLeaving = key === "escape" && event.target.closest("tbody");
		if (isStep || isLeaving) event.preventDefault();
		if (isStep) byId(key === "y" || event.shiftKey ? "editor-redo" : "editor-undo").click();
		if (isLeaving) byId("editor-use").focus();
	}

	function keep() {
		const [key, now] = [DRAFT + start.key, JSON.stringify(states[at])];
		if (now === JSON.stringify(start)) remove(key);
		else if (!write(key, now)) put("editor-kept", told("draft-unstored"));
	}

	// Two CSV files, as they were typed.
	function files() {
		const { name, ...lines } = states[at];
		const csv = ({ id, columns }) => [columns, ...lines[id]].map((line) => lineOf(line));
		return contentsOf(tables.map((table) => new File(csv(table), `${fileName(name)}.${table.id}.csv`)));
	}

	const ask = async (rest, signal) =>
		service.post("networks", { files: await files(), keep: false, ...rest }, signal);

	const review = latest(async (signal) => {
		await new Promise((resolve) => setTimeout(resolve, PAUSE));
		signal.throwIfAborted();
		keep();
		if (tables.some(({ id }) => states[at][id].length)) praise(await ask({}, signal));
		else say([]);
	});

	// Where a line is wrong, the focus goes there.
	const act = (doing) => doing().catch((error) => complain(error.message)?.click());

	async function use() {
		review.cancel();
		const { causes, findings } = states[at];
		const names = new Set([...causes, ...findings].map(([name]) => name.trim()));
		await openNetwork(service, await files(), () => {
			start = states[at]; // no draft is left
			dialog.close();
			return fitting(names);
		});
	}

	// Tables that are not complete can be saved as they are.
	async function save() {
		const [suffix, name] = [byId("editor-suffix").value, fileName(states[at].name)];
		downloadAll(suffix === ".csv" ? await files() : (await ask({ save: { suffix, name } })).files);
	}

	function praise(found) {
		const about = new Set(found.suspicions.flatMap((each) => each.units));
		const doubts = remarksOf(found).map(sentence);
		const complete = make("p", `Complete: ${counted(found.units, "unit")}, ${counted(found.edges, "link")}.`);
		const seldom = doubts.length > 0 && listed("Not wrong, but seldom meant:", doubts);
		say([complete, seldom], "is-suspected", rowsOf((name) => about.has(name)));
	}

	// Gives the button that goes to the line, if the service named one.
	function complain(message) {
		const [, id, number, text, column] = /^(?:File [^:]*: (?:(\w+), line (\d+): )?)?((\w*).*)/s.exec(message);
		const table = tables.find((each) => each.id === id);
		const line = number - 2; // behind the titles, and counted from 0
		const focus = () => table.focus(line, table.columns.indexOf(column));
		const go = table && button(`Line ${line + 1} of ${id}`, focus, { class: "link" });
		const isNamed = (name) => text.includes(`'${name}'`) || text.includes(` ${name} -> `); // as in a cycle
		const rows = table ? [table.body.rows[line]] : rowsOf(isNamed);
		say(make("div.message.is-bad", go, make("p", sentence(text))), "is-wrong", rows);
		return go;
	}

	const rowsOf = (test) =>
		[...dialog.querySelectorAll("tbody tr")].filter((row) => test(row.querySelector("input").value));

	// Elements, and the rows that they are about. A screen reader hears the same words once.
	function say(parts, kind, rows = []) {
		for (const row of dialog.querySelectorAll("tbody [class]")) row.className = "";
		for (const row of rows) row.className = kind;
		const said = make("div", parts);
		if (byId("editor-said").textContent !== said.textContent) put("editor-said", said);
	}

	return open;
}

export const hasDraft = () => read(DRAFT) !== null; // of a new network

// The case in the address, without observations of units that have other names now.
function fitting(names) {
	const parts = new URLSearchParams(location.hash.slice(1));
	const seen = JSON.parse(parts.get("case"));
	for (const name in seen) if (!names.has(name)) delete seen[name];
	if (seen) parts.set("case", JSON.stringify(seen));
	return parts.size ? `#${parts}` : "";
}
