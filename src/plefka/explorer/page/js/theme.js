// Light and dark: as the system has it, unless the reader chooses.

import { announce, byId, listen, put } from "./elements.js";
import { read, write } from "./storage.js";

const KEY = "plefka-theme";
const NAMES = { system: "System", light: "Light", dark: "Dark" };

export function theme() {
	const names = Object.keys(NAMES);
	const show = (chosen) => {
		const label = `Colours: ${NAMES[chosen]}`;
		document.documentElement.dataset.theme = chosen;
		put("theme-icon", { href: `#icon-${chosen}` });
		put("theme-name", NAMES[chosen]);
		put("theme", { "aria-label": label });
		return label;
	};
	let place = Math.max(0, names.indexOf(read(KEY)));
	show(names[place]);
	listen("theme", "click", () => {
		place = (place + 1) % names.length;
		write(KEY, names[place]);
		announce(show(names[place]));
	});
}
