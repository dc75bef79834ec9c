"""Why a unit is believed to be on or off: how far each observation moved its log-odds, and what would move them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence
from plefka.evidence import Evidence
from plefka.methods import Method
from plefka.networks.belief import BeliefNetwork
from plefka.ranking import check_top
from plefka.tables import text_table
from plefka.what_if import UNKNOWN, WhatIf, answered, difference, log_odds


@dataclass(frozen=True)
class Moved:
    """An observation, and how much it moved the log-odds of the unit: with it, minus without it."""

    unit: str
    state: str  # "on", "off", or "likely on", "likely off" where it was observed softly
    shift: float
    probability: float  # of the unit without this observation


@dataclass(frozen=True)
class WouldMove:
    """A hidden unit, and how much it would move the log-odds of the unit if it were observed in a state."""

    unit: str
    state: str
    shift: float
    probability: float  # of the unit with this observation
    chance: float  # of this observation, given the evidence


@dataclass(frozen=True, repr=False)
class Explanation:
    """What `explain` found of a unit.

    - `probability`, `prior`: P(on | evidence), and P(on) where nothing is observed; `log_odds`, `prior_log_odds`.
    - `observations`: how much each one moved the log-odds, those that moved them most first. Observations that say the
        same, or that explain each other away, share their effect, so that shifts need not add up.
    - `changes`: what would move them most.
    """

    unit: str
    probability: float
    prior: float
    observations: tuple[Moved, ...]
    changes: tuple[WouldMove, ...]
    method: str
    notes: tuple[str, ...]
    is_exact: bool

    @property
    def log_odds(self) -> float:
        return float(log_odds(self.probability))

    @property
    def prior_log_odds(self) -> float:
        return float(log_odds(self.prior))

    def to_frame(self) -> Any:
        """A DataFrame with a row for each observation, and for each that could be made."""
        from plefka.extras import pandas

        observed = [{"kind": "observed", **vars(each)} for each in self.observations]
        possible = [{"kind": "possible", **vars(each)} for each in self.changes]
        columns = ["kind", "unit", "state", "shift", "probability", "chance"]
        return pandas().DataFrame([*observed, *possible], columns=columns)

    def __repr__(self) -> str:
        return f"<Explanation of {self.unit!r} by {self.method}: probability {self.probability:.4g}>"

    def __str__(self) -> str:
        lines = [
            f"P({self.unit} on | evidence) = {self.probability:.6f}, log-odds {self.log_odds:+.3f}",
            f"P({self.unit} on) = {self.prior:.6f}, log-odds {self.prior_log_odds:+.3f}",
            f"by {self.method}{'' if self.is_exact else ', an approximation'}",
            *self.notes,
        ]
        if self.observations:
            header = ("observed", "state", "moved log-odds by", f"P({self.unit} on) without it")
            rows = [(o.unit, o.state, f"{o.shift:+.3f}", f"{o.probability:.6f}") for o in self.observations]
            lines += ["", text_table(header, rows)]
        if self.changes:
            header = ("if observed", "state", "would move them by", f"P({self.unit} on) then", "chance")
            rows = [
                (c.unit, c.state, f"{c.shift:+.3f}", f"{c.probability:.6f}", f"{c.chance:.3f}") for c in self.changes
            ]
            lines += ["", text_table(header, rows)]
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

    An observation's shift is the log-odds with all evidence minus those without this observation, and the prior is
    that without any. All are rows of one batch; an approximate method makes each of them an approximation.

    **Arguments:**

    - `method`: as of `infer`; `auto` unless given.
    - `candidates`: hidden units that could be observed; all that have parents unless given.
    - `top`: how many of them are shown, each on and off.
    """
    check_top(top)
    what_if = WhatIf.of(network, evidence, method, "explain")
    asked = network.index(unit)
    if not what_if.hidden[asked]:
        raise InvalidEvidence(f"unit {network.names[asked]!r} is observed; explain is about a hidden unit.")
    informed = what_if.informed
    solution = what_if.answers(
        [{}, dict.fromkeys(informed, UNKNOWN), {asked: 1.0}, {asked: 0.0}, *({k: UNKNOWN} for k in informed)]
    )
    means = answered(solution, solution.means[:, asked])
    best = _most_moving(what_if, solution.means[2:4], asked, candidates, top) if solution.converged[2:4].all() else []
    return Explanation(
        network.names[asked], float(means[0]), float(means[1]),
        _observations(what_if, informed, means[0], means[4:]), _changes(what_if, asked, best),
        str(solution.method), solution.notes, solution.is_exact,
    )  # fmt: skip


