"""Cases to start from: the one that a bundled example tells of, and the commonest findings of some causes."""

from typing import Any

import numpy as np

from plefka.explorer.catalogue import Catalogue
from plefka.networks.examples import Example

MOST_CASES, FINDINGS = 6, 4


def cases(catalogue: Catalogue, example: Example | None) -> list[dict[str, Any]]:
    """Titles with evidence; causes of many findings first."""
    own = [] if example is None else [{"title": "The case of this example", "evidence": example.evidence}]
    return own + [_case(catalogue, cause) for cause in _causes(catalogue)]


def _causes(catalogue: Catalogue) -> list[int]:
    causes = np.flatnonzero((catalogue.num_parents == 0) & (catalogue.num_children > 0))
    order = np.argsort(-catalogue.num_children[causes], kind="stable")
    chosen = causes[order[: 4 * MOST_CASES]].tolist()
    return [cause for cause in chosen if catalogue.strongest_children(cause, 1)][:MOST_CASES]


def _case(catalogue: Catalogue, cause: int) -> dict[str, Any]:
    findings = catalogue.strongest_children(cause, FINDINGS)
    return {
        "title": f"The commonest findings of {catalogue.names[cause]}",
        "evidence": {catalogue.names[finding]: 1 for finding in findings},
    }
