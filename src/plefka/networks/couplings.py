"""Symmetric weights: what must hold for them, and how every coupling is stored once.

A dense or sparse matrix is stored as its lower triangle; a restricted machine as its rectangular block.
"""

from typing import Any

import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidInput, InvalidNetwork
from plefka.networks import checks
from plefka.networks.activations import namespace
from plefka.networks.blocks import Blocks
from plefka.networks.checks import as_float
from plefka.networks.edges import Edges
from plefka.networks.storage import Storage
from plefka.runtime.precision import is_traced

COUPLING_ROUNDING = 1e-9  # relative: how far two numbers for one coupling may be apart, whose mean then counts
CONVENTIONS = ((0, 1), (-1, 1))


def stored_once(weights: Any, names: Any) -> Storage:
    """The couplings of symmetric weights: a matrix, one of scipy.sparse, or a stack of either."""
    if isinstance(weights, list | tuple) and any(map(sp.issparse, weights)):
        checks.check_sparse_stack(weights)
        return Edges.from_scipy_stack([_lower_sparse(W, names) for W in weights])
    W: Any = weights if sp.issparse(weights) else as_float(weights, "weights")
    if len(W.shape) not in (2, 3) or W.shape[-1] != W.shape[-2] or 0 in W.shape:
        raise InvalidNetwork(
            f"weights must be a square, symmetric matrix (or a stack of them); got shape {W.shape}. "
            "For two layers use BoltzmannMachine.restricted."
        )
    if sp.issparse(W):
        return Edges.from_scipy(_lower_sparse(W, names))
    if not is_traced(W):
        for matrix in W.reshape(-1, *W.shape[-2:]):
            _check_couplings(matrix, matrix, names)
    return Blocks.dense(namespace(W).tril((W + W.swapaxes(-1, -2)) / 2, -1))


def below_diagonal(storage: Storage) -> Storage:
    """The couplings with zeros on and above the diagonal of a dense matrix, so that no derivative is taken there."""
    if not isinstance(storage, Blocks) or not storage.is_dense:
        return storage
    return storage.map_weights(lambda W: namespace(W).tril(W, -1))


def _lower_sparse(weights: Any, names: Any) -> sp.csr_array:
    W = sp.csr_array(weights, dtype=float)
    _check_couplings(W, W.data, names)
    return sp.csr_array(sp.tril((W + W.T) / 2, -1))


def _check_finite(values: np.ndarray) -> None:
    if not np.isfinite(values).all():
        bad = values[~np.isfinite(values)].flat[0]
        raise InvalidNetwork(f"weights of a Boltzmann machine must be finite; got {bad}. Use 0 for no coupling.")


def _check_couplings(W: Any, values: np.ndarray, names: Any) -> None:
    """Of a matrix, dense or sparse with these values: finite, symmetric, and none of a unit with itself."""
    _check_finite(values)
    diagonal = W.diagonal()
    if np.any(diagonal):
        unit = int(np.flatnonzero(diagonal)[0])
        raise InvalidNetwork(
            f"the diagonal of weights must be 0, as a unit has no coupling to itself; got {diagonal[unit]:g} for unit "
            f"{_name(names, unit)}. Add it to the bias, as S^2 = S for units of 0 and 1, or leave it out."
        )
    apart = sp.coo_array(abs(W - W.T))
    wrong = np.flatnonzero(apart.data > COUPLING_ROUNDING * np.abs(values).max(initial=0.0))
    if wrong.size:
        i, j = sorted(int(ends[wrong[0]]) for ends in apart.coords)
        raise InvalidNetwork(
            f"weights must be symmetric; got {W[i, j]:g} from {_name(names, j)} to {_name(names, i)} and "
            f"{W[j, i]:g} from {_name(names, i)} to {_name(names, j)}. Use their mean, (W + W.T) / 2, if both are "
            "meant to be the same coupling."
        )


def _name(names: Any, unit: int) -> str:
    return repr(names[unit]) if names else str(unit)


def check_values(values: Any) -> tuple[int, int]:
    """The numbers for off and on."""
    found = tuple(values) if isinstance(values, tuple | list | np.ndarray) else values
    for convention in CONVENTIONS:
        if found == convention:
            return convention
    raise InvalidInput(f"values must be (0, 1) or (-1, 1), the numbers for off and on; got {values!r}.")


def check_temperature(temperature: Any) -> float:
    if is_traced(temperature):
        raise InvalidInput(
            "temperature must be a plain number; got one of a JAX trace. Divide weights and biases by it instead."
        )
    try:
        found = float(temperature)
    except (TypeError, ValueError):
        found = np.nan
    if not 0 < found < np.inf:
        raise InvalidInput(f"temperature must be a positive number; got {temperature!r}.")
    return found


def constant_of(constant: Any, stack: int | None) -> Any:
    """A number, or one for each machine of a stack."""
    if is_traced(constant):
        return jnp.broadcast_to(constant, () if stack is None else (stack,))
    return float(constant) if stack is None else np.broadcast_to(constant, stack).astype(float)


def check_block(W: Any, visible: Any, hidden: Any) -> None:
    """The shapes of a restricted machine."""
    ends = visible.shape[-1:] + hidden.shape[-1:]
    if W.ndim not in (2, 3) or visible.ndim not in (1, 2) or hidden.ndim not in (1, 2) or W.shape[-2:] != ends:
        raise InvalidNetwork(
            "the weights of a restricted machine must be (visible units, hidden units), with a bias for each of both; "
            f"got weights {W.shape}, visible_bias {visible.shape} and hidden_bias {hidden.shape}."
        )
    if 0 in W.shape:
        raise InvalidNetwork(f"a restricted machine must have visible and hidden units; got weights {W.shape}.")
    if not is_traced(W):
        _check_finite(W)
