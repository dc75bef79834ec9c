// Saved cases: the open one, which is kept in step once it is saved, and all that this browser keeps for the network.

import { contentOf, isSame } from "./case.js";
import { button, byId, fill, listed, listen, make, put, told } from "./elements.js";
import { casesIn, checked, exportAll, exportOne } from "./shared_case.js";
import { now, read, write } from "./storage.js";
import { about, counted, moment } from "./words.js";

const OPEN = "plefka-open-case"; // of this tab
const SHOWN = 200; // cases of a list; the search finds others

// open(record, key): show a case on the page; compare(key): beside the open one
export function savedCases(network, units, theCase, store, { open, compare }) {
	const dialog = byId("cases-dialog");
	const drafts = new Map(); // id -> {name, note} of a case that is not saved
	const deleted = []; // [key, record], which can be taken back until the page is left
	const reloaded = read(OPEN, "sessionStorage"); // the case that was open when the page was loaded again
	let best = null; // the first cause of the answer: {name, probability, accuracy}

	listen(theCase, "change", () => {
		best = null;
		follow();
	});
	for (const kind of ["input", "submit"]) listen("case-form", kind, writeLabel);
	listen("cases", "click", show);
	listen("cases-search", "input", () => draw());
	listen("cases-export", "click", () => exportAll(records(), network));
	listen("cases-file", "change", ({ target }) => add([...target.files]));
	listen(window, "storage", ({ key }) => followOther(key));
	listen(window, "beforeunload", (event) => store.unstored.size && event.preventDefault());

	const records = () => store.all().map(([, record]) => record);

	// Of the open case, if it is saved, or null.
	const saved = () => store.get(theCase.id);

	// {name, note, ...}, if there is a name
	const label = () => saved() ?? drafts.get(theCase.id) ?? {};

	// A case that is not saved, or not any more.
	const named = (id, { name, note }) => drafts.set(id, { name, note });

	// Whether the saved case is not what is on the page.
	const isOther = () => saved() !== null && !isSame(saved().content, theCase.content);

	// What the address holds is the case that was open before, if it is the same.
	function resume() {
		const record = reloaded && store.get(reloaded);
		if (record && isSame(record.content, theCase.content)) theCase.id = reloaded;
	}

	function answered(first) {
		const record = saved();
		best = first;
		if (!record || isSame(best, record.first)) return;
		store.put(theCase.id, { ...record, first: best });
		if (!dialog.open) draw(); // a list stays as it is while it is used
	}

	// A saved case is kept in step.
	function follow() {
		if (isOther()) keep();
		write(OPEN, theCase.id, "sessionStorage");
		draw();
	}

	// Another window changed or deleted a case.
	function followOther(key) {
		if (key === theCase.id && isOther()) openSaved(key, saved());
		else draw();
	}

	// A saved case always has a name.
	function writeLabel(event) {
		event.preventDefault();
		const [field, { value: note }] = byId("case-form").elements;
		const name = field.value.trim();
		if (saved()) change(theCase.id, { name: name || saved().name, note, changed: now() });
		else if (event.type === "submit") {
			field.value = name || `Case of ${moment(Date.now())}`;
			keep({ name: field.value, note, created: now() });
		} else {
			named(theCase.id, { name, note });
			draw();
		}
	}

	function keep(labels) {
		const { fingerprint, network_version } = network;
		const { id, content } = theCase;
		change(id, { ...labels, changed: now(), fingerprint, network_version, content, first: best });
	}

	function change(key, parts, focused) {
		store.put(key, { ...store.get(key), ...parts });
		draw(focused);
	}

	function show() {
		for (const id of ["cases-said", "cases-problems"]) put(id, "");
		put("cases-address", location.host);
		byId("cases-search").value = "";
		dialog.showModal();
		draw();
	}

	// The bar, the form of the open case, and the list. The focus stays where it is, or goes to the element of an id.
	function draw(focused = document.activeElement.id) {
		const { id, observations } = theCase;
		const { name = "", note = "" } = label();
		const [isSaved, isStored] = [saved() !== null, store.isStored(id)];
		const state = !isSaved ? " (not saved)" : isStored ? "" : " (not stored)";
		const shown = byId("case-shown");
		if (shown.textContent !== `Case: ${name}${state}`) // which would be said again
			put(shown, { hidden: !name, title: name }, "Case: ", make("bdi", name), state);
		document.body.classList.toggle("is-unstored", !isStored);
		byId("clear").disabled = !observations.size && !isSaved;
		for (const [field, value] of [["case-name", name], ["case-note", note]])
			if (field !== document.activeElement.id) byId(field).value = value; // or it is being typed
		put("this-case", `The open case: ${counted(observations.size, "observation")}`);
		put("case-kept", isSaved && told(isStored ? "saved" : "unstored"));
		byId("case-save").hidden = isSaved;
		if (dialog.open) drawList(focused);
	}

	function drawList(focused) {
		const all = store.all();
		const words = byId("cases-search").value.toLowerCase().split(/\s+/).filter(Boolean);
		const found = all.filter(([, record]) => has(record, words));
		const none = all.length ? "No case has all of these words." : "None yet.";
		const more = found.length > SHOWN && told("newest", SHOWN);
		byId("cases-export").disabled = !all.length;
		put("cases-count", words.length ? `${found.length} of ${all.length}` : all.length);
		put("cases-none", found.length ? more : none);
		put("cases-list", found.slice(0, SHOWN).map(rowOf));
		const places = [focused, theCase.id, "case-name"].map((id) => byId(id));
		if (focused) places.find((each) => each?.checkVisibility()).focus();
	}

	function rowOf([key, record]) {
		const { name, note, content, first, created, changed, fingerprint } = record;
		const acts = {
			Rename: () => rename(key, record, row),
			Copy: () => copy(record),
			Compare: () => compare(key),
			Export: () => exportOne(record, network),
			Delete: () => remove(key, record),
		};
		const action = ([word, act]) =>
			button(word, act, { class: "link", id: `${word}/${key}`, "aria-label": `${word} ${name}` });
		const row = fill("saved-case", {
			".case-title": { id: key, onclick: () => openSaved(key, record) },
			".case-title bdi": name,
			".facts": [
				counted(Object.keys(content.evidence).length, "observation"),
				first && [" · first: ", make("bdi", first.name), ` ${about(first.probability, first.accuracy)}`],
				` · changed ${moment(changed)} · created ${moment(created)}`,
			],
			".is-other": { hidden: !fingerprint || fingerprint === network.fingerprint },
			strong: { hidden: store.isStored(key) },
			".case-note bdi": note,
			".case-actions": Object.entries(acts).map(action),
		});
		row.classList.toggle("is-open", key === theCase.id);
		return row;
	}

	// Where something of it does not fit the network, the rest is opened as another case, and the saved one stays.
	function openSaved(key, { name, note, content }) {
		dialog.close();
		open({ ...content, name, note }, key);
	}

	function rename(key, record, row) {
		const { name } = record;
		const onkeydown = (event) => {
			if (event.key !== "Escape") return;
			event.preventDefault(); // which would close the dialog
			draw(`Rename/${key}`);
		};
		const onsubmit = (event) => {
			event.preventDefault();
			change(key, { ...record, name: field.value.trim() || name, changed: now() }, `Rename/${key}`);
		};
		const form = fill("new-name", { input: { value: name, "aria-label": `New name of ${name}`, onkeydown } });
		const [field] = form.elements;
		put(row.querySelector(".case-head"), put(form, { onsubmit }));
		field.select();
	}

	function copy(record) {
		const key = store.newKey();
		change(key, { ...record, name: `${record.name} (copy)`, created: now(), changed: now() }, key);
		say(record, " was copied.");
	}

	function remove(key, record) {
		deleted.push([key, record]);
		store.remove(key);
		named(key, record); // the case on the page keeps its name
		draw();
		offerBack();
	}

	// The case that was deleted last can be taken back, then the one before it.
	function offerBack() {
		const [key, record] = deleted.at(-1);
		const back = button("Take back", () => {
			deleted.pop();
			if (deleted.length) offerBack();
			else say(record, " is back.");
			change(key, record, key);
			follow();
		});
		say(record, " was deleted.", back);
		back.focus();
	}

	// Files, which may also have been opened or dropped on the page.
	async function add(files) {
		if (!dialog.open) show();
		byId("cases-file").value = "";
		const [refused, misfits] = [[], []];
		const known = new Set(records().map(keyOf));
		const before = known.size;
		let total = 0;
		for (const file of files)
			try {
				const found = await casesIn(file, [file]);
				if (!found) break;
				if (found.unreadable) refused.push(told("unreadable", counted(found.unreadable, "case"), file.name));
				for (const each of found.cases) {
					const { record, problems } = imported({ name: file.name.replace(/\.json$/i, ""), ...each }, misfits.length);
					const name = short(record.name);
					for (const problem of problems) misfits.push(`${name}: ${problem}`);
					if (!known.has(keyOf(record))) store.put(store.newKey(), record);
					known.add(keyOf(record));
				}
				total += found.cases.length;
			} catch (error) {
				refused.push(error.message);
			}
		draw();
		const added = known.size - before;
		const [taken, others] = [added, total - added].map((number) => counted(number, "case was", "cases were"));
		const isFull = store.unstored.size > 0;
		const there = added < total && ` ${others} in the list already.`;
		put("cases-said", `${taken} added.`, there, isFull && ` ${told("unstored")}`);
		const wrong = [["Not taken:", refused], [told("misfits"), misfits]].filter(([, sentences]) => sentences.length);
		put("cases-problems", wrong.map((each) => listed(...each)));
	}

	// Of a case of a file: {record, problems: a sentence for each observation that does not fit}
	function imported({ name, note = "", changed = now(), created = changed, ...found }, guessed) {
		const { good, problems } = checked(found.evidence, units, guessed);
		const { fingerprint, network_version, default_method: method } = network;
		if (!problems.length) found.evidence = Object.fromEntries(good);
		const labels = { name: name.trim() || "Case without a name", note, created, changed, fingerprint, network_version };
		return { record: { ...labels, content: contentOf({ method, ...found }) }, problems };
	}

	return { dialog, label, named, resume, answered, add };
}

const keyOf = ({ name, note, content }) => JSON.stringify([name, note, content]);

const say = ({ name }, happened, ...more) => put("cases-said", make("p", make("bdi", short(name)), happened), more);

function has({ name, note, content }, words) {
	if (!words.length) return true;
	const text = [name, note, ...Object.keys(content.evidence)].join("\n").toLowerCase();
	return words.every((word) => text.includes(word));
}

// A name inside a sentence.
const short = (name) => name.replace(/^(.{59}).{2,}$/su, "$1…");
