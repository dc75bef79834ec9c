// The dialog that shares a case by link or file, and opens one.

import { announce, button, byId, make } from "./elements.js";
import { BadCase, checked, checkedRanking, contentOf, fromFile, toFile, toFragment } from "./shared_case.js";
import { counted } from "./words.js";

const LARGEST = 5e6; // bytes of a file
const LONGEST = 80; // characters of a file's name

// The words of a file; a binary file gives words that are no case.
export function textOf(file) {
  if (file.size > LARGEST) throw new BadCase(`A case file must be smaller than 5 MB; ${file.name} is larger.`);
  return file.text();
}

export function download(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: "application/json" }));
  const link = make("a", { href: address, download: `${name.replace(/[^\w.-]+/g, "_").slice(0, LONGEST)}.json` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

export class Share {
  // label(id): {name, note, ...} of a case or null; named(id, {name, note}): a case that came with them;
  // add(found, fileName): a file of many cases
  constructor(network, units, theCase, { label, named, add }) {
    Object.assign(this, { network, units, theCase, label, named, add });
    this.dialog = byId("share-dialog");
    byId("share").addEventListener("click", () => this.open());
    byId("share-copy").addEventListener("click", () => this.#copy());
    byId("share-save").addEventListener("click", () => this.#save());
    byId("share-open").addEventListener("click", () => byId("share-file").click());
    byId("share-file").addEventListener("change", () => this.#read());
    document.addEventListener("dragover", (event) => event.preventDefault());
    document.addEventListener("drop", (event) => this.#drop(event));
  }

  // mode: "share", or "problem" where a case could not be opened
  open(mode = "share") {
    this.dialog.dataset.mode = mode;
    byId("share-title").textContent = mode === "share" ? "Share this case" : "This case could not be opened";
    byId("share-link").value = this.link;
    byId("share-copied").textContent = "";
    byId("share-problems").replaceChildren();
    if (!this.dialog.open) this.dialog.showModal();
  }

  get link() {
    const fragment = toFragment(this.theCase, this.network.default_method);
    return `${location.origin}${location.pathname}${fragment ? `#${fragment}` : ""}`;
  }

  // Evidence from a link or file: taken where all of it fits, otherwise the reader decides.
  // Without `ranking`, what is ranked stays as it is.
  take(content, from) {
    const { good, problems: observations } = checked(content.evidence, this.units);
    const { ranking } = content;
    const ranked = ranking === undefined ? { problems: [] } : checkedRanking(ranking ?? {}, this.units);
    const problems = [...observations, ...ranked.problems];
    if (!problems.length) return this.#use(good, ranked.good, content);
    this.open("problem");
    const verb = problems.length === 1 ? "does" : "do";
    const what = ranked.problems.length ? "name" : "observation";
    const title = `${counted(problems.length, what)} in ${from} ${verb} not fit this network.`;
    const others = good.size === 1 ? "the other observation" : `the other ${good.size} observations`;
    const open = () => this.#use(good, ranked.good, { ...content, id: null });
    const rest = good.size ? [button(`Open ${others}`, open)] : [];
    this.#complain(title, problems, rest);
  }

  refuse(error) {
    if (!(error instanceof BadCase)) throw error;
    this.open("problem");
    this.#complain(error.message, [], []);
  }

  #complain(title, problems, buttons) {
    const shown = problems.slice(0, 8);
    const more = problems.length - shown.length;
    byId("share-problems").replaceChildren(
      make("p", {}, make("strong", { text: title })),
      make(
        "ul",
        {},
        ...shown.map((text) => make("li", { text })),
        more > 0 && make("li", { text: `and ${more} more` }),
      ),
      make("div", { class: "dialog-buttons" }, ...buttons),
    );
  }

  #use(observations, ranked, { method, isExclusive, others, name, note, id }) {
    const key = id ?? this.theCase.newId();
    if (!id && (name || note)) this.named(key, { name, note });
    const assumed = this.network.causes > 1 && isExclusive; // elsewhere the page would not say so
    this.theCase.replace(observations, { method: method ?? undefined, isExclusive: assumed, ranked, others, id: key });
    if (this.dialog.open) this.dialog.close();
    announce(`The case was opened: ${counted(observations.size, "observation")}.`);
  }

  async #copy() {
    const field = byId("share-link");
    field.select();
    const isCopied = await navigator.clipboard?.writeText(field.value).then(
      () => true,
      () => false,
    );
    byId("share-copied").textContent =
      isCopied || document.execCommand("copy") ? "The link is copied." : "Press Ctrl-C to copy the link.";
  }

  #save() {
    const label = this.label(this.theCase.id);
    download(toFile(contentOf(this.theCase), this.network, label), `${this.network.name}-${label?.name || "case"}`);
  }

  async #read(file = byId("share-file").files[0]) {
    if (!file) return;
    try {
      const found = fromFile(await textOf(file), file.name);
      if (found.many) this.add(found, file.name);
      else this.take(found, "this file");
    } catch (error) {
      this.refuse(error);
    }
    byId("share-file").value = "";
  }

  #drop(event) {
    const [file] = event.dataTransfer?.files ?? [];
    if (!file) return;
    event.preventDefault();
    this.#read(file);
  }
}
