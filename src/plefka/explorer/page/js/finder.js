// Search units and tick what was seen. Of a list of any length only the rows in sight are elements; a row is as high as
// one line, or as two.

import { button, byId, listen, make, pressOne, put, readable, roam } from "./elements.js";
import { stateButtons, SURE } from "./observed.js";
import { count, counted } from "./words.js";

const NOUNS = { f: "finding", c: "cause", a: "unit" };
const KEYS = { y: 1, n: 0, s: SURE, u: null, delete: null, backspace: null }; // for the unit that has the focus
const LONG_NAME = 44; // letters: longer names, and longer words for states, have a line of their own
const LONG_WORD = 12;
const BEYOND = 6; // rows above and below what is in sight

export class Finder {
	constructor(page) {
		const [input, scroller, list] = ["search", "units-scroll", "units"].map(byId);
		const { names, roles } = page.units;
		Object.assign(this, { page, units: page.units, input, scroller, list, found: [], rows: [] });
		this.tops = [0]; // of the rows and of their end, in lines
		Object.assign(this, { active: 0, part: 0 }); // the row that Tab leads to, and which of its buttons
		this.worker = new Worker(new URL("./searching.js", import.meta.url), { type: "module" });
		this.worker.postMessage({ names, roles });
		listen(this.worker, "message", ({ data }) => this.#show(data));
		listen(input, "input", () => this.#search());
		listen(input, "keydown", (event) => this.#onSearchKey(event));
		listen("roles", "click", ({ target: { dataset } }) => dataset.role && this.#use(dataset.role));
		listen(page.case, "change", () => this.#draw());
		listen(scroller, "scroll", () => this.#draw());
		new ResizeObserver(() => this.#draw()).observe(scroller);
		listen(list, "keydown", (event) => this.#onKey(event));
		listen(list, "focusin", ({ target }) => {
			const { place, buttons } = this.#rowOf(target);
			Object.assign(this, { active: place, part: buttons.indexOf(target) });
			this.#roam();
		});
		this.#use(roles.includes("f") ? "f" : "a");
	}

	#use(role) {
		this.role = role;
		pressOne("roles", "role", role);
		this.#search();
	}

	#search() {
		this.worker.postMessage({ query: this.input.value, role: this.role });
	}

	#show({ query, role, found, elsewhere, similar }) {
		if (query !== this.input.value || role !== this.role) return; // a newer search is on its way
		const { names } = this.units;
		this.found = found;
		this.tops = new Uint32Array(found.length + 1);
		found.forEach((unit, k) => {
			this.tops[k + 1] = this.tops[k] + (this.#isHigh(names[unit]) ? 2 : 1);
		});
		this.active = this.scroller.scrollTop = 0;
		this.#draw();
		const isMissing = !found.length && query.trim() !== "";
		put("found", isMissing ? "" : count(found.length));
		put("nothing", isMissing && this.#instead(query.trim(), elsewhere, similar));
	}

	// What is said and offered where nothing was found.
	#instead(typed, elsewhere, similar) {
		const other = this.role === "f" ? "c" : "f";
		const nobody = elsewhere ? `No ${NOUNS[this.role]}` : "Nothing";
		const meant = similar.length ? " Did you mean" : "";
		const show = `Show ${counted(elsewhere, NOUNS[other])} that ${elsewhere === 1 ? "has" : "have"} it`;
		const offers = similar.map(({ text, isHere }) =>
			button(`${text}?`, () => {
				this.input.value = text;
				this.input.focus();
				this.#use(isHere ? this.role : other); // the role that has it
			}),
		);
		return [
			make("p", `${nobody} has “${typed}” in its name.${meant}`),
			make("div.choices", elsewhere > 0 && button(show, () => this.#use(other)), offers),
		];
	}

	#isHigh(name) {
		return name.length > LONG_NAME || this.units.words(name).some((word) => word.length > LONG_WORD);
	}

	// A row keeps its place modulo their number, so that scrolling moves few of them and focus stays where it is.
	#draw() {
		const { list, scroller, rows, tops, found } = this;
		this.height = parseFloat(getComputedStyle(list).getPropertyValue("--row"));
		list.style.height = `${tops.at(-1) * this.height}px`;
		const top = tops.findLastIndex((lines) => lines * this.height <= scroller.scrollTop);
		const first = Math.max(0, top - BEYOND);
		const last = Math.min(found.length, first + Math.ceil(scroller.clientHeight / this.height) + 2 * BEYOND);
		while (rows.length < last - first) rows.push(this.#makeRow());
		while (rows.length > last - first) rows.pop().element.remove();
		for (let place = first; place < last; place += 1) rows[place % rows.length].show(place);
		this.#roam();
	}

	#makeRow() {
		const row = { place: 0, unit: "" };
		const states = stateButtons((value) => this.page.observe(row.unit, value));
		const name = make("button.unit-name", { type: "button", onclick: () => this.page.select(row.unit) });
		const element = make("li.unit", name, states.group);
		const show = (place) => {
			const unit = this.units.names[this.found[place]];
			const value = this.page.case.observations.get(unit);
			Object.assign(row, { place, unit });
			element.style.transform = `translateY(${this.tops[place] * this.height}px)`;
			element.classList.toggle("is-high", this.#isHigh(unit));
			element.classList.toggle("is-observed", value !== undefined);
			put(element, { "aria-posinset": place + 1, "aria-setsize": this.found.length });
			put(name, { unit, title: readable(unit) });
			states.show(unit, this.units.words(unit), value);
		};
		this.list.append(element);
		return Object.assign(row, { element, show, buttons: [name, ...states.buttons] });
	}

	#rowOf(target) {
		return this.rows.find(({ element }) => element.contains(target));
	}

	// One button of the whole list is reached by Tab.
	#roam() {
		const { rows, active, part } = this;
		roam(rows.flatMap(({ buttons }) => buttons), rows[active % rows.length]?.buttons[part]);
	}

	#focus(place) {
		const { scroller, tops, height, found } = this;
		const next = Math.max(Math.min(place, found.length - 1), 0);
		const end = tops[next + 1] * height - scroller.clientHeight;
		scroller.scrollTop = Math.min(Math.max(scroller.scrollTop, end), tops[next] * height);
		this.#draw();
		this.rows[next % this.rows.length]?.buttons[this.part].focus({ preventScroll: true });
	}

	#onKey(event) {
		const { key, target, ctrlKey, metaKey, altKey } = event;
		const { place, unit, buttons } = this.#rowOf(target);
		const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.height) - 1);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
		const sideways = { ArrowLeft: -1, ArrowRight: 1 }[key];
		const value = ctrlKey || metaKey || altKey ? undefined : KEYS[key.toLowerCase()];
		if (sideways) this.part = Math.min(Math.max(this.part + sideways, 0), buttons.length - 1);
		if (value !== undefined) this.page.observe(unit, value);
		else if (sideways || key in steps) this.#focus(place + (steps[key] ?? 0));
		else return;
		event.preventDefault();
	}

	#onSearchKey(event) {
		if (event.key === "ArrowDown") {
			this.part = 1;
			this.#focus(0);
		} else if (event.key === "Escape" && this.input.value) {
			this.input.value = "";
			this.#search();
		} else return;
		event.preventDefault();
	}
}
