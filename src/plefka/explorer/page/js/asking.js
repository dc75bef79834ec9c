// After each change of the case: ask, show the answer, and drop answers that came too late. A check asks beside that, and
// cannot harm an answer that is shown.

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
    const infer = (signal, body) => service.post("infer", body, signal);
    this.infer = latest(infer);
    this.checked = latest(infer);
    theCase.addEventListener("change", () => {
      this.checked.cancel();
      this.soon();
    });
  }

  // Whether the answer that is shown is of the case as it is now.
  get isCurrent() {
    return this.answer !== null && this.answeredKey === this.theCase.key;
  }

  soon() {
    const time = performance.now();
    const isAlone = time - this.changed > CLOSELY;
    this.changed = time;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(), isAlone ? 0 : PAUSE);
  }

  async now() {
    clearTimeout(this.timer);
    this.#wait();
    const { key } = this.theCase;
    try {
      const answer = await this.infer(this.#question());
      if (answer === STALE) return;
      this.answeredKey = key;
      this.checked.cancel();
      this.#done();
      this.#show(answer);
    } catch (error) {
      this.#failed(error);
    }
  }

  // In the background: whatever comes of it, the ranking stays.
  async check() {
    this.verdict.checking();
    try {
      const answer = await this.checked(this.#question({ check: true }));
      if (answer !== STALE) this.#show(answer);
    } catch (error) {
      this.verdict.checkFailed(sentence(error.message));
      announce(`The check failed. ${sentence(error.message)}`);
    }
  }

  #question({ check = false } = {}) {
    const { evidence, method, isExclusive } = this.theCase;
    const exclusive = isExclusive ? "causes" : null;
    return { evidence, exclusive, method, check, top: this.ranking.top, ...this.theCase.rankingFields };
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
    this.#say([make("p", { text: sentence(error.message) }), button("Try again", () => this.now())]);
    if (!this.isCurrent) {
      this.answer = null;
      this.ranking.empty();
      this.verdict.show(null);
    }
    announce(sentence(error.message));
  }

  #say(elements) {
    byId("failure").hidden = elements.length === 0;
    byId("failure").replaceChildren(...elements);
  }
}
