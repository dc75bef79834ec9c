// The head of a printed page: whose case it is, when it was printed, of which network, and what its numbers are.

import { fill, listen } from "./elements.js";
import { counted, moment, numbers } from "./words.js";

// label() and answer(): of the case as it is now
export function keepPaper({ title, causes, network_version: version, fingerprint }, theCase, { label, answer }) {
	const draw = () => {
		const [{ name, note }, now] = [label(), answer()];
		fill("paper", {
			".paper-name bdi": name || "Case without a name",
			".paper-note bdi": note,
			".printed": moment(Date.now()),
			".network": [title, version && `, version ${version}`, `, fingerprint ${fingerprint}`],
			".observed-number": counted(theCase.observations.size, "observation"),
			".assumed": causes > 0 && `There ${theCase.isExclusive ? "is exactly one cause" : "may be any number of causes"}.`,
			".method-used": theCase.method,
			".numbers": now !== null && now.status !== "impossible" && numbers(now),
		});
	};
	listen(window, "beforeprint", draw);
	listen(matchMedia("print"), "change", draw);
}
