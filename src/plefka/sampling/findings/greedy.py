"""Which findings are exact: greedily, the one next whose exact treatment lowers the bound most.

T. Jaakkola and M. Jordan, "Variational probabilistic inference and the QMR-DT network", J. Artificial Intelligence
Research 10 (1999).
"""

import numpy as np

from plefka.sampling.findings.open_findings import OpenFindings
from plefka.sampling.findings.problem import FindingsProblem
from plefka.sampling.findings.transformed import BestTangents, TangentSearch, Transformed

CHOICE_SECONDS = 0.05  # of one sum over the exact findings, of which a search takes some dozens
ON_THE_WAY = TangentSearch(max_steps=6, tol=1e-2)  # until the last finding is chosen


def transformed(problem: FindingsProblem, most: int, search: TangentSearch) -> tuple[Transformed, BestTangents]:
    """At most so many findings exact, fewer where a sum over them would take too long; the others transformed."""
    relaxed = Transformed(problem, _from_the_start(problem, most))
    found = relaxed.minimise(relaxed.start(), search if len(relaxed.exact) == most else ON_THE_WAY)
    while len(relaxed.exact) < most and (finding := _costliest(relaxed, found)) is not None:
        z = found.z[relaxed.transformed != finding]
        relaxed = Transformed(problem, [*relaxed.exact, finding])
        found = relaxed.minimise(z, ON_THE_WAY)
    return relaxed, relaxed.minimise(found.z, search)


def _from_the_start(problem: FindingsProblem, most: int) -> list[int]:
    """All findings, where that is feasible."""
    findings = list(range(len(problem.leak)))
    return findings if len(findings) <= most and _is_quick(problem, findings) else []


def _costliest(relaxed: Transformed, found: BestTangents) -> int | None:
    """The finding that gains most by being exact, of those with which a sum does not take too long."""
    by_cost = relaxed.transformed[np.argsort(-relaxed.costs(found), kind="stable")].tolist()
    return next((finding for finding in by_cost if _is_quick(relaxed.problem, [*relaxed.exact, finding])), None)


def _is_quick(problem: FindingsProblem, findings: list[int]) -> bool:
    together = OpenFindings.of(problem, findings)
    return together is None or together.seconds <= CHOICE_SECONDS
