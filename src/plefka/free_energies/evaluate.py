"""The functional itself: the free energy at given means."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.choice import narrowed
from plefka.errors import InvalidInput
from plefka.evidence import as_evidence
from plefka.free_energies.problem import pose
from plefka.free_energies.taylor import negative_entropy
from plefka.methods import MeanField, Method, does_not_apply, parse_method
from plefka.networks.belief import BeliefNetwork
from plefka.precision import is_traced, precision


def free_energy(
    network: BeliefNetwork,
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
    """
    if not isinstance(network, BeliefNetwork):
        raise InvalidInput(f"network must be a BeliefNetwork; got {type(network).__name__}.")
    method = parse_method(method)
    if not isinstance(method, MeanField):
        raise does_not_apply(method, "it has no free energy as a function of the means", "a scheme such as G12")
    found = as_evidence(network, evidence)
    rows, batched = found.rows, found.batched
    method.check(network)
    traced = is_traced(network, rows, means)
    u = jnp.asarray(means) if traced else np.asarray(means, dtype=float)
    if u.ndim not in (1, 2) or u.shape[-1] != network.size:
        raise InvalidInput(f"means must have shape ({network.size},) or (rows, {network.size}); got {u.shape}.")
    if not traced and not np.all((u >= 0) & (u <= 1)):
        raise InvalidInput("means must lie between 0 and 1.")
    if u.ndim == 2 and len(rows) > 1 and len(u) not in (1, len(rows)):
        raise InvalidInput(f"there must be equally many; got {len(u)} rows of means and {len(rows)} rows of evidence.")
    batched = batched or u.ndim == 2
    network = narrowed(network)
    functional = method.functional.fitted(network, found, prune=prune)
    storage = network.storage.prepared(pairs=functional.needs_pairs, fans=functional.needs_fans)
    arguments = (
        storage,
        network.bias,
        network.activation,
        rows,
        found.tilt,
        jnp.atleast_2d(u) if traced else np.atleast_2d(u),
    )
    if traced:
        G = _compiled(*arguments, functional=functional, prune=prune)
        G = G if found.offset is None else G - found.offset
        return G if batched else G[0]
    with precision(dtype):
        G = np.asarray(_compiled(*arguments, functional=functional, prune=prune))
        G = G if found.offset is None else G - found.offset
    return G if batched else G[0].item()


def _evaluate(storage, bias, activation, rows, tilt, u, *, functional, prune):
    count = max(u.shape[0], rows.shape[0])
    rows = jnp.broadcast_to(jnp.asarray(rows), (count, rows.shape[1]))
    tilt = None if tilt is None else jnp.broadcast_to(jnp.asarray(tilt), rows.shape)
    problem = pose(
        storage, jnp.asarray(bias), activation, rows, functional.powers(activation),
        pairs=functional.needs_pairs, prune=prune, tilt=tilt,
    )  # fmt: skip
    u = jnp.where(problem.free, jnp.asarray(u).T, problem.values)
    G = functional.energy(problem, u) + jnp.where(problem.free, negative_entropy(u), 0.0).sum(0)
    return jnp.where(functional.lacking(problem, u).any(0), jnp.inf, G)


_compiled = partial(jax.jit, static_argnames=("functional", "prune"))(_evaluate)
