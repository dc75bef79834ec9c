// The same question to several methods, side by side.

import { make } from "./elements.js";
import { methodWords } from "./method_words.js";
import { Panel } from "./panels.js";
import { about, duration, KINDS, minus, sentence } from "./words.js";

const TOP = 10; // causes

export function comparePanel(service, units, useMethod) {
  const ask = (signal, { evidence }) => service.post("compare", { evidence, methods: null }, signal);
  const key = ({ key }) => `compare ${key}`;

  function draw({ methods }, state) {
    return [
      make("div", { class: "wide" }, likelihoods(methods, state)),
      ...causes(methods.filter(({ means }) => means && Object.keys(means).length)),
    ];
  }

  function likelihoods(methods, { method: used }) {
    const head = make("tr", {}, ...["Method", "ln P(evidence)", "It is", "Time"].map(headCell));
    const rows = methods.flatMap((each) => [
      make(
        "tr",
        { class: each.method === used ? "is-used" : "" },
        make(
          "th",
          { scope: "row" },
          make("button", {
            type: "button",
            class: "link",
            text: each.method,
            title: `Use ${each.method}`,
            onclick: () => useMethod(each.method),
          }),
        ),
        ...(each.log_likelihood === null
          ? [make("td", { colspan: 2, text: sentence(each.status_text ?? each.status) })]
          : [
              make("td", { class: "number", text: minus(each.log_likelihood, 4) }),
              make("td", { text: KINDS[each.kind] ?? each.kind }),
            ]),
        make("td", { class: "number", text: duration(each.seconds) }),
      ),
      make("tr", { class: "method-words" }, make("td", { colspan: 4, text: methodWords(each.method) })),
    ]);
    return make(
      "table",
      {},
      make("caption", { text: "How probable the observations are" }),
      make("thead", {}, head),
      make("tbody", {}, ...rows),
    );
  }

  function causes(methods) {
    if (!methods.length) return [];
    const first = new Map(Object.entries(methods[0].means));
    const names = [...new Set(methods.flatMap(({ means }) => Object.keys(means)))];
    names.sort((a, b) => (first.get(b) ?? 0) - (first.get(a) ?? 0));
    const head = make("tr", {}, headCell(units.nouns.Cause), ...methods.map(({ method }) => headCell(method)));
    const rows = names
      .slice(0, TOP)
      .map((name) =>
        make(
          "tr",
          {},
          make("th", { scope: "row", unit: units.inState(name, 1), title: name }),
          ...methods.map(({ means, accuracy }) => cell(means[name], accuracy[name])),
        ),
      );
    const table = make(
      "table",
      {},
      make("caption", { text: `How probable the ${units.nouns.causes} are` }),
      make("thead", {}, head),
      make("tbody", {}, ...rows),
    );
    return [make("div", { class: "wide", tabindex: 0, role: "region", "aria-label": `${units.nouns.Causes} by method` }, table)];
  }

  const panel = new Panel("compare", { ask, key, draw, isSlow: true, invitation: "Compare the methods" });
  panel.head = () => [
    make("h3", { text: "Methods side by side" }),
    make("p", {
      class: "hint",
      text:
        "The same observations, answered in several ways. Where they agree, the answer hangs on no single method. " +
        "≈ is an estimate.",
    }),
  ];
  return panel;
}

const headCell = (text) => make("th", { scope: "col", text });

function cell(value, accuracy) {
  const fill = make("span", { class: "fill" });
  fill.style.transform = `scaleX(${value ?? 0})`;
  return make(
    "td",
    { class: "number" },
    about(value, accuracy),
    make("span", { class: "track", "aria-hidden": "true" }, fill),
  );
}
