"""Independent draws from the posterior that an elimination sums over: along its plan, and then back along it.

On the way back every draw is at an entry of the table. Undoing a step is a choice between the entries that the step has
added up, in proportion to them, so that draws are exact and need no burning in. An entry is a number whose bits are the
states along the axes, the last axis lowest.
"""

from typing import Any

import numpy as np

from plefka.exact.elimination import BOTH, FORWARDS, LOGARITHMS, OF_FACTOR, PLAIN, Arithmetic, Run, Underflow
from plefka.exact.factors import Factors
from plefka.exact.steps import Act, Cluster, Match, Multiply, Observe, Plan, Sum


def drawn(factors: Factors, plan: Plan, count: int, rng: np.random.Generator) -> dict[int, np.ndarray]:
    """The states (count,) of all free units, of a single row that is possible."""
    state = rng.bit_generator.state
    try:
        return _Draws(factors, plan, PLAIN, count, rng).units()
    except Underflow:
        rng.bit_generator.state = state
        return _Draws(factors, plan, LOGARITHMS, count, rng).units()


class _Draws(Run):
    def __init__(self, factors: Factors, plan: Plan, arithmetic: Arithmetic, count: int, rng: np.random.Generator):
        super().__init__(factors, plan, arithmetic)
        self.count, self.rng = count, rng
        self.states: dict[int, np.ndarray] = {}
        self.at: dict[tuple, np.ndarray] = {}  # the entries of the messages

    def units(self) -> dict[int, np.ndarray]:
        for k, cluster in enumerate(self.plan.clusters):
            self.factors["message", k] = self.scaled(self.forwards(cluster)[0])
        for k in reversed(range(len(self.plan.clusters))):
            self._undo(self.plan.clusters[k], self.at.pop(("message", k), np.zeros(self.count, np.int64)))
        return self.states

    def _undo(self, cluster: Cluster, at: np.ndarray) -> None:
        """The way there once more, with what each step leaves to be chosen, and back along it."""
        table, choices = self.a.from_log(np.zeros(self.log_z.shape)), []
        for step in cluster.steps:
            choices.append(CHOICES[type(step)](self, step, table))
            table = FORWARDS[type(step)](self, step, table)
        for step, choice in zip(reversed(cluster.steps), reversed(choices), strict=True):
            at = UNDONE[type(step)](self, step, choice, at)

    def _chance(self, of: np.ndarray, other: np.ndarray) -> np.ndarray:
        """of / (of + other); nan where there is neither, which no draw reaches."""
        with np.errstate(invalid="ignore"):
            if self.a is LOGARITHMS:
                return np.exp(of - np.logaddexp(of, other))
            return of / (of + other)

    def _happens(self, chance: np.ndarray, count: int) -> np.ndarray:
        return self.rng.random(count) < chance

    def sum_choice(self, step: Sum, table: np.ndarray) -> np.ndarray:
        off, on = np.moveaxis(table, step.axis, 0)
        return self._chance(on, off)

    def sum_undone(self, step: Sum, chance: np.ndarray, at: np.ndarray) -> np.ndarray:
        state = self._happens(chance.ravel()[at], len(at))
        self.states[step.unit] = state
        return _with_bit(at, chance.ndim - 1 - step.axis, state)

    def act_choice(self, step: Act, table: np.ndarray) -> tuple[np.ndarray, int]:
        """The chance that a child that is on was on before."""
        go = self.strength[step.switch][1]
        return self._chance(table[step.on], self.a.times(table[step.off], go)), table.ndim - 1

    def act_undone(self, step: Act, choice: tuple[np.ndarray, int], at: np.ndarray) -> np.ndarray:
        chance, ndim = choice
        parent, child = (ndim - 1 - axis for axis in _axes_of(step))
        acted = np.flatnonzero(((at >> parent & 1) == step.switch.state) & (at >> child & 1 == 1))
        lower, higher = sorted((parent, child))
        inside = _without_bit(_without_bit(at[acted], higher), lower)
        before = at.copy()
        before[acted[~self._happens(chance.ravel()[inside], len(acted))]] ^= 1 << child
        return before

    def no_choice(self, step: Any, table: np.ndarray) -> int:
        """How many axes there are."""
        return table.ndim - 1

    def observe_undone(self, step: Observe, ndim: int, at: np.ndarray) -> np.ndarray:
        return _with_bit(at, ndim - 1 - step.axis, np.ones(len(at), bool))

    def match_undone(self, step: Match, ndim: int, at: np.ndarray) -> np.ndarray:
        """The unit, which is the first axis after it, is along both of its axes."""
        unit, at = at >> (ndim - 2) & 1 == 1, at & ((1 << (ndim - 2)) - 1)
        for place in sorted((ndim - 1 - step.waiting, ndim - 1 - step.axis)):
            at = _with_bit(at, place, unit)
        return at

    def multiply_choice(self, step: Multiply, table: np.ndarray) -> tuple[list, list, int]:
        """Products before, between and after axes that both switch on are merged; and the factor likewise."""
        ndim = step.new + table.ndim - 1
        if not step.together:
            return [], [], ndim
        factor = self.factors[step.factor]
        factors = [factor.transpose(*step.order, factor.ndim - 1).reshape(*step.shape, factor.shape[-1])]
        for axis in step.together:
            factors.append(self.mapped(factors[-1], (axis,), OF_FACTOR))
        products = [self.a.times(self.aligned_table(step, table), factors[-1])]
        for axis in step.together:
            products.append(self.mapped(products[-1], (axis,), BOTH))
        return products, factors, ndim

    def multiply_undone(self, step: Multiply, choice: tuple[list, list, int], at: np.ndarray) -> np.ndarray:
        products, factors, ndim = choice
        of_table = of_factor = [at >> (ndim - 1 - axis) & 1 for axis in range(ndim)]
        if step.together:
            of_table, of_factor = self._apart(step, products, factors, of_table)
        if step.factor[0] == "message":
            axes = [of_factor[axis] for axis, size in enumerate(step.shape) if size == 2]
            self.at[step.factor] = _entry([axes[k] for k in np.argsort(step.order)], len(at))
        return _entry(of_table[step.new :], len(at))

    def _apart(self, step: Multiply, products: list, factors: list, states: list) -> tuple[list, list]:
        """Of axes that are on: whether the table has switched it on (1), or the factor alone (2); then the factor."""
        states = list(states)
        for axis, product in zip(reversed(step.together), reversed(products[:-1]), strict=True):
            on = np.flatnonzero(states[axis])
            table, factor = (product[_at(product, states, on, axis, k)] for k in (1, 2))
            states[axis] = states[axis].copy()
            states[axis][on] += ~self._happens(self._chance(table, factor), len(on))
        of_factor = list(states)
        for axis, factor in zip(reversed(step.together), reversed(factors[:-1]), strict=True):
            either = np.flatnonzero(of_factor[axis] == 1)
            off, on = (factor[_at(factor, of_factor, either, axis, k)] for k in (0, 1))
            of_factor[axis] = (of_factor[axis] == 2) * 1
            of_factor[axis][either] = self._happens(self._chance(on, off), len(either))
        return [state % 2 for state in states], of_factor


