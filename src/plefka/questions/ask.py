"""What to observe next: the hidden unit whose state is expected to give most information about the targets."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence
from plefka.inference.log_odds import entropy
from plefka.inference.ranking import check_top
from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy
from plefka.networks.belief import BeliefNetwork
from plefka.questions.changed_evidence import ChangedEvidence, how_computed, mark_of, weakest
from plefka.questions.explain import possible_units
from plefka.runtime import extras
from plefka.tables.display import text_table

MOST_CANDIDATES = 64  # that are looked at one by one
MOST_TARGETS = 32  # by which they are chosen where there are more


@dataclass(frozen=True)
class Candidate:
    """A unit that could be observed: its expected information about the targets, in nats, and P(on | evidence).

    The `accuracy` says whether both are exact, or estimates.
    """

    unit: str
    information: float
    probability: float
    accuracy: Accuracy = Accuracy.ESTIMATE


@dataclass(frozen=True, repr=False)
class Advice:
    """The result of `ask`: which unit to observe next. `print` shows it as a table.

    - `unit`: the most informative candidate.
    - `candidates`: all candidates, the most informative first.
    - `targets`: the units that the information is about.
    - `entropy`: the sum of the entropies of the targets before the next observation, in nats.
    - `method`, `notes`: how the probabilities were computed. `is_exact`: whether all numbers here are exact.

    **Example:**

    >>> import plefka as pf
    >>> advice = pf.ask(pf.example("espresso"), {"slow_flow": 1}, targets=["stale_beans"])
    >>> advice.unit
    'thin_crema'
    """

    candidates: tuple[Candidate, ...]
    targets: tuple[str, ...]
    entropy: float
    method: str
    notes: tuple[str, ...]
    is_exact: bool

    @property
    def unit(self) -> str:
        """The most informative candidate."""
        return self.candidates[0].unit

    def to_frame(self) -> Any:
        """A DataFrame with a row for each candidate."""
        return extras.pandas().DataFrame([vars(each) for each in self.candidates])

    def __repr__(self) -> str:
        return f"<Advice by {self.method}: observe {self.unit!r}, {self.candidates[0].information:.4g} nats>"

    def __str__(self) -> str:
        count = len(self.targets)
        about = f"{count:,} units" if count > 3 else ", ".join(self.targets)
        known = [each.accuracy for each in self.candidates]
        rows = [
            (c.unit, *(f"{mark_of(c.accuracy, known)}{z:.6f}" for z in (c.information, c.probability)))
            for c in self.candidates
        ]
        lines = [
            f"observe {self.unit} next: it is expected to give most information about {about}",
            f"entropy of the targets now: {self.entropy:.6f} nats",
            how_computed(self.method, known),
            *self.notes,
            "",
            text_table(("unit", "information, nats", "P(on | evidence)"), rows),
        ]
        return "\n".join(lines)


def ask(
    network: BeliefNetwork,
    evidence: Any = None,
    candidates: Sequence[str | int] | None = None,
    targets: Sequence[str | int] | None = None,
    method: str | Method | None = None,
    *,
    top: int = 10,
) -> Advice:
    """Which hidden unit to observe next: the one with most mutual information about the targets, given the evidence.

    The information about several targets is the sum of the information about each of them. It is computed from two
    rows for each candidate, one with the candidate on and one with it off. With an approximate method, the result is
    an approximation. If there are more than 64 candidates, 64 are selected first by an estimate of what they say about
    the 32 least certain targets.

    **Arguments:**

    - `network`, `evidence`: a single network and a single row of evidence, as for `infer`.
    - `candidates`: the hidden units that could be observed. The default is all hidden units with parents.
    - `targets`: the units to learn about. The default is all hidden units without parents, the causes.
    - `method`: the method for all probabilities, as for `infer`. The default is `auto`.
    - `top`: the number of candidates to return.

    **Example:**

    >>> import plefka as pf
    >>> advice = pf.ask(pf.example("espresso"), {"slow_flow": 1}, targets=["stale_beans"], top=2)
    >>> [candidate.unit for candidate in advice.candidates]
    ['thin_crema', 'bitter_taste']
    """
    check_top(top)
    changed = ChangedEvidence.of(network, evidence, method, "ask")
    about = _targets(changed, targets)
    units = possible_units(changed, candidates, without=about)
    if not units.size:
        raise InvalidEvidence(
            "ask needs a hidden unit that is not a target; all units are observed or targets. Name fewer targets."
        )
    if len(units) > MOST_CANDIDATES:
        units = units[np.argsort(-_screened(changed, units, about), kind="stable")][:MOST_CANDIDATES]
    solution = changed.answers([{}, *({unit: state} for unit in units.tolist() for state in (1.0, 0.0))])
    information, on = _information(solution, about)
    now, accuracies = solution.codes.means[0, about], _accuracies(solution, about)
    order = np.argsort(np.where(np.isnan(information), np.inf, -information), kind="stable")[:top]
    found = tuple(Candidate(network.names[units[k]], float(information[k]), float(on[k]), accuracies[k]) for k in order)
    all_exact = weakest(now) is Accuracy.EXACT and all(each.accuracy is Accuracy.EXACT for each in found)
    return Advice(
        found, tuple(network.names[unit] for unit in about), float(entropy(solution.means[0, about]).sum()),
        str(solution.method), solution.notes, all_exact,
    )  # fmt: skip


def _targets(changed: ChangedEvidence, targets: Sequence[str | int] | None) -> np.ndarray:
    network = changed.network
    if targets is None:
        found = np.flatnonzero(network.roots & changed.hidden)
    else:
        found = np.array([*dict.fromkeys(network.index(unit) for unit in targets)], int)
        observed = found[~changed.hidden[found]]
        if observed.size:
            raise InvalidEvidence(
                f"targets must be hidden units; {network.names[observed[0]]!r} is observed. Name other targets."
            )
    if not found.size:
        raise InvalidEvidence(
            "ask needs at least one target; got none. By default the targets are the hidden units without parents. "
            "Pass targets=[...] with other hidden units."
        )
    return found


def _screened(changed: ChangedEvidence, units: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """About how much every unit says about the least certain targets; information is the same in both directions."""
    now = changed.answers([{}])
    uncertain = targets[np.argsort(-entropy(now.means[0, targets]), kind="stable")][:MOST_TARGETS]
    rows = changed.answers([{}, *({unit: state} for unit in uncertain.tolist() for state in (1.0, 0.0))])
    p = rows.means[0, uncertain][:, None]
    given_on, given_off = rows.means[1::2][:, units], rows.means[2::2][:, units]
    there = (rows.converged[1::2] & rows.converged[2::2])[:, None]  # a target that can only be in one state is known
    return np.where(there, _mutual(p, given_on, given_off), 0.0).sum(axis=0)


def _information(solution: Any, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of every candidate about all targets, and its probability to be on, from rows with it on and off."""
    log_on, log_off = solution.log_likelihood[1::2], solution.log_likelihood[2::2]
    with np.errstate(invalid="ignore", over="ignore"):
        on = 1 / (1 + np.exp(log_off - log_on))
    means = solution.means[:, targets]
    information = _mutual(on[:, None], means[1::2], means[2::2]).sum(axis=1)
    certain = (on == 0) | (on == 1)  # one of its states is impossible
    there = (solution.converged[1::2] & solution.converged[2::2]) | certain
    return np.where(certain, 0.0, np.where(there, information, np.nan)), on


def _accuracies(solution: Any, targets: np.ndarray) -> list[Accuracy]:
    """What these are: of every candidate all that they follow from, in both of its rows."""
    codes = np.column_stack([solution.codes.log_partition, solution.codes.means[:, targets]])[1:]
    return [weakest(pair) for pair in codes.reshape(len(codes) // 2, 2, -1)]


def _mutual(p: np.ndarray, if_on: np.ndarray, if_off: np.ndarray) -> np.ndarray:
    """Of two units: the entropy of one minus what is left of it on average once the other, on with p, is known."""
    return entropy(p * if_on + (1 - p) * if_off) - p * entropy(if_on) - (1 - p) * entropy(if_off)
