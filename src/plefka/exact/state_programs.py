"""The most probable states by integer programming, where tables would be too wide.

ln P of a noisy-or unit that is on, ln(1 - exp(-x)), and of a sigmoid unit, S x - ln(1 + exp(x)), is concave in the
field x but for products of two states, which are variables of their own. A concave function is the lowest of its
tangents, so a linear program in zeros and ones bounds ln P from above. It is solved (HiGHS, branch and bound), tangents
are added where its solution lies above the truth, and so on until both agree. Where a unit is hidden its tangents are
those of s g(x / s), which are as tight, and nothing where it is off.
"""

import time
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.special import expit

from plefka.exact.best_states import BestStates
from plefka.exact.state_terms import FieldTerm, StateTerms
from plefka.networks.activations import CERTAIN_FIELD, Sigmoid

CLOSED = 1e-6  # the gap of ln P that counts as none
SEARCH_SECONDS = 10.0  # after which a program ends with the state and the bound that it has
ALL_SECONDS = 20.0  # of the clock, after which no further program is started
OUT_OF_TIME = 1  # the status of such a program
MOST_ROUNDS, MOST_RELAXED = 40, 12  # programs for one state, and those of them without whole numbers before that
FIRST_TANGENTS = 6
SCALE = 8.0  # of what is minimised, as HiGHS ends with a gap of 1e-6 of that
FEW_NUMBERS = 2e5  # of the matrix of a program that is tried
STEEPEST = 1e-5  # the field of the steepest tangent of a noisy-or unit: HiGHS needs numbers of moderate size
SLACK = 2e-8  # by which a solution may lie above a term


