// Search units and tick what was seen.

import { button, byId, listen, make, pressOne, put, readable } from "./elements.js";
import { stateButtons, valueOfKey } from "./state_buttons.js";
import { VirtualList } from "./virtual_list.js";
import { count, counted } from "./words.js";

const NOUNS = { f: "finding", c: "cause", a: "unit" };
const LONG_NAME = 44; // letters: longer names, and longer words for states, have a line of their own
const LONG_WORD = 12;

export class Finder {
	constructor(page) {
		Object.assign(this, { page, units: page.units, found: new Int32Array(0), input: byId("search") });
		this.list = new VirtualList(byId("units-scroll"), byId("units"), () => this.#makeRow());
		listen(this.input, "input", () => this.search());
		listen(this.input, "keydown", (event) => this.#onKey(event));
		listen("roles", "click", ({ target: { dataset } }) => dataset.role && this.use(dataset.role));
		listen(page.case, "change", () => this.list.draw());
		this.use(this.units.roles.includes("f") ? "f" : "a");
	}

	use(role) {
		this.role = role;
		pressOne("roles", "role", role);
		return this.search();
	}

	async search() {
		const answer = await this.units.search(this.input.value, this.role);
		if (answer === null) return;
		this.found = answer.found;
		this.list.resize(this.found.length, (position) => this.#isLong(this.units.names[this.found[position]]));
		this.#say(answer);
	}

	#say({ elsewhere, similar }) {
		const typed = this.input.value.trim();
		const isMissing = this.found.length === 0 && typed !== "";
		put("found", isMissing ? "" : count(this.found.length));
		if (!isMissing) return put("nothing", "");
		const other = this.role === "f" ? "c" : "f";
		const nobody = elsewhere ? `No ${NOUNS[this.role]}` : "Nothing";
		const meant = similar.length ? " Did you mean" : "";
		const show = `Show ${counted(elsewhere, NOUNS[other])} that ${elsewhere === 1 ? "has" : "have"} it`;
		const take = ({ text, found }) => () => {
			this.input.value = text;
			this.input.focus();
			this.use(found ? this.role : other); // the role that has it
		};
		return put(
			"nothing",
			make("p", `${nobody} has “${typed}” in its name.${meant}`),
			make(
				"div.choices",
				elsewhere > 0 && button(show, () => this.use(other)),
				similar.map((each) => button(`${each.text}?`, take(each))),
			),
		);
	}

	#isLong(name) {
		return name.length > LONG_NAME || this.units.words(name).some((word) => word.length > LONG_WORD);
	}

	#makeRow() {
		let shown = "";
		const states = stateButtons((value) => this.page.observe(shown, value));
		const name = make("button.unit-name", { type: "button", onclick: () => this.page.select(shown) });
		const element = make("li.unit", name, states.group);
		listen(element, "keydown", (event) => {
			const value = valueOfKey(event);
			if (value === undefined) return;
			event.preventDefault();
			this.page.observe(shown, value);
		});
		const show = (position) => {
			shown = this.units.names[this.found[position]];
			const value = this.page.case.observations.get(shown);
			if (name.textContent !== shown) put(name, { unit: shown, title: readable(shown) });
			element.classList.toggle("is-high", this.#isLong(shown));
			element.classList.toggle("is-observed", value !== undefined);
			states.show(shown, this.units.words(shown), value);
		};
		return { element, buttons: [name, ...states.buttons], show };
	}

	#onKey(event) {
		const isEscape = event.key === "Escape" && this.input.value;
		if (!isEscape && event.key !== "ArrowDown") return;
		event.preventDefault();
		if (isEscape) {
			this.input.value = "";
			this.search();
		} else {
			this.list.part = 1;
			this.list.focus(0);
		}
	}
}
