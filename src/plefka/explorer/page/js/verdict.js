// How probable the observations were, how far to trust the answer, and by which method.

import { byId, button, make } from "./elements.js";
import { duration, estimates, frequency, KINDS, meaning, minus, sentence } from "./words.js";

export class Verdict {
  // check(): ask again with a check; useMethod(name); remove(name)
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
    const value = answer.log_likelihood === null ? "–" : minus(answer.log_likelihood, 4);
    const kind = KINDS[answer.kind] ?? answer.kind;
    const often = isEmpty || this.theCase.isSoft || this.theCase.isExclusive ? "" : frequency(answer.log_likelihood);
    const how = `Computed by ${answer.method} in ${duration(answer.seconds)}.`;
    return [
      make("h3", { text: "How far to trust this" }),
      make(
        "p",
        { class: "likelihood" },
        "ln P(evidence) = ",
        make("b", { id: "log-likelihood", text: value }),
        ` · ${kind}`,
      ),
      make("p", { class: "hint", text: [often, meaning(answer.kind)].filter(Boolean).join(" ") }),
      ...(answer.ranking.length ? [make("p", { class: "hint", id: "estimates", text: estimates(answer.ranking) })] : []),
      ...(answer.converged ? [] : [make("p", { class: "message is-bad", text: sentence(answer.status_text) })]),
      ...answer.warnings.map((text) => make("p", { class: "message is-bad", text: sentence(text) })),
      ...(this.theCase.isExclusive ? [] : [this.#checked(answer)]), // a check does not know of it
      make(
        "details",
        {},
        make("summary", { text: "How it was computed" }),
        make("p", { text: how }),
        ...answer.notes.map((text) => make("p", { text: sentence(text) })),
      ),
    ];
  }

  #checked({ check }) {
    if (!check) return button("Check this answer", () => this.check(), { id: "check" });
    const title = check.trusted ? "Checked: you can rely on it. " : "Not confirmed. ";
    const kind = check.trusted ? "message is-good" : "message is-bad";
    return make("p", { class: kind, id: "checked" }, make("strong", { text: title }), sentence(check.verdict));
  }

  checking() {
    const old = byId("check");
    if (!old) return;
    old.disabled = true;
    old.textContent = "Checking …";
  }

  #methodChoice(useMethod) {
    const select = make("select", { id: "method", onchange: () => useMethod(select.value) });
    for (const name of this.network.methods) select.append(make("option", { value: name, text: this.#label(name) }));
    select.value = this.theCase.method;
    this.select = select;
    return make("p", { class: "method" }, make("label", { for: "method", text: "Method" }), select);
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
  }
}

// The service says "the observations fever=yes and flu=no cannot both be true", with 0 and 1 where there are no words.
function isNamed(text, name, word) {
  const states = [word, { no: "0", yes: "1" }[word]].filter(Boolean);
  return states.some((state) => text.includes(`${name}=${state}`));
}
