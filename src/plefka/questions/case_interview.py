"""An interview about one case: the question that `ask` expects to tell most, its answer, the next one, and the end."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.ranking import CAUSES, chosen_units
from plefka.inference.solution import Solution
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Likelihood
from plefka.questions.advice import Advice, NothingToAsk
from plefka.questions.ask import ask
from plefka.questions.changed_evidence import ChangedEvidence

State = int | Likelihood
LATER = "later"  # in the place of an answer
SHOWN = 3  # of the questions that are left
EXPECTED = 0.5  # the prior from which on it says nothing that a target is certain


class NextQuestion(NamedTuple):
    """The unit to ask about, or None; why, or why it is time to stop; the best questions and what they resolve."""

    unit: str | None
    why: str
    left: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, eq=False)
class Interview:
    """Questions about one case, one at a time. It is a value: an answer gives a new interview, and the old one stays.

    - `network`, `evidence`: a single network, and {unit: state} of what is known before.
    - `options`: `candidates`, `targets`, `method`, `costs` and `exclusive`, as for `ask`.
    - `stop_below`: stop when no question is expected to give so many nats for a cost of 1.
    - `certain_above`: stop when a target has this probability. Targets that are more probable than not without any
        evidence do not count: that toner is there says nothing of what is wrong.
    - `answers`: pairs of a unit and its state, None for "don't know", or "later", in this order.

    **Example:**

    >>> import plefka as pf
    >>> interview = pf.Interview(pf.example("espresso"), {"slow_flow": 1}, {"targets": ["stale_beans"]})
    >>> interview.next.unit
    'thin_crema'
    >>> interview.answered("thin_crema", 1).next.unit
    'bitter_taste'
    """

    network: BeliefNetwork
    evidence: Mapping[str, State] = field(default_factory=dict)
    options: Mapping[str, object] = field(default_factory=dict)
    stop_below: float = 0.01
    certain_above: float = 0.95
    answers: tuple[tuple[str, State | str | None], ...] = ()
    expected: frozenset[str] | None = None  # targets that are more probable than not without any evidence

    def __post_init__(self):
        if self.expected is None:
            known = replace(self, evidence={}, answers=(), expected=frozenset()).ranking
            object.__setattr__(self, "expected", frozenset(unit for unit, p in known if p > EXPECTED))

    def answered(self, unit: str | int, state: State | str | None) -> "Interview":
        """With the state of a unit; or None, and it is not asked again; or "later", and it is, once, at the end."""
        name = self.network.names[self.network.index(unit)]
        if name in self.observed or dict(self.answers).get(name, LATER) != LATER:
            raise InvalidInput(f"{name!r} is known already, or has an answer. Undo that answer first.")
        return replace(self, answers=(*self.answers, (name, state)))

    def undone(self) -> "Interview":
        """Without the last answer, exactly as it was before."""
        return replace(self, answers=self.answers[:-1])

    @property
    def observed(self) -> dict[str, State]:
        """What is known by now."""
        return {**self.evidence, **{unit: state for unit, state in self.answers if isinstance(state, State)}}

    @cached_property
    def _targets(self) -> np.ndarray:
        return chosen_units(self.network, cast(Any, self.options.get("targets")) or CAUSES)

    @cached_property
    def solution(self) -> Solution:
        """Of the targets, by what is known by now."""
        method, group = (cast(Any, self.options.get(name)) for name in ("method", "exclusive"))
        known = ChangedEvidence.of(self.network, self.observed, method, "Interview", exclusive=group)
        return known.answers([{}], np.isin(np.arange(self.network.size), self._targets)).row(0)

    @cached_property
    def ranking(self) -> list[tuple[str, float]]:
        """The targets, most probable first, by what is known by now."""
        return self.solution.ranking(None, units=self._targets.tolist())

    @cached_property
    def next(self) -> NextQuestion:
        advice, expected = self.advice, self.expected or ()
        unit, p = next((each for each in self.ranking if each[0] not in expected), ("", 0.0))
        entropy = max(advice.entropy, 1e-300) if advice else 1.0
        left = tuple((each.unit, each.information / entropy) for each in (advice.candidates if advice else ()))
        if p >= self.certain_above:
            return NextQuestion(None, f"{self._label(unit)} has probability {p:.3g}.", left)
        if advice is None:
            return NextQuestion(None, "Nothing is left to ask.")
        share = f"should resolve {left[0][1]:.1%} of what is uncertain."
        if advice.stop:
            return NextQuestion(None, f"No question left tells much: the best {share}", left)
        return NextQuestion(advice.unit, f"{self._reason(advice)} It {share}", left)

    @cached_property
    def advice(self) -> Advice | None:
        """What `ask` says without what was put back; or with it, where nothing else is left that tells enough."""
        last, asked, found = dict(self.answers), Counter(unit for unit, _ in self.answers), None
        waiting = {unit for unit, state in last.items() if state == LATER and asked[unit] == 1}
        options: dict[str, Any] = {**self.options, "top": SHOWN, "stop_below": self.stop_below}
        never = {*self.network.names} - {*options.pop("candidates", self.network.names)} | {*self.observed}
        for skipped in ({*last}, {*last} - waiting):
            try:
                found = ask(self.network, self.observed, without=[*never | skipped], **options)
            except NothingToAsk:
                continue
            if not (found.stop and waiting):
                break
        return found

    def _reason(self, advice: Advice) -> str:
        """Between which causes the best question decides; if one leads in either case, what would change most."""
        best, (off, on) = advice.candidates[0], self.words(advice.unit)
        (one, p), (other, q) = (best.outcomes[at].leading[0] for at in (0, -1))
        if one != other and not {one, other} & (self.expected or set()):
            return (
                f"It would separate {self._label(one)} ({p:.3g} if {on}) from {self._label(other)} ({q:.3g} if {off})."
            )
        most = max(best.outcomes, key=lambda each: abs(each.changed[2] - each.changed[1]))
        unit, now, then = most.changed
        return f"If {on if most.state == 'on' else off}, {self._label(unit)} would go from {now:.3g} to {then:.3g}."

    def words(self, unit: str) -> tuple[str, str]:
        """What the states of a unit are called, off and on."""
        given = self.network.given_states
        return ("no", "yes") if given is None else given[self.network.index(unit)]

    def _label(self, unit: str) -> str:
        """A target, with its word for on where that is not yes."""
        return f"{unit} {self.words(unit)[1]}".removesuffix(" yes")
