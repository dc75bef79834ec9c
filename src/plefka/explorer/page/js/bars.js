// Bars from 0 to 1, with a mark where the probability was beforehand.

import { fill, make } from "./elements.js";

export const bar = (length, mark) =>
	fill(make("span.track", { "aria-hidden": "true" }, make("span.fill"), make("span.prior")), filled(length, mark));

// The parts of a bar in a template.
export const filled = (length, mark = null) => ({
	".fill": { style: `transform: scaleX(${length || 0})` },
	".prior": { hidden: mark === null, style: `left: ${100 * mark}%` },
});
