"""Independent draws from the posterior that an elimination sums over: along its plan, and then back along it.

On the way back every draw is at an entry of the table. Undoing a step is a choice between the entries that the step has
added up, in proportion to them, so that draws are exact and need no burning in.
"""

from typing import Any

import numpy as np

from plefka.exact.elimination import EliminationRun
from plefka.exact.elimination_steps import (
    BOTH,
    LOGARITHMS,
    OF_FACTOR,
    PLAIN_NUMBERS,
    Act,
    Arithmetic,
    Match,
    Multiply,
    Observe,
    Shape,
    Sum,
)  # fmt: skip
from plefka.exact.log_factors import LogFactors
from plefka.exact.plans import Cluster, Plan


def drawn(factors: LogFactors, plan: Plan, count: int, rng: np.random.Generator) -> dict[int, np.ndarray]:
    """The states (count,) of all free units, of a single row that is possible."""
    draws = EliminationDraws(factors, plan, PLAIN_NUMBERS, count, rng)
    draws.total()
    if len(draws.doubtful):
        draws = EliminationDraws(factors, plan, LOGARITHMS, count, rng)
        draws.total()
    return draws.of_units()


class EliminationDraws(EliminationRun):
    goes_back = False

    def __init__(self, factors: LogFactors, plan: Plan, arithmetic: Arithmetic, draws: int, rng: np.random.Generator):
        super().__init__(factors, plan, arithmetic)
        self.draws, self.rng = draws, rng
        self.states: dict[int, np.ndarray] = {}
        self.at: dict[tuple, np.ndarray] = {}  # the entries of the messages

    def of_units(self) -> dict[int, np.ndarray]:
        """The way back."""
        for k in reversed(range(len(self.plan.clusters))):
            self._undo(self.plan.clusters[k], self.at.pop(("message", k), np.zeros(self.draws, np.int64)))
        return self.states

    def _undo(self, cluster: Cluster, at: np.ndarray) -> None:
        """The way there once more, with what each step leaves to be chosen, and back along it."""
        table, choices = self.one, []
        for step in cluster.steps:
            choices.append(CHOICES[type(step)](self, step, table))
            table = step.forwards(self, table)
        for step, choice in zip(reversed(cluster.steps), reversed(choices), strict=True):
            at = UNDONE[type(step)](self, step, choice, at)

    def _chance(self, of: np.ndarray, other: np.ndarray) -> np.ndarray:
        """of / (of + other); nan where there is neither, which no draw reaches."""
        with np.errstate(invalid="ignore"):
            if self.a is LOGARITHMS:
                return np.exp(of - np.logaddexp(of, other))
            return of / (of + other)

    def _happens(self, chance: np.ndarray) -> np.ndarray:
        return self.rng.random(len(chance)) < chance

    def sum_choice(self, step: Sum, table: np.ndarray) -> np.ndarray:
        seen = table.reshape(step.shape)
        return self._chance(seen[:, 1], seen[:, 0])

    def sum_undone(self, step: Sum, chance: np.ndarray, at: np.ndarray) -> np.ndarray:
        first, last = _places(at, chance.shape)
        state = self._happens(chance[first, last])
        self.states[step.unit] = state
        return _entry([first, state, last], step.shape)

    def act_choice(self, step: Act, table: np.ndarray) -> np.ndarray:
        """The chance that a child that is on was on before."""
        seen, go = table.reshape(step.shape), self.strength[step.switch][1]
        return self._chance(seen[step.on], self.a.times(seen[step.off], go))

    def act_undone(self, step: Act, chance: np.ndarray, at: np.ndarray) -> np.ndarray:
        places = _places(at, step.shape)
        (_, a, _, b), (_, off_a, _, off_b) = step.on, step.off
        acted = np.flatnonzero((places[1] == a) & (places[3] == b))
        inside = tuple(places[k][acted] for k in (0, 2, 4))
        switched = acted[~self._happens(chance[inside])]
        places[1][switched], places[3][switched] = off_a, off_b
        return _entry(places, step.shape)

    def no_choice(self, step: Any, table: np.ndarray) -> None:
        """What was before is known."""

    def observe_undone(self, step: Observe, choice: None, at: np.ndarray) -> np.ndarray:
        first, last = _places(at, (step.shape[0], step.shape[2]))
        return _entry([first, 1, last], step.shape)

    def match_undone(self, step: Match, choice: None, at: np.ndarray) -> np.ndarray:
        """The unit is along both of its axes."""
        first, unit, last = _places(at, (step.shape[0], 2, step.shape[3]))
        return _entry([first, unit, unit, last], step.shape)

    def multiply_choice(self, step: Multiply, table: np.ndarray) -> tuple[list, list]:
        """Products before, between and after axes that both switch on are merged; and the factor likewise."""
        if not step.together:
            return [], []
        factors = [step.ordered_factor(self)]
        for axis in step.together:
            factors.append(self.mapped(factors[-1], (axis,), OF_FACTOR))
        products = [self.a.times(step.aligned_table(self, table), factors[-1])]
        for axis in step.together:
            products.append(self.mapped(products[-1], (axis,), BOTH))
        return products, factors

    def multiply_undone(self, step: Multiply, choice: tuple[list, list], at: np.ndarray) -> np.ndarray:
        of_table = of_factor = _places(at, step.sizes)
        if step.together:
            of_table, of_factor = self._apart(step, *choice, of_table)
        if step.factor[0] == "message":
            self.at[step.factor] = _entry(of_factor, step.shape)
        return _entry(of_table, step.table)

    def _apart(self, step: Multiply, products: list, factors: list, states: list) -> tuple[list, list]:
        """Of axes that are on: whether the table has switched it on (1), or the factor alone (2); then the factor."""
        states = list(states)
        for axis, product in zip(reversed(step.together), reversed(products[:-1]), strict=True):
            on = np.flatnonzero(states[axis])
            table, factor = (product[_at(product, states, on, axis, k)] for k in (1, 2))
            states[axis] = states[axis].copy()
            states[axis][on] += ~self._happens(self._chance(table, factor))
        of_factor = list(states)
        for axis, factor in zip(reversed(step.together), reversed(factors[:-1]), strict=True):
            either = np.flatnonzero(of_factor[axis] == 1)
            off, on = (factor[_at(factor, of_factor, either, axis, k)] for k in (0, 1))
            of_factor[axis] = (of_factor[axis] == 2) * 1
            of_factor[axis][either] = self._happens(self._chance(on, off))
        of_table = [state % 2 if axis in step.together else state for axis, state in enumerate(states)]
        return of_table, of_factor


