"""How sensitive an answer is: what every number of a network does to the posterior probability of a unit, exactly."""

from dataclasses import replace
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, MethodDoesNotApply
from plefka.exact.cost import RIVALS_SECONDS
from plefka.exact.outside import ParameterElimination
from plefka.inference.infer import infer
from plefka.inference.solution import refuse_group
from plefka.networks.activations import numpy_sigmoid
from plefka.networks.belief import BeliefNetwork
from plefka.questions.changed_evidence import ChangedEvidence
from plefka.questions.family_numbers import moved_numbers
from plefka.questions.noisy_or_numbers import NetworkNumbers, NoisyOrNumbers
from plefka.questions.sensitivity_answer import LeaderChange, Sensitivity

LARGEST_FACTOR = 600.0  # as a logarithm
ROUNDING = 1e-8  # a difference below this part of its terms is none
RIVALS_AT_ONCE, MOST_RIVALS = 4, 64  # causes that are compared with the leading one
OUT_OF_REACH = (
    "{} needs exact inference, which is out of reach here: {}. Observe more units, or ask about a part of the network: "
    "network.subnetwork(around=...)."
)
FEW_RIVALS = "only the {} causes that follow the most probable one were compared with it"
OF_UNITS = "numbers are those of the units that the tables of the file were recognised as"


