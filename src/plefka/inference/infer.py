"""The one verb: infer(network, evidence, method) -> Solution. Read, reduce, solve, recover, answer."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.exact.barren import improved
from plefka.inference.batched_types import Statuses
from plefka.inference.contradictions import with_contradiction
from plefka.inference.exclusive import of_group, with_group
from plefka.inference.library import parse_method
from plefka.inference.solution import Codes, InferenceFailed, Solution, refuse_group
from plefka.methods.method import Method, does_not_apply
from plefka.methods.posterior import (
    ESTIMATE,
    EXACT,
    IMPOSSIBLE,
    NUMBERS,
    OBSERVED,
    STATUS_CODES,
    Posterior,
    RowAnswers,
    Status,
    accuracy_of_rows,
)
from plefka.networks.activations import namespace
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.hierarchy import with_implied
from plefka.networks.intervention import intervened, interventions
from plefka.networks.markov import MarkovNetwork
from plefka.networks.network import Network
from plefka.reduction.question import Part
from plefka.reduction.recovery import recover, reductions
from plefka.reduction.reduce import Reduction
from plefka.reduction.traced_reductions import reduce_traced
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
    do: Any = None,
    exclusive: Any = None,
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
    - `do`: {unit: 0 or 1}, the units that are set from outside: first all edges to them are cut, then the evidence is
        taken into account. `solution.network` is the network without these edges.
    - `exclusive`: units of which exactly one is on, as a list, or "causes" for all units without parents; with None in
        the list, at most one. Probabilities are those given the evidence and this condition, and ln P is that of both.
    - `dtype`: "float64", or "float32" on request; inside a trace of the user's, the precision is that of the trace.

    >>> import plefka as pf
    >>> solution = pf.infer(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1})
    >>> print(f"ln P = {solution.log_likelihood:.3f}, stale beans {solution['stale_beans']:.3f}")
    ln P = -2.452, stale beans 0.535
    """
    if not isinstance(network, Network):
        raise InvalidInput(f"network must be a BeliefNetwork or a BoltzmannMachine; got {type(network).__name__}.")
    method = parse_method(method)
    carrier = network.carrier if isinstance(network, MarkovNetwork) else network
    if carrier is not network and (check is not False or is_traced(evidence)):
        raise InvalidInput(
            "check and traces of JAX are for belief networks and Boltzmann machines; got a MarkovNetwork."
        )
    network, given = intervened(network, as_evidence(network, evidence, takes_group=True), do)
    given = with_group(network, given, exclusive)
    method.check(carrier)
    if given.tilt is not None and not method.takes_soft_evidence:
        raise does_not_apply(method, "it takes no soft evidence, and there is a Likelihood", "bethe or exact")
    check_dtype(dtype)
    traced = is_traced(network, given)
    if traced:
        found = _inside_a_trace(method, network, given, prune)
    elif given.exclusive is None:
        found = answer_of(method, network, given, prune=prune, dtype=dtype)
    else:
        if check is not False:
            refuse_group(given, "the check")
        found = of_group(network, given, lambda rows: answer_of(method, network, rows, prune=prune, dtype=dtype))
        found = replace(found, notes=(f"{given.exclusive.in_words(network.names)}, by assumption", *found.notes))
    if given.offset is not None:
        found = replace(found, free_energy=found.free_energy - given.offset)
    found = replace(found, notes=(*interventions(network, given), *found.notes))
    solution = _solution(network, given, method, found, prune, traced)
    if traced:
        return solution
    if len(found.status) == 1 and found.status[0] == IMPOSSIBLE:
        solution = with_contradiction(solution)
    if throw and not given.batched and solution.status is not Status.CONVERGED:
        raise InferenceFailed(solution)
    if check is not False:
        return replace(solution, checked=solution.check(seed=0 if check is True else check))
    return solution


def _inside_a_trace(method: Method, network: Network, given: Evidence, prune: bool) -> RowAnswers:
    """In the trace's precision, and with derivatives; what the numbers are is known without looking at them."""
    with reverse_mode_only(method):
        if method.name != "exact":
            network, given = differentiable_once(method, (network, given))
        reduction = reduce_traced(network, given, prune=prune)
        found = method.traced(reduction)
    means = found.means.T
    means = means - jax.lax.stop_gradient(means - jnp.clip(means, 0.0, 1.0))  # averages of ones may be 1 + 2e-16
    exact, is_lower, is_upper = found.about.exact_rows is not None, found.about.is_lower(method), found.about.is_upper
    accuracy = accuracy_of_rows(len(means), is_exact=exact, is_lower=is_lower, is_upper=is_upper)
    numbers = {name: getattr(found, name) for name in NUMBERS} | {"means": means}
    numbers["free_energy"] = found.free_energy - reduction.constant
    codes = np.full(means.shape, EXACT if exact else ESTIMATE)
    return RowAnswers(**numbers, accuracy=accuracy, means_accuracy=codes, notes=found.about.notes)


def _solution(
    network: Network, given: Evidence, method: Method, found: RowAnswers, prune: bool, traced: bool
) -> Solution:
    """What a user gets: of evidence that is no batch, the only row; outside a trace, plain numbers."""
    known = with_implied(network, given.rows)
    observed = known == known
    if known is not given.rows:
        found = replace(found, means=namespace(found.means).where(observed, known, found.means))

    def by_row(z: Any) -> Any:
        if z is None or given.batched:
            return z
        return z[0].item() if isinstance(z, np.ndarray) and z.ndim == 1 and z.dtype != object else z[0]

    def if_known(z: Any) -> Any:
        return None if z is None or np.isnan(z).all() else by_row(z)

    status = found.status if traced else np.array(STATUS_CODES, dtype=object)[found.status - 1]
    codes = namespace(given.rows).where(observed, OBSERVED, found.means_accuracy)
    accuracy = found.accuracy if given.batched else found.accuracy[0]
    return Solution(
        means=by_row(found.means), log_partition=by_row(-found.free_energy), status=cast(Statuses, by_row(status)),
        num_steps=by_row(found.num_steps), residual=by_row(found.residual), num_cycles=by_row(found.num_cycles),
        num_restarts=getattr(method, "restarts", 0), method=method, names=network.names, observed=by_row(observed),
        notes=found.notes, network=network, evidence=given, prune=prune, proposals=found.proposals,
        codes=Codes(accuracy, by_row(codes)), predicted=by_row(found.predicted),
        standard_error=if_known(found.error), means_error=if_known(found.means_error),
        degrees_of_freedom=if_known(found.degrees_of_freedom),
        methods=(method,) * len(given.rows) if found.methods is None else tuple(found.methods),
    )  # fmt: skip


# ---- by parts --------------------------------------------------------------------------------------------------------


def answer_of(method: Method, network: Network, evidence: Evidence, *, prune: bool, dtype: str) -> RowAnswers:
    """What the method finds for every row, in its own way or by parts; of factors, without the units for these."""
    if isinstance(network, MarkovNetwork):
        found = answer_of(method, network.carrier, network.widened(evidence), prune=prune, dtype=dtype)
        by_unit = {name: getattr(found, name) for name in ("means", "means_accuracy", "means_error", "predicted")}
        by_unit = {name: None if z is None else z[:, : network.size] for name, z in by_unit.items()}
        return replace(found, **by_unit, free_energy=found.free_energy - network.constant, proposals=())
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
