"""`pf.sweep`: many random networks by several methods, block by block, here, in local processes or on a cluster."""

import functools
import hashlib
import inspect
import json
import time
from collections.abc import Callable, Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.infer import DEFAULT_METHOD, infer
from plefka.inference.library import parse_method
from plefka.inference.solution import Solution
from plefka.inference.solution_tables import LOG_LIKELIHOOD, STATUS
from plefka.inference.solution_words import status_word
from plefka.methods.method import Method
from plefka.networks.belief import BeliefNetwork
from plefka.runtime import extras
from plefka.runtime.seeds import as_seed
from plefka.runtime.version import __version__
from plefka.scale.answer_parts import AnswerParts, BlockAnswer, encoded
from plefka.scale.cluster import team_of
from plefka.scale.rows_done import BlockDone, RowsDone
from plefka.scale.teams import ReadyResult, mapped

NETWORKS_PER_PIECE = 1000  # networks


class Swept(NamedTuple):
    """What all blocks of a sweep share."""

    draw: Callable[..., Any]
    methods: tuple[Method, ...]
    evidence: Any
    num_networks: int
    block: int
    seed: int
    settings: str

    def digest(self, number: int) -> str:
        """Of what a block is asked."""
        return hashlib.sha256(f"{self.settings} {number}".encode()).hexdigest()


def sweep(
    draw: Callable[..., Any],
    count: int,
    out: str | PathLike[str],
    methods: str | Method | Sequence[str | Method] = DEFAULT_METHOD,
    *,
    seed: int,
    evidence: Any = None,
    client: Any = None,
    workers: int | None = None,
    block: int = NETWORKS_PER_PIECE,
    force: bool = False,
) -> RowsDone:
    """Posteriors of many random networks by one or more methods, written to a file or a folder, block by block.

    There is a row for each network and method, with the columns `network`, `method`, `status`, `log_likelihood`,
    `num_steps` and `residual`. Every block of networks is drawn from a seed of its own. The rows are therefore the same
    to the last bit whoever computes them and in whatever order. A run that was interrupted goes on where it stopped.

    **Arguments:**

    - `draw`: called as `draw(count=..., seed=...)`, gives a stack of so many networks, or a pair (stack, evidence).
        `functools.partial(pf.ensembles.layered, (2, 4, 6), -1, 1)` is one.
    - `count`: how many networks.
    - `out`: a .parquet or .csv file, or a folder, which becomes a Parquet dataset with a file for each block.
    - `methods`: a method, or several.
    - `evidence`: of all networks, where `draw` gives none.
    - `client`, `workers`, `force`: as for `infer_rows`.
    - `block`: how many networks are drawn and solved at once; another number draws other networks.

    **Example:**

    >>> import functools, tempfile
    >>> import plefka as pf
    >>> draw = functools.partial(pf.ensembles.layered, (2, 3), -1, 1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     done = pf.sweep(draw, 10, f"{folder}/rows.parquet", ["exact", "G12"], seed=0, evidence={2: 1, 3: 0, 4: 1})
    >>> done.rows, done.converged
    (20, 20)
    """
    start, out = time.perf_counter(), Path(out)
    for name, number in (("count", count), ("block", block)):
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise InvalidInput(f"{name} must be a whole number of networks from 1 on; got {number!r}.")
    given = [methods] if isinstance(methods, str | Method) else list(methods)
    chosen, seed = tuple(map(parse_method, given)), as_seed(seed)
    settings = {
        "version": __version__, "draw": _spelled(draw), "methods": [str(method) for method in chosen],
        "evidence": repr(evidence), "count": count, "block": block, "seed": seed,
    }  # fmt: skip
    swept = Swept(draw, chosen, evidence, count, block, seed, json.dumps(settings, sort_keys=True))
    with AnswerParts.begin(out, settings, force=force) as parts, team_of(client, workers) as team:
        answers = mapped(team, solved, swept, _pieces(swept, parts))
        done = parts.collect(answers, "networks", -(-count // block), ", ".join(settings["methods"]))
    done.seconds = time.perf_counter() - start
    return done


def _pieces(swept: Swept, parts: AnswerParts) -> Iterator[tuple[int, tuple | ReadyResult]]:
    for number in range(-(-swept.num_networks // swept.block)):
        kept = parts.done(number) if parts.digest(number) == swept.digest(number) else None
        yield number, (number,) if kept is None else ReadyResult(BlockAnswer(None, kept))


def solved(swept: Swept, number: int) -> BlockAnswer:
    """In a worker: the rows of one block."""
    first = number * swept.block
    count = min(swept.block, swept.num_networks - first)
    state = np.random.SeedSequence([swept.seed, number]).generate_state(1, np.uint64)[0]
    drawn = swept.draw(count=count, seed=int(state >> 1))
    networks, evidence = drawn if isinstance(drawn, tuple) else (drawn, swept.evidence)
    if not isinstance(networks, BeliefNetwork) or networks.stack != count:
        got = f"a stack of {networks.stack}" if isinstance(networks, BeliefNetwork) else type(networks).__name__
        raise InvalidInput(f"draw(count={count}, seed=...) must give a stack of {count} networks; got {got}.")
    tables = [_table(infer(networks, evidence, method, throw=False), method, first) for method in swept.methods]
    table = extras.pyarrow().concat_tables(tables)
    return BlockAnswer(encoded(table, swept.digest(number)), BlockDone.of(table))


def _table(solution: Solution, method: Method, first: int) -> Any:
    count = len(solution.log_likelihood)
    return extras.pyarrow().table(
        {
            "network": np.arange(first, first + count),
            "method": [str(method)] * count,
            STATUS: [status_word(status) for status in solution.status],
            LOG_LIKELIHOOD: solution.log_likelihood,
            "num_steps": np.asarray(solution.num_steps, np.int64),
            "residual": np.asarray(solution.residual, float),
        }
    )


def _spelled(draw: Any) -> str:
    """What tells one way to draw from another: the name of a function, its arguments, and its text."""
    if isinstance(draw, functools.partial):
        return f"{_spelled(draw.func)}{draw.args!r}{sorted(draw.keywords.items())!r}"
    name = f"{getattr(draw, '__module__', '')}.{getattr(draw, '__qualname__', repr(draw))}"
    try:
        return f"{name} {hashlib.sha256(inspect.getsource(draw).encode()).hexdigest()[:12]}"
    except (OSError, TypeError):
        return name
