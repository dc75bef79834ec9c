// The text of a table: where its rows stand, and what its cells hold. What a cell means, the service reads.

import { tried } from "./storage.js";

const SEPARATORS = [",", ";", "\t"];

// [start, end, line] of each row. A cell in quotation marks may hold ends of lines.
export function rowsOf(text) {
	const rows = [];
	let [start, first, line, closed, isQuoted] = [0, 1, 1, -1, false];
	for (const { 0: mark, index } of text.matchAll(/"|\r\n?|\n|$/g)) {
		if (mark === '"') {
			if (isQuoted) closed = index;
			isQuoted = !isQuoted && (index === start || closed === index - 1 || SEPARATORS.includes(text[index - 1]));
			continue;
		}
		line += 1;
		if (isQuoted && mark) continue;
		if (mark || index > start) rows.push([start, index, first]);
		[start, first] = [index + mark.length, line];
	}
	return rows;
}

export function cellsOf(row, separator = ",", most = Infinity) {
	const cells = [];
	for (const [, quoted, plain, end] of row.matchAll(`(?:"((?:[^"]|"")*)"|([^${separator}]*))(${separator}|$)`))
		if (cells.push((quoted?.replaceAll('""', '"') ?? plain).trim()) === most || !end) break;
	return cells;
}

export const lineOf = (cells, separator = ",") =>
	`${cells.map((cell) => `"${String(cell ?? "").replaceAll('"', '""')}"`).join(separator)}\n`;

// UTF-8, UTF-16, or what old spreadsheets write.
async function textOf(file) {
	const bytes = new Uint8Array(await file.arrayBuffer());
	const wide = bytes[1] === 0 || bytes[0] === 0xff ? "utf-16le" : bytes[0] === 0 || bytes[0] === 0xfe ? "utf-16be" : null;
	return (
		tried(() => new TextDecoder(wide ?? "utf-8", { fatal: true }).decode(bytes)) ??
		new TextDecoder("windows-1252").decode(bytes)
	);
}

// Rows below a header, some names of which are units of the network.
export async function csvTable(file, units) {
	const text = await textOf(file);
	const isRow = ([start, end]) => end > start;
	let rows = rowsOf(text);
	const next = () => {
		rows.splice(0, rows.findIndex(isRow));
		return text.slice(...(rows.shift() ?? [0, 0]));
	};
	let header = next();
	const stated = /^sep=([,;\t])\s*$/i.exec(header)?.[1];
	if (stated) header = next();
	const known = (separator) => cellsOf(header, separator).filter((name) => units.has(name)).length;
	const separator = stated ?? SEPARATORS.reduce((best, each) => (known(each) > known(best) ? each : best));
	const names = cellsOf(header, separator);
	while (names.length > 1 && !names.at(-1)) names.pop();
	if (names.length > 1) {
		if (["", "Unnamed: 0"].includes(names[0])) names[0] = "index"; // as pandas writes it
		rows = rows.filter(isRow); // in a single column, an empty line is a row
	}
	const [observed, others] = [true, false].map((is) => names.filter((name) => units.has(name) === is));
	const head = `sep=${separator}\n${lineOf(names, separator)}`;

	// The other cells of a row, which name it.
	function namesOf(row) {
		const places = others.map((name) => names.indexOf(name));
		const cells = cellsOf(text.slice(...rows[row]), separator, Math.max(...places) + 1);
		return places.map((place) => cells[place] ?? "");
	}

	// How often the names of each row have come by then; [] where none comes again.
	function visits() {
		const seen = new Map();
		const counts = rows.map((_, row) => {
			const key = others.length ? lineOf(namesOf(row)) : row;
			seen.set(key, (seen.get(key) ?? 0) + 1);
			return seen.get(key);
		});
		return seen.size < rows.length ? counts : [];
	}

	// Some rows below the header, and how much further down their lines are in the file.
	function part(at, count) {
		const some = rows.slice(at, at + count);
		const csv = head + text.slice(some[0][0], some.at(-1)[1]);
		return { csv, line: some[0][2] - head.split(/\r\n?|\n/).length, ids: others };
	}

	return { names, rows, observed, others, namesOf, visits, part };
}
