// A worker: the search among all names, so that typing never waits for it.
// Every word of the query must occur in a name; names that begin with the query come first.

import { Spelling } from "./spelling.js";

const QUIET = 300; // milliseconds after which the words of all names are gathered, before somebody misspells one
let folded = [];
let roles = "";
let names = [];
let spelling = null;

self.onmessage = ({ data }) => {
  if (data.names) {
    ({ names, roles } = data);
    folded = names.map(fold);
    setTimeout(() => (spelling ??= new Spelling(names)), QUIET);
    return;
  }
  const { found, elsewhere } = search(data.query, data.role);
  const similar = found.length || elsewhere ? [] : corrected(data.query, data.role);
  self.postMessage({ number: data.number, found, elsewhere, similar }, [found.buffer]);
};

// An underscore and a space are the same.
function fold(text) {
  return text.toLowerCase().replaceAll("_", " ");
}

const wordsOf = (query) => query.trim().split(/\s+/).filter(Boolean);

function search(query, role) {
  const words = wordsOf(query).map(fold);
  const whole = fold(query.trim());
  const first = [];
  const others = [];
  let elsewhere = 0;
  for (let index = 0; index < folded.length; index += 1) {
    const name = folded[index];
    if (!words.every((word) => name.includes(word))) continue;
    if (role !== "a" && roles[index] !== role) elsewhere += 1;
    else (whole && name.startsWith(whole) ? first : others).push(index);
  }
  return { found: Int32Array.from([...first, ...others]), elsewhere };
}

// The query with its unknown words exchanged for similar ones: those that are found, in this role first.
function corrected(query, role) {
  spelling ??= new Spelling(names);
  const choices = wordsOf(query)
    .flatMap((word) => word.split("_"))
    .filter(Boolean)
    .map((word) => (folded.some((name) => name.includes(fold(word))) ? [word] : spelling.similar(word)));
  const most = choices.every((each) => each.length) ? Math.max(...choices.map((each) => each.length)) : 0;
  const queries = Array.from({ length: most }, (_, k) => choices.map((each) => each[k] ?? each[0]));
  const found = [...queries.map((words) => words.join(" ")), ...spelling.similar(query.replace(/[\s_]+/g, ""))]
    .filter((text, place, all) => text && all.indexOf(text) === place)
    .map((text) => ({ text, here: search(text, role) }))
    .map(({ text, here }) => ({ text, found: here.found.length, elsewhere: here.elsewhere }))
    .filter((each) => each.found || each.elsewhere);
  return [...found.filter((each) => each.found), ...found.filter((each) => !each.found)].slice(0, 3);
}
