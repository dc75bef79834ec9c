// Light and dark: as the system has it, unless the reader chooses.

import { announce, byId } from "./elements.js";
import { read, write } from "./storage.js";

const KEY = "plefka-theme";
const ORDER = ["system", "light", "dark"];
const NAMES = { system: "System", light: "Light", dark: "Dark" };

export function theme() {
  let current = ORDER.includes(read(KEY)) ? read(KEY) : "system";
  const show = () => {
    document.documentElement.dataset.theme = current;
    byId("theme-icon").setAttribute("href", `#icon-${current}`);
    byId("theme-name").textContent = NAMES[current];
    byId("theme").setAttribute("aria-label", `Colours: ${NAMES[current]}`);
  };
  byId("theme").addEventListener("click", () => {
    current = ORDER[(ORDER.indexOf(current) + 1) % ORDER.length];
    write(KEY, current);
    show();
    announce(`Colours: ${NAMES[current]}`);
  });
  show();
}
