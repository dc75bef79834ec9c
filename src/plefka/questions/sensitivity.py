"""How sensitive an answer is: what every number of a network does to the posterior probability of a unit, exactly."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, MethodDoesNotApply
from plefka.exact.outside import ParameterElimination
from plefka.inference.infer import infer
from plefka.inference.log_odds import log_odds
from plefka.inference.ranking import check_top
from plefka.methods.posterior import Accuracy
from plefka.networks.activations import numpy_sigmoid
from plefka.networks.belief import BeliefNetwork
from plefka.questions.changed_evidence import ChangedEvidence
from plefka.questions.families import moved_numbers
from plefka.questions.parameters import ENTRY, KINDS, NoisyOrNumbers, Numbers
from plefka.runtime import extras
from plefka.tables.display import Content, page, text_page

RIVALS_AT_ONCE, MOST_RIVALS = 8, 64
PRINTED = 10
OUT_OF_REACH = (
    "{} needs exact inference, which is out of reach here: {}. Observe more units, or ask about a part of the network: "
    "network.subnetwork(around=...)."
)
FEW_RIVALS = f"only the {MOST_RIVALS} most probable causes were compared with the leading one"
OF_UNITS = "numbers are those of the units that the tables of the file were recognised as"


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
class Sensitivity:
    """The result of `sensitivity`. `print` shows the numbers that matter most.

    - `target`, `probability`: the unit, and P(on | evidence). `factor`: how much odds move.
    - `value`, `low`, `high`, `derivative`, `at_low`, `at_high`, `kind`: arrays with an entry for every number of the
        network, as in `SensitiveNumber`. `top` and `to_frame` have those that matter most first.
    - `leading`: the most probable hidden cause; None if none is hidden. `change`: the smallest change of one number
        that makes another cause as probable; None if no change does.
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
    numbers: Numbers  # what they are
    derivative: np.ndarray
    at_low: np.ndarray
    at_high: np.ndarray
    leading: str | None = None
    change: LeaderChange | None = None
    notes: tuple[str, ...] = ()
    accuracy: Accuracy = Accuracy.EXACT

    @property
    def value(self) -> np.ndarray:
        return self.numbers.value

    @property
    def low(self) -> np.ndarray:
        return self.numbers.low

    @property
    def high(self) -> np.ndarray:
        return self.numbers.high

    @property
    def kind(self) -> np.ndarray:
        return np.array(KINDS)[self.numbers.kind]

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
            self._name(k), KINDS[self.numbers.kind[k]], names[self.numbers.child[k]],
            None if parent < 0 else names[parent], *(float(array[k]) for array in arrays),
        )  # fmt: skip

    def _name(self, k: int) -> str:
        numbers, names, states = self.numbers, self.network.names, self.network.states
        unit, parent = int(numbers.child[k]), int(numbers.parent[k])
        if numbers.kind[k] == ENTRY:
            parents = [self.network.index(name) for name in self.network.parents(unit)]
            entry = f"{numbers.entry[k]:0{len(parents)}b}"
            given = (f"{names[z]}={states[z][int(state)]}" for z, state in zip(parents, entry, strict=True))
            return f"P({names[unit]}={states[unit][1]} | {', '.join(given)})"
        kind = KINDS[numbers.kind[k]]
        return f"{kind} of {names[unit]}" if parent < 0 else f"{kind} {names[parent]} -> {names[unit]}"

    def to_frame(self) -> Any:
        """A DataFrame with a row for every number of the network, those that matter most first."""
        return extras.pandas().DataFrame([vars(each) for each in self.top(None)])

    def __repr__(self) -> str:
        return f"<Sensitivity of {self.target!r}: probability {self.probability:.4g}, {len(self.value):,} numbers>"

    def __str__(self) -> str:
        return text_page(self._content())

    def _repr_html_(self) -> str:
        return page(self._content())

    def _content(self) -> Content:
        ranges = f"odds are divided and multiplied by {self.factor:g}, one number at a time; all of it is exact"
        header = ("number", "value", "from", "to", f"P({self.target}) from", "to", "derivative")
        rows = [
            (z.name, *(f"{p:.4g}" for p in (z.value, z.low, z.high)), f"{z.at_low:.6f}", f"{z.at_high:.6f}",
             f"{z.derivative:+.4g}")
            for z in self.top()
        ]  # fmt: skip
        on = self.network.states[self.network.index(self.target)][1] if self.network.given_states else "on"
        title = f"P({self.target} {on} | evidence) = {self.probability:.6f}"
        return Content(title, [ranges, *self._leader(), *self.notes], header, rows, len(self.value), "numbers")

    def _leader(self) -> list[str]:
        """A sentence on the most probable cause, if there is one."""
        if self.leading is None or self.change is None:
            why = "no change of one number makes another cause more probable"
            return [] if self.leading is None else [f"most probable cause: {self.leading}; {why}"]
        change, number = self.change, self.change.number
        return [
            f"most probable cause: {self.leading}; with {number.name} at {change.value:.4g} instead of "
            f"{number.value:.4g} (odds by a factor of {change.odds_factor:.3g}), {change.cause} is as probable, and no smaller change of "
            "one number does that"
        ]


