"""States of each row's own with their weights: all of them where they are few, else the best that a search finds.

The sum over some states is a lower bound of P(row), so that steps over these raise a lower bound of ln P (truncated
variational distributions, Luecke & Eggert 2010).
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from plefka.learning.shared_states import Families, SharedStates, Tally, coins_acting, logs, shares
from plefka.tables.dataset import MISSING

CASES_AT_ONCE = 2**16  # cases times units: what stays in a processor's cache
FLIPS, SWAPPED = 8, 0.5  # states that a step tries for each row, and the share of these that swap two units
CROSSED = 24  # further ones, each a state with the difference of two others
TEMPERATURES = (4.0, 2.0, 1.0, 1.0, 1.0, 1.0, 0.0)  # of the sweeps of Gibbs sampling that a search begins with
CUT = 10.0  # states that are less probable than the row's best one by a factor of e^10 are left out
WARM = 3  # searches before the first step


class RowCases(NamedTuple):
    """Rows in some states of their hidden units: ln P, and what a tally needs of each case."""

    log_joint: np.ndarray
    on: np.ndarray  # (cases, units), 0 or 1
    p_on: np.ndarray
    acting: np.ndarray  # (cases, coins)

    @classmethod
    def of(
        cls, rows: "RowStates", fields: np.ndarray, numbers: np.ndarray, states: np.ndarray, row: np.ndarray
    ) -> "RowCases":
        """Of states (cases, parents) of rows; what leaves say of being off is the same sum for all states of a row."""
        values, free, U = rows.values[numbers], rows.free[numbers], rows.parents
        off, on = (values == 0) * 1.0, ((values == 1) * 1.0)[row]
        off_parents, off[:, U] = free | (off[:, U] > 0), 0.0
        on[:, U] = of_parents = np.where(free[row], states, on[:, U])
        acting = coins_acting(of_parents)
        A = acting @ fields.T
        p_on = -np.expm1(-A)
        by_leaves = np.einsum("cp,cp->c", (off @ fields)[row], acting)
        by_parents = (A[:, U] * off_parents[row] * (1 - of_parents)).sum(axis=1)
        return cls(np.einsum("cu,cu->c", on, logs(p_on)) - by_leaves - by_parents, on, p_on, acting)

    def taken(self, places: np.ndarray) -> "RowCases":
        """Some of these cases."""
        return RowCases(*(z[places] for z in self))


class RowStates:
    """States of each row's own: all of them where they are `most` or fewer, else the best ones that were found."""

    def __init__(self, families: Families, values: np.ndarray, most: int):
        self.values, self.parents = values, families.parents
        self.free, known = families.hidden(values), values != MISSING
        known[:, self.parents] |= self.free
        self.known = known * 1.0
        free, width = self.free.sum(axis=1), self.free.shape[1]
        self.whole = 2.0**free <= most
        self.exact = bool(self.whole.all())
        places = int(2 ** free[self.whole].max(initial=0)) if self.exact else most
        self.found = np.zeros((len(values), places, -(-width // 8)), np.uint8)  # bits, the best state first
        self.count = np.where(self.whole, 2 ** np.minimum(free, 30), 1)
        number = np.maximum(np.cumsum(self.free, axis=1) - 1, 0)
        for place in range(places):
            states = (place >> np.minimum(number, 30)) & self.free
            self.found[:, place] = np.where((place < self.count)[:, None], np.packbits(states > 0, axis=1), 0)
        self.keys = np.random.default_rng(0).integers(1, 2**63, width, np.uint64)

    @property
    def cases(self) -> int:
        """Of all rows, about."""
        return int(np.where(self.whole, self.count, 2 * FLIPS).sum())

    @property
    def memory(self) -> tuple:
        return self.found, self.count

    @memory.setter
    def memory(self, memory: tuple) -> None:
        self.found, self.count = memory

    def step(self, fields: np.ndarray, numbers: np.ndarray, counts: np.ndarray, rng: Any = None) -> Tally:
        """The expectations of some rows; with `rng` it searches for better states before."""
        share, acted, values = np.zeros_like(fields), np.zeros_like(fields), np.empty(len(numbers))
        for some in self._chunks(numbers, (FLIPS + CROSSED) * (rng is not None)):
            states, row = self._states(numbers[some], rng)
            cases = RowCases.of(self, fields, numbers[some], states, row)
            if rng is not None:
                kept = self._keep(numbers[some], states, row, cases.log_joint)
                row, cases = row[kept], cases.taken(kept)
            first = np.flatnonzero(np.diff(row, prepend=-1))
            top = np.maximum.reduceat(cases.log_joint, first)
            weights = np.exp(cases.log_joint - top[row])
            total = np.add.reduceat(weights, first)
            weights *= (counts[some] / total)[row]
            share += shares(cases.on * weights[:, None], cases.p_on, cases.acting)
            acted += self.known[numbers[some]].T @ np.add.reduceat(cases.acting * weights[:, None], first)
            values[some] = top + np.log(total)
        return Tally(share, acted, values)

    def anneal(self, fields: np.ndarray, numbers: np.ndarray, rng: np.random.Generator) -> None:
        """Begin with what Gibbs sampling, as it cools, tries in its last sweep: a good state and its neighbours."""
        for some in self._chunks(numbers, 0):
            rows = numbers[some]
            states, row = self._states(rows, None)
            first = np.flatnonzero(np.diff(row, prepend=-1))
            states, row = states[first].copy(), np.arange(len(rows))
            value = RowCases.of(self, fields, rows, states, row).log_joint
            seen, values = [], []
            for temperature in TEMPERATURES:
                seen, values = [states], [value]
                for unit in rng.permutation(states.shape[1]):
                    flipped = states.copy()
                    flipped[:, unit] ^= self.free[rows, unit]
                    new = RowCases.of(self, fields, rows, flipped, row).log_joint
                    seen, values = [*seen, flipped], [*values, np.where(self.free[rows, unit], new, -np.inf)]
                    taken = new - value > temperature * rng.logistic(size=len(rows))
                    states, value = np.where(taken[:, None], flipped, states), np.where(taken, new, value)
            few = ~self.whole[rows]
            self._begin(rows[few], np.stack(seen, axis=1)[few], np.stack(values, axis=1)[few])

    def _begin(self, rows: np.ndarray, seen: np.ndarray, values: np.ndarray) -> None:
        """With the best of these states (rows, 1 + parents, parents), all different; of those without a value none."""
        best = np.argsort(-values, axis=1)[:, : self.found.shape[1], None]
        self.found[rows, : best.shape[1]] = np.take_along_axis(np.packbits(seen, axis=2), best, axis=1)
        self.count[rows] = np.minimum(best.shape[1], np.isfinite(values).sum(axis=1))

    def _chunks(self, numbers: np.ndarray, more: int) -> Iterator[slice]:
        """Of rows with so many cases together."""
        cases = np.cumsum(self.count[numbers] + more) * self.values.shape[1]
        ends = np.searchsorted(cases, np.arange(CASES_AT_ONCE, cases[-1] + CASES_AT_ONCE, CASES_AT_ONCE), "right")
        ends = np.unique(np.append(ends, len(numbers)))
        return (slice(*z) for z in zip(np.append(0, ends[ends > 0][:-1]), ends[ends > 0], strict=True))

    def _states(self, rows: np.ndarray, rng: Any) -> tuple[np.ndarray, np.ndarray]:
        """States of parents (cases, parents), bool, and the place of each one's row; each state of a row once."""
        width = len(self.parents)
        there = np.arange(self.found.shape[1]) < self.count[rows, None]
        states = np.unpackbits(self.found[rows][:, : self.count[rows].max()], axis=2, count=width).view(bool)
        there = there[:, : states.shape[1]]
        if rng is not None:
            tried = np.concatenate([self._tried(rows, states, rng), self._crossed(rows, states, rng)], axis=1)
            states, there = (
                np.concatenate([states, tried], axis=1),
                np.concatenate([there, np.broadcast_to(~self.whole[rows, None], tried.shape[:2])], axis=1),
            )
            keys = np.where(there, states @ self.keys, np.arange(there.shape[1], dtype=np.uint64))
            order = np.argsort(keys, axis=1, kind="stable")
            twice = np.diff(np.take_along_axis(keys, order, axis=1), axis=1, prepend=np.uint64(2**64 - 1)) == 0
            np.put_along_axis(there, order, np.take_along_axis(there, order, axis=1) & ~twice, axis=1)
        return states[there], np.nonzero(there)[0]

    def _tried(self, rows: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Neighbours of one of each row's states, the more often of a better one: one unit flips, or two swap."""
        free, size = self.free[rows], len(rows)
        place = (rng.random(size) ** 3 * self.count[rows]).astype(int)
        begin = states[np.arange(size), place]
        flips = min(FLIPS, free.shape[1])
        flipped = np.argsort(rng.random(free.shape) + ~free, axis=1)[:, :flips]  # units that are not free come last
        tried = np.repeat(begin[:, None], flips, axis=1)
        row, number = np.arange(size)[:, None], np.arange(flips)
        may = free[row, flipped]
        turned_on = may & ~begin[row, flipped]
        tried[row, number, flipped] ^= may
        other = np.argmax(rng.random((size, flips, free.shape[1])) * (begin & free)[:, None], axis=2)
        swap = turned_on & (begin & free)[row, other] & (rng.random((size, flips)) < SWAPPED)
        tried[row, number, other] ^= swap
        return tried

    def _crossed(self, rows: np.ndarray, states: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One state with the difference of two others: what has changed alone or with others may change together."""
        chances = rng.random((3, len(rows), CROSSED)) ** np.array([3, 1, 1])[:, None, None]
        one, other, third = states[np.arange(len(rows))[:, None], (chances * self.count[rows][:, None]).astype(int)]
        return one ^ other ^ third

    def _keep(self, rows: np.ndarray, states: np.ndarray, row: np.ndarray, joint: np.ndarray) -> np.ndarray:
        """The best cases of every row, in order; they are what the next step begins with."""
        order = np.lexsort((-joint, row))
        first = np.flatnonzero(np.diff(row[order], prepend=-1))
        rank = np.arange(len(order)) - first[row[order]]
        best = joint[order][first][row[order]]
        kept = (rank < self.found.shape[1]) & (self.whole[rows][row[order]] | (joint[order] >= best - CUT))
        order, rank = order[kept], rank[kept]
        self.found[rows[row[order]], rank] = np.packbits(states[order], axis=1)
        self.count[rows] = np.bincount(row[order], minlength=len(rows))
        return order


def states_of(families: Families, values: np.ndarray, most: int) -> Any:
    """What takes the expectation steps of these rows."""
    return (
        SharedStates(families, values) if SharedStates.applies(families, values) else RowStates(families, values, most)
    )


def warm(states: Any, fields: np.ndarray, rows: np.ndarray, counts: np.ndarray, rng: np.random.Generator) -> None:
    """Search for good states of some rows before the first step."""
    if states.exact:
        return
    states.anneal(fields, rows, rng)
    for _ in range(WARM):
        states.step(fields, rows, counts, rng)
