"""What `ask` answers: candidates with what each of their states would say, a set of tests, and whether to stop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.errors import InvalidEvidence
from plefka.methods.posterior import Accuracy
from plefka.questions.changed_evidence import how_computed, mark_of
from plefka.runtime import extras
from plefka.tables.display import Content, ShownAnswer

Leading = tuple[tuple[str, float], ...]  # targets and their probabilities, the most probable first


class NothingToAsk(InvalidEvidence):
    """No hidden unit is left that could be observed, or no target."""


@dataclass(frozen=True)
class CandidateOutcome:
    """A state that a candidate may be found in: P(state | evidence), and what it would do to the targets.

    `leading` are the most probable targets then, `changed` is the one whose probability would move most, with its
    probability now and then.
    """

    state: str  # "on" or "off"
    chance: float
    leading: Leading
    changed: tuple[str, float, float]


@dataclass(frozen=True)
class Candidate:
    """A unit that could be observed: its expected information about the targets, in nats, and P(on | evidence).

    The `accuracy` says whether these are exact, or estimates. `cost` is that of observing it, and `outcomes` are what
    its states, those that are possible, would do to the targets. The `interval` is where the probability lies, in 95 of
    100 cases; nan where that is not known.
    """

    unit: str
    information: float
    probability: float
    accuracy: Accuracy = Accuracy.ESTIMATE
    cost: float = 1.0
    outcomes: tuple[CandidateOutcome, ...] = ()
    interval: Sequence[float] = (np.nan, np.nan)

    @property
    def information_per_cost(self) -> float:
        return self.information / self.cost


@dataclass(frozen=True)
class CandidateSet:
    """Units to observe together: the information, in nats, of all their states about each target, summed over these.

    - `is_best`: whether all sets of as many candidates were compared, exactly. Otherwise units were added to the best
        pair one after another.
    - `bound`: no set of as many candidates has more information than this, whatever the network.
    - `sum_of_best`: the largest sum of the information of as many candidates by themselves. No set has more where
        candidates are independent of each other given any one target; where they explain each other's causes away, one
        may.
    """

    units: tuple[str, ...]
    information: float
    cost: float
    is_best: bool
    bound: float
    sum_of_best: float
    accuracy: Accuracy = Accuracy.ESTIMATE

    def __str__(self) -> str:
        count = len(self.units)
        how = (
            f"the best of all sets of {count}"
            if self.is_best
            else f"found one after another from the best pair; no set of {count} gives more than {self.bound:.6f}"
        )
        return (
            f"observed together, {', '.join(self.units)} are expected to give {self.information:.6f} nats ({how}); "
            f"the {count} best by themselves add up to {self.sum_of_best:.6f}"
        )


@dataclass(frozen=True, repr=False)
class Advice(ShownAnswer):
    """The result of `ask`: which unit to observe next. `print` shows it as a table.

    - `unit`: the best candidate: the most informative for its cost.
    - `candidates`: all candidates, the best first.
    - `targets`: the units that the information is about.
    - `entropy`: the sum of the entropies of the targets before the next observation, in nats.
    - `method`, `notes`: how the probabilities were computed. `is_exact`: whether all numbers here are exact.
    - `leading`: the most probable targets now, with their probabilities.
    - `best_set`: the units to observe together, where `together` was given.
    - `stop`: whether a rule that was given says that nothing more need be observed; `reason` is a sentence.

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
    leading: Leading = ()
    best_set: CandidateSet | None = None
    stop: bool = False
    reason: str = ""

    @property
    def unit(self) -> str:
        """The best candidate."""
        return self.candidates[0].unit

    @property
    def has_costs(self) -> bool:
        """Whether candidates differ in their costs, or cost other than 1."""
        return any(each.cost != 1 for each in self.candidates)

    def to_frame(self) -> Any:
        """A DataFrame with a row for each candidate; with costs, also what each gives for its cost."""
        names = ["unit", "information", "probability", "accuracy"]
        names += ["cost", "information_per_cost"] if self.has_costs else []
        return extras.pandas().DataFrame([{name: getattr(each, name) for name in names} for each in self.candidates])

    def __repr__(self) -> str:
        return f"<Advice by {self.method}: observe {self.unit!r}, {self.candidates[0].information:.4g} nats>"

    def _content(self) -> Content:
        count, best = len(self.targets), "most information for its cost" if self.has_costs else "most information"
        about = f"{count:,} units" if count > 3 else ", ".join(self.targets)
        title = f"observe {self.unit} next: it is expected to give {best} about {about}"
        known = [each.accuracy for each in self.candidates]
        leading = ", ".join(f"{name} {probability:.4f}" for name, probability in self.leading)
        sentences = (
            *((self.reason,) if self.reason else ()),
            f"entropy of the targets now: {self.entropy:.6f} nats; most probable: {leading}",
            *(() if self.best_set is None else (str(self.best_set),)),
            how_computed(self.method, known),
            *self.notes,
        )
        costs = ("cost", "nats per cost") if self.has_costs else ()
        header = ("unit", "information, nats", *costs, "P(on | evidence)", "if on", "if off")
        rows = []
        for each in self.candidates:
            mark = mark_of(each.accuracy, known)
            own = (f"{each.cost:g}", f"{mark}{each.information_per_cost:.6f}") if self.has_costs else ()
            then = {z.state: "{} {:.3f} -> {:.3f}".format(*z.changed) for z in each.outcomes}
            numbers = (f"{mark}{each.information:.6f}", *own, f"{mark}{each.probability:.6f}")
            rows.append((each.unit, *numbers, then.get("on", "impossible"), then.get("off", "impossible")))
        return Content(title, sentences, header, rows, len(rows), "candidates")


def stopping(
    found: tuple[Candidate, ...], leading: Leading, stop_below: float | None, certain_above: float | None
) -> tuple[bool, str]:
    """Whether a rule says so, and the sentence that says why, or why not."""
    (name, probability), best = leading[0], found[0].information_per_cost
    if certain_above is not None and probability >= certain_above:
        return True, f"stop: {name} has probability {probability:.4g}, which is at least {certain_above:g}"
    if stop_below is not None and not best >= stop_below:
        why = f"no candidate is expected to give {stop_below:g} nats for a cost of 1; the best gives {best:.4g}"
        return True, f"stop: {why}"
    return False, "" if stop_below is None and certain_above is None else "go on: no rule to stop applies yet"