def sensitivity(network: BeliefNetwork, evidence: Any, target: str | int, *, factor: float = 2.0) -> Sensitivity:
    """What every number of the network does to P(target | evidence): derivatives and ranges, exactly.

    All of it follows from one elimination of the target's two states. Numbers are changed one at a time:

    - Priors, leaks, links (the probability 1 - exp(-weight) with which a parent switches a noisy-or unit on) and
      entries of tables are probabilities. Their odds are divided and multiplied by `factor`. P(target | evidence) is a
      ratio of two straight lines in each of them, and so its range is that between the two ends. A probability of 0
      or 1 stays what it is, but has a derivative; this is nan where P(target | evidence) is itself 0 or 1. A negative
      weight of a noisy-or unit is a link that acts where the parent is off.
    - To biases and weights of other units, ln(factor) is added and subtracted, which for a sigmoid multiplies the odds
      of the unit. P(target | evidence) is computed at both ends; in between it may be larger or smaller.

    **Arguments:**

    - `network`, `evidence`: a single network and a single row of evidence, as for `infer`.
    - `target`: the hidden unit, by name or by index.
    - `factor`: by how much odds move, a number above 1.

    **Example:**

    >>> import plefka as pf
    >>> found = pf.sensitivity(pf.example("espresso"), {"slow_flow": 1}, "limescale", factor=3)
    >>> for number in found.top(2):
    ...     print(f"{number.name}: {number.at_low:.3f} to {number.at_high:.3f}")
    prior of limescale: 0.221 to 0.719
    link limescale -> slow_flow: 0.355 to 0.535
    """
    if not isinstance(factor, int | float) or not 1 < factor < np.inf:
        raise InvalidInput(
            f"factor must be a number above 1, by which odds are multiplied and divided; got {factor!r}."
        )
    changed = ChangedEvidence.of(network, evidence, None, "sensitivity")
    unit = network.index(target)
    if not changed.hidden[unit]:
        raise InvalidEvidence(
            f"sensitivity needs a hidden target; {network.names[unit]!r} is observed. Leave it out of the evidence."
        )
    return _TargetQuestion(changed, unit, factor).answer()


def numbers_of(changed: ChangedEvidence, kept: np.ndarray, *only: tuple[int, int] | None, verb: str) -> NoisyOrNumbers:
    """What is known of the numbers of a network, from a sum in which units are in one state `only`, row by row."""
    elimination = ParameterElimination.of(changed.network, changed.evidence, kept, only)
    if elimination.refusal:
        raise MethodDoesNotApply(OUT_OF_REACH.format(verb, elimination.refusal))
    with np.errstate(invalid="ignore", over="ignore"):
        found = NoisyOrNumbers(elimination)
    if np.isneginf(found.outside.log_z).all():
        infer(changed.network, changed.evidence._replace(batched=False), "exact")  # names the contradiction
    return found


