// The dialog that shares a case by link or file, and opens one.

import { announce, button, byId, make } from "./elements.js";
import { BadCase, checked, checkedRanking, fromFile, toFile, toFragment } from "./shared_case.js";
import { counted } from "./words.js";

const LARGEST = 5e6; // bytes of a file

export class Share {
  constructor(network, units, theCase) {
    Object.assign(this, { network, units, theCase });
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
  take({ evidence, method, isExclusive, ranking }, from) {
    const { good, problems: observations } = checked(evidence, this.units);
    const ranked = ranking === undefined ? { problems: [] } : checkedRanking(ranking ?? {}, this.units);
    const problems = [...observations, ...ranked.problems];
    if (!problems.length) return this.#use(good, method, isExclusive, ranked.good);
    this.open("problem");
    const verb = problems.length === 1 ? "does" : "do";
    const what = ranked.problems.length ? "name" : "observation";
    const title = `${counted(problems.length, what)} in ${from} ${verb} not fit this network.`;
    const others = good.size === 1 ? "the other observation" : `the other ${good.size} observations`;
    const open = () => this.#use(good, method, isExclusive, ranked.good);
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

  #use(observations, method, isExclusive, ranked) {
    this.theCase.replace(observations, method ?? this.theCase.method, isExclusive, ranked);
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
    const address = URL.createObjectURL(new Blob([toFile(this.theCase, this.network)], { type: "application/json" }));
    const name = `${this.network.name}-case.json`.replace(/[^\w.-]+/g, "_");
    const link = make("a", { href: address, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  }

  async #read(file = byId("share-file").files[0]) {
    if (!file) return;
    try {
      if (file.size > LARGEST) throw new BadCase(`A case file must be smaller than 5 MB; ${file.name} is larger.`);
      this.take(fromFile(await file.text()), "this file");
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
