// The dialog that shares a case by link or file, and opens one.

import { announce, button, byId, listed, listen, make, put } from "./elements.js";
import { addressOf, casesIn, checked, checkedRanking, exportOne } from "./shared_case.js";
import { counted } from "./words.js";

// cases: which know the names of cases, and take files of many
export function sharing(network, units, theCase, cases) {
	const dialog = byId("share-dialog");

	listen("share", "click", () => show());
	listen("share-copy", "click", copy);
	listen("share-save", "click", () => exportOne({ ...cases.label(), content: theCase.content }, network));
	listen("share-file", "change", ({ target }) => read([...target.files]));
	listen(document, "dragover", (event) => event.preventDefault());
	listen(document, "drop", (event) => {
		const files = [...(event.dataTransfer?.files ?? [])];
		if (!files.length) return;
		event.preventDefault();
		if (cases.dialog.contains(event.target)) cases.add(files);
		else read(files);
	});

	function show(...problems) {
		byId("share-link").value = location.origin + addressOf(theCase.content, network.default_method);
		put("share-copied", "");
		put("share-problems", problems);
		if (!dialog.open) dialog.showModal();
	}

	const refuse = (title, sentences = [], action = null) =>
		show(listed(title, sentences, 8), make("div.dialog-buttons", action));

	// A content, with a name and note if it has them: opened where all of it fits, otherwise the reader decides.
	// id: of a saved case
	function take({ name, note, ...content }, from, id) {
		const { good, problems: misfits } = checked(content.evidence, units);
		const { ranking, problems: unknowns } = checkedRanking(content.ranking, units);
		const method = typeof content.method === "string" ? content.method : theCase.method;
		const exclusive = network.causes > 1 ? content.exclusive : undefined; // elsewhere the page would not say so
		const open = (key = theCase.newId()) => {
			cases.named(key, { name, note });
			theCase.replace({ ...content, method, exclusive, ranking, evidence: Object.fromEntries(good) }, key);
			dialog.close();
			announce(`The case was opened: ${counted(good.size, "observation")}.`);
		};
		const problems = [...misfits, ...unknowns];
		if (!problems.length) return open(id);
		const what = counted(problems.length, unknowns.length ? "name" : "observation");
		const title = `${what} in ${from} ${problems.length === 1 ? "does" : "do"} not fit this network.`;
		const others = good.size === 1 ? "the other observation" : `the other ${good.size} observations`;
		refuse(title, problems, good.size > 0 && button(`Open ${others}`, () => open()));
	}

	function copy() {
		byId("share-link").select();
		put("share-copied", document.execCommand("copy") ? "The link is copied." : "Press Ctrl-C to copy the link.");
	}

	// The first of these files is a case, unless all of them are a network.
	async function read(files) {
		byId("share-file").value = "";
		try {
			const found = await casesIn(files[0], files, theCase.content);
			if (found?.isList) cases.add([files[0]]);
			else if (found) take(found.cases[0], "this file");
		} catch (error) {
			refuse(error.message);
		}
	}

	return { take, refuse };
}
