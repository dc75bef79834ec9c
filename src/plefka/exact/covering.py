"""The sum over all causes of two-layer noisy-or rows, by the sets of findings that they switch on together.

All findings of a row are on: switched on by the leak or by a cause. A cause k with odds r_k switches on the findings T
and no other with weight r_k prod_T q_i prod_{not T} a_i, a = 1 - q. Causes that are rare add up to one table over sets,

    lambda(T) = sum_k sum_p (-1)^(p+1) r_k^p / p prod_T (1 - a_i^p) prod_{not T} a_i^p,

as ln(1 + r_k prod_{not U} a_i) is the sum of its part over all T in U; no T has a finding that is no child of k. What
rare causes switch on together is then the exponential of lambda, where a product of two tables is that over unions,
(a v b)(U) = sum over T, T' with union U of a(T) b(T'). It is built finding by finding: with M = exp(lambda) - 1 of sets
without a finding and with it, that of both is M_0 and M_1 + M_0 v M_1. A product over unions takes three products for
each finding, (a0 b0, (a0 + a1) b1 + a1 b0), in which nothing cancels: 3^m in all, however many causes there are.

For findings that are probable anyway the difference of "not asked for" and "off" is taken instead, 2 for each instead
of 3: what is subtracted is at most prod_i (2 - P(on)) / P(on) times the sum, as a finding is only more probable when
others are on (T. Harris 1960).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from plefka.exact.cost import COVER_CALL, COVER_SET, COVER_UNION, LITTLE, MOST_COVERED, NUMBERS_PER_GIB
from plefka.exact.log_factors import FactorWriter

MOST_LOST, MOST_SUBTRACTED = 1e8, 1e5  # times as much as a sum is: what may be subtracted at most, and what then is
MOST_POWERS, NEGLIGIBLE, MUCH = 8, 1e-11, 0.25  # powers of the odds of rare causes, what is left, and of the second
ENTRIES = 2**16  # of products over unions that are made at once, and sets times rows
LEAST_SUM = 1e-250  # which plain numbers can hold
Spread = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]
FIRST: Spread = ((0,), (0, 1), (1,))  # a0, a0 + a1, a1
SECOND: Spread = ((0,), (1,), (0,))
BACK: Spread = ((0,), (1,), (1,))
UNION, TO_FIRST, TO_SECOND = ((0,), (1, 2)), ((0, 1), (1, 2)), ((0, 2), (1,))  # how three products are added up


def _along(table: np.ndarray, size: int, sums: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Each axis of `size` entries, of those that the first axis of the table stands for, replaced by these sums."""
    count, rest = round(np.log(len(table)) / np.log(size)), table.shape[1:]
    for done in range(count):
        table = table.reshape(len(sums) ** done, size, -1)
        table = np.stack([sum((table[:, k] for k in some[1:]), start=table[:, some[0]]) for some in sums], axis=1)
    return table.reshape(len(sums) ** count, *rest)


