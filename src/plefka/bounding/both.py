"""`bounds`: the best lower and upper bounds of ln P(evidence) that are known, and who found them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from plefka.bounding.upper import upper_bound
from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.evidence import as_evidence
from plefka.exact.ways import Exactly
from plefka.methods import parse_method
from plefka.networks.belief import BeliefNetwork
from plefka.reduction.reduce import Reduction, reduce
from plefka.solution import CONVERGED, OUT_OF_STEPS

LOWER = ("SJJ", "G1", "conditioned[G1,k=4]", "mixture[4]")
AFFORDABLE = 1.0  # seconds that an exact answer may take, and the bounds meet


@dataclass(frozen=True)
class Bounds:
    """lower <= ln P(evidence) <= upper, up to rounding, and the method of each."""

    lower: float
    upper: float
    lower_method: str
    upper_method: str

    @property
    def gap(self) -> float:
        """How far they are apart: 0 where both say that the evidence is impossible."""
        return 0.0 if self.upper == self.lower else self.upper - self.lower


def bounds(network: BeliefNetwork, evidence: Any = None) -> Bounds:
    """ln P(evidence) from below and from above, of a single network and a single row."""
    if not isinstance(network, BeliefNetwork):
        raise InvalidInput(f"network must be a BeliefNetwork; got {type(network).__name__}.")
    given = as_evidence(network, evidence)
    if given.batched:
        raise InvalidInput("bounds are for one network and one row of evidence; call it for each row.")
    offset = 0.0 if given.offset is None else float(given.offset[0])
    reduction = reduce(network, given._replace(batched=True))  # so that impossible evidence has a bound
    (part,) = reduction.parts
    if reduction.impossible[0]:
        return Bounds(-np.inf, -np.inf, "exact", "exact")
    if Exactly.of(part).seconds <= AFFORDABLE:
        found = parse_method("exact").posterior(part, dtype="float64")
        exact = offset + float(part.constant[0] - found.free_energy[0])
        return Bounds(exact, exact, "exact", "exact")
    lower, by = _lower(network, reduction)
    above = upper_bound(part)
    return Bounds(lower + offset, above.log_likelihood + offset, by, above.method)


def _lower(network: BeliefNetwork, reduction: Reduction) -> tuple[float, str]:
    """The highest of all lower bounds that apply; minus infinity where there is none."""
    best, by = -np.inf, "no lower bound applies"
    (part,) = reduction.parts
    for name in () if reduction.is_loose[0] else LOWER:
        method = parse_method(name)
        try:
            method.check(network)
            found = method.posterior(part, dtype="float64")
        except MethodDoesNotApply:
            continue
        is_bound = method.is_bound if found.about.is_bound is None else found.about.is_bound
        value = float(part.constant[0] - found.free_energy[0])
        if is_bound and found.status[0] in (CONVERGED, OUT_OF_STEPS) and np.isfinite(value) and value > best:
            best, by = value, str(method)
    return best, by
