"""How sensitive an answer is: what every number of a network does to the posterior probability of a unit, exactly."""

from dataclasses import replace
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, MethodDoesNotApply
from plefka.exact.outside import ParameterElimination
from plefka.inference.infer import infer
from plefka.inference.log_odds import log_odds
from plefka.networks.activations import numpy_sigmoid
from plefka.networks.belief import BeliefNetwork
from plefka.questions.changed_evidence import ChangedEvidence
from plefka.questions.family_numbers import moved_numbers
from plefka.questions.noisy_or_numbers import KINDS, NetworkNumbers, NoisyOrNumbers
from plefka.questions.sensitivity_answer import LeaderChange, Sensitivity

RIVALS_AT_ONCE, MOST_RIVALS = 8, 64
OUT_OF_REACH = (
    "{} needs exact inference, which is out of reach here: {}. Observe more units, or ask about a part of the network: "
    "network.subnetwork(around=...)."
)
FEW_RIVALS = f"only the {MOST_RIVALS} most probable causes were compared with the leading one"
OF_UNITS = "numbers are those of the units that the tables of the file were recognised as"


def sensitivity(network: BeliefNetwork, evidence: Any, target: str | int, *, factor: float = 2.0) -> Sensitivity:
    """What every number of the network does to P(target | evidence): derivatives and ranges, exactly.

    All of it follows from one elimination of the target's two states. NetworkNumbers are changed one at a time:

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

    def _rows(self, *only: tuple[int, int]) -> tuple[np.ndarray, dict[int, np.ndarray], NetworkNumbers]:
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
            name, float(p), float(self.factor), self.network, numbers, np.array(KINDS)[numbers.kind], numbers.value,
            numbers.low, numbers.high, derivative, low, high, notes=notes,
        )  # fmt: skip
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


def _crossing(numbers: NetworkNumbers, weights: np.ndarray) -> tuple[float, int, int, float]:
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