def _at(table: np.ndarray, states: list, draws: np.ndarray, axis: int, state: int) -> tuple:
    """Where some draws are in a table of a single row, with another state along an axis."""
    index = [np.full(len(draws), state) if k == axis else states[k][draws] for k in range(len(states))]
    return (*(0 if size == 1 else k for k, size in zip(index, table.shape, strict=False)), 0)


def _places(at: np.ndarray, shape: Shape) -> list[np.ndarray]:
    """Where entries are along every axis of a table of that shape."""
    places = []
    for size in reversed(shape):
        places.append(at % size)
        at = at // size
    return places[::-1]


def _entry(places: list, shape: Shape) -> np.ndarray:
    """The other way round; along an axis of size one there is one place only."""
    at = np.zeros(max(np.size(place) for place in places), np.int64)
    for place, size in zip(places, shape, strict=True):
        at = at * size + place if size > 1 else at
    return at


of = EliminationDraws
CHOICES = {
    Multiply: of.multiply_choice, Act: of.act_choice, Sum: of.sum_choice, Observe: of.no_choice, Match: of.no_choice,
}  # fmt: skip
UNDONE = {
    Multiply: of.multiply_undone, Act: of.act_undone, Sum: of.sum_undone, Observe: of.observe_undone,
    Match: of.match_undone,
}  # fmt: skip
