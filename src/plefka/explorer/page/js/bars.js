// Bars from 0 to 1, with a mark where the probability was beforehand.

import { make } from "./elements.js";

export const bar = (length, mark) =>
	setBar(make("span.track", { "aria-hidden": "true" }, make("span.fill"), make("span.prior")), length, mark);

export function setBar(track, length, mark = null) {
	const [fill, prior] = track.children;
	fill.style.transform = `scaleX(${length || 0})`;
	prior.style.left = `${100 * mark}%`;
	prior.hidden = mark === null;
	return track;
}
