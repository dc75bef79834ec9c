// How probable the observations were, how far to trust the answer, and by which method.

import { byId, button, make } from "./elements.js";
import { methodGroups, methodWords } from "./method_words.js";
import { duration, frequency, inWords, isExact, KINDS, meaning, minus, sentence, trust } from "./words.js";

export class Verdict {
  // check(): ask for a check of this answer; useMethod(name); remove(name)
  constructor(network, theCase, { check, useMethod, remove }) {
    Object.assign(this, { network, theCase, check, remove });
    this.box = byId("verdict");
    this.method = this.#methodChoice(useMethod);
    this.body = make("div", { class: "verdict-body" });
    this.box.append(this.body, this.method);
    theCase.addEventListener("change", () => this.#syncMethod());
  }

  show(answer) {
    const isPossible = answer !== null && answer.status !== "impossible";
    this.body.replaceChildren(...(isPossible ? this.#possible(answer) : []));
  }

  // Shown in the place of the ranking: what contradicts what, and which observation to take back.
  contradiction(answer, units) {
    const text = answer.contradiction ?? answer.status_text;
    const named = [...this.theCase.observations].filter(([name, value]) =>
      isNamed(text, name, units.words(name)[value]),
    );
    const some = named.length ? named : [...this.theCase.observations];
    const buttons = some.slice(0, 12).map(([name]) => button(`Remove ${name}`, () => this.remove(name)));
    return [
      make("p", {}, make("strong", { text: "These observations contradict each other. " }), sentence(text)),
      make("p", { text: "Take one back:" }),
      make("div", { class: "choices" }, ...buttons),
    ];
  }

  #possible(answer) {
    const isEmpty = this.theCase.observations.size === 0;
    const { lead, detail } = trust(answer);
    const often = isEmpty || this.theCase.isSoft || this.theCase.isExclusive ? "" : frequency(answer.log_likelihood);
    const how = `Computed by ${answer.method} in ${duration(answer.seconds)}.`;
    return [
      make("h3", { text: "How far to trust this" }),
      make("p", { class: "trust", id: "estimates" }, make("strong", { text: lead }), ` ${detail}`),
      ...(often ? [make("p", { text: often })] : []),
      ...(answer.converged ? [] : [make("p", { class: "message is-bad", text: sentence(answer.status_text) })]),
      ...answer.warnings.map((text) => make("p", { class: "message is-bad", text: sentence(text) })),
      ...this.#checked(answer),
      this.#likelihood(answer),
      make(
        "details",
        {},
        make("summary", { text: "How it was computed" }),
        make("p", { text: how }),
        ...answer.notes.map((text) => make("p", { text: inWords(text) })),
      ),
    ];
  }

  #likelihood({ log_likelihood: value, kind, log_partition: clamped, log_partition_kind: its }) {
    const shown = (number) => (number === null ? "–" : minus(number, 4));
    return make(
      "p",
      { class: "hint likelihood" },
      "ln P(evidence) = ",
      make("b#log-likelihood", shown(value)),
      ` · ${KINDS[kind] ?? kind}. It is the natural logarithm of the probability of all observations together. `,
      meaning(kind),
      its && ` It is ln Z with the observations (${shown(clamped)}, ${KINDS[its]}) less ln Z without them.`,
    );
  }

  // A check does not know of "exactly one cause", and what is exact needs none.
  #checked(answer) {
    const { check } = answer;
    if (check) {
      const title = check.trusted ? "Checked: you can rely on it. " : "Not confirmed. ";
      const kind = check.trusted ? "message is-good" : "message is-bad";
      return [make("p", { class: kind, id: "checked" }, make("strong", { text: title }), sentence(check.verdict))];
    }
    if (this.theCase.isExclusive || isExact(answer)) return [];
    this.checkButton = button("Check this answer", () => this.check(), { id: "check" });
    return [make("div", { class: "check" }, this.checkButton)];
  }

  checking() {
    byId("check-failed")?.remove();
    this.#checkSays("Checking …", true);
  }

  checkFailed(text) {
    this.#checkSays("Check this answer", false);
    const words = [make("strong", { text: "The check failed; the answer is as it was. " }), text];
    this.checkButton.after(make("p", { class: "message is-bad", id: "check-failed" }, ...words));
  }

  // A button that is disabled would lose the focus.
  #checkSays(text, isBusy) {
    this.checkButton.textContent = text;
    this.checkButton.setAttribute("aria-disabled", String(isBusy));
  }

  #methodChoice(useMethod) {
    const select = make("select", { id: "method", "aria-describedby": "method-about", onchange: () => useMethod(select.value) });
    for (const [label, names] of methodGroups(this.network.methods)) {
      const options = names.map((name) => make("option", { value: name, text: this.#label(name) }));
      select.append(...(label ? [make("optgroup", { label }, ...options)] : options));
    }
    this.select = select;
    this.about = make("span", { class: "hint", id: "method-about" });
    queueMicrotask(() => this.#syncMethod());
    return make("p", { class: "method" }, make("label", { for: "method", text: "Method" }), select, this.about);
  }

  #label(name) {
    return name === this.network.default_method ? `${name} (recommended)` : name;
  }

  // A shared case may use a method with options, which is not in the list.
  #syncMethod() {
    const { method } = this.theCase;
    const isListed = [...this.select.options].some((option) => option.value === method);
    if (!isListed) this.select.append(make("option", { value: method, text: method }));
    this.select.value = method;
    this.about.textContent = methodWords(method);
  }
}

// The service says "the observations fever=yes and flu=no cannot both be true", with 0 and 1 where there are no words.
function isNamed(text, name, word) {
  const states = [word, { no: "0", yes: "1" }[word]].filter(Boolean);
  return states.some((state) => text.includes(`${name}=${state}`));
}
