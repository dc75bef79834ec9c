"""What `auto` makes of the answers of several methods: what the check of a row says, and one answer to all rows."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plefka.methods.method import Method
from plefka.methods.posterior import Posterior, RowAnswers

if TYPE_CHECKING:
    from plefka.inference.check_verdict import Check

CLOSE_MEANS = 5e-3  # nats that are no reason to look further


@dataclass(frozen=True)
class CheckedRow:
    """What the check of a row says, as the end of a sentence."""

    check: "Check | None"
    otherwise: str = ""

    @property
    def draws(self) -> float:
        return np.nan if self.check is None else self.check.log_likelihood

    @property
    def off(self) -> float:
        """How far ln P(evidence) is from that of the draws; 0 where these say nothing."""
        if self.check is None or self.check.estimate is None or not self.check.reliable:
            return 0.0
        return abs(self.check.estimate - self.check.log_likelihood)

    @property
    def is_off(self) -> bool:
        """Whether that is more than chance and a little."""
        return self.check is not None and self.off > CLOSE_MEANS + 2 * self.check.standard_error

    def __str__(self) -> str:
        if self.check is None:
            return self.otherwise
        if not self.check.reliable:
            return "; its check could not confirm it, as too few samples carry weight"
        if not self.is_off:
            return f"; {self.check.sampler} agrees with it"
        return f"; {self.check.sampler} differs from it by {self.off:.2g} (+- {self.check.standard_error:.1g})"


class Chosen(NamedTuple):
    """Some rows, the answers of the method that was chosen for them, and why it was, for each."""

    rows: np.ndarray
    found: RowAnswers
    method: Method
    why: tuple[str, ...]

    def take(self, places: np.ndarray) -> "Chosen":
        """Some of them."""
        return Chosen(self.rows[places], self.found.take(places), self.method, tuple(self.why[k] for k in places))


def joined_answers(chosen: list[Chosen]) -> RowAnswers:
    """All rows, with a note for each method that answered some of them."""
    order = np.argsort(np.concatenate([each.rows for each in chosen]), kind="stable")
    found = RowAnswers.join([each.found for each in chosen], None if len(chosen) == 1 else order)
    methods = np.array([each.method for each in chosen for _ in each.rows], object)[order]
    return replace(found, notes=(*_sentences(chosen, len(order)), *found.notes), methods=methods)


def with_note(found: Posterior, chosen: Method, why: str) -> Posterior:
    """An answer with a note that says which method it is of, and why."""
    about = found.about
    bound = chosen.is_bound if about.is_bound is None else about.is_bound
    return found._replace(about=replace(about, notes=(f"auto chose {chosen}: {why}", *about.notes), is_bound=bound))


def _sentences(chosen: list[Chosen], count: int) -> list[str]:
    """One for each method."""
    by_method: dict[Method, list[str]] = {}
    for each in chosen:
        by_method.setdefault(each.method, []).extend(each.why)
    return [f"auto chose {method}{_share(len(why), count)}: {_reason(why)}" for method, why in by_method.items()]


def _share(some: int, count: int) -> str:
    return "" if some == count else f" for {some:,} of {count:,} rows"


def _reason(why: list[str]) -> str:
    (most_often, times), *others = Counter(why).most_common()
    return f"{most_often} (in {times:,} of these rows)" if others else most_often
