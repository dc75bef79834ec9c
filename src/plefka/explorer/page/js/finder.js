// Search units and tick what was seen. Of a list of any length only the rows in sight are elements.

import { button, byId, listen, make, pressOne, put, roam } from "./elements.js";
import { showUnit, SURE, unitRow } from "./observed.js";
import { count, counted } from "./words.js";

const NOUNS = { f: "finding", c: "cause", a: "unit" };
const KEYS = { y: 1, n: 0, s: SURE, u: null, delete: null, backspace: null }; // for the unit that has the focus
const LONG_NAME = 44; // letters: rows with longer names, or longer words for states, are as high as two lines
const LONG_WORD = 12;
const BEYOND = 6; // rows above and below what is in sight

export function finder(page) {
	const { units, case: theCase } = page;
	const { names, roles } = units;
	const [input, scroller, list] = ["search", "units-scroll", "units"].map(byId);
	const worker = new Worker(new URL("./searching.js", import.meta.url), { type: "module" });
	const rows = list.children;
	let role = roles.includes("f") ? "f" : "a";
	let found = []; // indexes of units
	let tops = [0]; // of their rows and of the end, in lines
	let height = 0; // of a line

	worker.postMessage({ names, roles });
	listen(worker, "message", ({ data }) => show(data));
	listen(input, "input", search);
	listen(input, "keydown", onSearchKey);
	listen("roles", "click", ({ target: { dataset } }) => dataset.role && use(dataset.role));
	listen(theCase, "change", () => draw());
	listen(scroller, "scroll", () => draw());
	new ResizeObserver(() => draw()).observe(scroller);
	listen(list, "keydown", onKey);
	listen(list, "focusin", () => roam(buttonsOf(list)));
	use(role);

	function use(wanted) {
		role = wanted;
		pressOne("roles", "role", role);
		search();
	}

	function search() {
		worker.postMessage({ query: input.value, role });
	}

	function show({ elsewhere, similar, ...answer }) {
		if (answer.query !== input.value || answer.role !== role) return; // a newer search is on its way
		found = answer.found;
		tops = new Uint32Array(found.length + 1);
		found.forEach((unit, place) => {
			tops[place + 1] = tops[place] + (isHigh(names[unit]) ? 2 : 1);
		});
		scroller.scrollTop = 0;
		draw(null);
		const typed = input.value.trim();
		const isMissing = !found.length && typed !== "";
		put("found", isMissing ? "" : count(found.length));
		put("nothing", isMissing && instead(typed, elsewhere, similar));
	}

	// What is said and offered where nothing was found.
	function instead(typed, elsewhere, similar) {
		const other = role === "f" ? "c" : "f";
		const nobody = elsewhere ? `No ${NOUNS[role]}` : "Nothing";
		const meant = similar.length ? " Did you mean" : "";
		const offer = `Show ${counted(elsewhere, NOUNS[other])} that ${elsewhere === 1 ? "has" : "have"} it`;
		const take = ({ text, isHere }) => {
			input.value = text;
			input.focus();
			use(isHere ? role : other); // the role that has it
		};
		return [
			make("p", `${nobody} has “${typed}” in its name.${meant}`),
			make(
				"div.choices",
				elsewhere > 0 && button(offer, () => use(other)),
				similar.map((each) => button(`${each.text}?`, () => take(each))),
			),
		];
	}

	function isHigh(name) {
		return name.length > LONG_NAME || units.words(name).some((word) => word.length > LONG_WORD);
	}

	// A row keeps its place modulo their number, so that scrolling moves few of them and focus stays where it is. One
	// button of the whole list is reached by Tab.
	function draw(stop = list.querySelector("[tabindex='0']")) {
		height = parseFloat(getComputedStyle(list).getPropertyValue("--row"));
		list.style.height = `${tops.at(-1) * height}px`;
		let top = Math.min(found.length, Math.floor(scroller.scrollTop / height)); // if all rows are as high as one line
		while (tops[top] * height > scroller.scrollTop) top -= 1;
		const first = Math.max(0, top - BEYOND);
		const last = Math.min(found.length, first + Math.ceil(scroller.clientHeight / height) + 2 * BEYOND);
		while (rows.length < last - first) list.append(makeRow());
		while (rows.length > last - first) list.lastElementChild.remove();
		for (let place = first; place < last; place += 1) fillRow(rows[place % rows.length], place);
		roam(buttonsOf(list), stop);
	}

	function makeRow() {
		const select = () => page.select(unitOf(row));
		const row = unitRow("unit", select, (value) => page.observe(unitOf(row), value));
		return row;
	}

	function fillRow(row, place) {
		const unit = names[found[place]];
		const value = theCase.observations.get(unit);
		row.style.transform = `translateY(${tops[place] * height}px)`;
		row.classList.toggle("is-high", isHigh(unit));
		row.classList.toggle("is-observed", value !== undefined);
		put(row, { "aria-posinset": place + 1, "aria-setsize": found.length });
		showUnit(row, unit, units.words(unit), value);
	}

	const placeOf = (row) => row.ariaPosInSet - 1;
	const unitOf = (row) => names[found[placeOf(row)]];

	function focus(place, part) {
		const next = Math.max(Math.min(place, found.length - 1), 0);
		const end = tops[next + 1] * height - scroller.clientHeight;
		scroller.scrollTop = Math.min(Math.max(scroller.scrollTop, end), tops[next] * height);
		draw();
		if (found.length) buttonsOf(rows[next % rows.length])[part].focus({ preventScroll: true });
	}

	function onKey(event) {
		const { key, target, ctrlKey, metaKey, altKey } = event;
		const row = target.closest("li");
		const [place, part] = [placeOf(row), buttonsOf(row).indexOf(target)];
		const many = Math.max(1, Math.floor(scroller.clientHeight / height) - 1);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: many, PageUp: -many, Home: -Infinity, End: Infinity };
		const value = ctrlKey || metaKey || altKey ? undefined : KEYS[key.toLowerCase()];
		if (value !== undefined) page.observe(unitOf(row), value);
		else if (key in steps) focus(place + steps[key], part);
		else if (key === "ArrowLeft") focus(place, Math.max(part - 1, 0));
		else if (key === "ArrowRight") focus(place, Math.min(part + 1, 3));
		else return;
		event.preventDefault();
	}

	function onSearchKey(event) {
		if (event.key === "ArrowDown") focus(0, 1);
		else if (event.key === "Escape" && input.value) {
			input.value = "";
			search();
		} else return;
		event.preventDefault();
	}
}

const buttonsOf = (element) => [...element.querySelectorAll("button")];
