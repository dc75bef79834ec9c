// A part of the page that can fill the window, and comes back to its place.

import { button, make } from "./elements.js";

export function fullScreen(part, title) {
  const slot = make("div");
  const dialog = make("dialog", { class: "full", "aria-label": title });
  const toggle = button("Full screen", () => (dialog.open ? dialog.close() : open()), { "data-key": "full" });
  document.body.append(dialog);

  const place = () => {
    (dialog.open ? dialog : slot).append(part);
    toggle.textContent = dialog.open ? "Close full screen" : "Full screen";
    return slot;
  };
  function open() {
    dialog.showModal();
    place();
    toggle.focus();
  }
  dialog.addEventListener("close", () => {
    place();
    toggle.focus();
  });
  return { place, button: toggle };
}
