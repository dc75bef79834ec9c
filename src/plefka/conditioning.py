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
from scipy.special import softmax

from plefka.certainty import certain
from plefka.errors import InvalidMethod, MethodDoesNotApply
from plefka.evidence import Evidence
from plefka.free_energies.problem import pose
from plefka.free_energies.untruncated import Untruncated
from plefka.methods import Conditioned, parse_method
from plefka.posterior import About, Posterior, chunks
from plefka.precision import is_traced, precision
from plefka.solvers.loop import CONVERGED, IMPOSSIBLE, NOT_FINITE, WITHOUT_LEAK

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

AT_ONCE = 4000  # rows that are solved in one go
NEGLIGIBLE = 1e-12  # the share of a state that need not have converged
LEFT_OUT = (
    "states in which a unit has no leak were left out, so that the bound is weaker than it could be; "
    "bethe inside needs no leak"
)


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
    return shares_at(starting_means(first, network, evidence, prune, dtype), network, evidence, prune, dtype)


def starting_means(
    first: Posterior, network: "BeliefNetwork", evidence: Evidence, prune: bool, dtype: str
) -> np.ndarray:
    """The means of G1, or of bethe in rows where G1 has none for lack of a leak."""
    lost = first.status == WITHOUT_LEAK
    if not lost.any():
        return first.means
    instead = parse_method("bethe").posterior(network, evidence, prune=prune, dtype=dtype)
    return np.where(lost[:, None], instead.means, first.means)


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
    networks = _networks(network, repeated)
    inner = method.inner.posterior(networks, some._replace(rows=rows), prune=prune, dtype=dtype)
    inner = inner._replace(status=np.where(certain(networks, rows).impossible, IMPOSSIBLE, inner.status))
    about = inner.about or About()
    is_bound = method.inner.is_bound if about.is_bound is None else about.is_bound
    return _mixed(inner._replace(about=about), is_bound, superfluous, evidence.rows[index])


def _networks(network: "BeliefNetwork", index: np.ndarray) -> "BeliefNetwork":
    """Those networks of a stack, some of them several times; a single one is for all rows."""
    if network.stack is None:
        return network
    parts = (network.storage.take(index), network.bias[index])
    return eqx.tree_at(lambda net: (net.storage, net.bias), network, parts)


def _mixed(inner: Posterior, is_bound: bool, superfluous: np.ndarray, rows: np.ndarray) -> Posterior:
    """All states of a row together. A state without a number leaves the row without one.

    So does a state without leak, unless the answer is a bound, which may leave it out.
    """
    shape = (len(rows), -1)
    status = np.where(np.isnan(inner.free_energy), NOT_FINITE, inner.status)
    status = np.where(superfluous, CONVERGED, status).reshape(shape)
    superfluous = superfluous.reshape(shape)
    nothing = superfluous | (status == IMPOSSIBLE) | (status == WITHOUT_LEAK)  # of a bound, the weakest one: zero
    with np.errstate(invalid="ignore"):
        log_z = np.where(nothing, -np.inf, -inner.free_energy.reshape(shape))
        total = np.logaddexp.reduce(log_z, axis=1)
    lost = ~np.isfinite(total)
    proposed = np.where(lost[:, None], np.where(superfluous, -np.inf, 0.0), log_z)
    share = softmax(proposed, axis=1)
    means = np.where(share[:, :, None] > 0, inner.means.reshape(*shape, rows.shape[1]), 0.0)
    found = np.clip(np.einsum("rk,rkn->rn", share, means), 0.0, 1.0)
    without_leak = (status == WITHOUT_LEAK).any(axis=1)
    notes = inner.about.notes + ((LEFT_OUT,) if is_bound and (without_leak & ~lost).any() else ())
    failed = without_leak & ~is_bound
    return Posterior(
        np.where(np.isnan(rows), found, rows),
        np.where(failed, np.inf, -total),
        np.where(failed, WITHOUT_LEAK, _worst(status, share, lost)),
        inner.num_steps.reshape(shape).sum(axis=1),
        inner.num_cycles.reshape(shape).sum(axis=1),
        np.where(share > NEGLIGIBLE, inner.residual.reshape(shape), 0.0).max(axis=1),
        replace(inner.about, notes=notes, proposals=(proposed, means)),
    )


def _worst(status: np.ndarray, share: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """The worst status of a state that matters: of all where none is left, and of one without a number always."""
    matters = (share > NEGLIGIBLE) | (status == NOT_FINITE)
    unknown = (status == NOT_FINITE).any(axis=1)
    found = np.where(matters & ~lost[:, None], status, CONVERGED).max(axis=1)
    return np.where(unknown, NOT_FINITE, np.where(lost, status.max(axis=1), found))


def _about(method: Conditioned, network: "BeliefNetwork", chosen: np.ndarray, parts: list[About]) -> About:
    """A bound where every part is one, with the notes of all of them."""
    notes = tuple(dict.fromkeys(note for part in parts for note in part.notes))
    if len(chosen) == 1:
        names = [network.names[unit] for unit in chosen[0] if unit >= 0]
        notes = (f"conditioned on {', '.join(names) or 'nothing, as no unit is left to choose'}", *notes)
    proposals: Any = tuple(np.concatenate([part.proposals[k] for part in parts]) for k in (0, 1))
    bound = all(method.inner.is_bound if part.is_bound is None else part.is_bound for part in parts)
    return About(bound, notes, proposals=proposals)
