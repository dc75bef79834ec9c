// After each change of the case: ask, show the answer, and drop answers that came too late.

import { announce, button, byId, make } from "./elements.js";
import { isByChange } from "./ranking_choice.js";
import { latest, STALE, Unreachable } from "./service.js";
import { about, counted, KINDS, sentence } from "./words.js";

const PAUSE = 60; // milliseconds without a change before a question is sent, where changes follow each other closely
const CLOSELY = 300;
const PATIENCE = 250; // milliseconds before the old answer is dimmed
const AGAIN = 3000; // milliseconds before a question is put again to a service that is busy
const PASSING = new Set(["busy", "closing", "worker_ended"]); // refusals that waiting helps against
const LONG = 4000; // milliseconds before the reader is told to wait

export class Asking {
  // show: {ranking, verdict}; after(answer): the panels may ask
  constructor(service, units, theCase, { ranking, verdict, after }) {
    Object.assign(this, { service, units, theCase, ranking, verdict, after, answer: null, changed: 0 });
    this.infer = latest((signal, body) => service.post("infer", body, signal));
    theCase.addEventListener("change", () => this.soon());
  }

  soon() {
    const time = performance.now();
    const isAlone = time - this.changed > CLOSELY;
    this.changed = time;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), isAlone ? 0 : PAUSE);
  }

  async now({ check = false } = {}) {
    clearTimeout(this.timer);
    this.#wait();
    const { evidence, method, isExclusive } = this.theCase;
    const exclusive = isExclusive ? "causes" : null;
    try {
      const { top } = this.ranking;
      const answer = await this.infer({ evidence, exclusive, method, check, top, ...this.theCase.rankingFields });
      if (answer === STALE) return;
      this.#done();
      this.#show(answer);
    } catch (error) {
      this.#failed(error);
    }
  }

  #wait() {
    clearTimeout(this.dimming);
    const slowly = () => this.#old("still computing; a first answer takes longest");
    this.dimming = setTimeout(() => {
      this.#old("computing …");
      this.dimming = setTimeout(slowly, LONG);
    }, PATIENCE);
  }

  // The ranking that is shown is not of this case.
  #old(text) {
    byId("busy").hidden = false;
    byId("busy").textContent = text;
    this.ranking.dim(true);
  }

  #done() {
    clearTimeout(this.dimming);
    byId("busy").hidden = true;
    this.ranking.dim(false);
  }

  #show(answer) {
    this.answer = answer;
    const isImpossible = answer.status === "impossible";
    this.#say(isImpossible ? this.verdict.contradiction(answer, this.units) : []);
    this.verdict.show(answer);
    if (isImpossible) this.ranking.empty();
    this.after(answer);
    announce(this.#summary(answer));
  }

  #summary(answer) {
    if (answer.status === "impossible")
      return `These observations contradict each other. ${sentence(answer.contradiction ?? "")}`;
    const best = answer.ranking
      .slice(0, 3)
      .map((each) => `${this.units.inState(each.name, each.state)} ${about(each.probability, each.accuracy)}`)
      .join(", ");
    const first = isByChange(answer) ? "First by change" : "Most probable";
    const ranked = best ? `${first}: ${best}.` : "Nothing is ranked.";
    const checked = answer.check ? ` ${sentence(answer.check.verdict)}` : "";
    const kind = KINDS[answer.kind] ?? answer.kind;
    const total = counted(this.theCase.observations.size, "observation");
    return `${total}. ${ranked} Kind of answer: ${kind}.${checked}`;
  }

  #failed(error) {
    this.#done();
    if (error instanceof Unreachable) return this.#old("not up to date"); // until the service is back
    if (PASSING.has(error.code)) this.timer = setTimeout(() => this.now(), AGAIN);
    this.answer = null;
    this.#say([make("p", { text: sentence(error.message) }), button("Try again", () => this.now())]);
    this.ranking.empty();
    this.verdict.show(null);
    announce(sentence(error.message));
  }

  #say(elements) {
    byId("failure").hidden = elements.length === 0;
    byId("failure").replaceChildren(...elements);
  }
}
