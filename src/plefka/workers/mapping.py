"""One loop over pieces of work, whoever does them: `work(shared, *piece)` for each, in any order, few at a time.

What is shared, such as a network, travels once to each worker. Results come as they are ready. Those that are ready
when something fails are handed out first, so that nothing that was computed is lost.
"""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any, NamedTuple, TypeVar

from plefka.errors import WorkersLost
from plefka.workers.teams import Team

Key = TypeVar("Key")
MOST_LOSSES = 3  # workers that may be lost in a row, without a piece that was done in between


class Ready(NamedTuple):
    """In the place of a piece: a result that is there without any work."""

    result: Any


class _Waiting(NamedTuple):
    key: Any
    piece: tuple


def mapped(
    team: Team, work: Callable[..., Any], shared: Any, pieces: Iterable[tuple[Key, tuple | Ready]]
) -> Generator[tuple[Key, Any], None, None]:
    """(key, work(shared, *piece)) of every (key, piece), as they are ready."""
    waiting: dict[Future, _Waiting] = {}
    with team.at_work(work, shared):
        for key, piece in pieces:
            if isinstance(piece, Ready):
                yield key, piece.result
                continue
            waiting[team.submit(piece)] = _Waiting(key, piece)
            if len(waiting) >= team.in_flight:
                yield from _ready(team, waiting)
        while waiting:
            yield from _ready(team, waiting)


def _ready(team: Team, waiting: dict[Future, _Waiting]) -> Generator[tuple[Any, Any], None, None]:
    """The results of at least one piece; where a worker was lost, its pieces begin again with another."""
    losses = 0
    while True:
        ended = wait(waiting, return_when=FIRST_COMPLETED).done
        good = [future for future in ended if not future.cancelled() and future.exception() is None]
        for future in good:
            yield waiting.pop(future).key, future.result()
        lost = [future for future in ended if future not in good and _is_lost(team, future)]
        failed = next((future for future in ended if future not in good and future not in lost), None)
        if failed is not None:
            failed.result()  # raises what went wrong
        if not lost:
            return
        losses = 0 if good else losses + 1
        again = [waiting.pop(future) for future in lost]
        if losses > MOST_LOSSES:
            raise WorkersLost(team.why_lost(MOST_LOSSES))
        team.recover()
        waiting.update({team.submit(each.piece): each for each in again})
        if good:
            return


def _is_lost(team: Team, future: Future) -> bool:
    """Whether the worker went away, and not the work went wrong."""
    return future.cancelled() or isinstance(future.exception(), (CancelledError, *team.lost))
