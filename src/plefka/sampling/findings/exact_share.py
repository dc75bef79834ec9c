"""What an answer by `findings` will take, and how many can be exact: predicted, so that it is always the same."""

import numpy as np

from plefka.exact.cost import FINDINGS_EDGE, FINDINGS_ROW, STEP
from plefka.networks.edge_list import EdgeList
from plefka.reduction.question import Question

SUMS_AT_LEAST, SUMS = 12, 5  # of a search, and for each finding that is exact
STEPS_PER_FINDING_EDGE = 0.7  # of a sum, for each edge into findings that are exact
EXACT = (12, 8, 4, 2, 0)  # findings, of which as many are taken as fit


def affordable(questions: list[Question], seconds: float, *, kept: int = 0) -> int | None:
    """How many findings can be exact; None where none is on, or it takes too long even if all are transformed.

    `kept`: findings that are never exact, of the row that has most of them.
    """
    sizes = np.concatenate([_sizes(question) for question in questions], axis=1) if questions else np.zeros((2, 0))
    most = int(sizes[1].max(initial=0))
    if most == 0:
        return None
    counts = (min(k, max(0, most - kept)) for k in EXACT)
    return next(
        (k for k in counts if sum(_seconds(edges, findings, k) for edges, findings in sizes.T.tolist()) <= seconds),
        None,
    )


def _seconds(num_edges: float, num_findings: float, k: int) -> float:
    """For one row."""
    exact = min(1.0, k / max(1.0, num_findings))
    return (
        FINDINGS_ROW
        + FINDINGS_EDGE * num_edges
        + (SUMS_AT_LEAST + SUMS * k) * STEP * STEPS_PER_FINDING_EDGE * num_edges * exact
    )


def _sizes(question: Question) -> np.ndarray:
    """Of every row, how many edges lead into noisy-or units that are observed on, and how many these units are."""
    f, edges = question.model.activation, EdgeList.of(question.storage)
    if not f.has_linear_log_off:
        return np.zeros((2, question.num_rows), int)
    on = question.model.counted & ~question.free & (question.values == 1) & f.is_linear_off(question.model.h)
    live = on[edges.child] & question.free[edges.parent] & (edges.weight != 0)
    seen = np.zeros(question.free.shape, bool)
    np.logical_or.at(seen, edges.child, live)
    return np.stack([live.sum(axis=0), seen.sum(axis=0)])
