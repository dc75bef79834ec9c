"""The one verb: infer(network, evidence, method) -> Solution. Read, reduce, solve, recover, answer."""

from dataclasses import replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.batched_types import Statuses
from plefka.inference.by_parts import answer_of
from plefka.inference.contradictions import with_contradiction
from plefka.inference.library import parse_method
from plefka.inference.solution import Codes, InferenceFailed, Solution
from plefka.methods.method import Method, does_not_apply
from plefka.methods.posterior import ESTIMATE, EXACT, OBSERVED, About, Posterior, of_rows
from plefka.methods.status import STATUS_CODES, Status
from plefka.networks.activations import namespace
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.network import Network
from plefka.reduction.reduce import reduce_traced
from plefka.runtime.precision import check_dtype, is_traced
from plefka.runtime.reverse_mode import differentiable_once, reverse_mode_only

DEFAULT_METHOD = "auto"


def infer(
    network: Network,
    evidence: Any = None,
    method: str | Method = DEFAULT_METHOD,
    *,
    prune: bool = True,
    throw: bool = True,
    check: bool | int = False,
    dtype: str = "float64",
) -> Solution:
    """Posterior means and ln P(evidence) of a network, or of every network of a stack.

    Of a Boltzmann machine it is ln Z with the evidence clamped, `solution.log_partition`, that is computed.

    **Arguments:**

    - `evidence`: None, {unit: 0 or 1 or a Likelihood}, a list of such, an array (n,) or (B, n) with nan for hidden
        units, or a DataFrame.
    - `method`: `auto` chooses one and says which in `notes`; or `exact`, `G12`, `G2`, `bethe`, `conditioned[G2,k=3]`,
        ..., with options in brackets: `G12[tol=1e-10]`.
    - `prune`: first sum out all units for which that is easy and exact, barren ones among them.
    - `throw`: raise `InferenceFailed` where a single inference does not converge; a batch says it in `status`.
    - `check`: True, or a seed: check the answer by importance sampling, see `Solution.check`; True is seed 0.
    - `dtype`: "float64", or "float32" on request; inside a trace of the user's, the precision is that of the trace.

    >>> import plefka as pf
    >>> solution = pf.infer(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1})
    >>> print(f"ln P = {solution.log_likelihood:.3f}, stale beans {solution['stale_beans']:.3f}")
    ln P = -2.452, stale beans 0.535
    """
    if not isinstance(network, Network):
        raise InvalidInput(f"network must be a BeliefNetwork or a BoltzmannMachine; got {type(network).__name__}.")
    method = parse_method(method)
    given = as_evidence(network, evidence)
    method.check(network)
    if given.tilt is not None and not method.takes_soft_evidence:
        raise does_not_apply(method, "it takes no soft evidence, and there is a Likelihood", "bethe or exact")
    check_dtype(dtype)
    traced = is_traced(network, given)
    if traced:
        found = _inside_a_trace(method, network, given, prune)
    else:
        found = answer_of(method, network, given, prune=prune, dtype=dtype)
    if given.offset is not None:
        found = found._replace(free_energy=found.free_energy - given.offset)
    solution = _solution(network, given, method, found, prune, traced)
    if traced:
        return solution
    solution = with_contradiction(solution)
    if throw and not given.batched and solution.status is not Status.CONVERGED:
        raise InferenceFailed(solution)
    if check is not False:
        return replace(solution, checked=solution.check(seed=0 if check is True else check))
    return solution


def _inside_a_trace(method: Method, network: Network, given: Evidence, prune: bool) -> Posterior:
    """In the trace's precision, and with derivatives."""
    with reverse_mode_only(method):
        if method.name != "exact":
            network, given = differentiable_once(method, (network, given))
        reduction = reduce_traced(network, given, prune=prune)
        found = method.traced(reduction)
    means = found.means.T
    above = jax.lax.stop_gradient(means - jnp.clip(means, 0.0, 1.0))  # averages of ones may come out as 1 + 2e-16
    return found._replace(means=means - above, free_energy=found.free_energy - reduction.constant)


def _single(by_row: Any) -> Any:
    """The first of an array with one for each row, a plain number where it is one."""
    found = None if by_row is None else by_row[0]
    return found.item() if isinstance(found, np.floating) else found


def _with_accuracies(method: Method, about: About, given: Evidence) -> About:
    """What an answer that did not come by reduction and recovery says of itself: an estimate, unless it says more."""
    exact = np.zeros(len(given.rows), bool) if about.exact_rows is None else about.exact_rows()
    bound = method.is_bound if about.is_bound is None else about.is_bound
    means = np.where(exact[:, None], EXACT, ESTIMATE) + np.zeros(given.rows.shape, np.uint8)
    return replace(about, accuracy=of_rows(len(exact), is_exact=exact, is_lower=bound), means_accuracy=means)


def _codes(method: Method, about: About, given: Evidence, traced: bool) -> Codes:
    """What ln P and the means are; inside a trace, what is known without looking at numbers."""
    observed = given.rows == given.rows
    if not traced and about.accuracy is None:
        about = _with_accuracies(method, about, given)
    if not traced:
        means = np.where(observed, OBSERVED, about.means_accuracy)
        return Codes(about.accuracy, means) if given.batched else Codes(about.accuracy[0], means[0])
    exact, bound = about.exact_rows is not None, method.is_bound if about.is_bound is None else about.is_bound
    whole = of_rows(len(given.rows), is_exact=exact, is_lower=bound)
    means = namespace(given.rows).where(observed, OBSERVED, EXACT if exact else ESTIMATE)
    return Codes(whole, means) if given.batched else Codes(whole[0], means[0])


def _solution(
    network: Network, given: Evidence, method: Method, found: Posterior, prune: bool, traced: bool
) -> Solution:
    about = found.about or About()
    status = found.status if traced else np.array(STATUS_CODES, dtype=object)[found.status - 1]
    observed = given.rows == given.rows
    fields = (found.means, -found.free_energy, status, found.num_steps, found.residual, found.num_cycles, observed)
    if not given.batched:
        fields = tuple(field[0] if field is status or traced or field.ndim > 1 else field[0].item() for field in fields)
    means, log_partition, status, steps, residual, cycles, observed = fields
    by_row = given.batched or traced
    error, errors = (None if z is None or np.isnan(z).all() else z for z in (about.error, about.means_error))
    return Solution(
        means=means, log_partition=log_partition, status=cast(Statuses, status), num_steps=steps, residual=residual,
        num_restarts=getattr(method, "restarts", 0), num_cycles=cycles, method=method,
        names=network.names, observed=observed, notes=about.notes,
        network=network, evidence=given, prune=prune, proposals=about.proposals or (),
        codes=_codes(method, about, given, traced), predicted=about.predicted if by_row else _single(about.predicted),
        standard_error=error if by_row else _single(error), means_error=errors if by_row else _single(errors),
        methods=about.methods or (method,) * len(given.rows),
    )  # fmt: skip
