// A list of any length of which only the rows in sight are elements. A row is as high as one line, or as two.

import { listen, put, roam } from "./elements.js";

const BEYOND = 6; // rows above and below what is in sight

export class VirtualList {
	// makeRow() -> {element, buttons, show(position)}
	constructor(scroller, list, makeRow) {
		Object.assign(this, { scroller, list, makeRow, count: 0, rows: [], active: 0, part: 0 });
		this.height = 0; // of one line
		this.tops = new Uint32Array(1); // of the rows and of their end, in lines
		listen(scroller, "scroll", () => this.#plan());
		new ResizeObserver(() => this.#plan()).observe(scroller);
		listen(list, "keydown", (event) => this.#onKey(event));
		listen(list, "focusin", ({ target }) => {
			const row = this.rows.find(({ element }) => element.contains(target));
			this.active = row.position;
			this.part = Math.max(0, row.buttons.indexOf(target));
			this.#roam();
		});
	}

	// isHigh(position): whether this row needs two lines
	resize(count, isHigh) {
		this.count = count;
		this.tops = new Uint32Array(count + 1);
		for (let k = 0; k < count; k += 1) this.tops[k + 1] = this.tops[k] + (isHigh(k) ? 2 : 1);
		this.active = 0;
		this.scroller.scrollTop = 0;
		this.draw();
	}

	// Draw at once; scrolling draws at most once for each frame.
	draw() {
		const { list, scroller, rows, tops, count } = this;
		this.height = parseFloat(getComputedStyle(list).getPropertyValue("--row")) || 44;
		list.style.height = `${tops[count] * this.height}px`;
		const top = tops.findLastIndex((lines) => lines * this.height <= scroller.scrollTop);
		const first = Math.min(Math.max(0, top - BEYOND), count);
		const last = Math.min(count, first + Math.ceil(scroller.clientHeight / this.height) + 2 * BEYOND);
		while (rows.length < last - first) {
			rows.push(this.makeRow());
			list.append(rows.at(-1).element);
		}
		while (rows.length > last - first) rows.pop().element.remove();
		for (let position = first; position < last; position += 1) this.#place(position);
		this.#roam();
	}

	// A row keeps its position modulo their number, so that scrolling moves few of them and focus stays where it is.
	#place(position) {
		const row = this.rows[position % this.rows.length];
		row.position = position;
		row.element.style.transform = `translateY(${this.tops[position] * this.height}px)`;
		put(row.element, { "aria-posinset": position + 1, "aria-setsize": this.count });
		row.show(position);
	}

	focus(position = this.active) {
		if (!this.count) return;
		this.active = Math.min(Math.max(position, 0), this.count - 1);
		const { scroller, tops, height, active } = this;
		const end = tops[active + 1] * height - scroller.clientHeight;
		scroller.scrollTop = Math.min(Math.max(scroller.scrollTop, end), tops[active] * height);
		this.draw();
		this.#row(active)?.buttons[this.part].focus({ preventScroll: true });
	}

	#row(position) {
		return this.rows.find((each) => each.position === position);
	}

	#plan() {
		this.frame ??= requestAnimationFrame(() => {
			this.frame = null;
			this.draw();
		});
	}

	// One button of the whole list is reached by Tab.
	#roam() {
		const active = this.#row(this.active) ?? this.#row(Math.min(...this.rows.map(({ position }) => position)));
		roam(this.rows.flatMap(({ buttons }) => buttons), active?.buttons[this.part]);
	}

	#onKey(event) {
		const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.height) - 1);
		const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
		const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
		if (!sideways && !(event.key in steps)) return;
		event.preventDefault();
		if (sideways) this.part = Math.min(Math.max(this.part + sideways, 0), this.rows[0].buttons.length - 1);
		this.focus(this.active + (steps[event.key] ?? 0));
	}
}
