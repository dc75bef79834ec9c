// A list of any length of which only the rows in sight are elements. A row is as high as one line, or as two.

const BEYOND = 6; // rows above and below what is in sight

export class VirtualList {
  // makeRow() -> {element, buttons, show(position)}
  constructor(scroller, list, makeRow) {
    Object.assign(this, { scroller, list, makeRow, count: 0, rows: [], active: 0, part: 0 });
    this.height = 0; // of one line
    this.tops = new Uint32Array(1); // of the rows and of their end, in lines
    scroller.addEventListener("scroll", () => this.#plan(), { passive: true });
    new ResizeObserver(() => this.#plan()).observe(scroller);
    list.addEventListener("keydown", (event) => this.#onKey(event));
    list.addEventListener("focusin", (event) => this.#onFocus(event));
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
    this.height = this.#rowHeight();
    this.list.style.height = `${this.tops[this.count] * this.height}px`;
    const first = Math.max(0, this.#at(this.scroller.scrollTop) - BEYOND);
    const inSight = Math.ceil(this.scroller.clientHeight / this.height) + 2 * BEYOND;
    const last = Math.min(this.count, first + inSight);
    this.#fit(last - first);
    this.rows.forEach((row, k) => this.#place(row, first, last, k));
    this.#roam();
  }

  // The row at a height, by halving.
  #at(pixels) {
    let [low, high] = [0, this.count];
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (this.tops[middle] * this.height <= pixels) low = middle;
      else high = middle;
    }
    return low;
  }

  focus(position = this.active) {
    if (!this.count) return;
    this.active = Math.min(Math.max(position, 0), this.count - 1);
    this.#reveal();
    this.draw();
    const row = this.rows.find((each) => each.position === this.active);
    row?.buttons[this.part].focus({ preventScroll: true });
  }

  #plan() {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null;
      this.draw();
    });
  }

  #rowHeight() {
    return parseFloat(getComputedStyle(this.list).getPropertyValue("--row")) || 44;
  }

  #fit(needed) {
    while (this.rows.length < needed) {
      const row = this.makeRow();
      this.rows.push(row);
      this.list.append(row.element);
    }
    while (this.rows.length > needed) this.rows.pop().element.remove();
  }

  // A row keeps its position modulo their number, so that scrolling moves few of them and focus stays where it is.
  #place(row, first, last, k) {
    const size = last - first;
    const position = first + ((((k - first) % size) + size) % size);
    row.position = position;
    row.element.style.transform = `translateY(${this.tops[position] * this.height}px)`;
    row.element.setAttribute("aria-posinset", position + 1);
    row.element.setAttribute("aria-setsize", this.count);
    row.show(position);
  }

  // One button of the whole list is reached by Tab.
  #roam() {
    const isInSight = this.rows.some((row) => row.position === this.active);
    const active = isInSight ? this.active : Math.min(...this.rows.map((row) => row.position));
    for (const row of this.rows)
      row.buttons.forEach((button, k) => {
        button.tabIndex = row.position === active && k === this.part ? 0 : -1;
      });
  }

  #reveal() {
    const top = this.tops[this.active] * this.height;
    const bottom = this.tops[this.active + 1] * this.height - this.scroller.clientHeight;
    if (this.scroller.scrollTop > top) this.scroller.scrollTop = top;
    else if (this.scroller.scrollTop < bottom) this.scroller.scrollTop = bottom;
  }

  #onFocus({ target }) {
    const row = this.rows.find((each) => each.element.contains(target));
    if (!row) return;
    this.active = row.position;
    this.part = Math.max(0, row.buttons.indexOf(target));
    this.#roam();
  }

  #onKey(event) {
    const page = Math.max(1, Math.floor(this.scroller.clientHeight / this.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.count, End: this.count };
    if (event.key in steps) this.focus(this.active + steps[event.key]);
    else if (event.key === "ArrowRight") this.#sideways(1);
    else if (event.key === "ArrowLeft") this.#sideways(-1);
    else return;
    event.preventDefault();
  }

  #sideways(step) {
    const size = this.rows[0]?.buttons.length ?? 1;
    this.part = Math.min(Math.max(this.part + step, 0), size - 1);
    this.focus();
  }
}
