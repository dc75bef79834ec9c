// Three buttons for one unit: its on word, its off word, and "how sure". Pressed again, the unit is unknown.

import { icon, make, readable, set } from "./elements.js";

export const SURE = { on: 0.8, off: 0.2 }; // what "how sure" starts from

// choose(value): 1, 0, {on, off} or null
export function stateButtons(choose) {
  const buttons = ["on", "off", "sure"].map((part) =>
    make("button", { type: "button", class: `state is-${part}`, "data-part": part, onclick: press }),
  );
  buttons[2].append(icon("sure"));
  const group = make("span", { class: "states", role: "group" }, ...buttons);

  function press({ currentTarget }) {
    const isPressed = currentTarget.getAttribute("aria-pressed") === "true";
    choose(isPressed ? null : { on: 1, off: 0, sure: SURE }[currentTarget.dataset.part]);
  }

  function show(name, [offWord, onWord], value) {
    group.setAttribute("aria-label", name);
    const words = [onWord, offWord, "how sure"];
    const pressed = [value === 1, value === 0, typeof value === "object" && value !== null];
    buttons.forEach((button, k) => {
      if (k < 2 && button.textContent !== words[k]) set(button, "unit", words[k]);
      button.setAttribute("aria-pressed", String(pressed[k]));
      button.setAttribute("aria-label", `${name}: ${words[k]}`);
      button.title = k === 2 ? "How sure: weigh yes against no" : readable(words[k]);
    });
  }

  return { group, buttons, show };
}

// Y, N, S and Delete do the same for the unit that has the focus.
const KEYS = { y: 1, n: 0, s: SURE, u: null, Delete: null, Backspace: null };

export function valueOfKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return undefined;
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  return Object.hasOwn(KEYS, key) ? KEYS[key] : undefined;
}
