// A case outside of the page: in the part of an address behind #, or in a file. What comes in is checked name by name.
// What a link or file says beyond this is kept, for pages that know it.

import { AS_USUAL } from "./case.js";

const FORMAT = "plefka-case";
const MANY = "plefka-cases";
const LABELS = ["name", "note", "created", "changed", "fingerprint", "network_version"];
const KNOWN = new Set([
  ...["case", "token", "format", "version", "network", "method", "exclusive", "ranking", "evidence", "cases"],
  ...LABELS,
]);
const LONGEST = 2000; // characters of a value that this page does not know, in a link

export class BadCase extends Error {}

// What is observed and assumed: the same in files and in the browser's storage.
export function contentOf({ method, isExclusive, evidence, others, ranked = null, ranking = ranked && unusual(ranked) }) {
  const assumed = isExclusive ? { exclusive: "causes" } : {};
  return { method, ...assumed, ...(ranking ? { ranking } : {}), evidence, ...others };
}

export function fromContent(content) {
  return {
    evidence: content.evidence,
    method: typeof content.method === "string" ? content.method : null,
    isExclusive: content.exclusive === "causes",
    ranking: isObject(content.ranking) ? content.ranking : null,
    others: unknownOf(Object.entries(content)),
  };
}

const unknownOf = (entries) => Object.fromEntries(entries.filter(([name]) => !KNOWN.has(name)));

export function toFragment(theCase, defaultMethod) {
  const parts = new URLSearchParams();
  if (theCase.observations.size) parts.set("case", JSON.stringify(theCase.evidence));
  if (theCase.method !== defaultMethod) parts.set("method", theCase.method);
  if (theCase.isExclusive) parts.set("exclusive", "causes");
  const ranking = unusual(theCase.ranked);
  if (ranking) parts.set("ranking", JSON.stringify(ranking));
  for (const [name, value] of Object.entries(theCase.others)) {
    const text = written(value);
    if (text.length <= LONGEST) parts.set(name, text);
  }
  return parts.toString();
}

// Values in a link are text: JSON is taken for what it says, where it would be written in the same way again.
function valueIn(text) {
  try {
    const value = JSON.parse(text);
    return JSON.stringify(value) === text ? value : text;
  } catch {
    return text;
  }
}

const written = (value) => (typeof value === "string" && valueIn(value) === value ? value : JSON.stringify(value));

// What of a ranking is not as usual; null where all is.
function unusual({ units, chosen, order, faults, leftOut }) {
  const parts = {
    ...(units === AS_USUAL.units ? {} : { units }),
    ...(chosen.length ? { chosen } : {}),
    ...(order === AS_USUAL.order ? {} : { order }),
    ...(faults.length ? { faults: Object.fromEntries(faults) } : {}),
    ...(leftOut.length ? { left_out: leftOut } : {}),
  };
  return Object.keys(parts).length ? parts : null;
}

// {evidence, method, isExclusive, ranking, others, token}; what is not there is null
export function fromFragment(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const read = (part) => (parts.has(part) ? parsed(parts.get(part), "The link") : null);
  return {
    evidence: read("case"),
    method: parts.get("method"),
    isExclusive: parts.get("exclusive") === "causes",
    ranking: read("ranking"),
    others: unknownOf([...parts].map(([name, text]) => [name, valueIn(text)])),
    token: parts.get("token"),
  };
}

// content: of contentOf; label: {name, note, created, changed}, if it has a name
export function toFile(content, network, label = null) {
  return JSON.stringify({ format: FORMAT, version: 1, network: network.name, ...label, ...content }, null, 2);
}

// records: as the browser keeps them
export function toFileOfMany(records, network) {
  const cases = records.map(({ content, ...record }) => ({ ...labelOf(record), ...content }));
  return JSON.stringify({ format: MANY, version: 1, network: network.name, cases }, null, 2);
}

export const labelOf = (record) =>
  Object.fromEntries(LABELS.filter((field) => record[field]).map((field) => [field, record[field]]));

// {evidence, method, isExclusive, others, name, note, created, changed} of a file of this page, or of just
// {"unit": 0 or 1, ...}. Of a file of many cases: {many: [...], unreadable: how many}.
export function fromFile(text, fileName = "") {
  if (NETWORK_NAMES.test(fileName)) throw network(fileName);
  const content = parsed(text, "The file");
  if (isNetwork(content)) throw network(fileName);
  if (content.format !== FORMAT && content.format !== MANY) return { evidence: content, method: null };
  if (content.version !== 1)
    throw new BadCase(
      `The file must be a case of version 1; it has version ${content.version}. Save it again with this page.`,
    );
  if (content.format === MANY) return manyIn(content.cases);
  if (!isObject(content.evidence))
    throw new BadCase('The file must have "evidence", such as {"fever": 1}; it has none.');
  return labelled(content);
}