def _axes_of(step: Act) -> tuple[int, int]:
    """Of the parent and of the child: the child is what differs between the entries where it is off and on."""
    fixed = [axis for axis, index in enumerate(step.on) if not isinstance(index, slice)]
    (child,) = [axis for axis in fixed if step.on[axis] != step.off[axis]]
    (parent,) = [axis for axis in fixed if axis != child]
    return parent, child


def _at(table: np.ndarray, states: list, draws: np.ndarray, axis: int, state: int) -> tuple:
    """Where some draws are in a table of a single row, with another state along an axis."""
    index = [state if k == axis else states[k][draws] for k in range(len(states))]
    return (*(0 if size == 1 else k for k, size in zip(index, table.shape, strict=False)), 0)


def _entry(states: list, count: int) -> np.ndarray:
    at = np.zeros(count, np.int64)
    for state in states:
        at = at << 1 | state
    return at


def _with_bit(at: np.ndarray, place: int, state: np.ndarray) -> np.ndarray:
    low = at & ((1 << place) - 1)
    return (at >> place << (place + 1)) | low | (state.astype(np.int64) << place)


def _without_bit(at: np.ndarray, place: int) -> np.ndarray:
    return (at >> (place + 1) << place) | at & ((1 << place) - 1)


CHOICES = {
    Multiply: _Draws.multiply_choice, Act: _Draws.act_choice, Sum: _Draws.sum_choice, Observe: _Draws.no_choice,
    Match: _Draws.no_choice,
}  # fmt: skip
UNDONE = {
    Multiply: _Draws.multiply_undone, Act: _Draws.act_undone, Sum: _Draws.sum_undone, Observe: _Draws.observe_undone,
    Match: _Draws.match_undone,
}  # fmt: skip
