// The neighbourhood of a unit: what it depends on at the left, what depends on it at the right.

import { button, make } from "./elements.js";
import { Panel } from "./panels.js";
import { counted } from "./words.js";

const FEW = 24;
const MANY = 60;

export function graphPanel(service, units, { select }) {
  const limits = new Map(); // of units for which more was asked
  const past = [];
  let shown = null;
  let picture = null;
  const ask = async (signal, { selected }) => {
    const question = { name: selected, hops: 1, limit: limits.get(selected) ?? FEW };
    const [answer, library] = await Promise.all([
      service.get("neighbourhood", question, signal),
      import("./drawing.js"),
    ]);
    return { ...answer, library }; // which is large, and loaded when it is needed
  };
  const key = ({ selected, key }) => `${selected} ${limits.get(selected) ?? FEW} ${key}`;
  const canAsk = ({ selected }) => selected !== null;

  function draw(answer, state) {
    picture?.destroy();
    picture = null;
    if (answer === null)
      return [make("p", { class: "hint", text: "Choose a unit to see what it hangs together with." })];
    const { selected, observations } = state;
    const around = neighbours(answer, selected);
    const canvas = make("div", {
      class: "graph",
      role: "img",
      "aria-label": `Graph of ${selected}: ${around.summary}. The same as a list is below.`,
    });
    queueMicrotask(() => {
      picture = answer.library.drawing(canvas, around, observations, go);
    });
    shown = selected;
    return [
      make("h3", { text: `Around ${selected}` }),
      make("p", { class: "hint", text: `${around.summary}. Click a unit to go there.` }),
      canvas,
      legend(),
      controls(answer, state),
      ...lists(around, observations),
    ];
  }

  function go(name) {
    if (name === shown) return;
    past.push(shown);
    select(name);
  }

  function controls({ left_out: left }, state) {
    const back = past.length ? button("Back", () => select(past.pop()), { class: "button is-quiet" }) : null;
    const canGrow = left > 0 && !limits.has(shown);
    const more = canGrow
      ? button(
          "Show more",
          () => {
            limits.set(state.selected, MANY);
            panel.refresh(state);
          },
          { class: "button is-quiet" },
        )
      : null;
    const rest =
      left > 0
        ? make("span", {
            class: "hint",
            text: `${counted(left, "unit is", "units are")} not shown; the strongest come first.`,
          })
        : null;
    return make("div", { class: "choices" }, back, more, rest);
  }

  // What the picture shows, for the keyboard and for screen readers.
  function lists({ parents, children }, observations) {
    const list = (title, nodes) =>
      nodes.length === 0
        ? []
        : [
            make("h4", { text: title }),
            make(
              "ul",
              { class: "neighbours" },
              ...nodes.map(({ name }) =>
                make(
                  "li",
                  {},
                  make("button", { type: "button", class: "link", text: name, onclick: () => go(name) }),
                  " ",
                  state(name, observations),
                ),
              ),
            ),
          ];
    return [
      make(
        "details",
        { open: true },
        make("summary", { text: "The same as a list" }),
        ...list("It depends on", parents),
        ...list("It shows in", children),
      ),
    ];
  }

  function state(name, observations) {
    const value = observations.get(name);
    if (value === undefined) return null;
    return make("em", { text: typeof value === "object" ? "likelihood" : units.words(name)[value] });
  }

  const panel = new Panel("graph", { ask, key, canAsk, draw, needsPossible: false });
  panel.recolour = () => picture?.recolour();
  return panel;
}

function neighbours({ nodes, edges }, centre) {
  const names = new Set(nodes.map((node) => node.name));
  const above = new Set(edges.filter((edge) => edge.child === centre).map((edge) => edge.parent));
  const parents = nodes.filter((node) => above.has(node.name) && node.name !== centre);
  const children = nodes.filter((node) => node.name !== centre && !above.has(node.name));
  const kept = edges.filter((edge) => names.has(edge.parent) && names.has(edge.child));
  const summary = [
    parents.length ? `depends on ${counted(parents.length, "unit")}` : "depends on nothing",
    children.length ? `shows in ${counted(children.length, "unit")}` : "shows in nothing",
  ].join(", ");
  return { centre, parents, children, edges: kept, summary: summary[0].toUpperCase() + summary.slice(1) };
}

function legend() {
  const entry = (kind, text) =>
    make("span", { class: "key" }, make("span", { class: `dot ${kind}`, "aria-hidden": "true" }), text);
  const entries = [
    ["is-on", "observed on"],
    ["is-off", "observed off"],
    ["is-soft", "how sure"],
    ["is-hidden", "not observed"],
  ];
  return make("p", { class: "legend" }, ...entries.map(([kind, text]) => entry(kind, text)));
}
