"""Rows that observe a few further units beside the evidence, in the part of the network that they are about."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.methods.method import Method
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.progress import progress
from plefka.reduction.relevant import has_parts, narrowed, part_of
from plefka.runtime.late_binding import INFER, supplied

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

NUMBERS_ANSWERED = 2**20  # units or edges of the network times rows that are answered together


def relevant_part(
    network: Network, evidence: Evidence, method: Method, places: np.ndarray
) -> tuple[Network, Evidence, np.ndarray]:
    """Of a large network what the evidence and these units depend on, and which of its units these are."""
    if not has_parts(network) or evidence.exclusive is not None:
        return network, evidence, np.arange(network.size)
    informed = np.asarray(evidence.informed).any(axis=0) | method.units_to_keep(network)
    informed[places] = True
    part, units = part_of(network, informed)
    return part, narrowed(evidence, units), units


def answered_rows(
    network: Network, evidence: Evidence, method: Method, source: np.ndarray, places: np.ndarray, states: np.ndarray,
    **options: Any,
) -> "Iterator[tuple[slice, Solution]]":  # fmt: skip
    """Rows of the evidence (rows,) with states (rows, places), nan for what stays as it is, some after others."""
    step = max(1, NUMBERS_ANSWERED // max(network.size, network.storage.num_edges))
    starts = range(0, len(states), step)
    for first in progress(starts, "rows") if len(starts) > 1 else starts:
        some = slice(first, first + step)
        given = evidence.take(source[some])._replace(batched=True)
        given.rows[:, places] = np.where(np.isnan(states[some]), given.rows[:, places], states[some])
        yield some, supplied(INFER)(network, given, method, throw=False, **options)
