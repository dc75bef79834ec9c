"""The way of every answer: reduce, let the method solve each part, recover all units."""

from collections.abc import Iterable
from typing import Any, cast

import numpy as np

from plefka.exact.barren import improved
from plefka.methods.method import Method
from plefka.methods.posterior import Posterior, RowAnswers
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.question import Part
from plefka.reduction.recovery import recover, reductions
from plefka.reduction.reduce import Reduction


def answer_of(method: Method, network: Network, evidence: Evidence, *, prune: bool, dtype: str) -> RowAnswers:
    """What the method finds for every row, in its own way or by parts."""
    found = method.answer(network, evidence, prune=prune, dtype=dtype)
    if found is None:
        return solved(method, network, evidence, prune=prune, dtype=dtype)
    return RowAnswers.of(found, method) if isinstance(found, Posterior) else found


def solved(method: Method, network: Network, evidence: Evidence, *, prune: bool, dtype: str) -> RowAnswers:
    """What the method finds for every row, by parts."""
    return of_reduced(method, reductions(method, network, evidence, prune=prune), network, evidence, dtype)


def of_reduced(
    method: Method,
    reduced: Iterable[tuple[np.ndarray, Reduction]],
    network: Network,
    evidence: Evidence,
    dtype: str,
    *,
    known: dict[Part, Posterior] | None = None,
) -> RowAnswers:
    """Of rows that are reduced already; barren units whose parents depend on each other are summed over with these."""
    found = recover(method, reduced, network, evidence, dtype, known=known)
    return improved(cast(Any, network), evidence, found, dtype) if found.knows_parents.any() else found