def _observations(what_if: WhatIf, informed: np.ndarray, now: float, without: np.ndarray) -> tuple[Moved, ...]:
    shifts = difference(log_odds(now), log_odds(without))
    moved = [
        Moved(what_if.network.names[unit], _state(what_if.evidence, unit), float(shift), float(mean))
        for unit, shift, mean in zip(informed, shifts, without, strict=True)
    ]
    return _largest_first(moved)


def _largest_first(moves: list) -> tuple:
    """By their shifts; those without an answer last."""
    return tuple(sorted(moves, key=lambda move: (np.isnan(move.shift), -abs(move.shift))))


def _state(evidence: Evidence, unit: int) -> str:
    state = evidence.rows[0, unit]
    if np.isnan(state):
        return "likely on" if evidence.tilt[0, unit] > 0 else "likely off"
    return "on" if state else "off"


def _most_moving(what_if: WhatIf, given_unit: np.ndarray, asked: int, candidates: Any, top: int) -> np.ndarray:
    """The units whose state says most about the unit: by Bayes' rule its odds change by P(state | on) / P(state | off).

    These are the means of all units in the two rows that have the unit on and off.
    """
    units = possible_units(what_if, candidates, without=[asked])
    on, off = given_unit[:, units]
    shifts = np.maximum(abs(_log_ratio(on, off)), abs(_log_ratio(1 - on, 1 - off)))
    return units[np.argsort(-shifts, kind="stable")][:top]


def _log_ratio(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """ln a / b; 0 where an observation is impossible in any case."""
    with np.errstate(divide="ignore"):
        return difference(np.log(a), np.log(b))


def possible_units(what_if: WhatIf, candidates: Any, without: Sequence[int] | np.ndarray) -> np.ndarray:
    """Hidden units that could be observed: those that were named, or all that have parents, or all."""
    network, hidden = what_if.network, what_if.hidden.copy()
    hidden[np.asarray(without, int)] = False
    if candidates is None:
        findings = hidden & ~network.roots
        return np.flatnonzero(findings if findings.any() else hidden)
    units = np.array([*dict.fromkeys(network.index(unit) for unit in candidates)], int)
    taken = units[~hidden[units]]
    if taken.size:
        raise InvalidEvidence(
            f"candidates must be hidden units other than those asked about; got {network.names[taken[0]]!r}."
        )
    return units


def _changes(what_if: WhatIf, asked: int, units: Sequence[int] | np.ndarray) -> tuple[WouldMove, ...]:
    """What each unit would do in either state, those that would move most first; states that cannot be are left out."""
    states = [(int(unit), state) for unit in units for state in (1.0, 0.0)]
    if not states:
        return ()
    solution = what_if.answers([{}, *({unit: state} for unit, state in states)])
    means = answered(solution, solution.means[:, asked])
    shifts = difference(log_odds(means[1:]), log_odds(means[0]))
    with np.errstate(invalid="ignore"):
        on = solution.log_likelihood[1::2] - solution.log_likelihood[2::2]
    chance = 1 / (1 + np.exp(-on))
    chances = np.stack([chance, 1 - chance], axis=1).ravel()
    found = [
        WouldMove(what_if.network.names[unit], "on" if state else "off", float(shift), float(mean), float(p))
        for (unit, state), shift, mean, p in zip(states, shifts, means[1:], chances, strict=True)
        if p > 0
    ]
    return _largest_first(found)
