"""Conditioning: sum over all states of a few chosen units, and let another method do the rest.

    ln Z = ln sum_c Z_c,    means = sum_c (Z_c / Z) means_c

over the 2^k states c of the chosen units, all solved as one batch. A bound inside stays a bound. Chosen are the units
with the largest share in the second order of Plefka's expansion at the solution of G1: what G1 does not see.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import logsumexp

from plefka.errors import InvalidMethod, MethodDoesNotApply
from plefka.evidence import Evidence
from plefka.free_energies.problem import pose
from plefka.free_energies.untruncated import Untruncated
from plefka.methods import Conditioned, parse_method
from plefka.posterior import About, Posterior, chunks
from plefka.precision import is_traced, precision
from plefka.solvers.loop import CONVERGED, IMPOSSIBLE, WITHOUT_LEAK

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

AT_ONCE = 4000  # rows that are solved in one go
NEGLIGIBLE = 1e-12  # the share of a state that need not have converged


def posterior(
    method: Conditioned, network: "BeliefNetwork", evidence: Evidence, *, prune: bool, dtype: str
) -> Posterior:
    """The mixture over the states of the chosen units."""
    if is_traced(network, evidence.rows):
        raise MethodDoesNotApply(
            "conditioned does not apply inside a trace, as its units are chosen by looking at numbers. "
            f"Use {method.inner} instead, or call infer outside the trace."
        )
    chosen = choose(method, network, evidence, prune, dtype)
    step = max(1, AT_ONCE >> chosen.shape[1])
    parts = [
        _condition(method, network, evidence, chosen, np.arange(first, min(first + step, len(chosen))), prune, dtype)
        for first in range(0, len(chosen), step)
    ]
    found = Posterior.joined(parts, len(chosen))
    return found._replace(about=_about(method, network, chosen, [part.about for part in parts]))


def choose(method: Conditioned, network: "BeliefNetwork", evidence: Evidence, prune: bool, dtype: str) -> np.ndarray:
    """The units to condition on, (rows, k); -1 where a row has none left to choose."""
    rows = evidence.rows
    if method.units:
        units = [network.index(name) for name in method.names]
        if len(set(units)) < len(units):
            raise InvalidMethod(f"units must differ from each other; got {method.units!r}.")
        chosen = np.repeat([units], len(rows), axis=0)
        return np.where(np.isnan(np.take_along_axis(rows, chosen, axis=1)), chosen, -1)
    share = shares(network, evidence, prune, dtype)
    order = np.argsort(-share, axis=1, kind="stable")[:, : method.k]
    chosen = np.where(np.take_along_axis(share, order, axis=1) > 0, order, -1)
    return chosen[:, (chosen >= 0).any(axis=0)]


def shares(network: "BeliefNetwork", evidence: Evidence, prune: bool, dtype: str) -> np.ndarray:
    """What each unit contributes to the second order at the solution of G1, (rows, units)."""
    first = parse_method("G1").posterior(network, evidence, prune=prune, dtype=dtype)
    lost = first.status == WITHOUT_LEAK
    if lost.any():
        instead = parse_method("bethe").posterior(network, evidence, prune=prune, dtype=dtype)
        first = first._replace(means=np.where(lost[:, None], instead.means, first.means))
    return shares_at(first.means, network, evidence, prune, dtype)


def shares_at(means: np.ndarray, network: "BeliefNetwork", evidence: Evidence, prune: bool, dtype: str) -> np.ndarray:
    """What each unit contributes to the second order at these means, (rows, units)."""
    functional = Untruncated(2).fitted(network, evidence, prune=prune)
    storage = network.storage.prepared(pairs=True, fans=True)
    parts = []
    work = functional.row_work(network.size, storage.num_edges, storage.num_pairs())
    for index in chunks(len(evidence.rows), max(1, 2**26 // work)):
        stacked = network.stack is not None
        some = evidence.take(index)
        with precision(dtype):
            found = _shares(
                storage.take(index) if stacked else storage, network.bias[index] if stacked else network.bias,
                network.activation, some.rows, some.tilt, means[index], functional=functional, prune=prune,
            )  # fmt: skip
        parts.append(np.asarray(found))
    return np.concatenate(parts)[: len(evidence.rows)]


@partial(jax.jit, static_argnames=("functional", "prune"))
def _shares(storage, bias, activation, rows, tilt, means, *, functional, prune):
    problem = pose(
        storage, jnp.asarray(bias), activation, jnp.asarray(rows), 1, pairs=True, prune=prune,
        tilt=None if tilt is None else jnp.asarray(tilt),
    )  # fmt: skip
    u = jnp.where(problem.free, jnp.nan_to_num(jnp.asarray(means), nan=0.5).T, problem.values)
    return jnp.where(problem.free, functional.shares(problem, u), 0.0).T


def _condition(method: Conditioned, network, evidence: Evidence, chosen, index, prune, dtype) -> Posterior:
    """Some rows, each with all states of its units."""
    count = 2 ** chosen.shape[1]
    repeated = np.repeat(index, count)
    state = np.tile((np.arange(count)[:, None] >> np.arange(chosen.shape[1])) & 1, (len(index), 1))
    some = evidence.take(repeated)
    rows, units = np.array(some.rows), chosen[repeated]
    at, which = np.nonzero(units >= 0)
    rows[at, units[at, which]] = state[at, which]
    superfluous = ((units < 0) & (state == 1)).any(axis=1)  # the same as the state with 0 there
    inner = method.inner.posterior(
        _networks(network, repeated), some._replace(rows=rows), prune=prune, dtype=dtype
    )  # fmt: skip
    return _mixed(inner, superfluous, (len(index), count))


def _networks(network: "BeliefNetwork", index: np.ndarray) -> "BeliefNetwork":
    """Those networks of a stack, some of them several times; a single one is for all rows."""
    if network.stack is None:
        return network
    parts = (network.storage.take(index), network.bias[index])
    return eqx.tree_at(lambda net: (net.storage, net.bias), network, parts)


def _mixed(inner: Posterior, superfluous: np.ndarray, shape: tuple[int, int]) -> Posterior:
    nothing = (inner.status == IMPOSSIBLE) | (inner.status == WITHOUT_LEAK)  # of a bound, the weakest one: zero
    impossible = superfluous | nothing
    with np.errstate(invalid="ignore"):
        log_z = np.where(impossible, -np.inf, -inner.free_energy).reshape(shape)
        total = logsumexp(log_z, axis=1)
        share = np.where(np.isneginf(log_z), 0.0, np.exp(log_z - np.where(np.isfinite(total), total, 0.0)[:, None]))
    means = np.where(share.ravel()[:, None] > 0, inner.means, 0.0).reshape(*shape, -1)
    status = np.where(share > NEGLIGIBLE, inner.status.reshape(shape), CONVERGED).max(axis=1)  # the worst that matters
    return Posterior(
        np.clip(np.einsum("rk,rkn->rn", share, means), 0.0, 1.0),
        -total,
        np.where(np.isneginf(total), inner.status.reshape(shape).max(axis=1), status),
        inner.num_steps.reshape(shape).sum(axis=1),
        inner.num_cycles.reshape(shape).sum(axis=1),
        np.where(share > NEGLIGIBLE, inner.residual.reshape(shape), 0.0).max(axis=1),
        replace(inner.about or About(), proposals=(log_z, means)),
    )


def _about(method: Conditioned, network: "BeliefNetwork", chosen: np.ndarray, parts: list[About]) -> About:
    """A bound where every part is one, with the notes of all of them."""
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    if len(chosen) == 1:
        names = [network.names[unit] for unit in chosen[0] if unit >= 0]
        notes = (f"conditioned on {', '.join(names) or 'nothing, as no unit is left to choose'}", *notes)
    proposals: Any = tuple(np.concatenate([part.proposals[k] for part in parts]) for k in (0, 1))
    bound = all(method.inner.is_bound if part.is_bound is None else part.is_bound for part in parts)
    return About(bound, notes, proposals=proposals)
