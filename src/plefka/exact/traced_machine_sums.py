"""Exact inference in Boltzmann machines inside a user's trace: the sum of exact/pairs.py, with derivatives of any kind.

Which units are enumerated follows from where couplings may be, as their numbers are not known.
"""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.exact.machine_sums import MOST_SUMMED_UNITS, vertex_cover
from plefka.exact.states import MOST_FOLLOWED, StateSums
from plefka.methods.posterior import About, Posterior
from plefka.methods.status import CONVERGED, NOT_FINITE
from plefka.networks.activations import sigmoid, softplus
from plefka.networks.fields import bits
from plefka.networks.storage import Storage
from plefka.runtime.precision import is_traced

if TYPE_CHECKING:
    from plefka.reduction.traced_reductions import TracedPairs

TRACED_AT_ONCE = 2**22  # numbers that are held for several rows; more rows go one after another


def summed_in_trace(reduction: "TracedPairs") -> Posterior:
    """ln Z and the means of all rows."""
    question, storage = reduction.question, reduction.question.storage
    cover = _enumerated(reduction)
    inner, others = np.flatnonzero(cover), np.flatnonzero(~cover)
    S = np.zeros((question.size, 2 ** len(inner)))
    S[inner] = bits(np.arange(S.shape[1]), np.arange(len(inner)))

    def of_row(weights: Any, h: Any, free: Any) -> tuple[Any, Any]:
        states = jnp.asarray(S, h.dtype)
        x = storage.with_parameters(weights).neighbour_sums(jnp)(states)
        field = h[others, None] + x[others]
        alone = jnp.where(free[others, None], softplus(field), 0.0).sum(0)
        fits = ~((S[inner] == 1) & ~free[inner, None]).any(0)  # units that are known are 0
        log_weight = jnp.where(fits, (states * x).sum(0) / 2 + h @ states + alone, -jnp.inf)
        values = states.at[others].set(sigmoid(field))
        sums = StateSums.of(log_weight, lambda weight: values @ weight)
        return sums.log_total, sums.values / sums.total

    log_z, means = _by_row(of_row, storage, question, S.shape[1] * (2 + len(others)))
    status, steps = jnp.where(jnp.isnan(log_z), NOT_FINITE, CONVERGED), jnp.zeros(log_z.shape, int)
    means = reduction.restored(means.T, None)
    return Posterior(
        means, -log_z, status, steps, steps, jnp.zeros_like(log_z), None, About(True, exact_rows=lambda: True)
    )


def _by_row(function: Any, storage: Storage, question: Any, work: int) -> tuple[Any, Any]:
    """function(weights, h, free) of every row: all at once, or one after another where that holds too much."""
    stacked, h, free = storage.stack is not None, question.model.h.T, question.free.T
    if work * question.num_rows <= TRACED_AT_ONCE:
        return jax.vmap(function, in_axes=(0 if stacked else None, 0, 0))(storage.parameters, h, free)
    one = jax.checkpoint(lambda row: function(row[0] if stacked else storage.parameters, *row[1:]))
    return jax.lax.map(one, (storage.parameters if stacked else h, h, free))


def _enumerated(reduction: "TracedPairs") -> np.ndarray:
    """The units (units,) whose states are enumerated, or a refusal where these are too many."""
    cover = free = reduction.may_be_free
    if len(free) <= MOST_SUMMED_UNITS:  # of which a matrix is made
        cover = vertex_cover(_may_be_coupled(reduction.couplings) & free & free[:, None])
    if (count := int(cover.sum())) > MOST_FOLLOWED:
        raise MethodDoesNotApply(
            f"exact does not apply: inside a trace of JAX it would sum over 2^{count} states (the limit is "
            f"2^{MOST_FOLLOWED}). Use bethe or G2 instead, or infer outside of the trace."
        )
    return cover


def _may_be_coupled(storage: Storage) -> np.ndarray:
    """(units, units): where a coupling is, or may be where its number belongs to the trace."""
    if is_traced(storage.parameters):
        storage = storage.map_weights(lambda w: np.ones(w.shape))
    if is_traced(storage):  # the edges of a sparse machine too
        return ~np.eye(storage.size, dtype=bool)
    half = storage.union().toarray() != 0
    return (half | half.T) & ~np.eye(storage.size, dtype=bool)
