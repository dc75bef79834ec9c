"""Mixtures of factorial distributions, by Bishop, Lawrence, Jaakkola and Jordan (1998).

All components are optimised together. They start from G1 with a few units held: the component in which G1 misses most
is split, by holding the unit with the largest share in the second order off and on, until there are enough of them.
Such a start is a bound already. The answer is the best of what is found, of the start and of G1 alone.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np

from plefka.inference.composite_methods import Mixture
from plefka.inference.conditioned import first_order, held, solve_again, starting_means
from plefka.inference.library import parse_method
from plefka.mean_field.free_energies import functional_of
from plefka.mean_field.minimisation import Minimum, scheme, slopes_at
from plefka.mean_field.mixture_energy import Variables, mixture_evaluator, started, unstacked
from plefka.mean_field.schemes import MeanField
from plefka.methods.posterior import CONVERGED, IMPOSSIBLE, NOT_FINITE, Posterior, normalised
from plefka.networks.activations import numpy_sigmoid
from plefka.reduction.question import Part, Question
from plefka.solvers.functional import Functional
from plefka.solvers.loop import Search, descend, limits, start
from plefka.solvers.policies import POLICIES
from plefka.solvers.rounds import Criteria, Iteration, in_rounds

SOFT = 0.02  # a component starts with no mean closer to 0 or 1: units that were held are let go


class Components(NamedTuple):
    """A mixture of factorial distributions for every row."""

    log_weight: np.ndarray  # (components, rows), up to a constant
    means: np.ndarray  # (components, units, rows)


def posterior(method: Mixture, part: Part, *, dtype: str) -> Posterior:
    """The best mixture that is found for every row."""
    question, splits = part.question, method.components > 1 and method.seed is None
    if splits:
        whole = first_order(part, dtype)
    else:
        whole = parse_method("G1").posterior(part, dtype=dtype)
        whole = whole._replace(means=starting_means(whole, part, dtype))
    single = Components(np.zeros((1, question.num_rows)), whole.means[None])
    if method.components == 1:
        return whole._replace(about=replace(whole.about, proposals=tuple(single)))
    if splits:
        solve = partial(first_order, dtype=dtype)
        tree, status = _split(partial(solve_again, solve, part), whole, question, method.components)
        found, optimised = _optimise(method, question, tree, dtype)
        others = [_OtherMixture(-np.logaddexp.reduce(tree.log_weight, axis=0), tree, status)]
    else:
        found, optimised = _optimise(method, question, _drawn(method, question), dtype)
        others = []
    others.append(_OtherMixture(whole.free_energy, _filled(single, method.components), whole.status))
    best = _best(found, optimised, whole, others)
    if not part.needs_slope:
        return best
    return best._replace(slope=_slopes(part, best.about.proposals, dtype, contributions=splits))


def _slopes(part: Part, components: tuple, dtype: str, *, contributions: bool) -> Any:
    """d ln P / dh of the mixture: the average of those of its components, by the program that solved G1 before."""
    log_weight, means = components
    weight, G1 = normalised(log_weight, axis=0), cast(MeanField, parse_method("G1"))
    slopes = [slopes_at(G1, part, component, dtype=dtype, contributions=contributions) for component in means]
    return sum(share * slope for share, slope in zip(weight, slopes, strict=True))


def _filled(single: Components, count: int) -> Components:
    """The single component, followed by components without weight, `count` in all."""
    log_weight = np.full((count, single.means.shape[2]), -np.inf)
    log_weight[0] = 0.0
    return Components(log_weight, np.repeat(single.means, count, axis=0))


def _drawn(method: Mixture, question: Question) -> Components:
    """Equal weights, and means that are uniform at random."""
    shape = (method.components, *question.free.shape)
    means = np.random.default_rng(method.seed).uniform(0.0, 1.0, shape)
    return Components(np.zeros((method.components, question.num_rows)), means)


# ---- the start -------------------------------------------------------------------------------------------------------


class _OtherMixture(NamedTuple):
    """A mixture that was not optimised as such."""

    free_energy: np.ndarray  # (rows,)
    components: Components
    status: np.ndarray  # (rows,)


class _Leaf(NamedTuple):
    """G1 with some units held, row by row; the last axis of all arrays is that of the rows."""

    held: np.ndarray  # (units, rows): the states of units that are held, nan elsewhere
    log_z: np.ndarray
    means: np.ndarray
    contributions: np.ndarray  # to the second order
    status: np.ndarray


def _split(G1, whole: Posterior, question: Question, count: int) -> tuple[Components, np.ndarray]:
    """One component after another: that in which G1 misses most, split by the unit that has most to do with it.

    And how the worst component of each row ended.
    """

    def leaf(state, solved=None) -> _Leaf:
        units = np.where(np.isnan(state), -1, np.arange(len(state))[:, None])
        found = solved or G1(held(question, units, np.nan_to_num(state)))
        means = np.where(np.isfinite(found.means), found.means, whole.means)
        there = np.isfinite(found.free_energy) & (found.status != IMPOSSIBLE)
        log_z = np.where(there, -found.free_energy, -np.inf)
        return _Leaf(state, log_z, means, np.nan_to_num(found.about.contributions), found.status)

    leaves = [leaf(np.full(question.free.shape, np.nan), whole)]
    while len(leaves) < count:
        tree = _Leaf(*(np.stack(field) for field in zip(*leaves, strict=True)))
        gain = normalised(tree.log_z, axis=0) * tree.contributions.sum(1)
        which, row = gain.argmax(0), np.arange(gain.shape[1])
        unit, useful = tree.contributions[which, :, row].argmax(1), gain.max(0) > 0
        before = tree.held[which, :, row].T
        here = useful & (np.arange(len(before))[:, None] == unit)  # one more unit in each row where that is of use
        off, on = (leaf(np.where(here, state, before)) for state in (0, 1))
        on = on._replace(log_z=np.where(useful, on.log_z, -np.inf))
        leaves = [_Leaf(*(np.where(which == k, new, old) for old, new in zip(leaves[k], off, strict=True)))
                  for k in range(len(leaves))] + [on]  # fmt: skip
    log_z, means, status = (np.stack(field) for field in zip(*((x.log_z, x.means, x.status) for x in leaves)))
    return Components(log_z, means), np.where(np.isneginf(log_z), CONVERGED, status).max(axis=0)


# ---- all components together -----------------------------------------------------------------------------------------


def _optimise(method: Mixture, question: Question, first: Components, dtype: str) -> tuple[Minimum, Components]:
    """From the start downhill: where the search ended, and the mixture there."""
    count, policy = method.components, POLICIES["monotone"]
    functional = functional_of(question.model, scheme("G1")).fitted(question)
    storage = question.storage.prepared(tables=True)
    question = question.with_model(weights=storage)
    searched = question.num_searched
    u = np.clip(first.means[:, :searched], SOFT, 1 - SOFT)
    variables = started(question.searched, u, np.maximum(first.log_weight, -1e300)).stacked()
    row_work = count * (functional.row_work(question.size, storage.num_edges, 0) + count * question.size)
    criteria = Criteria(float(method.tol), method.max_steps)
    found = in_rounds(
        MixtureIteration(functional, count),
        question,
        lambda rows: start(policy, variables[:, rows].astype(dtype)),
        criteria,
        row_work=row_work,
        dtype=dtype,
    )
    found = Minimum(*found)
    at: Variables = unstacked(found.theta, count)
    means = np.repeat(question.values[None], count, axis=0)
    means[:, :searched] = np.where(question.searched, numpy_sigmoid(np.asarray(at.theta)), means[:, :searched])
    return found, Components(at.phi - np.logaddexp.reduce(at.phi, axis=0), means)


@dataclass(frozen=True)
class MixtureIteration(Iteration):
    """Downhill on the free energy of a mixture."""

    functional: Functional
    components: int

    def prepare(self, question: Question) -> Question:
        return question.opened()

    def advance(self, prepared: Question, state: Search, tol, max_steps, few) -> Search:
        evaluate = mixture_evaluator(prepared, self.functional.energy, self.components)
        return descend(evaluate, limits(prepared, tol, max_steps), POLICIES["monotone"], state, few)

    def answer(self, prepared: Question, state: Search) -> Minimum:
        return Minimum.of(state, POLICIES["monotone"])


def _best(found: Minimum, optimised: Components, whole: Posterior, others: list[_OtherMixture]) -> Posterior:
    """Row by row the mixture with the lowest free energy."""
    G = np.stack([found.G, *(other.free_energy for other in others)])
    G = np.where(np.isfinite(G), G, np.inf)
    lost, row = np.isinf(G).all(0), np.arange(G.shape[1])
    known = whole.about.exact_rows is not None and whole.about.exact_rows()  # there is nothing to mix
    which = np.where(lost | known, len(others), G.argmin(0))  # G1 says why
    mixtures = [optimised, *(other.components for other in others)]
    log_weight = np.stack([mixture.log_weight for mixture in mixtures])[which, :, row].T
    means = np.moveaxis(np.stack([mixture.means for mixture in mixtures])[which, :, :, row], 0, -1)
    mean = np.clip(np.einsum("kr,kur->ur", normalised(log_weight, axis=0), means), 0.0, 1.0)
    status = np.stack([found.status, *(other.status for other in others)])[which, row]
    without_leak = whole.about.without_leak if lost.any() else None
    return Posterior(
        mean,
        np.where(lost, whole.free_energy, G.min(0)),
        np.where(np.isnan(mean).any(0) & ~lost, NOT_FINITE, status),
        found.steps + whole.num_steps,
        np.zeros_like(found.steps),
        np.where(which == 0, found.residual, whole.residual),
        None,
        replace(whole.about, without_leak=without_leak, proposals=(log_weight, means)),
    )
