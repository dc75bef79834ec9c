"""The weight of a state of a Boltzmann machine."""

from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidInput

if TYPE_CHECKING:
    from plefka.networks.boltzmann import BoltzmannMachine


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
