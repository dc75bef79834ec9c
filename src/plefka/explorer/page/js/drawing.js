// Draws a neighbourhood: layers of buttons, one for each unit, and lines between them, wider for stronger links.

import { make } from "./elements.js";

const SVG = "http://www.w3.org/2000/svg";
const THINNEST = 0.8; // pixels
const THICKEST = 4;
const ARC = 30; // pixels that a line within a layer goes out

// shown: {layers, edges, middle: the name of a unit or null, label}; describe(name) -> {kind, text, title, probability, prior}; go(name)
export function drawing({ layers, edges, middle, label }, describe, go) {
  const lines = document.createElementNS(SVG, "svg");
  lines.setAttribute("aria-hidden", "true");
  const nodes = new Map(layers.flat().map((name) => [name, node(name, describe(name), name === middle)]));
  const columns = layers.map((layer) => make("div", { class: "layer" }, ...layer.map((name) => nodes.get(name))));
  const picture = make("div", { class: "graph", role: "group", "aria-label": label }, lines, ...columns);
  const paths = edges.map((edge) => [edge, line(edge)]);
  lines.append(...paths.map(([, path]) => path));
  const strongest = Math.max(...edges.map(({ weight }) => Math.abs(weight ?? 0)), 1e-9);
  for (const [{ weight }, path] of paths)
    path.setAttribute("stroke-width", THINNEST + ((THICKEST - THINNEST) * Math.abs(weight ?? 0)) / strongest);
  new ResizeObserver(() => {
    for (const [{ parent, child }, path] of paths) path.setAttribute("d", curve(nodes.get(parent), nodes.get(child)));
  }).observe(picture);
  const near = (name, isNear) => {
    for (const [{ parent, child }, path] of paths)
      if (parent === name || child === name) path.classList.toggle("is-near", isNear);
  };
  for (const [name, button] of nodes) {
    for (const event of ["pointerenter", "focus"]) button.addEventListener(event, () => near(name, true));
    for (const event of ["pointerleave", "blur"]) button.addEventListener(event, () => near(name, false));
    button.addEventListener("click", () => go(name));
  }
  roam(picture, columns, nodes.get(middle) ?? columns[0].firstChild);
  return picture;
}

function node(name, { kind, text, title, probability, prior }, isCentre) {
  const bar = make("span", { class: "track", "aria-hidden": "true" }, make("span", { class: "fill" }));
  bar.firstChild.style.transform = `scaleX(${probability ?? 0})`;
  if (prior !== null && prior !== undefined) {
    bar.append(make("span", { class: "prior" }));
    bar.lastChild.style.left = `${100 * prior}%`;
  }
  return make(
    "button",
    { type: "button", class: `node ${kind}${isCentre ? " is-centre" : ""}`, title, "aria-label": `${name}: ${text}` },
    make("span", { class: "node-name", unit: name }),
    " ",
    make("span", { class: "node-state number", unit: text }),
    probability === null ? null : bar,
  );
}

function line({ weight }) {
  const path = document.createElementNS(SVG, "path");
  if (weight < 0) path.setAttribute("class", "is-negative");
  return path;
}

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

// One stop of the Tab key; arrows go on from there.
function roam(picture, columns, first) {
  const use = (button) => {
    for (const each of picture.querySelectorAll(".node")) each.tabIndex = each === button ? 0 : -1;
  };
  use(first);
  picture.addEventListener("focusin", ({ target }) => use(target));
  picture.addEventListener("keydown", (event) => {
    const column = columns.findIndex((each) => each.contains(event.target));
    const row = [...columns[column].children].indexOf(event.target);
    const beside = { ArrowRight: columns[column + 1], ArrowLeft: columns[column - 1] };
    const along = { ArrowDown: row + 1, ArrowUp: row - 1, Home: 0, End: columns[column].childElementCount - 1 };
    const next = event.key in along ? columns[column].children[along[event.key]] : level(beside[event.key], event.target);
    if (!(event.key in along) && !(event.key in beside)) return;
    event.preventDefault();
    next?.focus();
  });
}

// The unit of a layer that is nearest in height.
function level(column, button) {
  const far = (each) => Math.abs(each.offsetTop - button.offsetTop);
  return [...(column?.children ?? [])].sort((a, b) => far(a) - far(b))[0];
}
