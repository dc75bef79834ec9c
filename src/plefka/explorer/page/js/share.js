// The dialog that shares a case by link or file, and opens one.

import { casesIn, exportOne, isOpened } from "./case_files.js";
import { announce, button, byId, listed, listen, make, put } from "./elements.js";
import { addressOf, BadCase, checked, checkedRanking } from "./shared_case.js";
import { counted } from "./words.js";

export class Share {
	// cases: which know the names of cases, and take files of many
	constructor(network, units, theCase, cases) {
		Object.assign(this, { network, units, theCase, cases, dialog: byId("share-dialog") });
		const record = () => ({ ...cases.opened.label, content: theCase.content });
		listen("share", "click", () => this.#show("Share this case"));
		listen("share-copy", "click", () => this.#copy());
		listen("share-save", "click", () => exportOne(record(), network));
		listen("share-file", "change", ({ target }) => this.#read(target.files));
		listen(document, "dragover", (event) => event.preventDefault());
		listen(document, "drop", (event) => {
			const files = event.dataTransfer?.files ?? [];
			if (files.length) event.preventDefault();
			this.#read(files);
		});
	}

	#show(title, ...problems) {
		put("share-title", title);
		byId("share-link").value = location.origin + addressOf(this.theCase.content, this.network.default_method);
		put("share-copied", "");
		put("share-problems", problems);
		if (!this.dialog.open) this.dialog.showModal();
	}

	#complain(title, sentences, ...buttons) {
		const shown = listed(title, sentences, 8);
		this.#show("This case could not be opened", shown, make("div.dialog-buttons", buttons));
	}

	// A content, with the name and note of the case, if it has: opened where all of it fits, otherwise the reader decides.
	// id: of a saved case
	take({ name, note, ...content }, from, id = null) {
		const { good, problems } = checked(content.evidence, this.units);
		const { ranking, problems: names } = checkedRanking(content.ranking, this.units);
		const method = typeof content.method === "string" ? content.method : this.theCase.method;
		const exclusive = this.network.causes > 1 ? content.exclusive : undefined; // elsewhere the page would not say so
		const open = (key) => {
			const own = key ?? this.theCase.newId();
			if (!key && (name || note)) this.cases.opened.named(own, { name, note });
			this.theCase.replace({ ...content, method, exclusive, ranking, evidence: Object.fromEntries(good) }, own);
			this.dialog.close();
			announce(`The case was opened: ${counted(good.size, "observation")}.`);
		};
		problems.push(...names);
		if (!problems.length) return open(id);
		const what = counted(problems.length, names.length ? "name" : "observation");
		const title = `${what} in ${from} ${problems.length === 1 ? "does" : "do"} not fit this network.`;
		const others = good.size === 1 ? "the other observation" : `the other ${good.size} observations`;
		this.#complain(title, problems, good.size > 0 && button(`Open ${others}`, () => open(null)));
	}

	refuse(error) {
		if (!(error instanceof BadCase)) throw error;
		this.#complain(error.message, []);
	}

	async #copy() {
		const field = byId("share-link");
		field.select();
		const copying = navigator.clipboard?.writeText(field.value).then(() => true);
		const isCopied = (await copying?.catch(() => false)) || document.execCommand("copy");
		put("share-copied", isCopied ? "The link is copied." : "Press Ctrl-C to copy the link.");
	}

	async #read([...files]) {
		const [file] = files;
		if (!file) return;
		try {
			const { cases, isList } = await casesIn(file, this.theCase.content);
			if (isList) this.cases.add([file]);
			else this.take(cases[0], "this file");
		} catch (error) {
			if (!isOpened(error, files)) this.refuse(error);
		}
		byId("share-file").value = "";
	}
}
