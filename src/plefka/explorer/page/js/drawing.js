// Draws a neighbourhood: layers of buttons, causes before what they cause, and lines, wider for stronger links.

import { listen, make, put, roam, steered } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const [THINNEST, THICKEST] = [0.8, 4]; // pixels
const ARC = 30; // pixels that a line within a layer goes out

// forwards: the edges that lead to a later layer; node(name): a button
export function drawing(names, edges, forwards, node) {
	const nodes = new Map(names.map((name) => [name, node(name)]));
	const columns = layered(names, forwards).map((layer) => layer.map((name) => nodes.get(name)));
	const strongest = Math.max(...edges.map(({ weight }) => Math.abs(weight)), 1e-9); // null: 0
	const lines = edges.map(({ parent, child, weight }) => {
		const path = document.createElementNS(SVG, "path");
		path.classList.toggle("is-negative", weight < 0);
		put(path, { "stroke-width": THINNEST + ((THICKEST - THINNEST) * Math.abs(weight)) / strongest });
		return { path, ends: [nodes.get(parent), nodes.get(child)] };
	});
	const svg = put(document.createElementNS(SVG, "svg"), { "aria-hidden": "true" }, lines.map(({ path }) => path));
	const layers = columns.map((column) => make("div.layer", column));
	const picture = make("div.graph", { role: "group", "aria-labelledby": "graph-title graph-summary" }, svg, layers);
	const bend = () => lines.forEach(({ path, ends }) => put(path, { d: curve(...ends) }));
	new ResizeObserver(bend).observe(picture);
	const mark = ({ type, target }) => {
		const near = lines.filter(({ ends }) => ends.includes(target.closest(".node")));
		for (const { path } of near) path.classList.toggle("is-near", ["pointerover", "focusin"].includes(type));
	};
	for (const event of ["pointerout", "pointerover", "focusout", "focusin"]) listen(picture, event, mark);
	const buttons = columns.flat();
	roam(buttons, picture.querySelector(".is-centre"));
	listen(picture, "focusin", () => roam(buttons));
	listen(picture, "keydown", (event) => leadsTo(event, columns)?.focus());
	return picture;
}

// Names by layer, each near what it is linked with.
function layered(names, edges) {
	const [byChild, byParent] = ["child", "parent"].map((end) => Map.groupBy(edges, (edge) => edge[end]));
	const parents = (name) => byChild.get(name)?.map(({ parent }) => parent) ?? [];
	const children = (name) => byParent.get(name)?.map(({ child }) => child) ?? [];
	const levels = new Map();
	const level = (name) => {
		if (!levels.has(name)) levels.set(name, Math.max(0, ...parents(name).map((parent) => level(parent) + 1)));
		return levels.get(name);
	};
	// The longest way from a unit without parents; such a unit stands right before the first of its children.
	const column = (name) => level(name) || (byParent.has(name) ? Math.min(...children(name).map(level)) - 1 : 0);
	const layers = Object.values(Object.groupBy(names, column));
	const places = new Map();
	const place = (layer) => layer.forEach((name, k) => places.set(name, (k + 0.5) / layer.length));
	const middle = (some) => some.reduce((sum, name) => sum + places.get(name), 0) / some.length;
	layers.forEach(place);
	for (const beside of [parents, children, parents, children])
		for (const layer of beside === parents ? layers : layers.toReversed()) {
			const middles = new Map(layer.map((name) => [name, middle(beside(name).length ? beside(name) : [name])]));
			layer.sort((a, b) => middles.get(a) - middles.get(b));
			place(layer);
		}
	return layers;
}

// From the right side of the parent to the left side of the child; in one layer, an arc where there is room.
function curve(parent, child) {
	const [x0, x1] = [parent.offsetLeft + parent.offsetWidth, child.offsetLeft];
	const [y0, y1] = [parent, child].map((each) => each.offsetTop + each.offsetHeight / 2);
	if (parent.offsetLeft === x1) {
		const [side, out] = parent.closest(".layer:nth-child(2)") ? [x0, x0 + ARC] : [x1, x1 - ARC];
		return `M${side} ${y0}C${out} ${y0} ${out} ${y1} ${side} ${y1}`;
	}
	const middle = (x0 + x1) / 2;
	return `M${x0} ${y0}C${middle} ${y0} ${middle} ${y1} ${x1} ${y1}`;
}

// Up and down in a layer, and sideways to the unit of the next layer that is nearest in height.
function leadsTo(event, columns) {
	const { key, target } = event;
	const at = columns.findIndex((column) => column.includes(target));
	const beside = { ArrowLeft: columns[at - 1], ArrowRight: columns[at + 1] }[key];
	if (!beside) return steered(event, columns[at], target, ["ArrowUp", "ArrowDown"]);
	event.preventDefault();
	const far = (each) => Math.abs(each.offsetTop - target.offsetTop);
	return beside.reduce((best, each) => (far(each) < far(best) ? each : best));
}
