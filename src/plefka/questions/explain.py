"""Explanations: how far each observation moved the log-odds of a unit, and which further one would move them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence
from plefka.inference.log_odds import difference, log_odds
from plefka.inference.ranking import check_top, named_once
from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.questions.changed_evidence import UNKNOWN, ChangedEvidence, how_computed, mark_of, weakest
from plefka.runtime import extras
from plefka.tables.display import text_table


@dataclass(frozen=True)
class Moved:
    """An observation, and how much it moved the log-odds of the unit.

    The `shift` is the log-odds with this observation minus the log-odds without it. The `accuracy` says whether all
    numbers here are exact, or estimates.
    """

    unit: str
    state: str  # "on", "off", or "likely on", "likely off" where it was observed softly
    shift: float
    probability: float  # of the unit without this observation
    accuracy: Accuracy = Accuracy.ESTIMATE
    interval: Sequence[float] = (np.nan, np.nan)  # of the probability


@dataclass(frozen=True)
class WouldMove:
    """A possible observation of a hidden unit, and how much it would move the log-odds of the explained unit.

    The `accuracy` says whether all numbers here are exact, or estimates.
    """

    unit: str
    state: str
    shift: float
    probability: float  # of the unit with this observation
    chance: float  # of this observation, given the evidence
    accuracy: Accuracy = Accuracy.ESTIMATE
    interval: Sequence[float] = (np.nan, np.nan)  # of the probability


@dataclass(frozen=True, repr=False)
class Explanation:
    """The result of `explain`: why a unit has its posterior probability. `print` shows it as a table.

    - `unit`: the name of the unit.
    - `probability`, `log_odds`: P(on | evidence) of the unit, and its log-odds.
    - `prior`, `prior_log_odds`: the same without any evidence.
    - `observations`: how much each observation moved the log-odds, the largest shift first. Observations that carry the
        same information, or that explain each other away, share their effect, so the shifts need not add up.
    - `changes`: further observations that would move the log-odds most.
    - `method`, `notes`: how the probabilities were computed.
    - `accuracy`, `prior_accuracy`: whether `probability` and `prior` are exact, or estimates; observations and changes
        have their own. `is_exact`: whether all of it is exact.
    - `interval`, `prior_interval`: where these lie, low and high; nan where that is not known. Moves have their own.

    **Example:**

    >>> import plefka as pf
    >>> why = pf.explain(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, "stale_beans")
    >>> why.observations[0].unit
    'thin_crema'
    """

    unit: str
    probability: float
    prior: float
    observations: tuple[Moved, ...]
    changes: tuple[WouldMove, ...]
    method: str
    notes: tuple[str, ...]
    is_exact: bool
    accuracy: Accuracy = Accuracy.ESTIMATE
    prior_accuracy: Accuracy = Accuracy.ESTIMATE
    interval: Sequence[float] = (np.nan, np.nan)
    prior_interval: Sequence[float] = (np.nan, np.nan)

    @property
    def log_odds(self) -> float:
        return float(log_odds(self.probability))

    @property
    def prior_log_odds(self) -> float:
        return float(log_odds(self.prior))

    def to_frame(self) -> Any:
        """A DataFrame with a row for each observation that was made, and for each that could be made."""
        observed = [{"kind": "observed", **vars(each)} for each in self.observations]
        possible = [{"kind": "possible", **vars(each)} for each in self.changes]
        columns = ["kind", "unit", "state", "shift", "probability", "chance", "accuracy"]
        return extras.pandas().DataFrame([*observed, *possible], columns=columns)

    def __repr__(self) -> str:
        return f"<Explanation of {self.unit!r} by {self.method}: probability {self.probability:.4g}>"

    def __str__(self) -> str:
        all_of_it = [self.accuracy, self.prior_accuracy, *(z.accuracy for z in (*self.observations, *self.changes))]
        mark = partial(mark_of, accuracies=all_of_it)
        now, before = f"{mark(self.accuracy)}{self.probability:.6f}", f"{mark(self.prior_accuracy)}{self.prior:.6f}"
        lines = [
            f"P({self.unit} on | evidence) = {now}, log-odds {self.log_odds:+.3f}",
            f"P({self.unit} on) = {before}, log-odds {self.prior_log_odds:+.3f}",
            how_computed(self.method, all_of_it),
            *self.notes,
        ]
        observed = ("observed", "state", "moved log-odds by", f"P({self.unit} on) without it")
        possible = ("if observed", "state", "would move log-odds by", f"P({self.unit} on) with it", "chance")
        for header, moves in ((observed, self.observations), (possible, self.changes)):
            rows = [
                (z.unit, z.state, f"{z.shift:+.3f}", f"{mark(z.accuracy)}{z.probability:.6f}",
                 *([f"{z.chance:.3f}"] if isinstance(z, WouldMove) else []))
                for z in moves
            ]  # fmt: skip
            lines += ["", text_table(header, rows)] if rows else []
        return "\n".join(lines)


def explain(
    network: BeliefNetwork,
    evidence: Any,
    unit: str | int,
    method: str | Method | None = None,
    *,
    candidates: Sequence[str | int] | None = None,
    top: int = 5,
) -> Explanation:
    """How much each observation moved the log-odds of a hidden unit, and which further one would move them most.

    The shift of an observation is the log-odds with all evidence minus the log-odds without this observation. The prior
    is the probability without any evidence. With an approximate method, all of these are approximations.

    **Arguments:**

    - `network`, `evidence`: a single network and a single row of evidence, as for `infer`.
    - `unit`: the hidden unit to explain, by name or by index.
    - `method`: the method for all probabilities, as for `infer`. The default is `auto`.
    - `candidates`: the hidden units that could be observed next. The default is all hidden units with parents.
    - `top`: the number of candidates to show, each on and off.

    **Example:**

    >>> import plefka as pf
    >>> why = pf.explain(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, "stale_beans")
    >>> for moved in why.observations:
    ...     print(f"{moved.unit} {moved.state}: {moved.shift:+.2f}")
    thin_crema on: +1.24
    slow_flow on: -0.10
    """
    check_top(top)
    changed = ChangedEvidence.of(network, evidence, method, "explain")
    asked = changed.hidden_unit(unit, "explain needs a hidden unit")
    informed = np.flatnonzero(changed.evidence.informed[0]).tolist()
    wanted = EdgeList.of(changed.network.storage).graph.with_ancestors(np.arange(network.size) == asked)
    changes = [{}, dict.fromkeys(informed, UNKNOWN), *({unit: UNKNOWN} for unit in informed)]
    solution = changed.answers(changes, wanted)
    means, codes = np.where(solution.converged, solution.means[:, asked], np.nan), solution.codes.means[:, asked]
    shifts = difference(log_odds(means[0]), log_odds(means[2:]))  # from the third on without each observation
    ends = np.stack(solution.intervals(), axis=-1)[:, asked].tolist()
    without = zip(informed, shifts.tolist(), means[2:].tolist(), codes[2:], ends[2:], strict=True)
    observations = _largest_first([
        Moved(network.names[unit], _state(changed.evidence, unit), shift, mean, weakest((codes[0], code)), interval)
        for unit, shift, mean, code, interval in without
    ])  # fmt: skip
    best = _most_moving(changed, asked, candidates, top)
    changes = _changes(changed, asked, best, wanted, (means[0], codes[0]))
    accuracies = [weakest(codes[:2]), *(each.accuracy for each in (*observations, *changes))]
    return Explanation(
        network.names[asked], float(means[0]), float(means[1]), observations, changes,
        str(solution.method), solution.notes, all(each is Accuracy.EXACT for each in accuracies),
        weakest(codes[0]), weakest(codes[1]), *ends[:2],
    )  # fmt: skip


def _largest_first(moves: list) -> tuple:
    """By their shifts; those without an answer last."""
    return tuple(sorted(moves, key=lambda move: (np.isnan(move.shift), -abs(move.shift))))


def _state(evidence: Evidence, unit: int) -> str:
    state = evidence.rows[0, unit]
    if np.isnan(state):
        return "likely on" if evidence.tilt[0, unit] > 0 else "likely off"
    return "on" if state else "off"


def _most_moving(changed: ChangedEvidence, asked: int, candidates: Any, top: int) -> np.ndarray:
    """The units whose state says most about the unit: by Bayes' rule its odds change by P(state | on) / P(state | off).

    These are the means of all units in the two rows that have the unit on and off; none where one has no answer.
    """
    units = possible_units(changed, candidates, without=[asked])
    if not len(units):
        return units
    given_unit = changed.solutions([{asked: 1.0}, {asked: 0.0}])
    if not given_unit.converged.all():
        return units[:0]
    means = given_unit.means[:, units]
    with np.errstate(divide="ignore"):
        on, off = np.log(means), np.log(1 - means)
    shifts = np.maximum(abs(difference(*on)), abs(difference(*off)))  # 0 of what is impossible in any case
    return units[np.argsort(-shifts, kind="stable")][:top]


def possible_units(changed: ChangedEvidence, candidates: Any, without: Sequence[int] | np.ndarray) -> np.ndarray:
    """Hidden units that could be observed: the given candidates, or all with parents, or all if none has parents."""
    network, hidden = changed.network, changed.hidden.copy()
    hidden[np.asarray(without, int)] = False
    if candidates is None:
        findings = hidden & ~network.roots
        return np.flatnonzero(findings if findings.any() else hidden)
    units = named_once(network, candidates)
    taken = units[~hidden[units]]
    if taken.size:
        raise InvalidEvidence(
            f"candidates must be hidden units other than those asked about; got {network.names[taken[0]]!r}."
        )
    return units


def _changes(
    changed: ChangedEvidence, asked: int, units: np.ndarray, wanted: np.ndarray, now: tuple[float, int]
) -> tuple[WouldMove, ...]:
    """What each unit would do in either state, those that would move most first; states that cannot be are left out.

    `now`: the mean of the unit that is asked about, and its kind.
    """
    states = [(int(unit), state) for unit in units for state in (1.0, 0.0)]
    if not states:
        return ()
    solution = changed.solutions([{unit: state} for unit, state in states], wanted)
    means = np.where(solution.converged, solution.means[:, asked], np.nan)
    shifts = difference(log_odds(means), log_odds(now[0]))
    with np.errstate(invalid="ignore"):
        on = solution.log_likelihood[::2] - solution.log_likelihood[1::2]
    chance = 1 / (1 + np.exp(-on))
    chances = np.stack([chance, 1 - chance], axis=1).ravel()
    codes, whole = solution.codes.means[:, asked], np.reshape(solution.codes.log_partition, (-1, 2))
    known = [weakest((now[1], code, *pair)) for code, pair in zip(codes, whole.repeat(2, axis=0), strict=True)]
    ends = np.stack(solution.intervals(), axis=-1)[:, asked].tolist()
    rows = zip(states, shifts.tolist(), means.tolist(), chances.tolist(), known, ends, strict=True)
    return _largest_first([
        WouldMove(changed.network.names[unit], "on" if state else "off", shift, mean, p, accuracy, interval)
        for (unit, state), shift, mean, p, accuracy, interval in rows
        if p > 0
    ])  # fmt: skip