class _TargetQuestion:
    """What is asked about a target, and the causes among which one leads."""

    def __init__(self, changed: ChangedEvidence, unit: int, factor: float):
        self.changed, self.network, self.unit, self.factor = changed, changed.network, unit, factor
        child, parent, _ = self.network.storage.edge_list()
        self.causes = changed.hidden.copy()
        self.causes[child[changed.hidden[parent]]] = False
        self.kept = self.causes.copy()
        self.kept[unit] = True

    def _rows(self, *only: tuple[int, int]) -> tuple[np.ndarray, dict[int, np.ndarray], Numbers]:
        """ln P, the means of free units, and all numbers."""
        found = numbers_of(self.changed, self.kept, *only, verb="sensitivity")
        return found.outside.log_z, found.outside.means, moved_numbers(self.network, found, self.factor)

    def answer(self) -> Sensitivity:
        log_z, rows, numbers = self._rows((self.unit, 1), (self.unit, 0))
        odds = log_z[0] - log_z[1]
        p, q = numpy_sigmoid(np.array([odds, -odds]))
        if np.isinf(odds):  # no number between 0 and 1 can change that, as P is linear in it and never negative
            at_border = numbers.is_linear & ((numbers.value == 0) | (numbers.value == 1))
            derivative, low = np.where(at_border, np.nan, 0.0), np.full(len(numbers.value), p)
            high = low
        else:
            derivative = p * q * (numbers.slope[:, 0] - numbers.slope[:, 1])
            low, high = (np.log(at[:, 0]) - np.log(at[:, 1]) for at in (numbers.at_low, numbers.at_high))
            low, high = numpy_sigmoid(odds + low), numpy_sigmoid(odds + high)
        means = np.zeros(self.network.size)
        for cause, (if_on, if_off) in rows.items():
            means[cause] = (p * if_on if p else 0.0) + (q * if_off if q else 0.0)
        name, notes = self.network.names[self.unit], (OF_UNITS,) if self.network.given_tables is not None else ()
        found = Sensitivity(
            name, float(p), float(self.factor), self.network, numbers, derivative, low, high, notes=notes
        )
        return self._with_leader(found, means, float(np.logaddexp(*log_z))) if self.causes.any() else found

    def _with_leader(self, answer: Sensitivity, means: np.ndarray, log_p: float) -> Sensitivity:
        """With the most probable cause, and the smallest change of one number after which it no longer is.

        A number whose odds change by a factor changes the odds of no event by more (Chan and Darwiche 2002). A cause
        therefore needs at least the square root of the ratio of the leading one's odds to its own.
        """
        causes = np.flatnonzero(self.causes)
        leader, *rivals = causes[np.argsort(-means[causes], kind="stable")].tolist()
        gaps = log_odds(means[leader]) - log_odds(means[rivals])
        best, change, notes = np.inf, None, answer.notes
        for first in range(0, len(rivals), RIVALS_AT_ONCE):
            if gaps[first] >= 2 * best:
                break
            if first >= MOST_RIVALS:
                notes = (*notes, FEW_RIVALS)
                break
            some = rivals[first : first + RIVALS_AT_ONCE]
            log_z, _, numbers = self._rows(*((cause, 1) for cause in (leader, *some)))
            size, number, k, value = _crossing(numbers, np.exp(log_z - log_p))
            if size < best:
                best = size
                change = LeaderChange(answer.number(number), value, float(np.exp(size)), self.network.names[some[k]])
        return replace(answer, leading=self.network.names[leader], change=change, notes=notes)


def _crossing(numbers: Numbers, weights: np.ndarray) -> tuple[float, int, int, float]:
    """Where a line P(cause, evidence) meets that of the first row with least change of a number's odds.

    ln of their factor, the number, the row after the first, and the value there; infinite where none meets.
    """
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        steep = np.where(weights > 0, weights * numbers.slope, 0.0)
        shift = (weights[0] - weights[1:]) / (steep[:, 1:] - steep[:, :1])
        value, off = numbers.value[:, None] + shift, np.exp(numbers.log_off)[:, None] - shift
        size = abs(np.log(value) - np.log(off) - (numbers.log_on - numbers.log_off)[:, None])
    size = np.where(np.isfinite(size) & numbers.is_linear[:, None], size, np.inf)
    number, k = np.unravel_index(np.argmin(size), size.shape)
    return float(size[number, k]), int(number), int(k), float(value[number, k])