def sensitivity(network: BeliefNetwork, evidence: Any, target: str | int, *, factor: float = 2.0) -> Sensitivity:
    """What every number of the network does to P(target | evidence): derivatives and ranges, exactly.

    All of it follows from one elimination of the target's two states. Numbers are changed one at a time:

    - Priors, leaks, links (the probability 1 - exp(-weight) with which a parent switches a noisy-or unit on) and
      entries of tables are probabilities. Their odds are divided and multiplied by `factor`. P(target | evidence) is a
      ratio of two straight lines in each of them, and so its range is that between the two ends. A probability of 0
      or 1 stays what it is, but has a derivative; this is nan where P(target | evidence) is itself 0 or 1, or where
      floating-point numbers do not reach. A negative weight of a noisy-or unit is a link that acts where the
      parent is off.
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
    if not isinstance(factor, int | float | np.integer | np.floating) or not 1 < factor < np.inf:
        raise InvalidInput(
            f"factor must be a number above 1, by which odds are multiplied and divided; got {factor!r}."
        )
    changed = ChangedEvidence.of(network, evidence, None, "sensitivity")
    unit = changed.hidden_unit(target, "sensitivity needs a hidden target")
    return _TargetQuestion(changed, unit, factor).answer()


def numbers_of(changed: ChangedEvidence, kept: np.ndarray, *only: dict[int, int], verb: str) -> NoisyOrNumbers:
    """What is known of the numbers of a network, from a sum in which units are in one state `only`, row by row."""
    refuse_group(changed.evidence, verb)
    elimination = ParameterElimination.of(changed.network, changed.evidence, kept, only)
    if elimination.refusal:
        raise MethodDoesNotApply(OUT_OF_REACH.format(verb, elimination.refusal))
    with np.errstate(invalid="ignore", over="ignore"):
        found = NoisyOrNumbers(elimination)
    if np.isneginf(found.outside.log_z).all():
        infer(changed.network, changed.evidence._replace(batched=False), "exact")  # names the contradiction
        raise InvalidEvidence("the evidence is impossible: it has probability zero. Leave some of it out.")
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

    def answer(self) -> Sensitivity:
        found = numbers_of(self.changed, self.kept, {self.unit: 1}, {self.unit: 0}, verb="sensitivity")
        log_z = found.outside.log_z
        odds = log_z[0] - log_z[1]
        log_pq = -abs(odds) - 2 * np.log1p(np.exp(-abs(odds)))
        numbers = moved_numbers(self.network, found, self.factor, log_pq)
        (p,) = numpy_sigmoid(np.array([odds]))
        if np.isinf(odds):  # no number between 0 and 1 can change that, as P is linear in it and never negative
            at_border = numbers.is_linear & ((numbers.value == 0) | (numbers.value == 1))
            derivative, low = np.where(at_border, np.nan, 0.0), np.full(len(numbers.value), p)
            high = low
        else:
            derivative = numbers.slope[:, 0] - numbers.slope[:, 1]
            low, high = (np.log(at[:, 0]) - np.log(at[:, 1]) for at in (numbers.at_low, numbers.at_high))
            low, high = numpy_sigmoid(odds + low), numpy_sigmoid(odds + high)
        name, notes = self.network.names[self.unit], (OF_UNITS,) if self.network.given_tables is not None else ()
        answer = Sensitivity(
            name, float(p), float(self.factor), self.network, numbers, numbers.kind, numbers.value,
            numbers.low, numbers.high, derivative, low, high, notes=notes,
        )  # fmt: skip
        possible = log_z > -np.inf
        entries, own = found.entries[:, self.causes], found.logs[:, self.causes, None]  # all of P: no hidden parents
        off, on = np.logaddexp.reduce(entries[..., possible] + own + log_z[possible], axis=-1)
        return self._with_leader(answer, on - off)

    def _with_leader(self, answer: Sensitivity, odds: np.ndarray) -> Sensitivity:
        """With the most probable cause, and the smallest change of one number after which it no longer is."""
        causes, means = np.flatnonzero(self.causes)[odds > -np.inf], numpy_sigmoid(odds[odds > -np.inf])
        if not len(causes):
            return answer
        order = np.argsort(-np.round(odds[odds > -np.inf], 10), kind="stable")  # of equal ones, the first one leads
        (leader, *rivals), means = causes[order].tolist(), means[order]
        best, least, change, notes, seconds = np.inf, 0.0, None, answer.notes, 0.0
        for first in range(0, len(rivals), RIVALS_AT_ONCE):
            if means[1 + first] < least:
                break
            if first >= MOST_RIVALS or seconds > RIVALS_SECONDS:
                notes = (*notes, FEW_RIVALS.format(first))
                break
            some = rivals[first : first + RIVALS_AT_ONCE]
            apart = ({leader: leads, cause: 1 - leads} for cause in some for leads in (1, 0))
            found = numbers_of(self.changed, self.kept, {leader: 1}, *apart, verb="sensitivity")
            seconds += found.seconds
            numbers = moved_numbers(self.network, found, self.factor)
            size, number, k, value = _crossing(numbers, found.outside.log_z)
            if size < best:
                best, cause = size, self.network.names[some[k]]
                change = LeaderChange(answer.number(number), value, float(np.exp(size)), cause)
                least = means[0] * _smallest_share(moved_numbers(self.network, found, float(np.exp(size))))
        return replace(answer, leading=self.network.names[leader], change=change, notes=notes)


def _smallest_share(numbers: NetworkNumbers) -> float:
    """A cause below this share of the leading one's probability cannot catch up within the ranges of these numbers.

    If a number changes from q to q', P(cause, evidence) grows by a factor of q' / q or (1 - q') / (1 - q) at most,
    while the line of the leading cause is known. The ratio of the two is smallest at an end.
    """
    moves = numbers.is_linear & (numbers.low < numbers.value) & (numbers.value < numbers.high)
    value, low, high = (z[moves] for z in (numbers.value, numbers.low, numbers.high))
    shares = numbers.at_low[moves, 0] * (1 - value) / (1 - low), numbers.at_high[moves, 0] * value / high
    return float(np.min(shares, initial=1.0)) * (1 - 1e-9)


def _crossing(numbers: NetworkNumbers, log_z: np.ndarray) -> tuple[float, int, int, float]:
    """Where a line P(cause, evidence) meets that of the leading one with least change of a number's odds.

    Of each cause there are two rows after the first: the leading one without it, and it without the leading one. What
    both have in common is no part of the difference then, and no digits are lost. The cause leads at an end of the
    line by `ahead`, which is multiplied by the probability that the number has of being there.

    ln of the factor of the odds, the number, which cause, and the value there; infinite where none meets.
    """
    sizes = []
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        weights = np.where(log_z > -np.inf, np.exp(log_z - log_z[1:].max(initial=-np.inf)), 0.0)
        behind = np.maximum(weights[1::2] - weights[2::2], 0.0)
        for share, log in ((numbers.share_off, numbers.log_off), (numbers.share_on, numbers.log_on)):
            parts = np.where(weights > 0, weights * share, 0.0)
            leading, cause = parts[:, 1::2], parts[:, 2::2]
            uncertain = np.where(numbers.always, 0.0, np.exp(log))[:, None] * (weights[1::2] + weights[2::2])
            ahead = cause - leading
            ahead = np.where(ahead > ROUNDING * (cause + leading + uncertain), ahead, 0.0)
            sizes.append(np.where(ahead > 0, np.log1p(behind / ahead), np.inf))
        size = np.where(np.array(sizes) <= LARGEST_FACTOR, sizes, np.inf)
        end, number, k = map(int, np.unravel_index(np.argmin(size), size.shape))
        least = float(size[end, number, k])
        odds = numbers.log_on[number] - numbers.log_off[number] + (least if end else -least)
    return least, number, k, float(numpy_sigmoid(np.array([odds]))[0])
