"""The networks that are being served, and the workers that answer questions about them."""

import asyncio
import os
import secrets
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any

import plefka as pf
from plefka.errors import InvalidInput
from plefka.explorer.bodies import HeldBodies
from plefka.explorer.opened_files import checked
from plefka.explorer.outcomes import OPENS_NONE, Failure, not_open
from plefka.explorer.pool import Pool
from plefka.explorer.responses import Pages
from plefka.explorer.served_network import ServedNetwork
from plefka.explorer.settings import Settings
from plefka.explorer.worker_answers import prepared
from plefka.files import EXAMPLE
from plefka.networks.examples import read_example
from plefka.runtime.cores import bytes_of
from plefka.scale.worker_process import Assignment

FEWEST_BYTES = 2**31  # of memory for a worker
MOST_OPEN = 16  # networks that visitors have opened; the one that was asked about longest ago makes room


class Service:
    """Made before the service listens, so that a file that cannot be read is reported at once."""

    def __init__(self, settings: Settings):
        self.settings, self.pages = settings, Pages()
        self.bodies = HeldBodies(settings.limits.held_bytes)
        self.secret = secrets.token_bytes(32)  # so that keys cannot be guessed from fingerprints, which are no secret
        self.opened: dict[str, ServedNetwork] = {}  # by key, the one that was asked about last at the end
        self.first, questions, network = None, [], None
        if settings.source is not None:
            source = settings.source
            network = checked(pf.load(source), source)
            bundled = read_example(source.removeprefix(EXAMPLE)) if source.startswith(EXAMPLE) else None
            self.first = ServedNetwork(network, PurePath(source.removeprefix(EXAMPLE)).name.partition(".")[0], bundled)
            questions = self.first.typical_questions if settings.warm else []
        memory = settings.limits.memory_bytes or _share_of_memory(settings.workers)
        full, quick = (Assignment(prepared, (network, asked), memory) for asked in (questions, questions[:1]))
        self.pool = Pool(full, settings.workers, settings.limits.waiting, quick)
        self.learning: set[asyncio.Task[None]] = set()
        self.folder = tempfile.TemporaryDirectory(prefix="plefka-")

    async def start(self) -> None:
        self.pool.start()
        if self.first is not None:
            self._learn_priors(self.first)

    def _learn_priors(self, served: ServedNetwork) -> None:
        async def learn() -> None:
            found = await self.ask("priors", {}, served)
            served.priors = [] if isinstance(found, Failure) else found

        task = asyncio.create_task(learn())
        self.learning.add(task)
        task.add_done_callback(self.learning.discard)

    async def stop(self) -> None:
        learning = [task for task in self.learning if task.cancel()]  # those that have not ended
        await asyncio.gather(*learning, return_exceptions=True)
        await self.pool.close(0.0)
        self.folder.cleanup()

    async def ask(self, kind: str, asked: Mapping[str, Any], about: ServedNetwork | None = None) -> Any:
        """The answer of a worker, or a failure. What it writes goes, also where it is ended."""
        where = {"network": about.file} if about is not None and about.file else {}
        with tempfile.TemporaryDirectory(dir=self.folder.name, ignore_cleanup_errors=True) as own:
            return await self.pool.ask(kind, {**asked, **where, "own": own}, self.settings.limits.seconds)

    def served(self, key: str | None) -> ServedNetwork | Failure:
        """The network of that key; without one, that which the service was started with."""
        if not key:
            return not_open("") if self.first is None else self.first
        if key not in self.opened:
            return not_open(key)
        return self.opened.setdefault(key, self.opened.pop(key))

    async def open(self, asked: Mapping[str, Any]) -> dict[str, Any] | Failure:
        """Read the files of a network in a worker; if it is to be kept, questions can be asked of it from now on."""
        if not self.settings.opens:
            return OPENS_NONE
        found = await self.ask("open", {**asked, "folder": self.folder.name, "secret": self.secret})
        if isinstance(found, Failure) or not asked["keep"]:
            return found
        key, name = found["network"], found["name"]
        if key not in self.opened:
            file = os.path.join(self.folder.name, f"{key}.npz")
            try:
                served = await asyncio.to_thread(lambda: ServedNetwork(pf.load(file), name, file=file))
            except InvalidInput:  # it had to make room in the meantime
                return not_open(key)
            if self.opened.setdefault(key, served) is served:
                self._learn_priors(served)
        self.served(key)  # now the one that was asked about last
        while len(self.opened) > MOST_OPEN:
            oldest = self.opened.pop(next(iter(self.opened)))
            with suppress(OSError):
                os.unlink(oldest.file)
        return found

    def facts(self, served: ServedNetwork) -> dict[str, Any]:
        """What a network is about, and how much may be asked of it."""
        limits = {name: getattr(self.settings.limits, name) for name in ("rows", "seconds", "body_bytes")}
        return {**served.facts, "limits": limits, "opens": self.settings.opens}


def _share_of_memory(workers: int) -> int | None:
    """So that all workers together leave some to the computer; None where the system does not tell."""
    total = bytes_of("SC_PHYS_PAGES")
    return None if total is None else max(FEWEST_BYTES, total // (workers + 1))
