// A case outside of the page: in the part of an address behind #, or in a file. What comes in is checked name by name.

import { AS_USUAL } from "./case.js";

const FORMAT = "plefka-case";

export class BadCase extends Error {}

export function toFragment(theCase, defaultMethod) {
  const parts = new URLSearchParams();
  if (theCase.observations.size) parts.set("case", JSON.stringify(theCase.evidence));
  if (theCase.method !== defaultMethod) parts.set("method", theCase.method);
  if (theCase.isExclusive) parts.set("exclusive", "causes");
  const ranking = unusual(theCase.ranked);
  if (ranking) parts.set("ranking", JSON.stringify(ranking));
  return parts.toString();
}

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

// {evidence, method, isExclusive, ranking, token}; what is not there is null
export function fromFragment(fragment) {
  const parts = new URLSearchParams(fragment.replace(/^#/, ""));
  const read = (part) => (parts.has(part) ? parsed(parts.get(part), "The link") : null);
  return {
    evidence: read("case"),
    method: parts.get("method"),
    isExclusive: parts.get("exclusive") === "causes",
    ranking: read("ranking"),
    token: parts.get("token"),
  };
}

export function toFile(theCase, network) {
  const ranking = unusual(theCase.ranked);
  const content = {
    format: FORMAT,
    version: 1,
    network: network.name,
    method: theCase.method,
    ...(theCase.isExclusive ? { exclusive: "causes" } : {}),
    ...(ranking ? { ranking } : {}),
    evidence: theCase.evidence,
  };
  return JSON.stringify(content, null, 2);
}

// A file of this page, or just {"unit": 0 or 1, ...}.
export function fromFile(text) {
  const content = parsed(text, "The file");
  if (content.format !== FORMAT) return { evidence: content, method: null };
  if (content.version !== 1)
    throw new BadCase(
      `The file must be a case of version 1; it has version ${content.version}. Save it again with this page.`,
    );
  if (!isObject(content.evidence))
    throw new BadCase('The file must have "evidence", such as {"fever": 1}; it has none.');
  return {
    evidence: content.evidence,
    method: typeof content.method === "string" ? content.method : null,
    isExclusive: content.exclusive === "causes",
    ranking: isObject(content.ranking) ? content.ranking : null,
  };
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

// The observations that fit this network, and a sentence for each that does not.
export function checked(evidence, units) {
  const good = new Map();
  const problems = [];
  for (const [name, given] of Object.entries(evidence)) {
    const value = given === null ? null : valueOf(given, name, units);
    if (!units.has(name)) problems.push(unknown(name, units));
    else if (value === undefined)
      problems.push(`“${name}” must be ${allowed(name, units)}; got ${JSON.stringify(given)}.`);
    else if (value !== null) good.set(name, value);
  }
  return { good, problems };
}

// What is ranked and how, and a sentence for each name in it that no unit has. What cannot be meant is as usual.
export function checkedRanking(given, units) {
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
  return { good, problems: [...all].filter((name) => !units.has(name)).map((name) => unknown(name, units)) };
}

function unknown(name, units) {
  const near = units.nearest(name);
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
  if (isObject(given) && isWeight(given.on) && isWeight(given.off) && given.on + given.off > 0)
    return { on: given.on, off: given.off };
  return undefined;
}

const isWeight = (value) => typeof value === "number" && Number.isFinite(value) && value >= 0;
