// Cytoscape draws the neighbourhood: columns of units, labels beside them, wider lines for stronger edges.

import cytoscape from "../vendor/cytoscape.esm.min.mjs";

const ROW = 30; // pixels between units of a column
const LEAST = 180;

export function drawing(canvas, around, observations, go) {
  const rows = Math.max(around.parents.length, around.children.length, 1);
  canvas.style.height = `${Math.max(LEAST, ROW * (rows + 1))}px`;
  const graph = cytoscape({
    container: canvas,
    elements: elements(around, observations),
    style: look(canvas, around),
    layout: { name: "preset", positions: positions(canvas, around), fit: false },
    zoom: 1,
    pan: { x: 0, y: 0 },
    pixelRatio: Math.max(2, devicePixelRatio), // words stay sharp
    userZoomingEnabled: false,
    userPanningEnabled: false,
    boxSelectionEnabled: false,
    autoungrabify: true,
  });
  graph.on("tap", "node", (event) => go(event.target.data("name")));
  graph.on("mouseover mouseout", "node", (event) => {
    event.target.connectedEdges().toggleClass("is-near", event.type === "mouseover");
    canvas.classList.toggle("is-pointing", event.type === "mouseover");
  });
  const again = new ResizeObserver(() => {
    graph.resize();
    graph.nodes().positions((node) => positions(canvas, around)[node.id()]);
    graph.style(look(canvas, around));
  });
  again.observe(canvas);
  return {
    recolour: () => graph.style(look(canvas, around)),
    destroy: () => {
      again.disconnect();
      graph.destroy();
    },
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
    ...nodes.map(({ name, column }) => ({
      data: { id: ids.get(name), name },
      classes: `${column} ${kind(observations.get(name))}`,
    })),
    ...around.edges.map(({ parent, child, weight }) => ({
      data: { source: ids.get(parent), target: ids.get(child), width: 0.8 + 3.2 * (Math.abs(weight ?? 0) / strongest) },
      classes: weight < 0 ? "negative" : "",
    })),
  ];
}

function kind(value) {
  if (value === undefined) return "hidden";
  if (typeof value === "object") return "soft";
  return value === 1 ? "on" : "off";
}

// Where the columns are, as shares of the width; the units that are not there leave their room to the others.
function columns({ parents, children }) {
  if (!parents.length) return { left: 0, right: 0.32 };
  if (!children.length) return { left: 0.68, right: 1 };
  return { left: 0.36, right: 0.64 };
}

function positions(canvas, around) {
  const { clientWidth: width, clientHeight: height } = canvas;
  const { left, right } = columns(around);
  const places = { parent: left * width, child: right * width, centre: ((left + right) / 2) * width };
  const sizes = { parent: around.parents.length, child: around.children.length, centre: 1 };
  const seen = { parent: 0, child: 0, centre: 0 };
  return Object.fromEntries(
    everyone(around).map(({ column }, k) => {
      seen[column] += 1;
      return [`n${k}`, { x: places[column], y: (height * (seen[column] - 0.5)) / sizes[column] }];
    }),
  );
}

// The page's colours, which depend on the theme.
function colour(canvas, name) {
  canvas.style.outlineColor = `var(--${name})`;
  return getComputedStyle(canvas).outlineColor;
}

function look(canvas, around) {
  const { left, right } = columns(around);
  const room = (share) => `${Math.max(60, share * canvas.clientWidth - 18)}px`;
  const [ink, paper, on, off, soft, line] = ["ink", "card", "for", "against", "soft", "line-strong"].map((name) =>
    colour(canvas, name),
  );
  const node = {
    label: "data(name)",
    "font-family": getComputedStyle(canvas).fontFamily,
    "font-size": 13,
    color: ink,
    "text-valign": "center",
    "text-wrap": "ellipsis",
    "text-margin-x": 6,
    width: 14,
    height: 14,
    "background-color": paper,
    "border-width": 2,
    "border-color": line,
    "overlay-opacity": 0,
  };
  return [
    { selector: "node", style: node },
    { selector: ".parent", style: { "text-halign": "left", "text-margin-x": -6, "text-max-width": room(left) } },
    { selector: ".child", style: { "text-halign": "right", "text-max-width": room(1 - right) } },
    { selector: ".centre", style: { label: "", width: 24, height: 24, "border-width": 3, "border-color": ink } },
    { selector: ".on", style: { "background-color": on, "border-color": on } },
    { selector: ".off", style: { "background-color": off, "border-color": off } },
    { selector: ".soft", style: { "background-color": soft, "border-color": soft } },
    {
      selector: "edge",
      style: {
        width: "data(width)",
        "line-color": line,
        opacity: 0.55,
        "curve-style": "bezier",
        "target-arrow-shape": "triangle",
        "target-arrow-color": line,
        "arrow-scale": 0.7,
        "overlay-opacity": 0,
      },
    },
    { selector: ".negative", style: { "line-style": "dashed" } },
    { selector: ".is-near", style: { "line-color": on, "target-arrow-color": on, opacity: 1 } },
  ];
}
