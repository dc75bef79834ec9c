// Elements made from data and templates. Words are always text: nothing on this page is ever parsed as HTML.

export const byId = (id) => document.getElementById(id);

// An element, or the one with this id.
const found = (element) => (typeof element === "string" ? byId(element) : element);

export const listen = (element, event, act) => found(element).addEventListener(event, act);

// make("button.tool", {onclick: ..., "aria-label": ...}, child, ...): a tag with its classes; properties, if any; and
// children: words, elements, lists of them, and null, false or "" for none.
export function make(tag, ...parts) {
	const [type, ...classes] = tag.split(".");
	const element = document.createElement(type);
	element.classList.add(...classes);
	return put(element, ...parts);
}

const NOTHING = [null, undefined, false, ""];

// Properties and children, as for `make`, of an element or of the one with this id. Children replace what was there.
export function put(element, ...parts) {
	const box = found(element);
	if (parts[0]?.constructor === Object) for (const entry of Object.entries(parts.shift())) set(box, ...entry);
	if (parts.length) box.replaceChildren(...parts.flat(Infinity).filter((part) => !NOTHING.includes(part)));
	return box;
}

// An element, or a copy of what the <template> of an id holds. Parts are put where selectors find them:
// fill("saved-case", {em: {hidden: true}, ".hint": ["3 observations", ...]}). Words replace each {name} in a template.
export function fill(of, parts, words = null) {
	const element = found(of).content?.firstElementChild.cloneNode(true) ?? found(of);
	if (words) say(element, words);
	for (const [selector, part] of Object.entries(parts)) put(element.querySelector(selector), ...[part].flat());
	return element;
}

function say(element, words) {
	const wordOf = (name) => (NOTHING.includes(words[name]) ? "" : words[name]);
	const said = (text) => text.replace(/{(\w+)}/g, (_, name) => wordOf(name));
	for (const each of element.attributes) each.value = said(each.value);
	for (const each of [...element.childNodes])
		if (each.nodeType === Node.ELEMENT_NODE) say(each, words);
		else if (each.data.includes("{")) each.replaceWith(...spaced(said(each.data)));
}

function set(element, name, value) {
	if (name === "text") element.textContent = value;
	else if (name === "unit") element.replaceChildren(...spaced(value));
	else if (name === "class") element.className = value;
	else if (name === "style") element.style.cssText = value;
	else if (name.startsWith("on")) listen(element, name.slice(2), value);
	else if (value === false || (value ?? null) === null) element.removeAttribute(name);
	else element.setAttribute(name, value === true ? "" : String(value));
}

// A name, or a sentence with names, in which underscores are seen as spaces. They remain in the text, for copies, tests
// and screen readers, which know units by their names.
function* spaced(text) {
	for (const part of String(text).split(/(?<=[^_])(_+)/)) {
		if (!/^_+$/.test(part) || part === text) yield part;
		else yield* [make("span.gap", part), make("wbr")];
	}
}

// A sentence of the page's template "sentences", with words in the place of each {}.
export function told(id, ...words) {
	const { textContent } = byId("sentences").content.getElementById(id);
	return textContent.replace(/\s+/g, " ").trim().replaceAll("{}", () => words.shift());
}

// A bar from 0 to 1, with a mark where the probability was beforehand.
export const bar = (length, mark) =>
	fill(make("span.track", { "aria-hidden": "true" }, make("span.fill"), make("span.prior")), filled(length, mark));

// The parts of a bar in a template.
export const filled = (length, mark = null) => ({
	".fill": { style: `transform: scaleX(${length || 0})` },
	".prior": { hidden: mark === null, style: `left: ${100 * mark}%` },
});

export const readable = (name) => name.replaceAll("_", " ");

export const button = (text, onclick, properties = {}) =>
	make("button.button", { type: "button", unit: text, onclick, ...properties });

// A title, and the first of a list of sentences.
export function listed(title, sentences, most = 200) {
	const more = sentences.length > most ? [`and ${sentences.length - most} more`] : [];
	const items = [...sentences.slice(0, most), ...more].map((each) => make("li", each));
	return [make("p", make("strong", title)), items.length > 0 && make("ul", items)];
}

// Of these elements one is reached by Tab: the one that has the focus, or that one, or the first.
export function roam(elements, preferred) {
	const active = [document.activeElement, preferred].find((each) => elements.includes(each)) ?? elements[0];
	for (const each of elements) each.tabIndex = each === active ? 0 : -1;
}

// The element to which an arrow key, Home or End leads from one of them; the ends of a ring are neighbours.
export function steered(event, elements, from, [back, forth], isRing = false) {
	const [here, number] = [elements.indexOf(from), elements.length];
	const place = { [back]: here - 1, [forth]: here + 1, Home: 0, End: number - 1 }[event.key];
	if (place === undefined) return undefined;
	event.preventDefault();
	return isRing ? elements.at(place % number) : (elements[place] ?? from);
}

export const press = (button, isPressed) => button.setAttribute("aria-pressed", String(isPressed));

// Of the buttons of a group, the one with this word in its data is pressed: pressOne("roles", "role", "f")
export function pressOne(group, kind, word) {
	for (const each of found(group).querySelectorAll("button")) press(each, each.dataset[kind] === word);
}

// A screen reader says this once the page is quiet again.
let waiting = 0;
export function announce(sentence) {
	clearTimeout(waiting);
	waiting = setTimeout(() => put("live", sentence), 400);
}

export const calm = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// What the browser saves as a file.
export function download(content, name, suffix) {
	const href = URL.createObjectURL(new Blob([content]));
	make("a", { href, download: `${name.replace(/[^\w.-]+/g, "_").slice(0, 80)}.${suffix}` }).click();
	setTimeout(() => URL.revokeObjectURL(href), 10000);
}
