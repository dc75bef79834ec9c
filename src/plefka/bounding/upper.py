"""ln P(evidence) from above: T. Jaakkola and M. Jordan, "Variational probabilistic inference and the QMR-DT network".

J. Artificial Intelligence Research 10 (1999). Every finding is bounded by a function that is a product over its causes,
so that the sum over the causes factorises; findings that lose most by that are then treated exactly, one after another.
Any rates give a bound, so a search for the best ones that stops early only leaves it looser.

Where a hidden unit has parents, the bound is what enumeration finds in small networks, and otherwise a weak one.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.bounding.open_findings import MOST_OPEN
from plefka.bounding.transformed import Found, Transformed, exact_plan
from plefka.bounding.two_layers import TwoLayers, edges_of, family_of, hidden_child, reduced
from plefka.errors import InvalidEvidence, InvalidInput

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

EXACT_FINDINGS = 12
MOST_ENUMERATED = 14


@dataclass(frozen=True)
class Upper:
    """`log_likelihood` is not below ln P(evidence), whether the search for the best rates `converged` or not."""

    log_likelihood: float
    converged: bool
    method: str
    num_steps: int


def upper_bound(network: "BeliefNetwork", row: Any, tilt: Any = None, *, exact_findings: int = EXACT_FINDINGS) -> Upper:
    """An upper bound of ln P(evidence), or with soft evidence of ln sum_S P(S, evidence) exp(sum_i tilt_i S_i).

    **Arguments:**

    - `row`: one number for each unit: 0, 1, or nan where it is hidden.
    - `tilt`: log-odds that are added to units; none by default.
    - `exact_findings`: how many findings of a noisy-or network are treated exactly, at most. The cost doubles with
        each that shares causes with the others; where more than `MOST_OPEN` would be open at once, fewer are exact.
    """
    if network.stack is not None:
        raise InvalidInput(f"an upper bound is for a single network; got a stack of {network.stack}.")
    if exact_findings < 0:
        raise InvalidInput(f"exact_findings must be 0 or more; got {exact_findings}.")
    row, tilt = _per_unit(network, row, "row"), _per_unit(network, 0.0 if tilt is None else tilt, "tilt")
    if applies(network, row, tilt) is None:
        problem = reduced(network, row, tilt)
        return _two_layers(problem, exact_findings if problem.family.log_off_is_linear else 0)
    if np.isnan(row).sum() <= MOST_ENUMERATED and not tilt.any():
        return _enumerated(network, row)
    return Upper(_best_case(network, row, tilt), True, "every observed unit at its best", 0)


def applies(network: "BeliefNetwork", row: Any, tilt: Any = None) -> str | None:
    """Why the bound of Jaakkola and Jordan does not apply to this network and evidence, or None where it does."""
    if network.stack is not None:
        return f"it is for a single network, and this is a stack of {network.stack}"
    if family_of(network) is None:
        return f"it is known for noisy-or and sigmoid units, and these are {network.activation.name}"
    row, tilt = _per_unit(network, row, "row"), _per_unit(network, 0.0 if tilt is None else tilt, "tilt")
    unit = hidden_child(network, row, tilt)
    if unit is None:
        return None
    state = "tilted, not observed," if tilt[unit] else "hidden"
    return f"unit {network.names[unit]!r} is {state} and has parents; only units without parents may be hidden"


def _per_unit(network: "BeliefNetwork", values: Any, what: str) -> np.ndarray:
    values = np.asarray(values, float)
    if values.shape not in ((), (network.size,)):
        raise InvalidEvidence(f"{what} must have one number for each of {network.size} units; got {values.shape}.")
    return np.broadcast_to(values, network.size)


def _two_layers(problem: TwoLayers, most: int) -> Upper:
    """One finding after another is made exact, with the rates of the others searched for anew from where they were."""
    if problem.constant == -np.inf:
        return Upper(-np.inf, True, "the evidence is impossible", 0)
    relaxed = Transformed(problem, _exact_from_the_start(problem, most))
    found = relaxed.minimise(relaxed.start())
    bound, steps = found.bound, found.num_steps
    while len(relaxed.exact) < most and (finding := _costliest(relaxed, found)) is not None:
        z = found.z[relaxed.soft != finding]
        relaxed = Transformed(problem, [*relaxed.exact, finding])
        found = relaxed.minimise(z)
        bound, steps = min(bound, found.bound), steps + found.num_steps
    method = f"Jaakkola-Jordan, {len(relaxed.exact)} of {len(problem.leak)} findings exact"
    return Upper(bound, found.converged, method, steps)


def _exact_from_the_start(problem: TwoLayers, most: int) -> list[int]:
    """All findings, where that is feasible."""
    findings = list(range(len(problem.leak)))
    return findings if len(findings) <= most and _fits(problem, findings) else []


def _fits(problem: TwoLayers, findings: list[int]) -> bool:
    return exact_plan(problem, findings).most_open <= MOST_OPEN


def _costliest(relaxed: Transformed, found: Found) -> int | None:
    """The finding that gains most by being exact, of those with which the tables do not grow too large."""
    by_cost = relaxed.soft[np.argsort(-relaxed.costs(found))].tolist()
    return next((finding for finding in by_cost if _fits(relaxed.problem, [*relaxed.exact, finding])), None)


def _enumerated(network: "BeliefNetwork", row: np.ndarray) -> Upper:
    from plefka.evidence import Evidence
    from plefka.exact.enumeration import posterior

    free_energy = posterior(network, Evidence(row[None]), prune=True, dtype="float64").free_energy
    return Upper(-float(free_energy[0]), True, "exact", 0)


def _best_case(network: "BeliefNetwork", row: np.ndarray, tilt: np.ndarray) -> float:
    """P(evidence) is at most the product over observed units of their largest probability given any parents."""
    soft = tilt[row == 1].sum() + np.maximum(tilt[np.isnan(row)], 0.0).sum()
    family = family_of(network)
    if family is None:
        return float(soft)
    edges = edges_of(network)
    hidden = np.isnan(row)[edges.parent]
    x = network.bias + edges.take(row[edges.parent] == 1).sum_by_child()
    low = np.maximum(x + edges.take(hidden & (edges.weight < 0)).sum_by_child(), family.lowest)
    high = np.maximum(x + edges.take(hidden & (edges.weight > 0)).sum_by_child(), family.lowest)
    return float(soft + family.log_on(high)[row == 1].sum() + family.log_off(low)[row == 0].sum())
