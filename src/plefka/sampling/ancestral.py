"""Ancestral sampling, and the probability of a state: along the arrows, from the parents to the children."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput
from plefka.evidence import as_rows
from plefka.exact.enumeration import log_weights
from plefka.networks.arrows import forwards, relevant
from plefka.networks.belief import BeliefNetwork
from plefka.networks.states import fields, log_terms, open_for_states, settled
from plefka.precision import is_traced, precision
from plefka.seeds import as_seed

MOST_HIDDEN_CAUSES = 20
NUMBERS_AT_ONCE = 2**24


def log_joint(network: BeliefNetwork, S: Any) -> Any:
    """ln P(S) = sum_i S_i log_on(x_i) + (1 - S_i) log_off(x_i).                                     (4)"""
    traced = is_traced(network, S)
    S = jnp.asarray(S) if traced else np.asarray(S, dtype=float)
    if S.ndim not in (1, 2) or S.shape[-1] != network.size:
        raise InvalidInput(f"a state has one number for each unit, shape (..., {network.size}); got {S.shape}.")
    if not traced and not np.all((S == 0) | (S == 1)):
        raise InvalidInput("a state consists of zeros and ones; use infer for units that are not known.")
    rows = S[None] if S.ndim == 1 else S
    if network.stack is not None and len(rows) not in (1, network.stack):
        raise InvalidInput(f"a stack of {network.stack} networks takes one state, or {network.stack}; got {len(rows)}.")
    single = S.ndim == 1 and network.stack is None
    if traced:
        total = _compiled_log_joint(network.storage, network.bias, network.activation, rows)
        return total[0] if single else total
    with precision("float64"):
        total = np.asarray(_compiled_log_joint(network.storage, network.bias, network.activation, rows))
    return total[0].item() if single else total


def _log_joint(storage, bias, activation, rows):
    S, h = jnp.asarray(rows).T, jnp.atleast_2d(jnp.asarray(bias)).T
    columns = max(S.shape[1], h.shape[1])
    S = jnp.broadcast_to(S, (S.shape[0], columns))
    x = fields(open_for_states(storage), h, activation, S)
    return log_terms(activation, x, S).sum(0)


_compiled_log_joint = jax.jit(_log_joint)


def sample(network: BeliefNetwork, seed: int, count: int, evidence: Any = None) -> np.ndarray:
    """`count` states from P(S | evidence).

    Without hidden ancestors of observed units, states are drawn along the arrows with the evidence in place. Otherwise
    those ancestors are drawn first, from their exact posterior, which must be small enough to be written down.
    """
    if count < 1:
        raise InvalidInput(f"count must be at least 1; got {count}.")
    if network.stack is not None:
        raise InvalidInput(f"sample draws from one network; got a stack of {network.stack}.")
    rows, batched = as_rows(network, evidence)
    if batched:
        raise InvalidInput(f"sample takes one row of evidence; got {len(rows)}.")
    rng = np.random.default_rng(as_seed(seed))
    known = np.repeat(rows, count, axis=0)
    with precision("float64"):
        causes = np.flatnonzero(
            np.asarray(relevant(network.storage, jnp.asarray(~np.isnan(rows.T))))[:, 0] & np.isnan(rows[0])
        )
        if causes.size:
            known[:, causes] = _causes(network, rows, causes, rng, count)
        step = max(1, NUMBERS_AT_ONCE // network.size)
        parts = [_draw(network, known[k : k + step], rng) for k in range(0, count, step)]
    return np.concatenate(parts)


def _causes(network: BeliefNetwork, rows: np.ndarray, causes: np.ndarray, rng, count: int) -> np.ndarray:
    if causes.size > MOST_HIDDEN_CAUSES:
        raise InvalidEvidence(
            f"the evidence has {causes.size} hidden ancestors, and samples given evidence are exact for up to "
            f"{MOST_HIDDEN_CAUSES}. Sample without evidence, observe more of them, or use infer for their means."
        )
    log_p = log_weights(network, rows, causes)
    p = np.exp(log_p - log_p.max())
    if not np.isfinite(p).all():
        raise InvalidEvidence("the evidence has probability zero, so that nothing can be sampled given it.")
    number = rng.choice(len(p), size=count, p=p / p.sum())
    return (number[:, None] >> np.arange(causes.size)) & 1


def _draw(network: BeliefNetwork, known: np.ndarray, rng) -> np.ndarray:
    chance = rng.random(known.shape)
    return np.asarray(_compiled_draw(network.storage, network.bias, network.activation, known, chance)).astype(np.int8)


@jax.jit
def _compiled_draw(storage, bias, activation, known, chance):
    h, known, chance = jnp.asarray(bias)[:, None], known.T, chance.T

    def rule(x):
        on = chance < activation.probability(settled(activation, x))
        return jnp.where(jnp.isnan(known), on * 1.0, known)

    return forwards(open_for_states(storage), h, rule, jnp.zeros(known.shape)).T
