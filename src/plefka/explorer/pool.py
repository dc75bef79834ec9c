"""Worker processes, and the questions that wait for them.

Every worker has a lane: a task that starts the process, gives it questions and, where one takes too long or the process
ends, puts a new process in its place. Other lanes go on meanwhile. Rankings, the answers that a visitor waits for after
each observation, go before all other questions; where there are several workers, one answers nothing else. Questions
that wait for a free worker and have the same method are answered in one batch, which takes a fraction of the time.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from plefka.explorer.outcomes import CLOSING, ENDED, FAILED, TOO_LONG_FOR_THE_OWNER, Failure, busy, too_long
from plefka.scale.worker_process import Assignment, WorkerEnded, WorkerProcess

log = logging.getLogger("plefka.explorer")
MOST_TOGETHER, FIRST_TOGETHER = 64, 8  # questions in one batch, and in the first one by a method
FAR_BELOW = 3  # a batch should take this fraction of the limit of time
MOST_PACES = 100  # methods whose times are remembered
LONGEST_PAUSE = 60.0  # seconds before another attempt to start a worker
LOOK = 1.0  # seconds between two looks at a process that waits
# Seconds that a question may still take when nobody waits for its answer. Replacing its process takes about 1.4 s; a
# ranking may take as long, as the next one is likely to end as soon as this one and often needs the same programs.
ABANDONED, ABANDONED_RANKING = 0.5, 1.5


@dataclass(eq=False)
class WaitingQuestion:
    """A question that waits for its answer."""

    kind: str
    asked: Mapping[str, Any]
    seconds: float
    answer: asyncio.Future[Any] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    alone: bool = False
    patience: asyncio.TimerHandle | None = None

    @property
    def is_ranking(self) -> bool:
        """Whether it goes before all others; a check takes much longer than what it checks."""
        return self.kind == "infer" and not self.asked.get("check")

    @property
    def key(self) -> tuple[Any, ...] | None:
        """Questions with the same key can be answered together; None if this one cannot."""
        is_special = any(self.asked.get(field) for field in ("check", "do", "exclusive"))
        if self.alone or self.kind != "infer" or is_special:
            return None
        return self.kind, self.asked.get("network"), self.asked["method"], self.seconds

    def end(self, answer: Any) -> None:
        """Answer it, unless it was answered or its client has left."""
        if not self.answer.done():
            self.answer.set_result(answer)


class Pool:
    """As many workers as asked for, and a queue in front of them.

    `quick` is the assignment of a process that somebody may wait for: one that replaces another, or the one that is
    kept for rankings. It takes less time until it answers.
    """

    def __init__(self, assignment: Assignment, workers: int, waiting: int, quick: Assignment | None = None):
        self.assignment, self.workers, self.most_waiting = assignment, workers, waiting
        self.quick = quick or assignment
        self.waiting: deque[WaitingQuestion] = deque()
        self.running: set[WaitingQuestion] = set()
        self.something = asyncio.Event()
        self.threads = ThreadPoolExecutor(4 * workers, thread_name_prefix="pipe")
        self.processes: list[WorkerProcess | None] = [None] * workers
        self.ready: set[int] = set()  # the numbers of lanes whose process can answer
        self.pace: dict[Any, float] = {}  # seconds of a question, by its key
        self.lanes: list[asyncio.Task[None]] = []
        self.closing = False

    @property
    def is_ready(self) -> bool:
        """Whether all workers can answer now; one that is being replaced cannot."""
        return len(self.ready) == self.workers and all(process and process.is_alive for process in self.processes)

    def start(self) -> None:
        self.lanes = [asyncio.create_task(self._lane(number)) for number in range(self.workers)]

    async def ask(self, kind: str, asked: Mapping[str, Any], seconds: float) -> Any:
        """The answer, or a failure; when the caller is cancelled, the question is dropped."""
        if self.closing:
            return CLOSING
        if len(self.waiting) >= self.most_waiting:
            return busy(len(self.waiting))
        job = WaitingQuestion(kind, asked, seconds)
        self._queue(job)
        try:
            return await job.answer
        finally:
            if job.patience is not None:
                job.patience.cancel()
            if job in self.waiting:
                self.waiting.remove(job)

    def _give_up(self, job: WaitingQuestion) -> None:
        """It has waited for as long as it might have taken, and no worker was free."""
        if job in self.waiting:
            job.end(busy(len(self.waiting)))

    def _queue(self, *jobs: WaitingQuestion) -> None:
        for job in jobs:
            if job.patience is not None:
                job.patience.cancel()
            job.patience = asyncio.get_running_loop().call_later(job.seconds, self._give_up, job)
        self.waiting.extend(jobs)
        self.something.set()

    def _is_kept(self, number: int) -> bool:
        """Whether this lane answers rankings only."""
        return number == 0 and self.workers > 1

    def _first(self, number: int) -> WaitingQuestion | None:
        """The ranking that has waited for the longest time; if there is none, any other question."""
        others = () if self._is_kept(number) else self.waiting
        return next((job for job in self.waiting if job.is_ranking), None) or next(iter(others), None)

    async def _next(self, number: int = 0) -> list[WaitingQuestion]:
        """What a lane answers next: a question, and others that can be answered with it; or none yet."""
        if self._first(number) is None:
            self.something.clear()
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK):
                    await self.something.wait()
        first = self._first(number)
        if first is None:
            return []
        self.waiting.remove(first)
        if first.key is None:
            return [first]
        pace = self.pace.get(first.key, first.seconds / (FAR_BELOW * FIRST_TOGETHER))  # far below the limit of time
        most = max(1, min(MOST_TOGETHER, int(first.seconds / FAR_BELOW / max(pace, 1e-6))))
        same = [job for job in self.waiting if job.key == first.key][: most - 1]
        for job in same:
            self.waiting.remove(job)
        return [first, *same]

    def _learn(self, jobs: list[WaitingQuestion], seconds: float) -> None:
        if len(self.pace) >= MOST_PACES:  # clients spell methods as they like
            self.pace.clear()
        if jobs[0].key is not None:
            self.pace[jobs[0].key] = seconds / len(jobs)

    async def _lane(self, number: int) -> None:
        failures, assignment = 0, self.quick if self._is_kept(number) else self.assignment
        while not self.closing:
            failures += 1
            process = self.processes[number] = WorkerProcess(assignment)
            assignment = self.quick
            try:
                await self._in_thread(process.start)
                self.ready.add(number)
                failures = 0
                await self._serve(process, number)
            except WorkerEnded:
                pass
            finally:
                self.ready.discard(number)
                if not (process.was_ended or self.closing):
                    log.warning("a worker process ended and is replaced")
                process.end()
            if failures:  # it does not even start: there may be too little memory
                await asyncio.sleep(min(2.0**failures, LONGEST_PAUSE))

    async def _serve(self, process: WorkerProcess, number: int) -> None:
        while process.is_alive and not self.closing:
            jobs = [job for job in await self._next(number) if not job.answer.done()]
            if jobs and not process.is_alive:  # it ended while it waited: the question is not to blame
                self.waiting.extendleft(reversed(jobs))
                return
            if jobs:
                self.running.update(jobs)
                try:
                    await self._answer(process, jobs)
                finally:
                    self.running.difference_update(jobs)

    async def _answer(self, process: WorkerProcess, jobs: list[WaitingQuestion]) -> None:
        start = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout(jobs[0].seconds) as limit:
                with _abandoned(jobs, limit):
                    found = await self._in_thread(process.ask, jobs[0].kind, [job.asked for job in jobs])
        except TimeoutError:
            process.end()
            nobody, slow = all(job.answer.done() for job in jobs), TOO_LONG_FOR_THE_OWNER.format(jobs[0].seconds)
            log.info("a question was ended: %s", "its client has left" if nobody else slow)
            self._failed(jobs, too_long(jobs[0].seconds))
        except WorkerEnded:
            self._failed(jobs, ENDED)
            raise
        except Exception:
            log.exception("a question failed in its worker process")
            self._failed(jobs, FAILED)
        else:
            self._learn(jobs, asyncio.get_running_loop().time() - start)
            for job, answer in zip(jobs, found, strict=True):
                job.end(answer)

    async def _in_thread(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Whatever waits for a process does so in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.threads, function, *arguments)

    def _failed(self, jobs: list[WaitingQuestion], failure: Failure) -> None:
        """One question has failed; of several, each is asked again by itself, as one of them is to blame."""
        if len(jobs) == 1:
            jobs[0].end(failure)
            return
        left = [job for job in jobs if not job.answer.done()]
        for job in left:
            job.alone = True
        self._queue(*left)

    async def close(self, seconds: float) -> None:
        """Refuse what waits, let go on what runs for so many seconds at most, and end all processes."""
        self.closing = True
        for job in self.waiting:
            job.end(CLOSING)
        self.something.set()
        if self.running and seconds:
            await asyncio.wait([job.answer for job in self.running], timeout=seconds)
        for job in self.running:
            job.end(CLOSING)
        for process in self.processes:
            if process is not None:
                process.end()
        for lane in self.lanes:
            lane.cancel()
        await asyncio.gather(*self.lanes, return_exceptions=True)
        self.threads.shutdown(wait=False, cancel_futures=True)


@contextmanager
def _abandoned(jobs: list[WaitingQuestion], limit: asyncio.Timeout) -> Iterator[None]:
    """When nobody waits any more, the work may go on for a moment only, as starting another process takes longer."""
    moment = ABANDONED_RANKING if jobs[0].is_ranking else ABANDONED

    def hurry(_: object) -> None:
        soon = asyncio.get_running_loop().time() + moment
        if all(job.answer.done() for job in jobs) and not limit.expired():
            limit.reschedule(min(limit.when() or soon, soon))

    for job in jobs:
        job.answer.add_done_callback(hurry)
    try:
        yield
    finally:
        for job in jobs:
            job.answer.remove_done_callback(hurry)
