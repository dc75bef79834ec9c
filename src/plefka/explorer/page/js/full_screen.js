// A part of the page that can fill the window, and comes back to its place.

import { button, listen, make } from "./elements.js";

export function fullScreen(part, title) {
	const slot = make("div");
	const dialog = make("dialog.full", { "aria-label": title });
	const toggle = button("Full screen", () => (dialog.open ? dialog.close() : open()), { "data-key": "full" });
	document.body.append(dialog);

	const place = () => {
		(dialog.open ? dialog : slot).append(part);
		toggle.textContent = dialog.open ? "Close full screen" : "Full screen";
		return slot;
	};
	const turn = () => {
		place();
		toggle.focus();
	};
	const open = () => {
		dialog.showModal();
		turn();
	};
	listen(dialog, "close", turn);
	return { place, button: toggle };
}
