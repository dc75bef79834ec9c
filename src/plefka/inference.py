"""The one verb: infer(network, evidence, method) -> Solution."""

from dataclasses import replace
from typing import Any

from plefka.averages.choice import narrowed
from plefka.certainty import Certain, certain, with_certain
from plefka.errors import InvalidInput
from plefka.evidence import Evidence, as_evidence
from plefka.methods import Method, parse_method
from plefka.networks.belief import BeliefNetwork
from plefka.posterior import About, Posterior
from plefka.precision import is_traced
from plefka.solution import STATUS_CODES, InferenceFailed, Solution, Status
from plefka.solvers.loop import IMPOSSIBLE
from plefka.trimming import solved

DEFAULT_METHOD = "auto"
LOOSE = "edges of probability one between hidden units count as weights of 30, so that this is no strict bound"


def infer(
    network: BeliefNetwork,
    evidence: Any = None,
    method: str | Method = DEFAULT_METHOD,
    *,
    prune: bool = True,
    throw: bool = True,
    check: bool | int = False,
    dtype: str = "float64",
) -> Solution:
    """Posterior means and ln P(evidence) of a network, or of every network of a stack.

    **Arguments:**

    - `evidence`: None, {unit: 0 or 1 or a Likelihood}, a list of such, an array (n,) or (B, n) with nan for hidden
        units, or a DataFrame.
    - `method`: `auto` chooses one and says which in `notes`; or `exact`, `G12`, `G2`, `bethe`, `conditioned[G2,k=3]`,
        ..., with options in brackets: `G12[tol=1e-10]`.
    - `prune`: first sum out all units for which that is easy and exact, barren ones among them.
    - `throw`: raise `InferenceFailed` where a single inference does not converge; a batch says it in `status`.
    - `check`: True, or a seed: check the answer by importance sampling, see `Solution.check`; True is seed 0.
    - `dtype`: "float64", or "float32" on request; inside a trace of the user's, the precision is that of the trace.
    """
    if not isinstance(network, BeliefNetwork):
        raise InvalidInput(f"network must be a BeliefNetwork; got {type(network).__name__}.")
    method = parse_method(method)
    given = as_evidence(network, evidence)
    method.check(network)
    traced, observed = is_traced(network, given.rows), given.rows == given.rows
    sure = None if traced else certain(network, given.rows)
    if prune and sure is not None:
        given = with_certain(sure, given)
    found = solved(method, narrowed(network), given, prune=prune, dtype=dtype)
    if given.offset is not None:
        found = found._replace(free_energy=found.free_energy - given.offset)
    if sure is not None:
        found = _known_to_be(found, method, sure, given)
    solution = _solution(network, given, observed, method, found, prune)
    if throw and not given.batched and not is_traced(found) and solution.status is not Status.CONVERGED:
        raise InferenceFailed(solution)
    if check is not False and not is_traced(found):
        return replace(solution, checked=solution.check(seed=0 if check is True else check))
    return solution


def _known_to_be(found: Posterior, method: Method, sure: Certain, given: Evidence) -> Posterior:
    """Rows of probability zero have no posterior, whatever an approximation makes of them; and no bound is too bold."""
    about = found.about or About()
    is_bound = method.is_bound if about.is_bound is None else about.is_bound
    if is_bound and sure.loose.any() and not (about.is_exact or method.name == "exact"):
        found = found._replace(about=replace(about, is_bound=False, notes=(*about.notes, LOOSE)))
    impossible = sure.impossible
    if not given.batched or not impossible.any():
        return found
    means, G, status = (field.copy() for field in found[:3])
    means[impossible], G[impossible], status[impossible] = given.rows[impossible], float("inf"), IMPOSSIBLE
    return found._replace(means=means, free_energy=G, status=status)


def _solution(
    network: BeliefNetwork, given: Evidence, observed: Any, method: Method, found: Posterior, prune: bool
) -> Solution:
    import numpy as np

    rows, about = given.rows, found.about or About()
    traced = is_traced(found, rows)
    status = found.status if traced else np.array(STATUS_CODES, dtype=object)[found.status - 1]
    fields = (found.means, -found.free_energy, status, found.num_steps, found.residual, found.num_cycles, observed)
    if not given.batched:
        fields = tuple(field[0] if field is status or traced or field.ndim > 1 else field[0].item() for field in fields)
    means, log_likelihood, status, steps, residual, cycles, observed = fields
    return Solution(
        means=means, log_likelihood=log_likelihood, status=status, num_steps=steps, residual=residual,
        num_restarts=getattr(method, "restarts", 0), num_cycles=cycles, method=method,
        is_bound=method.is_bound if about.is_bound is None else about.is_bound,
        names=network.names, observed=observed, notes=about.notes,
        network=network, evidence=given, prune=prune, proposals=about.proposals,
        is_exact=about.is_exact or method.name == "exact",
    )  # fmt: skip
