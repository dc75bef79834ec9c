// Saved cases to files and back. Nothing of a file is lost: what does not fit the network stays in the record.

import { contentOf, LABELS } from "./case.js";
import { download, told } from "./elements.js";
import { BadCase, checked, isLikelihood, isObject, parsed } from "./shared_case.js";
import { now, tried } from "./storage.js";

const ONE = "plefka-case";
const MANY = "plefka-cases";
const NETWORK = "plefka";
const LARGEST = 5e6; // bytes of a file

// record: {name, note, ..., content}; without a name, note and dates where the case has none
export const exportOne = (record, network) => save(ONE, flat(record), network, record.name || "case");

export const exportAll = (records, network) => save(MANY, { cases: records.map(flat) }, network, "cases");

function save(format, rest, { name: network }, name) {
	download(JSON.stringify({ format, version: 1, network, ...rest }, null, 2), `${network}-${name}`, "json");
}

const flat = ({ content, ...record }) => ({
	...Object.fromEntries(LABELS.map((field) => [field, record[field] || undefined])),
	...content,
});

// {cases: [{evidence, method, name, note, ...}], isList, unreadable: how many of a list} of a file of this page. One of
// just {"unit": 0 or 1, ...} leaves the rest of the case as it is at present.
export async function casesIn(file, present = {}) {
	if (file.size > LARGEST) throw ofNetwork(told("too-large", file.name));
	const content = NETWORK_NAMES.test(file.name) ? { format: NETWORK } : parsed(await file.text(), "The file");
	if (isNetwork(content))
		throw ofNetwork(told("is-network", file.name, /\s/.test(file.name) ? `"${file.name}"` : file.name));
	const isList = content.format === MANY;
	if (!isList && content.format !== ONE) return { cases: [{ ...present, evidence: content }] };
	if (content.version !== 1) throw new BadCase(told("other-version", content.version));
	if (isList && !Array.isArray(content.cases)) throw new BadCase(told("no-cases"));
	const all = isList ? content.cases : [content];
	const cases = all.filter((each) => isObject(each?.evidence)).map(labelled);
	if (!isList && !cases.length) throw new BadCase(told("no-evidence"));
	return { cases, isList, unreadable: all.length - cases.length };
}

// About a file that is a network, or may be one.
const ofNetwork = (sentence) => Object.assign(new BadCase(sentence), { isNetwork: true });

// Whether files that are no cases are opened as networks, where the service does that.
export const isOpened = ({ isNetwork }, files) =>
	isNetwork && !document.dispatchEvent(new CustomEvent("networkfiles", { detail: files, cancelable: true }));

function labelled(found) {
	const [name, note] = [found.name, found.note].map((text) => (typeof text === "string" ? text : ""));
	const [created, changed] = [found.created, found.changed].map((date) => tried(() => new Date(`${date}`).toISOString()));
	return { ...found, name, note, created, changed };
}

const NETWORK_NAMES =
	/(\.(bif|xmlbif|bifxml|xml|uai|erg|xdsl|net|dne|dnet|dsc|npz|xlsx)|(causes|findings)\.csv)(\.gz)?$/i;
const NETWORK_FIELDS = "weights bias causes findings nodes edges links units variables cpds".split(" ");

// A case has one number, word or pair of likelihoods for each name.
function isNetwork(content) {
	const isPart = (part) => Array.isArray(part) || (isObject(part) && !isLikelihood(part));
	return content.format === NETWORK || NETWORK_FIELDS.filter((field) => isPart(content[field])).length > 1;
}

// {record, problems: a sentence for each observation that does not fit}
export function recordOf({ name, note = "", created, changed, ...found }, network, units, guesses) {
	const { good, problems } = checked(found.evidence, units, guesses);
	const { fingerprint, network_version, default_method: method } = network;
	const evidence = problems.length ? found.evidence : Object.fromEntries(good);
	const time = changed ?? now();
	const label = { name: name.trim() || "Case without a name", note, created: created ?? time, changed: time };
	const content = contentOf({ method, ...found, evidence });
	return { record: { ...label, fingerprint, network_version, content, first: null }, problems };
}
