"""Mixtures of factorial distributions, by Bishop, Lawrence, Jaakkola and Jordan (1998).

All components are optimised together. They start from G1 with a few units held: the component in which G1 misses most
is split, by holding the unit with the largest share in the second order off and on, until there are enough of them.
Such a start is a bound already. The answer is the best of what is found, of the start and of G1 alone.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.conditioning import shares_at, starting_means
from plefka.errors import MethodDoesNotApply
from plefka.evidence import Evidence
from plefka.free_energies.problem import head_of, known, pose, predict
from plefka.free_energies.smoothing import component_means, started, unstacked
from plefka.free_energies.untruncated import Untruncated, undecided
from plefka.mean_field import LACKING, MOST_NUMBERS, POLICIES, REACHABLE
from plefka.methods import Mixture, parse_method
from plefka.posterior import About, Posterior, chunks, normalised, on_all_cores
from plefka.precision import is_traced, precision, to_numpy
from plefka.solvers.loop import CONVERGED, NOT_FINITE, descend, floors
from plefka.solvers.mixtures import mixture_evaluator

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

SOFT = 0.02  # a component starts with no mean closer to 0 or 1: units that were held are let go


class Components(NamedTuple):
    """A mixture of factorial distributions for every row."""

    log_share: np.ndarray  # (rows, components), up to a constant
    means: np.ndarray  # (rows, components, units)

    def mean(self) -> np.ndarray:
        """That of the mixture, (rows, units)."""
        return np.clip(np.einsum("rk,rkn->rn", normalised(self.log_share, axis=1), self.means), 0.0, 1.0)


def posterior(method: Mixture, network: "BeliefNetwork", evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    """The best mixture that is found for every row."""
    if is_traced(network, evidence.rows):
        raise MethodDoesNotApply(
            "mixture does not apply inside a trace, as its components start from a look at numbers. Use G1 instead, or "
            "call infer outside the trace."
        )
    G1 = partial(_first_order, network, prune=prune, dtype=dtype)
    whole = G1(evidence)
    one = Components(np.zeros((len(whole.means), 1)), whole.means[:, None])
    if method.components == 1:
        return whole._replace(about=_about(whole.about, one))
    if method.seed is None:
        shares = partial(_shares, network, prune=prune, dtype=dtype)
        tree, status = _split(G1, whole, evidence, method.components, shares)
        found = _solve_all(method, network, evidence, tree, prune, dtype)
        others = [_Other(-np.logaddexp.reduce(tree.log_share, axis=1), tree, status)]
    else:
        found = _solve_all(method, network, evidence, _drawn(method, whole.means.shape), prune, dtype)
        others = []
    others.append(_Other(whole.free_energy, _filled(one, method.components), whole.status))
    return _best(found, whole, others)


def _first_order(network: "BeliefNetwork", evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    found = parse_method("G1").posterior(network, evidence, prune=prune, dtype=dtype)
    return found._replace(means=starting_means(found, network, evidence, prune, dtype))


def _shares(network: "BeliefNetwork", evidence: Evidence, means: np.ndarray, *, prune: bool, dtype: str) -> np.ndarray:
    return shares_at(means, network, evidence, prune, dtype)


def _about(first: About, components: Components) -> About:
    return About(first.is_bound, first.notes, proposals=tuple(components))


def _filled(one: Components, count: int) -> Components:
    """The same mixture, with components that have no share behind."""
    log_share = np.full((len(one.means), count), -np.inf)
    log_share[:, 0] = 0.0
    return Components(log_share, np.repeat(one.means, count, axis=1))


def _drawn(method: Mixture, shape: tuple[int, int]) -> Components:
    """Equal shares, and means that are uniform at random."""
    rows, units = shape
    means = np.random.default_rng(method.seed).uniform(0.0, 1.0, (rows, method.components, units))
    return Components(np.zeros((rows, method.components)), means)


# ---- the start -------------------------------------------------------------------------------------------------------


class _Other(NamedTuple):
    """A mixture that was not optimised as such."""

    free_energy: np.ndarray  # (rows,)
    components: Components
    status: np.ndarray  # (rows,)


class _Leaf(NamedTuple):
    """G1 with some units held, row by row."""

    rows: np.ndarray  # (rows, units), with the units that are held
    log_z: np.ndarray  # (rows,)
    means: np.ndarray  # (rows, units)
    shares: np.ndarray  # (rows, units), in the second order
    status: np.ndarray  # (rows,)


def _split(G1, whole: Posterior, evidence: Evidence, count: int, shares) -> tuple[Components, np.ndarray]:
    """One component after another: that in which G1 misses most, split by the unit that has most to do with it.

    And how the worst component of each row ended.
    """

    def leaf(rows, solved=None) -> _Leaf:
        held = evidence._replace(rows=rows)
        solved = solved or G1(held)
        means = np.where(np.isfinite(solved.means), solved.means, whole.means)
        log_z = np.where(np.isfinite(solved.free_energy), -solved.free_energy, -np.inf)
        return _Leaf(rows, log_z, means, np.nan_to_num(shares(held, means)), solved.status)

    leaves = [leaf(np.asarray(evidence.rows), whole)]
    while len(leaves) < count:
        tree = _Leaf(*(np.stack(field) for field in zip(*leaves, strict=True)))
        gain = normalised(tree.log_z, axis=0) * tree.shares.sum(2)
        which, row = gain.argmax(0), np.arange(gain.shape[1])
        unit, useful = tree.shares[which, row].argmax(1), gain.max(0) > 0
        off, on = (leaf(_held(tree.rows[which, row], unit, useful, state)) for state in (0, 1))
        on = on._replace(log_z=np.where(useful, on.log_z, -np.inf))
        leaves = [_Leaf(*(_replaced(*fields, which == k) for fields in zip(leaves[k], off, strict=True)))
                  for k in range(len(leaves))] + [on]  # fmt: skip
    log_z, means = (np.stack(field, axis=1) for field in ([x.log_z for x in leaves], [x.means for x in leaves]))
    status = np.stack([x.status for x in leaves], axis=1)
    return Components(log_z, means), np.where(np.isneginf(log_z), CONVERGED, status).max(axis=1)


def _held(rows: np.ndarray, unit: np.ndarray, useful: np.ndarray, state: int) -> np.ndarray:
    """The rows with one more unit held in each where that is of use."""
    rows, at = rows.copy(), np.flatnonzero(useful)
    rows[at, unit[at]] = state
    return rows


def _replaced(old: np.ndarray, new: np.ndarray, where: np.ndarray) -> np.ndarray:
    return np.where(where[:, None] if old.ndim == 2 else where, new, old)


# ---- all components together -----------------------------------------------------------------------------------------


def _solve_all(method: Mixture, network, evidence: Evidence, start: Components, prune, dtype) -> Posterior:
    """From the start downhill, chunk by chunk; `about` is the mixture."""
    rows, count = evidence.rows, method.components
    functional = Untruncated(1).fitted(network, evidence, prune=prune)
    storage, stacked = network.storage.prepared(fans=True), network.stack is not None
    head = head_of(network.layers, np.isnan(rows).any(axis=0))

    def solve(index) -> Posterior:
        some = evidence.take(index)
        with precision(dtype):
            found = _compiled(
                storage.take(index) if stacked else storage, network.bias[index] if stacked else network.bias,
                network.activation, some.rows, some.tilt, *(field[index] for field in start),
                method.tol, method.max_steps, functional=functional, prune=prune, head=head,
            )  # fmt: skip
            return to_numpy(found)

    work = count * (functional.row_work(network.size, storage.num_edges, 0) + count * network.size)
    parts = on_all_cores(solve, chunks(len(rows), max(1, MOST_NUMBERS // work)))
    components = Components(*(np.concatenate([part.about[k] for part in parts])[: len(rows)] for k in (0, 1)))
    return Posterior.joined(parts, len(rows))._replace(about=components)


@partial(jax.jit, static_argnames=("functional", "prune", "head"))
def _compiled(
    storage, bias, activation, rows, tilt, log_share, means, tol, max_steps, *, functional, prune, head
) -> Posterior:  # fmt: skip
    rows, bias = jnp.asarray(rows, jnp.zeros(()).dtype), jnp.asarray(bias)
    tilt = None if tilt is None else jnp.asarray(tilt, rows.dtype)
    problem = pose(storage, bias, activation, rows, 1, pairs=False, prune=prune, tilt=tilt, head=head)
    given = known(storage, bias, activation, rows, tilt)
    count = log_share.shape[1]
    u = jnp.clip(jnp.transpose(jnp.asarray(means, rows.dtype), (1, 2, 0)), SOFT, 1 - SOFT)[:, :head]
    start = started(problem, u, jnp.asarray(log_share, rows.dtype).T).stacked()
    evaluate = mixture_evaluator(problem, functional.energy, count)
    tol = jnp.maximum(jnp.asarray(tol, rows.dtype), REACHABLE * jnp.finfo(rows.dtype).eps)
    ending = descend(evaluate, floors(problem), POLICIES["monotone"], start, tol, max_steps)

    def whole(u):
        u = problem.complete(u)
        return predict(problem, functional.with_summed(problem, given, u), functional.chance)

    at = unstacked(ending.point.theta, count)
    found = jax.vmap(whole)(component_means(problem, at.theta))
    means = (jax.nn.softmax(at.phi, axis=0)[:, None] * found).sum(0)
    G = jnp.where(functional.beyond(problem, undecided(problem)).any(0), jnp.nan, ending.point.G)
    status = jnp.where(jnp.isnan(means).any(0) | jnp.isnan(G), NOT_FINITE, ending.status)
    mixture = (jax.nn.log_softmax(at.phi, axis=0).T, jnp.transpose(found, (2, 0, 1)))
    return Posterior(means.T, G, status, ending.steps, ending.cycles, ending.point.residual, mixture)


def _best(found: Posterior, whole: Posterior, others: list[_Other]) -> Posterior:
    """Row by row the mixture with the lowest free energy."""
    G = np.stack([found.free_energy, *(other.free_energy for other in others)])
    G = np.where(np.isfinite(G), G, np.inf)
    lost, row = np.isinf(G).all(0), np.arange(G.shape[1])
    which = np.where(lost, len(others), G.argmin(0))  # G1 says why
    mixtures = [found.about, *(other.components for other in others)]
    components = Components(*(np.stack([mixture[k] for mixture in mixtures])[which, row] for k in (0, 1)))
    optimised = which == 0
    return Posterior(
        np.where(optimised[:, None], found.means, components.mean()),
        np.where(lost, whole.free_energy, G.min(0)),
        np.stack([found.status, *(other.status for other in others)])[which, row],
        found.num_steps + whole.num_steps,
        found.num_cycles,
        np.where(optimised, found.residual, whole.residual),
        _about(whole.about if lost.any() else _answered(whole.about), components),
    )


def _answered(first: About) -> About:
    """Without the reason why G1 alone has no answer."""
    return replace(first, notes=tuple(note for note in first.notes if not note.startswith(LACKING)))
