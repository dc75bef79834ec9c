"""The functional itself: the free energy at given means."""

from typing import Any

import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.mean_field.free_energies import functional_of
from plefka.mean_field.minimisation import check
from plefka.mean_field.schemes import MeanField
from plefka.methods.method import Method, does_not_apply
from plefka.methods.registry import parse_method
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.network import Network
from plefka.reduction.question import Question
from plefka.reduction.reduce import reduce
from plefka.reduction.traced_reductions import reduce_traced
from plefka.runtime.precision import is_traced
from plefka.runtime.programs import Program
from plefka.runtime.reverse_mode import reverse_mode_only
from plefka.solvers.functional import Functional, Objective, entropy_term
from plefka.solvers.rounds import by_rows


def free_energy(
    network: Network,
    evidence: Any,
    means: Any,
    method: str | Method = "G12",
    *,
    prune: bool = True,
    dtype: str = "float64",
) -> Any:
    """G(means), which approximates -ln P(evidence): a number, or one for each row of `means` or of the evidence.

    Clamped units count with their evidence, whatever `means` says. Inside a trace it can be differentiated by the means
    and by the network's weights and biases.

    >>> import plefka as pf
    >>> net, evidence = pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}
    >>> solution = pf.infer(net, evidence, "G12", prune=False)
    >>> G = pf.free_energy(net, evidence, solution.means, "G12", prune=False)
    >>> abs(G - solution.free_energy) < 1e-9
    True
    """
    if not isinstance(network, Network):
        raise InvalidInput(f"network must be a BeliefNetwork or a BoltzmannMachine; got {type(network).__name__}.")
    method = parse_method(method)
    if not isinstance(method, MeanField):
        raise does_not_apply(method, "it has no free energy as a function of the means", "a scheme such as G12")
    found = as_evidence(network, evidence)
    rows, batched = found.rows, found.batched
    method.check(network)
    traced = is_traced(network, found, means)
    u = jnp.asarray(means) if traced else np.asarray(means, dtype=float)
    if u.ndim not in (1, 2) or u.shape[-1] != network.size:
        raise InvalidInput(f"means must have shape ({network.size},) or (rows, {network.size}); got {u.shape}.")
    if not traced and not np.all((u >= 0) & (u <= 1)):
        raise InvalidInput("means must lie between 0 and 1.")
    if u.ndim == 2 and len(rows) > 1 and len(u) not in (1, len(rows)):
        raise InvalidInput(f"there must be equally many; got {len(u)} rows of means and {len(rows)} rows of evidence.")
    batched = batched or u.ndim == 2
    u = jnp.atleast_2d(u) if traced else np.atleast_2d(u)
    count = max(len(u), len(rows))
    if len(rows) < count:
        found = found.take(np.zeros(count, int))
    if traced:
        with reverse_mode_only(method):
            G = _traced(method, network, found, jnp.broadcast_to(u, (count, network.size)), prune)
    else:
        G = _of_numbers(method, network, found, np.broadcast_to(u, (count, network.size)), prune, dtype)
    G = G if found.offset is None else G - found.offset
    return G if batched else G[0] if traced else G[0].item()


def _of_numbers(method: MeanField, network: Network, evidence: Evidence, u: np.ndarray, prune: bool, dtype: str):
    reduction = reduce(network, evidence, prune=prune)
    G = np.empty(len(u))
    for part in reduction.parts:
        check(method, part.question)
        functional = functional_of(part.question.model, method).fitted(part.question)
        question = Objective(functional).prepared(part.question)
        means = np.where(question.free, part.narrowed(u[part.rows].T), question.values)
        work = question.storage.num_edges * question.num_rows
        found = by_rows(_energy, question, means, functional=functional, work=work, dtype=dtype)
        missing = functional.units_without_leak(question, means)
        found = found if missing is None else np.where(missing.any(0), np.inf, found)
        G[part.rows] = found - part.constant
    return np.where(reduction.impossible, np.inf, G).astype(dtype)


def _traced(method: MeanField, network: Network, evidence: Evidence, u, prune: bool):
    reduction = reduce_traced(network, evidence, prune=prune)
    functional = functional_of(reduction.question.model, method).fitted(reduction.question)
    question = Objective(functional).prepared(reduction.question)
    means = jnp.where(question.free, reduction.with_exact_means(u.T), question.values)
    G = _evaluate(question, means, functional=functional)
    missing = functional.units_without_leak(question, means)
    return (G if missing is None else jnp.where(missing.any(0), jnp.inf, G)) - reduction.constant


def _evaluate(question: Question, u, *, functional: Functional):
    opened = question.opened(functional.powers(question.model.activation), pairs=functional.needs_pairs)
    return functional.energy(opened, u) + entropy_term(opened, u)


_energy = Program(_evaluate)
