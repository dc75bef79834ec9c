"""ln weight of every state of the hidden units given the evidence: all that the expansion needs of a network.

The schemes of the paper take Taylor's polynomial of the energy in the fields, about the mean fields, instead.      (43)
"""

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, MethodDoesNotApply
from plefka.exact.states import MOST_FOLLOWED, listed_weights
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence
from plefka.networks.fields import bits, field_weights
from plefka.networks.network import Network
from plefka.runtime.precision import precision

DEGREES = range(1, 5)  # of the Taylor polynomial: those of G11 to G14


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
    if count > MOST_FOLLOWED:
        raise MethodDoesNotApply(
            f"series sums over all states of at most {MOST_FOLLOWED} hidden units; got {count}. Observe more units, or "
            "use pf.free_energy with G1 or G2, which cost no sum over states."
        )
    log_weights = listed_weights(count, lambda states: _log_joint(network, row, hidden, states.T), network.size)
    if evidence.tilt is not None:
        log_weights = log_weights + unit_states(count) @ evidence.tilt[0, hidden] + evidence.offset[0]
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


def check_truncation(network: Network, degree: Any) -> None:
    """Refuse a degree that there is no scheme of, and networks whose energy is no function of fields."""
    if isinstance(degree, bool) or degree not in DEGREES:
        raise InvalidInput(f"taylor must be None or a whole number from 1 to 4, as in G11 to G14; got {degree!r}.")
    if not isinstance(network, BeliefNetwork) or network.activation.mixes_kinds:
        raise MethodDoesNotApply(
            "taylor expands the energy of belief networks in the fields of their units; Boltzmann machines and tables "
            "have none. Leave taylor out."
        )
    if not all(np.isfinite(weights).all() for weights in network.storage.leaves()):
        raise MethodDoesNotApply("taylor needs finite weights; edges of probability one have no Taylor polynomial.")


def truncated_energies(
    network: BeliefNetwork, evidence: Evidence, states: HiddenStates, u: np.ndarray, degree: int
) -> np.ndarray:
    """E_C(1) of every state of the hidden units: -sum_i sum_k [S log_on^(k) + (1 - S) log_off^(k)] X_i^k / k!, (43)

    with the derivatives at the mean field of u, and X_i = sum_j w_ij (S_j - u_j).
    """
    S = np.tile(evidence.rows[0], (len(states.log_weights), 1))
    S[:, states.hidden] = unit_states(states.units)
    tilt = 0.0 if evidence.tilt is None else S[:, states.hidden] @ evidence.tilt[0, states.hidden] + evidence.offset[0]
    W = field_weights(network.storage, 0)
    x, X = W @ u + network.bias, (W @ (S - u).T).T
    with precision("float64"):
        tower = np.array(network.activation.log_ratios(jnp.asarray(network.activation.off_poles(x)), degree))
    terms = [(S * on + (1 - S) * off) * X**k / math.factorial(k) for k, (on, off) in enumerate(tower)]  # (68), (69)
    return -np.sum(terms, axis=(0, 2)) - tilt
