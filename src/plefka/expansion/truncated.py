"""The energy of the paper's schemes: Taylor's polynomial of the energy in the fields, about the mean fields.  (43)"""

import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.expansion.hidden_states import HiddenStates, unit_states
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence
from plefka.networks.fields import field_weights
from plefka.networks.network import Network
from plefka.runtime.precision import precision

DEGREES = range(1, 5)  # those of G11 to G14


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
