"""What `auto` makes of the answers of several methods: whether they contradict each other, and one answer."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from plefka.methods.method import Method
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, RowAnswers

CONTRADICTED = 5.0  # nats, and standard errors, that populations which have not converged differ from messages by


def contradicts(populations: RowAnswers, messages: RowAnswers) -> bool:
    """Whether populations of one row that have not converged speak against messages, if these are an answer at all."""
    if messages.status[0] == IMPOSSIBLE:
        return False
    error = float(np.nan_to_num(0.0 if populations.error is None else populations.error[0]))
    apart = abs(float(messages.free_energy[0] - populations.free_energy[0]))
    return messages.status[0] != CONVERGED or not apart <= CONTRADICTED * (1 + error)


class Chosen(NamedTuple):
    """Some rows, the answers of the method that was chosen for them, and why it was."""

    rows: np.ndarray
    found: RowAnswers
    method: Method
    why: str


def joined_answers(chosen: list[Chosen]) -> RowAnswers:
    """All rows, with a note for each method that answered some of them."""
    order = np.argsort(np.concatenate([each.rows for each in chosen]), kind="stable")
    found = RowAnswers.join([each.found for each in chosen], None if len(chosen) == 1 else order)
    methods = np.array([each.method for each in chosen for _ in each.rows], object)[order]
    return replace(found, notes=(*_sentences(chosen, len(order)), *found.notes), methods=methods)


def _sentences(chosen: list[Chosen], count: int) -> Iterator[str]:
    by_method: dict[Method, Counter[str]] = {}
    for each in chosen:
        by_method.setdefault(each.method, Counter())[each.why] += len(each.rows)
    for method, reasons in by_method.items():
        share = "" if reasons.total() == count else f" for {reasons.total():,} of {count:,} rows"
        (most_often, times), *others = reasons.most_common()
        reason = f"{most_often} (in {times:,} of these rows)" if others else most_often
        yield f"auto chose {method}{share}: {reason}"
