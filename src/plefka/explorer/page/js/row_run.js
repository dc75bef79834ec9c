// All rows of a table, asked some at a time: so few that a ranking of the page never waits long for a worker.

const [QUICK, SLOW] = [0.3, 1]; // seconds of a question
const AGAIN = 2000; // milliseconds until a service that is busy or away is asked again
const PASSING = ["busy", "closing", "too_many_bodies", "unreachable"];

// asked: what is asked of every row, `most` at once; take({at, csv, ...} or {at, why}): what comes next.
// go() ends when all rows are answered, or it is stopped, or refused whatever the row is.
export function rowRun(service, table, asked, most, take) {
	const run = { at: 0, pace: 0, total: table.rows.length, stop: () => {}, go };
	let size = 8;

	async function go() {
		const stopping = new AbortController();
		const { signal } = stopping;
		run.stop = () => stopping.abort();
		let count = 0;
		while (run.at < run.total && !signal.aborted) {
			count = Math.min(count || size, run.total - run.at);
			try {
				await ask(count, signal);
				count = 0;
			} catch (error) {
				const { status, code } = error;
				const isOfRows = code === "invalid_evidence" || status === 413 || status >= 500;
				if (signal.aborted) return;
				if (PASSING.includes(code)) await new Promise((end) => setTimeout(end, AGAIN));
				else if (isOfRows) count = cut(error, count);
				else throw error;
			}
		}
	}

	async function ask(count, signal) {
		const { at } = run;
		const start = performance.now();
		const body = { ...asked, ...table.part(at, count), row: at, visits: asked.visits.slice(at, at + count) };
		const answer = await service.post("table-rows", body, signal);
		const seconds = (performance.now() - start) / 1000;
		run.pace = (run.pace || seconds / count) / 2 + seconds / count / 2;
		if (seconds > SLOW) size = Math.ceil(count / 2);
		else if (seconds < QUICK && count === size) size = Math.min(2 * count, most);
		run.at += count;
		take({ at, ...answer });
	}

	// How many rows are asked next: those before the line that a message names; otherwise one by one, for a while. A single
	// row that fails is taken so.
	function cut({ message }, count) {
		const { at } = run;
		const line = /^line (\d+)/i.exec(message)?.[1];
		let wrong = at;
		while (line && wrong + 1 < at + count && table.rows[wrong + 1][2] <= line) wrong += 1;
		if (line || count === 1) {
			if (wrong > at) return wrong - at;
			run.at += 1;
			take({ at, why: message });
		} else size = 1;
		return 0;
	}

	return run;
}
