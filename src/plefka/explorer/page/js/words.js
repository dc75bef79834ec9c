// Numbers and answers in the words of a reader.

import { told } from "./elements.js";

const TELLING = 1.5; // times as probable as beforehand: less is not said

export function probability(value) {
	if (Number.isNaN(value ?? NaN)) return "–";
	if (value > 0 && value < 0.0005) return "<0.001";
	if (value < 1 && value >= 0.9995) return ">0.999";
	return value.toFixed(3);
}

// "1 in 4,300" for what is rare.
export const chance = (p) => (p > 0 && p < 0.0005 ? `1 in ${rounded(1 / p)}` : probability(p));

// "0.520 to 0.550": where an estimate lies in 95 of 100 cases, if that is known.
export function range(accuracy, [low, high], words = probability) {
	if (accuracy !== "estimate" || !Number.isFinite(low) || low === high) return "";
	const ends = [low, high].map(words);
	return ends[0] === ends[1] ? "to these digits" : ends.join(" to ");
}

// "≈ 0.535" for an estimate, or with its interval "≈ 0.535 (0.520 to 0.550)".
export function about(value, accuracy, interval = [], words = probability) {
	const between = range(accuracy, interval);
	return `${accuracy === "estimate" ? "≈ " : ""}${words(value)}${between && ` (${between})`}`;
}

// How many times as probable as beforehand: ["× 30", "30 times as probable as beforehand"]; null where little changed.
export function times(now, before) {
	const [more, less] = [now / before, before / now];
	const isTelling = (ratio) => ratio >= TELLING && ratio < Infinity;
	if (isTelling(more)) return [`× ${rounded(more)}`, `${rounded(more)} times as probable as beforehand`];
	if (isTelling(less)) return [`÷ ${rounded(less)}`, `${rounded(less)} times less probable than beforehand`];
	return null;
}

const numEstimates = (ranking) => ranking.filter(({ accuracy }) => accuracy === "estimate").length;

export const isExact = ({ kind, ranking }) => kind === "exact" && numEstimates(ranking) === 0;

// What the reader of a ranking should know of its probabilities: in short, and in full. Of numbers on paper, and of those
// in tables, no range is seen.
export function trust(answer, canCheck, isOnPage = true) {
	const [some, all] = [numEstimates(answer.ranking), answer.ranking.length];
	if (isExact(answer)) return { lead: "Exact:", detail: "nothing was approximated." };
	if (!some) return { lead: all ? "The probabilities shown are exact." : "", detail: "" };
	const lead = some === all ? "Estimates, marked ≈." : told("partly", some, all);
	const isUnknown = ({ accuracy, interval }) => accuracy === "estimate" && !range(accuracy, interval);
	const unknown = answer.ranking.filter(isUnknown).length;
	const where = unknown ? told("higher-or-lower", unknown < some ? unknown : "any") : told("in-ranges");
	const parts = [where, isOnPage && !unknown && told("point-at"), canCheck && "A check tells how far to trust them."];
	return { lead, detail: parts.filter(Boolean).join(" ") };
}

// The same in one line, where there is no check.
export const numbers = (answer) => Object.values(trust(answer, false, false)).join(" ");

export const count = (value) => value.toLocaleString("en");

const rounded = (value) => value.toLocaleString("en", { maximumSignificantDigits: 2 });

export const counted = (value, one, many = `${one}s`) => `${count(value)} ${value === 1 ? one : many}`;

export const signed = (value) => (value === null ? "–" : `${value < 0 ? "−" : "+"}${Math.abs(value).toFixed(2)}`);

// With a true minus sign, and none before a zero.
export function minus(value, digits) {
	const text = Math.abs(value).toFixed(digits);
	return value < 0 && Number(text) > 0 ? `−${text}` : text;
}

export function duration(seconds) {
	if (seconds === null || seconds === undefined) return "–";
	if (seconds < 1) return `${Math.max(1, Math.round(1000 * seconds))} ms`;
	return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}

// "lower bound"
export const kindWords = (kind) => kind.replace("_", " ");

// A note of the service, with what a power of two in it counts.
export function inWords(note) {
	const [, units] = /2\^(\d+)/.exec(note) ?? [];
	if (!units) return sentence(note);
	const number = units < 40 ? count(2 ** units) : "more than a million million";
	return `${sentence(note)} ${told("ways", units, units, number)}`;
}

// The sentences of the service start small and have no full stop where Python joins them.
export function sentence(text) {
	const whole = String(text ?? "").trim();
	if (!whole) return "";
	const large = whole[0].toUpperCase() + whole.slice(1);
	return /[.!?…]$/.test(large) ? large : `${large}.`;
}

// How a likelihood reads: "probably yes, 4 to 1".
export function leaning({ on, off }, [offWord, onWord]) {
	if (on === off) return "no information";
	const [word, ratio] = on > off ? [onWord, on / off] : [offWord, off / on];
	const number = ratio.toLocaleString("en", { maximumFractionDigits: ratio < 10 ? 1 : 0 });
	const odds = ratio < Infinity ? `${number} to 1` : "certain";
	return `${ratio >= 20 ? "almost surely" : ratio >= 3 ? "probably" : "perhaps"} ${word}, ${odds}`;
}

// "19 Nov 2026, 04:38", which is read in the same way everywhere.
export function moment(date) {
	const text = new Date(date).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
	return text === "Invalid Date" ? "–" : text;
}
