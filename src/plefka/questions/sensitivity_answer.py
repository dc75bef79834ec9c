"""The answer of `sensitivity`: every number of a network beside what it does to the probability of a unit."""

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from plefka.inference.ranking import check_top
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork
from plefka.questions.noisy_or_numbers import NetworkNumbers
from plefka.runtime import extras
from plefka.tables.display import Content, ShownAnswer, text_page

PRINTED = 10
FOUND_FACTOR = 1e7  # all changes of odds by less are found; larger ones may be lost in rounding


@dataclass(frozen=True)
class SensitiveNumber:
    """A number of the network, and what it does to P(target | evidence).

    - `name`: what it is, such as "prior of flu" or "link flu -> fever". `kind`: "prior", "leak", "link", "entry" (of a
        table), "bias" or "weight". `unit`, `parent`: the unit that it belongs to, and the parent, if any.
    - `value`: a probability, or the bias or weight itself. `low`, `high`: the ends of its range.
    - `derivative`: dP / dvalue. `at_low`, `at_high`: P(target | evidence) with the number at each end.
    """

    name: str
    kind: str
    unit: str
    parent: str | None
    value: float
    low: float
    high: float
    derivative: float
    at_low: float
    at_high: float


@dataclass(frozen=True)
class LeaderChange:
    """The smallest change of a single number after which another cause is the most probable one.

    `number` is that number as it is, and `value` what it has to become: its odds change by `odds_factor`, and `cause`
    is then as probable as the leading one.
    """

    number: SensitiveNumber
    value: float
    odds_factor: float
    cause: str


@dataclass(frozen=True, repr=False, eq=False)
class Sensitivity(ShownAnswer):
    """The result of `sensitivity`. `print` shows the numbers that matter most.

    - `target`, `probability`: the unit, and P(on | evidence). `factor`: how much odds move.
    - `kind`, `value`, `low`, `high`, `derivative`, `at_low`, `at_high`: arrays with an entry for every number of the
        network, as in `SensitiveNumber`. `top` and `to_frame` have those that matter most first.
    - `leading`: the most probable hidden cause; None if all are observed or impossible. `change`: the smallest change
        of one number that makes another cause as probable; None if no change of its odds by less than a factor of 1e7
        does, and none by more was found.
    - `accuracy`: of all of this, which is exact. `notes`: sentences about it.

    **Example:**

    >>> import plefka as pf
    >>> found = pf.sensitivity(pf.example("espresso"), {"slow_flow": 1}, "limescale")
    >>> print(found.top(1)[0].name, found.change.cause)
    prior of limescale clogged_screen
    """

    target: str
    probability: float
    factor: float
    network: BeliefNetwork
    numbers: NetworkNumbers  # what they are
    kind: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    derivative: np.ndarray
    at_low: np.ndarray
    at_high: np.ndarray
    leading: str | None = None
    change: LeaderChange | None = None
    notes: tuple[str, ...] = ()
    accuracy: Accuracy = Accuracy.EXACT

    @cached_property
    def order(self) -> np.ndarray:
        """The numbers by how far P(target | evidence) is apart at their ends, the largest first."""
        return np.lexsort((-abs(np.nan_to_num(self.derivative)), -abs(self.at_high - self.at_low)))

    def top(self, count: int | None = PRINTED) -> tuple[SensitiveNumber, ...]:
        """The numbers that matter most; all of them for None."""
        check_top(count)
        return tuple(self.number(k) for k in self.order[:count].tolist())

    def number(self, k: int) -> SensitiveNumber:
        """The k-th entry of the arrays."""
        names, parent = self.network.names, int(self.numbers.parent[k])
        arrays = (self.value, self.low, self.high, self.derivative, self.at_low, self.at_high)
        return SensitiveNumber(
            self._name(k), str(self.kind[k]), names[self.numbers.child[k]],
            None if parent < 0 else names[parent], *(float(array[k]) for array in arrays),
        )  # fmt: skip

    def _name(self, k: int) -> str:
        numbers, names, states = self.numbers, self.network.names, self.network.states
        unit, parent = int(numbers.child[k]), int(numbers.parent[k])
        if self.kind[k] == "entry":
            parents = [self.network.index(name) for name in self.network.parents(unit)]
            entry = f"{numbers.entry[k]:0{len(parents)}b}"
            given = (f"{names[z]}={states[z][int(state)]}" for z, state in zip(parents, entry, strict=True))
            return f"P({names[unit]}={states[unit][1]} | {', '.join(given)})"
        return f"{self.kind[k]} " + (f"of {names[unit]}" if parent < 0 else f"{names[parent]} -> {names[unit]}")

    def to_frame(self) -> Any:
        """A DataFrame with a row for every number of the network, those that matter most first."""
        return extras.pandas().DataFrame([vars(each) for each in self.top(None)])

    def __repr__(self) -> str:
        return f"<Sensitivity of {self.target!r}: probability {self.probability:.4g}, {len(self.value):,} numbers>"

    def to_dict(self, top: int | None = PRINTED) -> dict[str, Any]:
        """Everything in plain numbers and words, with the `top` numbers that matter most."""
        fields = ("target", "probability", "factor", "leading", "notes")
        found = {name: getattr(self, name) for name in fields} | {"accuracy": str(self.accuracy)}
        change = None if self.change is None else asdict(self.change)
        numbers = [asdict(number) for number in self.top(top)]
        return {**found, "change": change, "numbers": numbers, "numbers_total": len(self.value)}

    def describe(self, top: int = PRINTED) -> str:
        """What `print` shows, with the `top` numbers that matter most."""
        return text_page(self._content(top))

    def _content(self, top: int = PRINTED) -> Content:
        ranges = f"odds are divided and multiplied by {self.factor:g}, one number at a time; all of it is exact"
        header = ("number", "value", "from", "to", f"P({self.target}) from", "to", "derivative")
        rows = [
            (z.name, *(f"{p:.4g}" for p in (z.value, z.low, z.high)),
             *(f"{p:.6f}" if p > 1e-4 else f"{p:.3g}" for p in (z.at_low, z.at_high)),
             "undefined" if np.isnan(z.derivative) else f"{z.derivative:+.4g}")
            for z in self.top(top)
        ]  # fmt: skip
        on = self.network.states[self.network.index(self.target)][1] if self.network.given_states else "on"
        title = f"P({self.target} {on} | evidence) = {self.probability:.6f}"
        return Content(title, [ranges, *self._leader(), *self.notes], header, rows, len(self.value), "numbers")

    def _leader(self) -> list[str]:
        if self.leading is None or self.change is None:
            why = (
                f"no change of the odds of one number by a factor of up to {FOUND_FACTOR:.0e} makes another as probable"
            )
            return [] if self.leading is None else [f"most probable cause: {self.leading}; {why}"]
        change, number = self.change, self.change.number
        if change.odds_factor < 1 + 1e-9:
            return [f"most probable causes: {self.leading} and {change.cause}, which are equally probable"]
        after, before = f"{change.value:.4g}", f"{number.value:.4g}"
        factor = f"{change.odds_factor:.3g}" if change.odds_factor > 1.01 else f"1 + {change.odds_factor - 1:.2g}"
        what = f"{number.name} at {after} instead of {before} (odds by a factor of {factor})"
        if after == before:
            what = f"the odds of the {number.name} changed by a factor of {factor}"
        least = ", and no smaller change of one number does that" if change.odds_factor < FOUND_FACTOR else ""
        return [f"most probable cause: {self.leading}; with {what}, {change.cause} is as probable{least}"]
