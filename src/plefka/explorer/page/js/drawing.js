// Cytoscape draws the neighbourhood: columns of units, labels beside them, wider lines for stronger edges.

import cytoscape from "../vendor/cytoscape.esm.min.mjs";

const ROW = 30; // pixels between units of a column
const LEAST = 180;

export function drawing(canvas, around, observations, go) {
  const rows = Math.max(around.parents.length, around.children.length, 1);
  canvas.style.height = `${Math.max(LEAST, ROW * (rows + 1))}px`;
  const graph = cytoscape({
    container: canvas, elements: elements(around, observations), style: look(canvas),
    layout: { name: "preset", positions: positions(canvas, around), fit: false },
    zoom: 1, pan: { x: 0, y: 0 },
    userZoomingEnabled: false, userPanningEnabled: false, boxSelectionEnabled: false, autoungrabify: true,
  });
  graph.on("tap", "node", (event) => go(event.target.data("name")));
  graph.on("mouseover mouseout", "node", (event) => {
    event.target.connectedEdges().toggleClass("is-near", event.type === "mouseover");
    canvas.classList.toggle("is-pointing", event.type === "mouseover");
  });
  const again = new ResizeObserver(() => {
    graph.resize();
    graph.nodes().positions((node) => positions(canvas, around)[node.id()]);
    graph.style(look(canvas));
  });
  again.observe(canvas);
  return {
    recolour: () => graph.style(look(canvas)),
    destroy: () => { again.disconnect(); graph.destroy(); },
  };
}

// Ids are numbers of our own: a name may be anything.
function everyone({ centre, parents, children }) {
  return [
    { name: centre, column: "centre" },
    ...parents.map(({ name }) => ({ name, column: "parent" })),
    ...children.map(({ name }) => ({ name, column: "child" })),
  ];
}

function elements(around, observations) {
  const nodes = everyone(around);
  const ids = new Map(nodes.map(({ name }, k) => [name, `n${k}`]));
  const strongest = Math.max(...around.edges.map((edge) => Math.abs(edge.weight ?? 0)), 1e-9);
  return [
    ...nodes.map(({ name, column }) => ({ data: { id: ids.get(name), name }, classes: `${column} ${kind(observations.get(name))}` })),
    ...around.edges.map(({ parent, child, weight }) => ({
      data: { source: ids.get(parent), target: ids.get(child), width: 1 + 4 * (Math.abs(weight ?? 0) / strongest) },
      classes: weight < 0 ? "negative" : "",
    })),
  ];
}

function kind(value) {
  if (value === undefined) return "hidden";
  if (typeof value === "object") return "soft";
  return value === 1 ? "on" : "off";
}

function positions(canvas, around) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const [left, right] = [width * 0.34, width * 0.66];
  const places = { parent: left, child: right, centre: width / 2 };
  if (!around.parents.length) places.centre = width * 0.3;
  if (!around.children.length) places.centre = width * 0.7;
  const sizes = { parent: around.parents.length, child: around.children.length, centre: 1 };
  const seen = { parent: 0, child: 0, centre: 0 };
  return Object.fromEntries(everyone(around).map(({ column }, k) => {
    seen[column] += 1;
    return [`n${k}`, { x: places[column], y: (height * (seen[column] - 0.5)) / sizes[column] }];
  }));
}

// The page's colours, which depend on the theme.
function colour(canvas, name) {
  canvas.style.outlineColor = `var(--${name})`;
  return getComputedStyle(canvas).outlineColor;
}

function look(canvas) {
  const room = Math.max(60, canvas.clientWidth * 0.34 - 24);
  const [ink, paper, on, off, soft, line] = ["ink", "card", "for", "against", "soft", "line-strong"].map((name) => colour(canvas, name));
  const node = {
    label: "data(name)", "font-family": getComputedStyle(canvas).fontFamily, "font-size": 13, color: ink,
    "text-valign": "center", "text-wrap": "ellipsis", "text-max-width": `${room}px`, "text-margin-x": 6,
    width: 14, height: 14, "background-color": paper, "border-width": 2, "border-color": line, "overlay-opacity": 0,
  };
  return [
    { selector: "node", style: node },
    { selector: ".parent", style: { "text-halign": "left", "text-margin-x": -6 } },
    { selector: ".child", style: { "text-halign": "right" } },
    { selector: ".centre", style: { width: 24, height: 24, "border-width": 3, "border-color": ink, "font-weight": 600, "text-max-width": `${canvas.clientWidth * 0.55}px`, "text-valign": "top", "text-margin-x": 0, "text-margin-y": -6 } },
    { selector: ".on", style: { "background-color": on, "border-color": on } },
    { selector: ".off", style: { "background-color": off, "border-color": off } },
    { selector: ".soft", style: { "background-color": soft, "border-color": soft } },
    { selector: "edge", style: { width: "data(width)", "line-color": line, opacity: 0.55, "curve-style": "bezier", "target-arrow-shape": "triangle", "target-arrow-color": line, "arrow-scale": 0.7, "overlay-opacity": 0 } },
    { selector: ".negative", style: { "line-style": "dashed" } },
    { selector: ".is-near", style: { "line-color": on, "target-arrow-color": on, opacity: 1 } },
  ];
}
