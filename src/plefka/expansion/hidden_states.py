"""ln weight of every state of the hidden units given the evidence: all that the expansion needs of a network."""

from typing import NamedTuple

import numpy as np

from plefka.errors import InvalidEvidence, MethodDoesNotApply
from plefka.networks.evidence import Evidence
from plefka.networks.fields import bits
from plefka.networks.network import Network

MOST_EXPANDED = 16  # 2^16 states, thirty powers of each
NUMBERS_AT_ONCE = 2**22


class HiddenStates(NamedTuple):
    """Bit k of the number of a state is the state of the k-th hidden unit."""

    log_weights: np.ndarray  # (states,): ln of the weight of the state together with the evidence
    hidden: np.ndarray  # (units,): where the network's units are hidden

    @property
    def units(self) -> int:
        """How many units are hidden."""
        return int(self.hidden.sum())

    @property
    def log_partition(self) -> float:
        """ln Z with the evidence clamped: for a belief network, ln P(evidence)."""
        return float(np.logaddexp.reduce(self.log_weights))

    def log_odds(self) -> np.ndarray:
        """The posterior log-odds of the hidden units, exact near certainty too."""
        on = unit_states(self.units) == 1
        by_unit = [[np.logaddexp.reduce(self.log_weights[k]) for k in (unit, ~unit)] for unit in on.T]
        return np.array([likely - unlikely for likely, unlikely in by_unit])


def unit_states(count: int) -> np.ndarray:
    """All states (states, units) of so many units."""
    return bits(np.arange(2**count), np.arange(count)).T


def hidden_states(network: Network, evidence: Evidence) -> HiddenStates:
    """Of a single network and a single row; every state must have a finite energy."""
    row = evidence.rows[0]
    hidden = np.isnan(row)
    count = int(hidden.sum())
    if count > MOST_EXPANDED:
        raise MethodDoesNotApply(
            f"series sums over all states of at most {MOST_EXPANDED} hidden units; got {count}. Observe more units, or "
            "use pf.free_energy with G1 or G2, which cost no sum over states."
        )
    states = unit_states(count)
    step = max(1, NUMBERS_AT_ONCE // network.size)
    parts = [_log_joint(network, row, hidden, states[k : k + step]) for k in range(0, len(states), step)]
    log_weights = np.concatenate(parts)
    if evidence.tilt is not None:
        log_weights = log_weights + states @ evidence.tilt[0, hidden] + evidence.offset[0]
    _check_finite(network, hidden, log_weights)
    return HiddenStates(log_weights, hidden)


def _log_joint(network: Network, row: np.ndarray, hidden: np.ndarray, states: np.ndarray) -> np.ndarray:
    S = np.tile(row, (len(states), 1))
    S[:, hidden] = states
    off, on = network.values
    return np.asarray(network.log_joint(np.where(S == 1, on, off)), float)


def _check_finite(network: Network, hidden: np.ndarray, log_weights: np.ndarray) -> None:
    wrong = np.flatnonzero(~np.isfinite(log_weights))
    if len(wrong) == len(log_weights):
        raise InvalidEvidence("the evidence is impossible: no state of the hidden units has a probability above 0.")
    if wrong.size:
        names = [name for name, is_hidden in zip(network.names, hidden, strict=True) if is_hidden]
        state = ", ".join(f"{name}={int(wrong[0]) >> k & 1}" for k, name in enumerate(names))
        raise MethodDoesNotApply(
            f"series needs a finite energy for every state of the hidden units; {state} has probability 0. Give "
            "noisy-or units a leak above 0, and tables no entries of 0 or 1."
        )
