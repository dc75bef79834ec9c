// The answers to rows of a table, some at a time: so few that a ranking of the page never waits long for a worker.

const [QUICK, SLOW] = [0.3, 1]; // seconds of a question
const AGAIN = 2000; // milliseconds until a service that is busy or away is asked again
const PASSING = ["unreachable", "busy", "closing", "too_many_bodies"];

// run: {asked: what is asked of every row, `most` at once, at: which row is next, pace: seconds of a row}. Yields
// {at, csv, ...} or, of one row, {at, why}. Ends when all are answered, or stopped, or refused whatever the row is.
export async function* answersTo(service, table, run, signal) {
	let size = 8; // rows of a question
	let some = 0; // of the next one, if they are others
	while (run.at < table.rows.length && !signal.aborted) {
		const { asked, at } = run;
		const count = Math.min(some || size, table.rows.length - at);
		const body = { ...asked, ...table.part(at, count), row: at, visits: asked.visits.slice(at, at + count) };
		const start = performance.now();
		some = 0;
		try {
			const answer = await service.post("table-rows", body, signal);
			const seconds = (performance.now() - start) / 1000;
			run.pace = (run.pace || seconds / count) / 2 + seconds / count / 2;
			if (seconds > SLOW) size = Math.ceil(count / 2);
			else if (seconds < QUICK && count === size) size = Math.min(2 * count, run.most);
			run.at += count;
			yield { ...answer, at };
		} catch (error) {
			const { status, code, message } = error;
			if (signal.aborted) return;
			if (PASSING.includes(code)) {
				some = count;
				await new Promise((end) => setTimeout(end, AGAIN));
				continue;
			}
			if (code !== "invalid_evidence" && status !== 413 && !(status >= 500)) throw error;
			// Next are the rows before the line that the message names; otherwise one by one, for a while.
			const line = /^line (\d+)/i.exec(message)?.[1];
			if (line) some = table.rows.slice(at + 1, at + count).filter(([, , first]) => first <= line).length;
			else size = 1;
			if (some || (!line && count > 1)) continue;
			run.at += 1;
			yield { at, why: message };
		}
	}
}
