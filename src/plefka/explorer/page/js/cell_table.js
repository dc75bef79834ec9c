// A table that is edited as in a spreadsheet: arrows, Enter and Tab go from cell to cell, several cells can be pasted,
// and the last line is always an empty one.

import { fill, listen, told } from "./elements.js";
import { count } from "./words.js";

const MOST_LINES = 5000;

// The table holds the template of a line. changed(lines, isTyped): what they are now, and whether letter by letter.
// refused(sentence): what was pasted is too much.
export function cellTable(table, changed, refused) {
	const [body] = table.tBodies;
	const template = table.querySelector("template");
	const columns = [...template.content.querySelectorAll("input")].map(({ name }) => name);
	let [lines, home, isTab] = [[], 0, false];
	const acts = {
		input: ({ target }, line, column) => write([[target.value]], line, column, true),
		keydown: onKey,
		paste,
		focusin: (_, line, column) => {
			if (!isTab) home = column; // Enter goes on below the cell from which Tab set out
			isTab = false;
		},
		click: ({ target }, line) => target.matches("button") && removeLine(line),
	};
	for (const [kind, act] of Object.entries(acts))
		listen(body, kind, (event) => {
			const cell = event.target.closest("td");
			if (cell) act(event, cell.parentElement.sectionRowIndex, cell.cellIndex - 1);
		});

	// Gives the first cell that was not so, if any. Lines that are the same objects as before are not looked at.
	function show(next) {
		const before = lines;
		lines = next;
		const total = Math.min(lines.length + 1, MOST_LINES);
		while (body.rows.length > total) body.lastElementChild.remove();
		while (body.rows.length < total) body.append(row(body.rows.length + 1));
		let first;
		for (const [k, { cells }] of [...body.rows].entries()) {
			if (lines[k] && lines[k] === before[k]) continue;
			for (const column of columns.keys()) {
				const [field, text] = [cells[column + 1].firstElementChild, lines[k]?.[column] ?? ""];
				if (field.value === text) continue;
				field.value = text;
				first ??= field;
			}
		}
		return first;
	}

	function row(number) {
		const made = fill(template, { th: number });
		for (const each of made.querySelectorAll("[aria-label]")) each.ariaLabel += ` ${number}`;
		return made;
	}

	// The nearest cell that there is; behind the columns is a button.
	function focus(line, column) {
		const { cells } = body.rows[within(line, body.rows.length - 1)];
		const field = cells[within(column, columns.length) + 1].firstElementChild;
		field.focus();
		field.select?.();
	}

	// Lines of cells, from this one on.
	function write(block, line, column, isTyped = false) {
		const next = [...lines];
		block.forEach((cells, k) => {
			const old = next[line + k] ?? [];
			next[line + k] = columns.map((_, j) => cells[j - column] ?? old[j] ?? "");
		});
		set(next, isTyped);
	}

	function set(next, isTyped) {
		changed(next.slice(0, next.findLastIndex((cells) => cells.some(Boolean)) + 1), isTyped);
	}

	function removeLine(line) {
		set(lines.toSpliced(line, 1));
		focus(line, 0);
	}

	function onKey(event, line, column) {
		const { key, target, shiftKey } = event;
		const { selectionStart: from = 0, selectionEnd: to = 0, value } = target;
		const isWhole = from === 0 && to === value.length; // as after a step from another cell
		const place = {
			Enter: target.matches("input") && [line + (shiftKey ? -1 : 1), home],
			ArrowDown: [line + 1, column],
			ArrowUp: [line - 1, column],
			ArrowLeft: column > 0 && (isWhole || to === 0) && [line, column - 1],
			ArrowRight: (isWhole || from === value.length) && [line, column + 1],
		}[key];
		isTab = key === "Tab";
		if (!place || event.ctrlKey || event.metaKey || event.altKey) return;
		event.preventDefault();
		focus(...place);
	}

	// As spreadsheets give it: tabs between cells. A first line that repeats the titles is left out.
	function paste(event, line, column) {
		const text = event.clipboardData.getData("text/plain").replace(/\r?\n$/, "");
		if (!/[\t\r\n]/.test(text)) return;
		event.preventDefault();
		const cell = (words) => words.trim().replace(/^"(.*)"$/, "$1");
		const block = text.split(/\r\n|\r|\n/).map((each) => each.split("\t").map(cell));
		if (block[0].every((word, k) => word.toLowerCase() === columns[column + k])) block.shift();
		const total = line + block.length;
		if (total > MOST_LINES) return refused(told("too-many-lines", count(MOST_LINES), count(total)));
		write(block, line, column);
		focus(line, column);
	}

	return { body, columns, show, focus };
}

const within = (place, last) => Math.min(Math.max(place, 0), last);
