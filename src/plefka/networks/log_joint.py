"""ln P(S) of a state: of a belief network, and up to ln Z of a Boltzmann machine."""

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput
from plefka.networks.fields import StateFields, fields, log_terms, open_for_states
from plefka.runtime.precision import is_traced

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine


def log_joint(network: "BeliefNetwork", S: Any) -> Any:
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
    total = _traced_log_joint(network, rows.T) if traced else _log_joint(network, rows.T)
    if S.ndim == 2 or network.stack is not None:
        return total
    return total[0] if traced else total[0].item()


def _traced_log_joint(network: "BeliefNetwork", S: Any) -> Any:
    h = jnp.atleast_2d(jnp.asarray(network.bias)).T
    S = jnp.broadcast_to(S, (S.shape[0], max(S.shape[1], h.shape[1])))
    return log_terms(network.activation, fields(open_for_states(network.storage), h, network.activation, S), S).sum(0)


def _log_joint(network: "BeliefNetwork", S: np.ndarray) -> np.ndarray:
    if network.stack is not None:
        S = np.broadcast_to(S, (len(S), network.stack))
    states = S[:, None] if network.stack is None else S[:, :, None]
    return log_terms(network.activation, StateFields.of_network(network).of(states), states).sum(0).ravel()


def log_weights(machine: "BoltzmannMachine", S: Any) -> Any:
    """-E(S) / T + constant of a state (n,), or of each state of a batch (B, n)."""
    S = np.asarray(S, float)
    off, on = machine.values
    if S.ndim not in (1, 2) or S.shape[-1] != machine.size:
        raise InvalidInput(f"a state has one number for each unit, shape (..., {machine.size}); got {S.shape}.")
    if not np.all((off == S) | (on == S)):
        raise InvalidInput(f"a state of this machine consists of {off} and {on}; use infer for units that are unknown.")
    rows = np.atleast_2d(S)
    if machine.stack is not None and len(rows) not in (1, machine.stack):
        raise InvalidInput(f"a stack of {machine.stack} machines takes one state, or {machine.stack}; got {len(rows)}.")
    columns = np.broadcast_to(rows, (machine.stack or len(rows), machine.size)).T
    h = np.atleast_2d(np.asarray(machine.bias, float)).T
    total = (columns * (h + machine.storage.product(columns) / 2)).sum(axis=0) / machine.temperature + machine.constant
    return total if S.ndim == 2 or machine.stack is not None else total[0].item()