class Concave(NamedTuple):
    """t <= scale g(x / scale) with x = bias scale + weights . columns; scale is a column, or one."""

    g: str
    t: int
    scale: int | None
    bias: float
    columns: np.ndarray
    weights: np.ndarray

    def field(self, solution: np.ndarray) -> tuple[float, float]:
        """x and the scale."""
        scale = 1.0 if self.scale is None else float(solution[self.scale])
        return self.bias * scale + float(self.weights @ solution[self.columns]), scale

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest field."""
        low, high = (self.bias + part(self.weights, 0.0).sum() for part in (np.minimum, np.maximum))
        return low, high

    def value(self, x: float) -> tuple[float, float]:
        """g and its slope."""
        if self.g == "sigmoid":
            return -float(np.logaddexp(0.0, x)), -float(expit(x))  # -ln(1 + exp(x))
        return float(np.log(-np.expm1(-x))), float(np.exp(-x) / -np.expm1(-x))  # ln(1 - exp(-x))


class StateProgram:
    """A linear program in the states of the units, and variables that follow from these."""

    def __init__(self, terms: StateTerms):
        self.terms, self.size = terms, len(terms.units)
        off, on = terms.prior
        self.lower, self.upper = np.isneginf(off) * 1.0, np.isfinite(on) * 1.0
        usable = np.isfinite(off) & np.isfinite(on)
        self.costs = np.where(usable, on, 0.0) - np.where(usable, off, 0.0)
        self.constant = terms.constant + np.where(usable, off, np.where(np.isfinite(on), on, off)).sum()
        self.rows: list[tuple[np.ndarray, np.ndarray, float]] = []  # columns, values, and what they are at most
        self.products: dict[tuple[int, int], int] = {}
        self.concave: list[Concave] = []
        self.is_cut_short = False  # whether a program ended before it was solved
        self.deadline = np.inf
        for axes, log in terms.tables.items():
            self._add_table(axes, log)
        for term in terms.fields:
            if bool(np.all(term.activation.is_linear_off(np.array([term.bias])))):
                self._add_noisy_or(term)
            elif isinstance(term.activation, Sigmoid):
                self._add_sigmoid(term)
            else:
                self._add_table(*term.table)

    # ---- what it consists of -----------------------------------------------------------------------------------------

    def _columns(self, count: int, cost: np.ndarray | float, lower: float, upper: np.ndarray | float) -> np.ndarray:
        start = len(self.costs)
        for name, value in (("costs", cost), ("lower", lower), ("upper", upper)):
            setattr(self, name, np.append(getattr(self, name), np.broadcast_to(np.asarray(value, float), count)))
        return np.arange(start, start + count)

    def _at_most(
        self, columns: list | np.ndarray, values: list | np.ndarray, most: float, scale: int | None = None
    ) -> None:
        """`scale`: the column that the bound is multiplied by."""
        if scale is not None:
            columns, values, most = [*columns, scale], [*values, -most], 0.0
        self.rows.append((np.asarray(columns, int), np.asarray(values, float), most))

    def _product(self, one: int, other: int) -> int:
        """The column of the product of two states."""
        pair = min(one, other), max(one, other)
        if pair not in self.products:
            y = self.products[pair] = int(self._columns(1, 0.0, 0.0, 1.0)[0])
            for unit in pair:
                self._at_most([y, unit], [1, -1], 0)
            self._at_most([*pair, y], [1, 1, -1], 1)
        return self.products[pair]

    def _add_table(self, axes: tuple[int, ...], log: np.ndarray) -> None:
        if len(axes) == 2 and np.isfinite(log).all():
            (none, second), (first, both) = log
            self.constant += none
            self.costs[list(axes)] += first - none, second - none
            if (weight := both - first - second + none) != 0:
                product = self._product(*axes)
                self.costs[product] += weight
            return
        entries = self._columns(log.size, np.where(np.isfinite(log), log, 0.0).ravel(), 0.0, np.isfinite(log).ravel())
        for sign in (1, -1):  # entries add up to one, and those with a unit on to its state
            self._at_most(entries, np.full(log.size, sign), sign)
            for axis, unit in enumerate(axes):
                on = np.moveaxis(entries.reshape(log.shape), axis, 0)[1].ravel()
                self._at_most([*on, unit], [sign] * len(on) + [-sign], 0)

    def _add_sigmoid(self, term: FieldTerm) -> None:
        if term.unit >= 0:  # S x - ln(1 + exp(x))
            self.costs[term.unit] += term.bias
            for parent, weight in zip(term.parents.tolist(), term.weights, strict=True):
                column = self._product(term.unit, parent)
                self.costs[column] += weight
        elif term.state:
            self.constant += term.bias
            self.costs[term.parents] += term.weights
        self._add_concave("sigmoid", None, term.bias, term.parents, term.weights)

    def _add_noisy_or(self, term: FieldTerm) -> None:
        """ln(1 - exp(-x)) where it is on, and -x where it is hidden and off."""
        weights = np.minimum(term.weights, CERTAIN_FIELD)
        if term.unit < 0:
            self._add_concave("noisy_or", None, term.bias, term.parents, weights)
            return
        self.constant -= term.bias
        self.costs[term.unit] += term.bias
        self.costs[term.parents] -= weights
        columns = np.array([self._product(term.unit, parent) for parent in term.parents.tolist()])
        self.costs[columns] += weights
        for parent in term.parents[np.isinf(term.weights)].tolist():
            self._at_most([parent, term.unit], [1, -1], 0)
        self._add_concave("noisy_or", term.unit, term.bias, columns, weights)

    def _add_concave(self, g: str, scale: int | None, bias: float, columns: np.ndarray, weights: np.ndarray) -> None:
        t = int(self._columns(1, 1.0, -np.inf, 0.0)[0])
        term = Concave(g, t, scale, bias, columns, weights)
        self.concave.append(term)
        low, high = term.range
        if g == "sigmoid":
            points = np.linspace(max(low, -6.0), min(high, 6.0), FIRST_TANGENTS)
        else:
            low = max(low, 0.0)
            self._add_lowest(term, low)
            points = np.geomspace(max(low, np.abs(weights).min(), 1e-3), max(high, 2e-3), FIRST_TANGENTS)
        for x in points:
            self._add_tangent(term, float(x))

    def _add_tangent(self, term: Concave, x: float) -> None:
        value, slope = term.value(x)
        constant = value + slope * (term.bias - x)  # t <= constant scale + slope weights . columns
        self._add_cut(term, constant, slope * term.weights)

    def _add_cut(self, term: Concave, constant: float, weights: np.ndarray) -> None:
        self._at_most([term.t, *term.columns], [1.0, *-weights], constant, term.scale)

    def _add_gains(self, term: Concave, x: float, on: np.ndarray) -> None:
        """g at these columns; each other adds at most what it adds to that, and each of these what it adds to all."""
        if term.g == "noisy_or" and (term.weights > 0).all() and abs(term.weights @ on + term.bias - x) < SLACK:
            w, (_, high) = term.weights, term.range
            with np.errstate(divide="ignore"):
                g = np.log(-np.expm1(-np.stack([x + w, np.maximum(high - w, 0.0)])))
            value, top = term.value(x)[0], term.value(high)[0]
            gains = np.where(on, np.where(np.isfinite(g[1]), top - g[1], 0.0), g[0] - value)
            self._add_cut(term, value - gains[on].sum(), gains)

    def _add_lowest(self, term: Concave, low: float) -> None:
        """With no parent acting it is g(low); each adds at most what it adds to that, as g is concave."""
        size, acts_off = np.abs(term.weights), term.weights < 0
        if low > 0:
            start, gains = term.value(low)[0], np.array([term.value(low + w)[0] for w in size]) - term.value(low)[0]
            self._add_cut(term, start + gains[acts_off].sum(), np.where(acts_off, -gains, gains))
        else:  # it cannot be on unless some parent acts
            self._at_most(term.columns, np.where(acts_off, 1.0, -1.0), float(acts_off.sum()) - 1.0, term.scale)

    # ---- solutions ---------------------------------------------------------------------------------------------------

    def best(self, count: int) -> BestStates:
        """The most probable states, as far as they are found."""
        states, logs, bounds, open_units = [], [], [], self._without_units_alone(count)
        self.deadline = time.monotonic() + ALL_SECONDS
        while len(states) < count and self.constant > -np.inf and not self.is_cut_short:
            state, log_joint, bound = self._next()
            if state is None:
                break
            states.append(state)
            logs.append(log_joint)
            bounds.append(bound)
            signs = np.where(state[open_units] == 1, 1.0, -1.0)
            self._at_most(open_units, signs, state[open_units].sum() - 1.0)  # any other state
        return BestStates.of(states, logs, bounds, self.size)

    def _without_units_alone(self, count: int) -> np.ndarray:
        """The units that are left to be found when those are known that no row binds to others.

        Each of these has the state that is more probable, or in the next best states, for the least certain, the other.
        """
        bound = np.concatenate([np.zeros(0, int), *(columns for columns, _, _ in self.rows)])
        alone = np.setdiff1d(np.arange(self.size), bound)
        known = alone[np.argsort(abs(self.costs[alone]), kind="stable")[count - 1 :]]
        self.lower[known] = self.upper[known] = np.clip(self.costs[known] > 0, self.lower[known], self.upper[known])
        return np.setdiff1d(np.arange(self.size), known)

    def _next(self) -> tuple[np.ndarray | None, float, float]:
        """The best state that is left, ln P of it, and a bound of that."""
        best, log_joint, bound = None, -np.inf, np.inf
        for _ in range(MOST_RELAXED):
            found = self._solved(whole=False)
            if found is None or not self._tightened(found[0]):
                break
        for _ in range(MOST_ROUNDS):
            found = self._solved(whole=True)
            if found is None:
                break
            state = np.round(found[0][: self.size])
            value, bound = float(self.terms.log_joint(state[:, None])[0]), min(bound, found[1])
            if value > log_joint:
                best, log_joint = state, value
            if self.is_cut_short or bound - log_joint <= 0.9 * CLOSED or not self._tightened(found[0]):
                break
        return best, log_joint, bound

    def _tightened(self, solution: np.ndarray) -> bool:
        """Whether tangents were added where the solution lies above a term."""
        added = False
        for term in self.concave:
            x, scale = term.field(solution)
            if scale < SLACK:
                continue
            x = x / scale if term.g == "sigmoid" else max(x / scale, STEEPEST)
            if solution[term.t] > scale * term.value(x)[0] + SLACK:
                self._add_tangent(term, x)
                self._add_gains(term, x, np.round(solution[term.columns] / scale) == 1)
                added = True
        return added

    def _solved(self, *, whole: bool) -> tuple[np.ndarray, float] | None:
        """The values of all columns, and a bound of ln P; None where there is no further state."""
        columns, values, most = zip(*self.rows, strict=True) if self.rows else ((), (), ())
        constraints = ()
        if self.rows:
            rows = np.repeat(np.arange(len(columns)), [len(some) for some in columns])
            shape = len(columns), len(self.costs)
            matrix = sp.csr_array((np.concatenate(values), (rows, np.concatenate(columns))), shape=shape)
            constraints = LinearConstraint(matrix, -np.inf, np.array(most))  # pyright: ignore[reportArgumentType]
        integrality = np.zeros(len(self.costs))
        integrality[: self.size] = whole
        seconds = min(SEARCH_SECONDS, self.deadline - time.monotonic())
        if seconds <= 0:
            self.is_cut_short = True
            return None
        options = {"mip_rel_gap": 0.0, "time_limit": seconds}
        bounds = Bounds(self.lower, self.upper)
        found = milp(
            -SCALE * self.costs, integrality=integrality, bounds=bounds, constraints=constraints, options=options
        )
        self.is_cut_short |= whole and found.status == OUT_OF_TIME
        if found.x is None:
            return None
        bound = found.mip_dual_bound if whole and found.mip_dual_bound is not None else found.fun
        return found.x, self.constant - bound / SCALE
