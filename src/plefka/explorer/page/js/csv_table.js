// The text of a table: where its rows stand, and what its cells hold. What a cell means, the service reads.

import { told } from "./elements.js";
import { tried } from "./storage.js";

const [MOST_ROWS, LARGEST] = [20000, 2e7]; // rows and bytes of a file
const NAMED = 20; // columns
const SEPARATORS = [",", ";", "\t"];
// A row and its end. A cell in quotation marks may hold ends of lines.
const ROW = /(?:(?<![^,;\t\r\n])"(?:[^"]+|"")*"?|[^"\r\n]+|")*(\r\n?|\n|$)/g;

// [start, end, line] of each row
export function rowsOf(text) {
	let line = 1;
	const rows = [...text.matchAll(ROW)].filter(([row]) => row);
	return rows.map(({ 0: row, 1: end, index }) => {
		const first = line;
		line += row.split(/\r\n?|\n/).length - 1;
		return [index, index + row.length - end.length, first];
	});
}

export function cellsOf(row, separator = ",", most = Infinity) {
	const cells = [];
	for (const [, quoted, plain, end] of row.matchAll(`(?:"((?:[^"]|"")*)"|([^${separator}]*))(${separator}|$)`))
		if (cells.push((quoted?.replaceAll('""', '"') ?? plain).trim()) === most || !end) break;
	return cells;
}

export const lineOf = (cells, separator = ",") =>
	`${cells.map((cell) => `"${String(cell ?? "").replaceAll('"', '""')}"`).join(separator)}\n`;

export const some = (names) =>
	names.slice(0, NAMED).join(", ") + (names.length > NAMED ? ` and ${names.length - NAMED} more` : "");

// UTF-8, UTF-16, or what old spreadsheets write.
async function textOf(file) {
	const bytes = new Uint8Array(await file.arrayBuffer());
	const decoded = (encoding, fatal) => new TextDecoder(encoding, { fatal }).decode(bytes);
	const [isLittle, isBig] = [bytes[1] === 0 || bytes[0] === 0xff, bytes[0] === 0 || bytes[0] === 0xfe];
	const encoding = isLittle ? "utf-16le" : isBig ? "utf-16be" : "utf-8";
	return tried(() => decoded(encoding, true)) ?? decoded("windows-1252");
}

function refuse(...words) {
	throw new Error(told(...words));
}

// Rows below a header, some names of which are units of the network.
export async function csvTable(file, units) {
	const { name, size } = file;
	if (size >= LARGEST) refuse("rows-too-many", name, name);
	const text = await textOf(file);
	const isFilled = ([start, end]) => end > start;
	let rows = rowsOf(text);
	const next = () => {
		rows.splice(0, rows.findIndex(isFilled));
		return text.slice(...(rows.shift() ?? [0, 0]));
	};
	let header = next();
	const stated = /^sep=([,;\t])\s*$/i.exec(header)?.[1];
	if (stated) header = next();
	const known = (separator) => cellsOf(header, separator).filter((each) => units.has(each)).length;
	const separator = stated ?? SEPARATORS.reduce((best, each) => (known(each) > known(best) ? each : best));
	const names = cellsOf(header, separator);
	while (names.length > 1 && !names.at(-1)) names.pop();
	if (names.length > 1) {
		if (["", "Unnamed: 0"].includes(names[0])) names[0] = "index"; // as pandas writes it
		rows = rows.filter(isFilled); // in a single column, an empty line is a row
	}
	const [observed, others] = [true, false].map((is) => names.filter((each) => units.has(each) === is));
	if (rows.length > MOST_ROWS) refuse("rows-too-many", name, name);
	if (!observed.length) refuse("rows-no-units", some(names) || "nothing");
	if (!rows.length) refuse("rows-none", name);
	const head = `sep=${separator}\n${lineOf(names, separator)}`;
	const places = others.map((each) => names.indexOf(each));

	// The other cells of a row, which name it.
	function namesOf(row) {
		const cells = cellsOf(text.slice(...rows[row]), separator, Math.max(...places) + 1);
		return places.map((place) => cells[place] ?? "");
	}

	// How often the names of each row have come by then; [] where none comes again.
	function visits() {
		const seen = new Map();
		const counts = rows.map((_, row) => {
			const names = lineOf(namesOf(row));
			seen.set(names, (seen.get(names) ?? 0) + 1);
			return seen.get(names);
		});
		return others.length && seen.size < rows.length ? counts : [];
	}

	// Some rows below the header, and how much further down their lines are in the file.
	function part(at, count) {
		const some = rows.slice(at, at + count);
		const csv = head + text.slice(some[0][0], some.at(-1)[1]);
		return { csv, line: some[0][2] - head.split(/\r\n?|\n/).length, ids: others };
	}

	return { name, names, rows, observed, others, namesOf, visits, part };
}
