// Elements made from data. Words are always text: nothing on this page is ever parsed as HTML.

export const byId = (id) => document.getElementById(id);

// make("button", {class: "tool", text: "Undo", onclick: ..., "aria-label": ...}, child, child)
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) set(element, name, value);
  element.append(...children.filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

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
