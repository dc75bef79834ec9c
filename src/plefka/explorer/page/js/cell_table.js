// A table that is edited as in a spreadsheet: arrows, Enter and Tab go from cell to cell, several cells can be pasted,
// and the last line is always an empty one.

import { listen, make } from "./elements.js";
import { count } from "./words.js";

const MOST_LINES = 5000;

export class CellTable {
	// changed(lines, step): what they are now; step: the same while one cell is typed in, otherwise null.
	// refused(sentence): what was pasted is too much. leave(): the reader wants to be elsewhere.
	constructor(table, { changed, refused, leave }) {
		this.columns = [...table.tHead.querySelectorAll("[data-column]")].map((each) => each.dataset.column);
		Object.assign(this, { changed, refused, leave, body: table.tBodies[0], lines: [] });
		Object.assign(this, { visit: 0, home: 0, isTab: false });
		const acts = {
			input: (event, line, column) => this.#typed(event.target.value, line, column),
			keydown: (event, line, column) => this.#onKey(event, line, column),
			paste: (event, line, column) => this.#paste(event, line, column),
			focusin: (event, line, column) => this.#entered(column),
			click: (event, line) => event.target.matches("button") && this.#remove(line),
		};
		for (const [kind, act] of Object.entries(acts))
			listen(this.body, kind, (event) => {
				const cell = event.target.closest("td");
				if (cell) act(event, cell.parentElement.sectionRowIndex, cell.cellIndex - 1);
			});
	}

	// Gives the first cell that was not so, if any. Lines that are the same objects as before are not looked at.
	show(lines) {
		const before = this.lines;
		this.lines = lines;
		const total = Math.min(lines.length + 1, MOST_LINES);
		while (this.body.rows.length > total) this.body.lastElementChild.remove();
		while (this.body.rows.length < total) this.body.append(this.#makeRow(this.body.rows.length + 1));
		let first;
		for (const [k, row] of [...this.body.rows].entries()) {
			if (lines[k] && lines[k] === before[k]) continue;
			row.querySelectorAll("input").forEach((field, column) => {
				const text = lines[k]?.[column] ?? "";
				if (field.value === text) return;
				field.value = text;
				first ??= field;
			});
		}
		return first;
	}

	// Lines of which a test(line, k) is true, and no others.
	mark(kind, test) {
		[...this.body.rows].forEach((row, k) => {
			row.className = k in this.lines && test(this.lines[k], k) ? kind : "";
		});
	}

	focus(line, column) {
		const row = this.body.rows[Math.min(line, this.body.rows.length - 1)];
		const field = row.cells[Math.min(column, this.columns.length) + 1].firstElementChild;
		field.focus();
		field.select?.();
	}

	// With the roles of a table, which its rows lose where they are boxes.
	#makeRow(number) {
		const field = { type: "text", autocomplete: "off", spellcheck: "false" };
		const cells = this.columns.map((column) => make("input", { ...field, "aria-label": `${column}, line ${number}` }));
		const remove = make("button", { type: "button", tabindex: -1, "aria-label": `Remove line ${number}` }, "×");
		const cell = (child) => make("td", { role: "cell" }, child);
		return make("tr", { role: "row" }, make("th", { role: "rowheader" }, number), [...cells, remove].map(cell));
	}

	// Enter goes on below the cell from which Tab set out.
	#entered(column) {
		if (!this.isTab) this.home = column;
		this.isTab = false;
		this.visit += 1;
	}

	#typed(text, line, column) {
		const lines = [...this.lines];
		this.#put(lines, line, column, text);
		this.#set(lines, this.visit);
	}

	#put(lines, line, column, text) {
		while (lines.length <= line) lines.push(this.columns.map(() => ""));
		lines[line] = lines[line].with(column, text);
	}

	#set(lines, step = null) {
		while (lines.at(-1)?.every((text) => text === "")) lines.pop();
		this.changed(lines, step);
	}

	#remove(line) {
		this.#set(this.lines.filter((_, k) => k !== line));
		this.focus(line, 0);
	}

	#onKey(event, line, column) {
		const { key, target, shiftKey } = event;
		const isField = target.matches("input");
		const { selectionStart: from = 0, selectionEnd: to = 0, value } = target;
		const isWhole = from === 0 && to === value.length; // as after a step from another cell
		this.isTab = key === "Tab";
		if (event.ctrlKey || event.metaKey || event.altKey || (key === "Enter" && !isField)) return;
		if (key === "Escape") this.leave();
		else if (key === "Enter") this.focus(Math.max(line + (shiftKey ? -1 : 1), 0), this.home);
		else if (key === "ArrowDown") this.focus(line + 1, column);
		else if (key === "ArrowUp") this.focus(Math.max(line - 1, 0), column);
		else if (key === "ArrowLeft" && column > 0 && (isWhole || to === 0)) this.focus(line, column - 1);
		else if (key === "ArrowRight" && (isWhole || from === value.length)) this.focus(line, column + 1);
		else return;
		event.preventDefault();
	}

	// As spreadsheets give it: tabs between cells. A first line that repeats the titles is left out.
	#paste(event, line, column) {
		const text = event.clipboardData.getData("text/plain").replace(/\r?\n$/, "");
		if (!/[\t\r\n]/.test(text)) return;
		event.preventDefault();
		const pasted = text.split(/\r\n|\r|\n/).map((each) => each.split("\t"));
		if (pasted[0].every((word, k) => word.trim().toLowerCase() === this.columns[column + k])) pasted.shift();
		const total = line + pasted.length;
		if (total > MOST_LINES)
			return this.refused(
				`A table may have ${count(MOST_LINES)} lines here; with what you pasted it would have ${count(total)}. ` +
					"Nothing was pasted. Save these lines as a CSV file, and open that.",
			);
		const lines = [...this.lines];
		for (const [k, cells] of pasted.entries())
			for (const [j, cell] of cells.slice(0, this.columns.length - column).entries())
				this.#put(lines, line + k, column + j, cell.trim().replace(/^"(.*)"$/, "$1"));
		this.#set(lines);
		this.focus(line, column);
	}
}
