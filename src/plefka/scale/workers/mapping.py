"""One loop over pieces of work, whoever does them: `work(shared, *piece)` for each, in any order, few at a time.

What is shared, such as a network, travels once to each worker. Results come as they are ready. Those that are ready
when something fails are handed out first, so that nothing that was computed is lost.
"""

from collections.abc import Callable, Generator, Iterable
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, wait
from typing import Any, NamedTuple, TypeVar

from plefka.errors import WorkersLost
from plefka.scale.workers.teams import Team

Key = TypeVar("Key")
MOST_LOSSES = 3  # times that a piece may be lost with its worker, and begin again


class ReadyResult(NamedTuple):
    """In the place of a piece: a result that is there without any work."""

    result: Any


class _Waiting(NamedTuple):
    key: Any
    piece: tuple
    losses: int = 0


def mapped(
    team: Team, work: Callable[..., Any], shared: Any, pieces: Iterable[tuple[Key, tuple | ReadyResult]]
) -> Generator[tuple[Key, Any], None, None]:
    """(key, work(shared, *piece)) of every (key, piece), as they are ready."""
    waiting: dict[Future, _Waiting] = {}
    with team.at_work(work, shared):
        for key, piece in pieces:
            if isinstance(piece, ReadyResult):
                yield key, piece.result
                continue
            waiting[_begun(team, piece)] = _Waiting(key, piece)
            if len(waiting) >= team.in_flight:
                yield from _ready(team, waiting)
        while waiting:
            yield from _ready(team, waiting)


def _begun(team: Team, piece: tuple) -> Future:
    try:
        return team.submit(piece)
    except team.lost as error:
        future: Future = Future()
        future.set_exception(error)
        return future


def _ready(team: Team, waiting: dict[Future, _Waiting]) -> Generator[tuple[Any, Any], None, None]:
    """The results that are ready, once there is one; pieces whose worker was lost begin again."""
    ended = wait(waiting, return_when=FIRST_COMPLETED).done
    good = [future for future in ended if not future.cancelled() and future.exception() is None]
    for future in good:
        yield waiting.pop(future).key, future.result()
    for future in ended - {*good}:
        if not _is_lost(team, future):
            future.result()  # raises what went wrong
    if len(good) < len(ended):
        team.recover()
        _begin_again(team, waiting)


def _begin_again(team: Team, waiting: dict[Future, _Waiting]) -> None:
    """All pieces that were lost by now, also those that were lost together with others."""
    for future in [future for future in waiting if future.done() and _is_lost(team, future)]:
        lost = waiting.pop(future)
        if lost.losses == MOST_LOSSES:
            raise WorkersLost(team.why_lost())
        waiting[_begun(team, lost.piece)] = lost._replace(losses=lost.losses + 1)


def _is_lost(team: Team, future: Future) -> bool:
    """Whether the worker went away, and not the work went wrong."""
    return future.cancelled() or isinstance(future.exception(), (CancelledError, *team.lost))