def _products(a: np.ndarray, b: np.ndarray, how: tuple[Spread, Spread, tuple]) -> np.ndarray:
    """Of tables (2^k, several): three products of halves, or of all entries at once where these are few."""
    if len(a) == 1 or a.size * 1.5 ** np.log2(len(a)) <= ENTRIES:
        return _along(_along(a, 2, how[0]) * _along(b, 2, how[1]), 3, how[2])
    halves = [_along(z.reshape(2, -1), 2, spread) for z, spread in zip((a, b), how[:2], strict=True)]
    shape = (len(a) // 2, a.shape[1])
    three = [_products(x.reshape(shape), y.reshape(shape), how) for x, y in zip(*halves, strict=True)]
    return _along(np.stack(three).reshape(3, -1), 3, how[2]).reshape(a.shape)


@dataclass(frozen=True, eq=False)
class CoveringSum:
    """Rows of the same causes and the same findings that are on, with odds and leaks of their own.

    ln Z of a row is that of sum_S prod_k r_k^S_k prod_i (1 - exp(-field_i)).
    """

    log_odds: np.ndarray  # (causes, rows)
    leak: np.ndarray  # (findings, rows)
    theta: np.ndarray  # (findings, causes): -ln a
    causes: np.ndarray  # which units they are
    findings: np.ndarray

    @cached_property
    def order(self) -> tuple[np.ndarray, int]:
        """Findings in the order in which they are summed over, and how many of the first are subtracted.

        These are the most probable ones, in the row where they are least so, and no more than it takes for a quick sum.
        """
        odds, q = np.exp(self.log_odds.min(axis=1)), -np.expm1(-self.theta)
        on = -np.expm1(-self.leak.min(axis=1) + np.log1p(-odds / (1 + odds) * q).sum(axis=1))
        order, lost = np.argsort(-on, kind="stable"), np.log(2 - on) - np.log(np.maximum(on, LEAST_SUM))
        most = int((np.cumsum(lost[order]) <= np.log(MOST_LOST)).sum())
        return order, next((count for count in range(most) if self._union_seconds(count) <= LITTLE), most)

    def _union_seconds(self, count: int) -> float:
        return COVER_UNION * 2.0**count * 3.0 ** (len(self.leak) - count)

    @cached_property
    def powers(self) -> np.ndarray:
        """(causes,): how many powers of the odds of each count; 0: the cause is not rare, and summed over by itself."""
        odds, q = np.exp(self.log_odds.max(axis=1)), -np.expm1(-self.theta)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            beside_first = np.stack([
                np.where(q > 0, -np.expm1(-power * self.theta) / q, 1.0).prod(axis=0) * odds ** (power - 1) / power
                for power in range(2, MOST_POWERS + 2)
            ])  # at most  # fmt: skip
        is_rare = (beside_first[0] <= MUCH) & (beside_first[-1] <= NEGLIGIBLE)
        return np.where(is_rare, 1 + (beside_first > NEGLIGIBLE).sum(axis=0), 0)

    @cached_property
    def row_seconds(self) -> float:
        """What each takes alone; infinite where it does not fit in memory."""
        edges, size = np.count_nonzero(self.theta, axis=0), len(self.leak)
        rare, common = self.powers * 2.0**edges, (self.powers == 0) * 2.0**size
        if (2 * rare + common).sum() + size * 2.0**size > NUMBERS_PER_GIB:
            return np.inf
        sets = float((rare + common * (1 + edges)).sum())
        return COVER_CALL * (1 + size) + self._union_seconds(self.order[1]) + COVER_SET * sets

    @classmethod
    def of(cls, writer: FactorWriter) -> "CoveringSum | None":
        """Rows whose factors are prepared; None where not all hidden units are roots that make findings probable."""
        if writer.free[writer.child].any() or (writer.weight < 0).any():
            return None
        causes, cause = np.unique(writer.parent, return_inverse=True)
        findings, finding = np.unique(writer.child, return_inverse=True)
        log_odds = writer.prior[causes, 1] - writer.prior[causes, 0]
        if len(findings) > MOST_COVERED or not (np.abs(log_odds) < np.log(1 / LEAST_SUM)).all():
            return None
        theta = np.zeros((len(findings), len(causes)))
        theta[finding, cause] = writer.weight[:, 0]
        return cls(log_odds, writer.fields[findings], theta, causes, findings)

    def sums(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln Z (rows,), the means of causes, and d ln Z / d leak of findings; ln Z is -inf where plain numbers lose it.

        Where what is subtracted turns out to hide the sum, fewer findings are subtracted.
        """
        order, count = self.order
        terms, step = list(_rare(self.theta[order], self.powers)), max(1, ENTRIES >> len(order))
        found = []
        for first in range(0, self.leak.shape[1], step):
            rows, subtracted = slice(first, first + step), count
            while (part := self._sums_of(rows, order, subtracted, terms)) is None:
                subtracted //= 2
            found.append(part)
        log_z, means, slopes = (np.concatenate(parts, axis=-1) for parts in zip(*found, strict=True))
        return log_z, means, slopes[np.argsort(order)]

    def _sums_of(self, rows: slice, order: np.ndarray, count: int, terms: list) -> tuple[np.ndarray, ...] | None:
        """Of some rows, slopes in this order. Tables have a column for each state of those first and each row."""
        odds, leak, theta = np.exp(self.log_odds[:, rows]), self.leak[order][:, rows], self.theta[order]
        num, states = odds.shape[1], 2**count
        table = np.zeros((2 ** len(order), num))
        for power, some, sets in terms:
            table += sets.T @ (_signed(odds[some], power) / power)
        table = _along_first(table, count, back=False).reshape(states, -1, num)
        table = np.moveaxis(table, 1, 0).reshape(-1, states * num)  # (sets, states of those first times rows)
        levels, signs = _exponential(table), _kron(-np.exp(-leak[:count]), np.ones((count, num))).ravel()
        covered = _kron(np.ones((len(order) - count, num)), -np.expm1(-leak[count:]))  # chances that some are covered
        together, common = levels[-1] + (np.arange(len(table)) == 0)[:, None], np.flatnonzero(self.powers == 0).tolist()
        steps, weights = [np.tile(covered, states)], []
        for cause in common:
            off = _kron(np.exp(-theta[:count, [cause]]), np.ones((count, 1)))
            weights.append((off * odds[cause]).ravel())
            steps.append(steps[-1] + weights[-1] * _acted(steps[-1], theta[count:, cause], back=False))
        parts = (signs * (together * steps[-1][::-1]).sum(axis=0)).reshape(states, num)
        z = parts.sum(axis=0)
        if count and not (np.abs(parts).sum(axis=0) <= MOST_SUBTRACTED * z).all():
            return None
        z = np.where(z > LEAST_SUM, z, np.nan)
        means, slopes, share = np.zeros(odds.shape), np.zeros(leak.shape), signs / np.tile(z, states)
        back = share * together[::-1]
        for cause, weight, step in zip(common[::-1], weights[::-1], steps[-2::-1], strict=True):
            means[cause] = (back * weight * _acted(step, theta[count:, cause], back=False)).reshape(-1, num).sum(axis=0)
            back = back + weight * _acted(back, theta[count:, cause], back=True)
        for place in range(len(order)):
            if place < count:
                slopes[place] = -parts.reshape(2**place, 2, -1, num)[:, 0].sum(axis=(0, 1)) / z
            else:
                off, on = (each.reshape(2 ** (place - count), 2, -1, num) for each in (steps[0], back))
                slopes[place] = np.exp(-leak[place]) * (on[:, 1] * off[:, 0]).sum(axis=(0, 1))
        slope = _exponential_back(levels, share * steps[-1][::-1]) * np.exp(table)
        slope = np.moveaxis(slope.reshape(-1, states, num), 1, 0).reshape(-1, num)
        slope = _along_first(slope, count, back=True)
        for power, some, sets in terms:
            means[some] += _signed(odds[some], power) * (sets @ slope)
        return np.where(np.isnan(z), -np.inf, np.log(z)), means, slopes


def _signed(odds: np.ndarray, power: int) -> np.ndarray:
    return -((-odds) ** power)


def _kron(off: np.ndarray, on: np.ndarray) -> np.ndarray:
    """(2^units, rows): the products over units, each of which is off or on, (units, rows); the first varies slowest."""
    table = np.ones((1, off.shape[1]))
    for pair in np.stack([off, on], axis=1):
        table = (table[:, None] * pair).reshape(-1, off.shape[1])
    return table


def _rare(theta: np.ndarray, powers: np.ndarray) -> Iterator[tuple[int, np.ndarray, sp.csr_array]]:
    """By number of edges and power: causes, and the sets that they may switch on, (causes, sets), with weights."""
    degree = np.count_nonzero(theta, axis=0)
    bit = 2 ** np.arange(len(theta))[::-1]
    for edges in np.unique(degree[powers > 0]).tolist():
        alike = np.flatnonzero((degree == edges) & (powers > 0))
        which = np.nonzero(theta[:, alike].T)[1].reshape(len(alike), edges)
        for power in range(1, powers[alike].max() + 1):
            some = powers[alike] >= power
            weight, sets = np.ones((some.sum(), 1)), np.zeros((some.sum(), 1), int)
            for edge in which[some].T:
                one = power * theta[edge, alike[some]][:, None]
                weight = np.concatenate([weight * np.exp(-one), weight * -np.expm1(-one)], axis=1)
                sets = np.concatenate([sets, sets + bit[edge][:, None]], axis=1)
            starts = np.arange(0, weight.size + 1, 2**edges)
            shape = len(weight), 2 ** len(theta)
            yield power, alike[some], sp.csr_array((weight.ravel(), sets.ravel(), starts), shape=shape)


def _along_first(table: np.ndarray, count: int, *, back: bool) -> np.ndarray:
    """Of so many findings, the sum over sets with and without it in the place of those with it; or the way back."""
    for place in range(count):
        halves = table.reshape(2**place, 2, -1)
        halves[:, 1 - back] += halves[:, int(back)]
    return table


def _acted(table: np.ndarray, theta: np.ndarray, *, back: bool) -> np.ndarray:
    """What is still to be covered, (2^findings, several), when a cause has acted; or the way back."""
    for place in np.flatnonzero(theta).tolist():
        a, q = np.exp(-theta[place]), -np.expm1(-theta[place])
        shape = table.reshape(2**place, 2, -1)
        off, on = shape[:, 0], shape[:, 1]
        table = np.stack([off + q * on, a * on] if back else [off, a * on + q * off], axis=1).reshape(table.shape)
    return table


def _exponential(table: np.ndarray) -> list[np.ndarray]:
    """exp - 1 of (sets, several), with products over unions, finding by finding from the last; all steps of it."""
    levels, (size, several) = [np.expm1(table)], table.shape
    for _ in range(int(np.log2(size))):
        last = levels[-1].reshape(-1, 2, 2 ** (len(levels) - 1), several)  # (sets to come, _, sets, several)
        zero, one = (np.moveaxis(last[:, k], 1, 0).reshape(last.shape[2], -1) for k in (0, 1))
        both = one + _products(zero, one, (FIRST, SECOND, UNION))
        both = np.moveaxis(both.reshape(last.shape[2], -1, several), 0, 1)
        levels.append(np.stack([last[:, 0], both], axis=1).reshape(size, several))
    return levels


def _exponential_back(levels: list[np.ndarray], slope: np.ndarray) -> np.ndarray:
    """The slope by the first level, from that by the last."""
    size, several = slope.shape
    for k in range(len(levels) - 2, -1, -1):
        last, there = (z.reshape(-1, 2, 2**k, several) for z in (levels[k], slope))
        flat = [np.moveaxis(z, 1, 0).reshape(2**k, -1) for z in (last[:, 0], last[:, 1], there[:, 1])]
        zero = _products(flat[2], flat[1], (BACK, SECOND, TO_FIRST))
        one = flat[2] + _products(flat[2], flat[0], (BACK, FIRST, TO_SECOND))
        zero, one = (np.moveaxis(z.reshape(2**k, -1, several), 0, 1) for z in (zero, one))
        slope = np.stack([there[:, 0] + zero, one], axis=1).reshape(size, several)
    return slope