function manyIn(cases) {
  if (!Array.isArray(cases)) throw new BadCase('The file must have a list of "cases"; it has none.');
  const good = cases.filter((each) => isObject(each) && isObject(each.evidence));
  return { many: good.map(labelled), unreadable: cases.length - good.length };
}

function labelled(content) {
  const [name, note] = [content.name, content.note].map((text) => (typeof text === "string" ? text : ""));
  const [created, changed] = [content.created, content.changed].map(dateIn);
  return { ...fromContent(content), name, note, created, changed };
}

function dateIn(text) {
  const date = new Date(typeof text === "string" ? text : NaN);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

const NETWORK_NAMES = /\.(bif|xmlbif|bifxml|xml|uai|erg|xdsl|net|dne|dnet|dsc|npz)(\.gz)?$/i;
const NETWORK_FIELDS = "weights bias causes findings nodes edges links units variables cpds".split(" ");

// A case has one number, word or pair of likelihoods for each name.
function isNetwork(content) {
  const isPart = (part) => Array.isArray(part) || (isObject(part) && !isLikelihood(part));
  return content.format === "plefka" || NETWORK_FIELDS.filter((field) => isPart(content[field])).length > 1;
}

function network(fileName) {
  const shown = /\s/.test(fileName) ? `"${fileName}"` : fileName || "FILE";
  return new BadCase(
    `${fileName || "The file"} is a network, not a case: a case holds what was observed. To see the network on this ` +
      `page, start the explorer with it: plefka explore ${shown}`,
  );
}

function parsed(text, what) {
  let content;
  try {
    content = JSON.parse(text);
  } catch {
    throw new BadCase(
      `${what} must hold a case as JSON, such as {"fever": 1, "cough": 0}; this cannot be read as JSON.`,
    );
  }
  if (!isObject(content))
    throw new BadCase(
      `${what} must hold observations by name, such as {"fever": 1, "cough": 0}; this is something else.`,
    );
  return content;
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

// The observations that fit this network, and a sentence for each that does not. To guess a name takes time where there
// are many, so that only the first few are guessed.
export function checked(evidence, units, guesses = { left: 20 }) {
  const good = new Map();
  const problems = [];
  for (const [name, given] of Object.entries(evidence)) {
    const value = given === null ? null : valueOf(given, name, units);
    if (!units.has(name)) problems.push(unknown(name, units, guesses));
    else if (value === undefined)
      problems.push(`“${name}” must be ${allowed(name, units)}; got ${JSON.stringify(given)}.`);
    else if (value !== null) good.set(name, value);
  }
  return { good, problems };
}

// What is ranked and how, and a sentence for each name in it that no unit has. What cannot be meant is as usual.
export function checkedRanking(given, units, guesses = { left: 20 }) {
  const names = (list) => (Array.isArray(list) ? [...new Set(list.map(String))] : []);
  const one = (value, allowed, usual) => (allowed.includes(value) ? value : usual);
  const faults = isObject(given.faults) ? Object.entries(given.faults) : [];
  const states = faults.filter(([, state]) => [0, 1].includes(state));
  const [chosen, leftOut] = [names(given.chosen), names(given.left_out)];
  const good = {
    units: one(given.units, ["all", "chosen"], AS_USUAL.units),
    chosen: chosen.filter((name) => units.has(name)),
    order: one(given.order, ["change", "probability"], AS_USUAL.order),
    faults: states.filter(([name]) => units.has(name)),
    leftOut: leftOut.filter((name) => units.has(name)),
  };
  const all = new Set([...chosen, ...leftOut, ...states.map(([name]) => name)]);
  return { good, problems: [...all].filter((name) => !units.has(name)).map((name) => unknown(name, units, guesses)) };
}

function unknown(name, units, guesses) {
  guesses.left -= 1;
  const near = guesses.left >= 0 && units.nearest(name);
  return `This network has no unit “${name}”.${near ? ` Did you mean “${near}”?` : ""}`;
}

function allowed(name, units) {
  const [off, on] = units.words(name);
  return `${[...new Set(["0", "1", off, on])].join(", ")} or two likelihoods such as {"on": 0.9, "off": 0.2}`;
}

function valueOf(given, name, units) {
  if (given === 0 || given === false) return 0;
  if (given === 1 || given === true) return 1;
  if (typeof given === "string" && units.has(name)) return units.valueOf(name, given) ?? undefined;
  return isObject(given) && isLikelihood(given) ? { on: given.on, off: given.off } : undefined;
}

const isLikelihood = ({ on, off }) => isWeight(on) && isWeight(off) && on + off > 0;

const isWeight = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;
