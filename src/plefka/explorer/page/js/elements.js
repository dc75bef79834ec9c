// Elements made from data. Words are always text: nothing on this page is ever parsed as HTML.

export const byId = (id) => document.getElementById(id);

// make("button.tool#undo", {onclick: ..., "aria-label": ...}, child, ...): a tag with its classes and its id; properties,
// if there are any; and children: words, elements, lists of them, and null or false for none.
export function make(tag, ...parts) {
  const [, name, id] = /^([^#]+)(?:#(.+))?$/.exec(tag);
  const [type, ...classes] = name.split(".");
  const element = document.createElement(type);
  if (classes.length) element.className = classes.join(" ");
  if (id) element.id = id;
  if (parts.length && isPlain(parts[0]))
    for (const [property, value] of Object.entries(parts.shift())) set(element, property, value);
  element.append(...parts.flat(Infinity).filter((child) => (child ?? false) !== false));
  return element;
}

const isPlain = (value) => value !== null && Object.getPrototypeOf(value) === Object.prototype;

export function set(element, name, value) {
  if (name === "text") element.textContent = value;
  else if (name === "unit") element.replaceChildren(...spaced(value));
  else if (name === "class") element.className = value;
  else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? "" : String(value));
}

// A name, or a sentence with names, in which underscores are seen as spaces. They remain in the text, for copies, tests
// and screen readers, which know units by their names.
function* spaced(text) {
  for (const part of String(text).split(/(?<=[^_])(_+)/)) {
    if (!/^_+$/.test(part) || part === text) yield part;
    else yield* [make("span", { class: "gap", text: part }), make("wbr")];
  }
}

export const readable = (name) => name.replaceAll("_", " ");

export function icon(name) {
  const drawing = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  drawing.setAttribute("class", "icon");
  drawing.setAttribute("aria-hidden", "true");
  use.setAttribute("href", `#icon-${name}`);
  drawing.append(use);
  return drawing;
}

export const button = (text, onclick, properties = {}) =>
  make("button", { type: "button", class: "button", unit: text, onclick, ...properties });

// A screen reader says this once the page is quiet again.
let waiting = 0;
export function announce(sentence) {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    byId("live").textContent = sentence;
  }, 400);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// Go to a part of the page. Addresses with # are taken: they hold the case.
export function jumpTo(id) {
  const target = byId(id);
  target.scrollIntoView({ behavior: calm() ? "auto" : "smooth", block: "start" });
  target.focus({ preventScroll: true });
}
