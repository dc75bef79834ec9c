"""One network that is being served: what is known of it, and the workers that answer questions about it."""

import asyncio
import gzip
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePath
from typing import Any

import numpy as np

import plefka as pf
from plefka.errors import InvalidFile, MethodDoesNotApply
from plefka.explorer.bodies import HeldBodies
from plefka.explorer.catalogue import Catalogue
from plefka.explorer.outcomes import Failure, encoded
from plefka.explorer.pool import Pool
from plefka.explorer.responses import Pages
from plefka.explorer.settings import Settings
from plefka.explorer.worker_answers import prepared
from plefka.files import EXAMPLE
from plefka.networks.examples import Example, read_example
from plefka.scale.worker_process import Assignment

COMPARED = ("exact", "findings", "bethe", "G2", "G12")  # unless others are asked for
FEWEST_BYTES = 2**31  # of memory for a worker
MOST_CASES, FINDINGS = 6, 4


class Service:
    """Made before the service listens, so that a file that cannot be read is reported at once."""

    def __init__(self, settings: Settings):
        network = pf.load(settings.source)
        if not isinstance(network, pf.BeliefNetwork):
            raise InvalidFile(
                f"{settings.source}: serve takes a belief network, of causes and findings; got a Boltzmann machine, "
                "which has neither. Use plefka infer, or pf.infer, for it."
            )
        if network.stack is not None:
            raise InvalidFile(
                f"{settings.source}: serve takes one network; got a stack of {network.stack}. Save one of them by "
                "itself."
            )
        self.settings, self.pages = settings, Pages()
        self.bodies = HeldBodies(settings.limits.held_bytes)
        name = settings.source.removeprefix(EXAMPLE)
        self.example = read_example(name) if settings.source.startswith(EXAMPLE) else None
        self.catalogue, self.identity = Catalogue.of(network), network.identity
        self.methods = _methods(network)
        self.cases = _cases(self.catalogue, self.example)
        self.names = encoded(self.catalogue.all_names())
        self.packed_names = gzip.compress(self.names, 6, mtime=0)
        self.priors: list[float] = []
        memory = settings.limits.memory_bytes or _share_of_memory(settings.workers)
        warm = _warm(self.catalogue, self.cases) if settings.warm else []
        full, quick = (Assignment(prepared, (network, asked), memory) for asked in (warm, warm[:1]))  # a ranking only
        self.pool = Pool(full, settings.workers, settings.limits.waiting, quick)

    async def start(self) -> None:
        self.pool.start()
        self.learning = asyncio.create_task(self._learn_priors())

    async def _learn_priors(self) -> None:
        found = await self.pool.ask("priors", {}, self.settings.limits.seconds)
        self.priors = [] if isinstance(found, Failure) else found

    async def stop(self) -> None:
        self.learning.cancel()
        with suppress(asyncio.CancelledError):
            await self.learning
        await self.pool.close(0.0)

    async def ask(self, kind: str, asked: Mapping[str, Any]) -> Any:
        return await self.pool.ask(kind, asked, self.settings.limits.seconds)

    def network(self) -> dict[str, Any]:
        """What the service is about."""
        name, limits = _name(self.settings.source), self.settings.limits
        return {
            "name": name,
            "title": name.replace("_", " "),
            "about": None if self.example is None else self.example.about,
            **self.identity,
            **self.catalogue.facts,
            "methods": self.methods,
            "default_method": "auto",
            "limits": {"rows": limits.rows, "seconds": limits.seconds, "body_bytes": limits.body_bytes},
        }

    @property
    def compared(self) -> list[str]:
        """The methods that are compared unless others are asked for."""
        return [name for name in COMPARED if name in self.methods]


def _name(source: str) -> str:
    """Of the file, without its folder, or of the example."""
    return source.removeprefix(EXAMPLE) if source.startswith(EXAMPLE) else PurePath(source).name.partition(".")[0]


def _methods(network: pf.BeliefNetwork) -> list[str]:
    """Those that can serve this network; the one that is random, with a seed."""
    found = []
    for spelling in ("gibbs[seed=0]" if name == "gibbs" else name for name in pf.METHODS):
        with suppress(MethodDoesNotApply):
            pf.parse_method(spelling).check(network)
            found.append(spelling)
    return found


def _warm(catalogue: Catalogue, known: list[dict[str, Any]]) -> list[tuple[str, Mapping[str, Any]]]:
    evidence = known[0]["evidence"] if known else {}
    common = {"evidence": evidence, "method": "auto", "top": 10}
    infer = {**common, "check": False, "units": "causes"}
    unseen = next((name for name in catalogue.names if name not in evidence), None)
    explain: list[tuple[str, Mapping[str, Any]]] = [("explain", {**common, "unit": unseen})] if unseen else []
    return [
        ("infer", infer), *explain, ("ask", {**common, "candidates": None, "targets": None}),
        ("infer", {**infer, "check": True}),
    ]  # fmt: skip


def _share_of_memory(workers: int) -> int | None:
    """So that all workers together leave some to the computer; None where the system does not tell."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    return max(FEWEST_BYTES, total // (workers + 1))


def _cases(catalogue: Catalogue, example: Example | None) -> list[dict[str, Any]]:
    """Cases to start from: that of a bundled example, and the commonest findings of causes, of many findings first."""
    own = [] if example is None else [{"title": "The case of this example", "evidence": example.evidence}]
    causes, names = np.flatnonzero((catalogue.num_parents == 0) & (catalogue.num_children > 0)), catalogue.names
    order = np.argsort(-catalogue.num_children[causes], kind="stable")
    chosen = ((cause, catalogue.strongest_children(cause, FINDINGS)) for cause in causes[order[: 4 * MOST_CASES]])
    others = [
        {"title": f"The commonest findings of {names[cause]}", "evidence": {names[finding]: 1 for finding in findings}}
        for cause, findings in chosen
        if findings
    ]
    return own + others[:MOST_CASES]
