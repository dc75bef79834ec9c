// Saved cases to files and back. Nothing of a file is lost: what does not fit the network stays in the record.

import { BadCase, checked, contentOf, fromFile, labelOf, toFile, toFileOfMany } from "./shared_case.js";
import { download, textOf } from "./share.js";
import { now } from "./open_case.js";
import { counted } from "./words.js";

export function exportOne(record, network) {
  download(toFile(record.content, network, labelOf(record)), `${network.name}-${record.name}`);
}

export function exportAll(records, network) {
  download(toFileOfMany(records, network), `${network.name}-cases`);
}

// The cases of some files, and a sentence for each file, or part of one, that holds none.
export async function readCases(files) {
  const cases = [];
  const refused = [];
  for (const file of files) {
    try {
      const found = fromFile(await textOf(file), file.name);
      cases.push(...(found.many ?? [{ name: file.name.replace(/\.json$/i, ""), ...found }]));
      if (found.unreadable) refused.push(unreadable(found, file.name));
    } catch (error) {
      refused.push(error instanceof BadCase ? error.message : `${file.name} could not be read.`);
    }
  }
  return { cases, refused };
}

export const unreadable = ({ unreadable: count }, fileName) =>
  `${counted(count, "case")} in ${fileName} had no observations, and could not be read.`;

// {record, problems: a sentence for each observation that does not fit}
export function recordOf(found, network, units, guesses) {
  const { evidence, method, isExclusive = false, ranking = null, others = {} } = found;
  const { name = "", note = "", created, changed } = found;
  const { good, problems } = checked(evidence, units, guesses);
  const fitting = problems.length ? evidence : Object.fromEntries(good);
  const whole = { method: method ?? network.default_method, isExclusive, ranking, evidence: fitting, others };
  const content = contentOf(whole);
  const time = now();
  const dates = { created: created ?? changed ?? time, changed: changed ?? time };
  const { fingerprint, network_version } = network;
  const called = name.trim() || "Case without a name";
  return { record: { name: called, note, ...dates, fingerprint, network_version, content, first: null }, problems };
}
