// Draws a neighbourhood: layers of buttons, one for each unit, and lines between them, wider for stronger links.

import { bar, listen, make, put, roam, steered } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const THINNEST = 0.8; // pixels
const THICKEST = 4;
const ARC = 30; // pixels that a line within a layer goes out

// shown: {layers, edges, middle: the name of a unit or null, label}; describe(name) -> {kind, text, title, probability, prior}; go(name)
export function drawing({ layers, edges, middle, label }, describe, go) {
	const nodes = new Map(layers.flat().map((name) => [name, node(name, describe(name), name === middle, go)]));
	const columns = layers.map((layer) => layer.map((name) => nodes.get(name)));
	const strongest = Math.max(...edges.map(({ weight }) => Math.abs(weight ?? 0)), 1e-9);
	const paths = edges.map(({ parent, child, weight }) => {
		const path = document.createElementNS(SVG, "path");
		const width = THINNEST + ((THICKEST - THINNEST) * Math.abs(weight ?? 0)) / strongest;
		path.classList.toggle("is-negative", weight < 0);
		return { path: put(path, { "stroke-width": width }), ends: [nodes.get(parent), nodes.get(child)] };
	});
	const lines = put(document.createElementNS(SVG, "svg"), { "aria-hidden": "true" }, paths.map(({ path }) => path));
	const picture = make(
		"div.graph",
		{ role: "group", "aria-label": label },
		lines,
		columns.map((column) => make("div.layer", column)),
	);
	const buttons = [...nodes.values()];
	const bend = () => paths.forEach(({ path, ends }) => put(path, { d: curve(...ends) }));
	new ResizeObserver(bend).observe(picture);
	for (const button of buttons) {
		const near = ({ type }) => {
			for (const { path, ends } of paths)
				if (ends.includes(button)) path.classList.toggle("is-near", ["pointerenter", "focus"].includes(type));
		};
		for (const event of ["pointerenter", "focus", "pointerleave", "blur"]) listen(button, event, near);
	}
	roam(buttons, nodes.get(middle) ?? columns[0][0]);
	listen(picture, "focusin", () => roam(buttons));
	listen(picture, "keydown", (event) => leadsTo(event, columns)?.focus());
	return picture;
}

const node = (name, { kind, text, title, probability, prior }, isCentre, go) =>
	make(
		`button.node.${kind}${isCentre ? ".is-centre" : ""}`,
		{ type: "button", title, "aria-label": `${name}: ${text}`, onclick: () => go(name) },
		make("span.node-name", { unit: name }),
		" ",
		make("span.node-state.number", { unit: text }),
		probability !== null && bar(probability, prior),
	);

// From the right side of the parent to the left side of the child; in one layer, an arc where there is room.
function curve(parent, child) {
	const [x0, x1] = [parent.offsetLeft + parent.offsetWidth, child.offsetLeft];
	const [y0, y1] = [parent, child].map((each) => each.offsetTop + each.offsetHeight / 2);
	if (parent.offsetLeft === x1) {
		const [side, out] = parent.closest(".layer:nth-child(2)") ? [x0, x0 + ARC] : [x1, x1 - ARC];
		return `M${side} ${y0}C${out} ${y0} ${out} ${y1} ${side} ${y1}`;
	}
	const bend = (x1 - x0) / 2;
	return `M${x0} ${y0}C${x0 + bend} ${y0} ${x1 - bend} ${y1} ${x1} ${y1}`;
}

// Up and down in a layer, and sideways to the unit of the next layer that is nearest in height.
function leadsTo(event, columns) {
	const { key, target } = event;
	const at = columns.findIndex((column) => column.includes(target));
	const far = (each) => Math.abs(each.offsetTop - target.offsetTop);
	const beside = { ArrowLeft: columns[at - 1], ArrowRight: columns[at + 1] }[key];
	if (beside) event.preventDefault();
	if (beside) return beside.reduce((best, each) => (far(each) < far(best) ? each : best));
	return steered(event, columns[at], target, ["ArrowUp", "ArrowDown"]);
}
