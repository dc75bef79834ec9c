"""Which states to exchange so that all tables become a noisy-or.

Exchanging on and off in a unit turns its noisy-or into the negated form. Its parents are free, but for those that
decide alone: these must do so by being on. So either choice for a unit implies choices for some of its parents, which
is a problem of two-literal clauses: assume a choice, follow what it implies, and take the other where that contradicts.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from plefka.files.conditional_tables import TableNetwork, TableUnit
from plefka.files.linear_fits import NEGATED, NOISY_OR
from plefka.files.recognition import Candidates, Form
from plefka.networks.checks import NUMBERED

Choice = tuple[int, bool]  # a unit, and whether its states are exchanged


def flips_for_noisy_or(candidates: Sequence[Candidates]) -> list[bool] | None:
    """Which units to exchange, as few as follow from keeping the first; None where no choice fits all."""
    implied: dict[Choice, set[Choice]] = {}
    forbidden: set[Choice] = set()
    for unit, candidate in enumerate(candidates):
        is_numbered = set(candidate.unit.states) == {*NUMBERED}
        for flip, kind in ((False, NOISY_OR), (True, NEGATED)):
            form = None if flip and is_numbered else candidate.form(kind)
            if form is None:
                forbidden.add((unit, flip))
            else:
                _imply(implied, (unit, flip), _required(form))
        if {(unit, False), (unit, True)} <= forbidden:
            return None
    return _solve(len(candidates), implied, forbidden)


def flipped(tables: TableNetwork, flips: Sequence[bool]) -> TableNetwork:
    """The tables of the network with on and off exchanged in some units; its distribution does not change."""
    return TableNetwork(tuple(_flipped(unit, flips[k], flips) for k, unit in enumerate(tables.units)), tables.named)


def _flipped(unit: TableUnit, flip: bool, flips: Sequence[bool]) -> TableUnit:
    axes = tuple(axis for axis, parent in enumerate(unit.parents) if flips[parent])
    table = np.flip(unit.table, axes)
    off, on = unit.states
    return TableUnit(unit.name, (on, off) if flip else (off, on), unit.parents, 1 - table if flip else table)


def _required(form: Form) -> list[Choice]:
    """What a form needs of the parents that decide alone."""
    ends = zip(form.parents, form.weights, form.negated_parents, strict=True)
    return [(parent, bool(negated)) for parent, weight, negated in ends if np.isinf(weight)]


def _imply(implied: dict[Choice, set[Choice]], choice: Choice, required: Iterable[Choice]) -> None:
    unit, flip = choice
    for parent, needed in required:
        implied.setdefault(choice, set()).add((parent, needed))
        implied.setdefault((parent, not needed), set()).add((unit, not flip))


def _solve(size: int, implied: dict[Choice, set[Choice]], forbidden: set[Choice]) -> list[bool] | None:
    chosen: dict[int, bool] = {}
    certain = [(unit, not flip) for unit, flip in forbidden]
    for unit in (*(unit for unit, _ in certain), *range(size)):
        if unit not in chosen:
            found = next(
                filter(None, (_follow((unit, flip), implied, forbidden, chosen) for flip in (False, True))), None
            )
            if found is None:
                return None
            chosen |= found
    return [chosen[unit] for unit in range(size)]


def _follow(
    start: Choice, implied: dict[Choice, set[Choice]], forbidden: set[Choice], chosen: dict[int, bool]
) -> dict[int, bool] | None:
    """All that a choice implies, or None where that contradicts itself or what was chosen."""
    found: dict[int, bool] = {}
    pending = [start]
    while pending:
        unit, flip = pending.pop()
        known = chosen.get(unit, found.get(unit))
        if (known is not None and known != flip) or (unit, flip) in forbidden:
            return None
        if known is None:
            found[unit] = flip
            pending += implied.get((unit, flip), ())
    return found
