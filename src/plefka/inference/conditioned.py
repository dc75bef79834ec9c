"""Conditioning: sum over all states of a few chosen units, and let another method do the rest.

    ln Z = ln sum_c Z_c,    means = sum_c (Z_c / Z) means_c

over the 2^k states c of the chosen units, all solved as one batch. A bound inside stays a bound. Chosen are the units
that contribute most to the second order of Plefka's expansion at the solution of G1: what G1 does not see.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np

from plefka.inference.composite_methods import Conditioned
from plefka.inference.library import parse_method
from plefka.mean_field import minimisation
from plefka.mean_field.free_energies import functional_of
from plefka.mean_field.schemes import MeanField
from plefka.methods.method import does_not_apply, posterior_of
from plefka.methods.posterior import (
    CONVERGED,
    IMPOSSIBLE,
    NOT_FINITE,
    OUT_OF_STEPS,
    WITHOUT_LEAK,
    About,
    Posterior,
    normalised,
)
from plefka.networks.fields import bits
from plefka.reduction.machine_reduction import answer_without_free_units
from plefka.reduction.question import PairModel, Part, Question
from plefka.reduction.recovery import MOST_PROPOSED, exact_rows
from plefka.reduction.reduce import reduce_question
from plefka.runtime.programs import Program
from plefka.solvers.functional import Functional
from plefka.solvers.rounds import by_rows

TIED = 6  # digits of a contribution, relative to the largest of a row, that tell units apart
STATES_AT_ONCE = 4000  # rows that are solved in one go
NEGLIGIBLE = 1e-12  # the weight of a state that need not have converged
CONDITIONED_NUMBERS = 2**22  # of the states that barren units are predicted from, if these are more
NOT_SUMMED = "states of the chosen units did not converge, so that they were not summed over"
LEFT_OUT = (
    "states in which a unit has no leak were left out, so the bound is looser than necessary; "
    "bethe as the inner method needs no leak"
)


def posterior(method: Conditioned, part: Part, *, dtype: str) -> Posterior:
    """The mixture over the states of the chosen units."""
    chosen = choose(method, part, dtype)
    step = max(1, STATES_AT_ONCE >> len(chosen))
    pieces = [
        _condition(method, part, chosen, np.arange(first, min(first + step, chosen.shape[1])), dtype)
        for first in range(0, chosen.shape[1], step)
    ]
    return Posterior.join(pieces, _about(method, chosen, [piece.about for piece in pieces]))


def choose(method: Conditioned, part: Part, dtype: str) -> np.ndarray:
    """The units of the question to condition on, (k, rows); -1 where a row has none left to choose."""
    question = part.question
    if method.units:
        named = (part.units >= 0) & np.asarray(part.named)[part.units]
        score = (named[:, None] if named.ndim == 1 else named) & question.free
        chosen = highest(score, part.units, method.k)
    else:
        chosen = units_worth_it(part, method.k, dtype)
    return chosen[(chosen >= 0).any(axis=1)]


def highest(score: np.ndarray, units: np.ndarray, count: int | None) -> np.ndarray:
    """The positions (count, rows) with the highest scores; -1 where these are not positive.

    Where rounding alone tells scores apart, the network's order of `units` decides. So a row of a batch, of which other
    units are left in another order, has the units that it has alone.
    """
    score = score.astype(float)
    top = score.max(axis=0, initial=0.0)
    level = np.round(score / np.where(top > 0, top, 1.0), TIED)
    by_unit = np.broadcast_to(units.reshape(len(score), -1), score.shape)
    order = np.lexsort((by_unit, score <= 0, -level), axis=0)[:count]
    return np.where(np.take_along_axis(score, order, axis=0) > 0, order, -1)


def units_worth_it(part: Part, count: int | None, dtype: str) -> np.ndarray:
    """The units (count, rows) of a question that are worth conditioning on; -1 where a row has fewer.

    Of a machine they are chosen one after another, as couplings to units that were chosen before do not count any more,
    by the means of G2 itself: those of G1 are near 0 and 1 where couplings are strong, whether or not the units are
    decided.
    """
    question = part.question
    if not isinstance(question.model, PairModel):
        return highest(first_order(part, dtype).about.contributions, part.units, count)
    u = parse_method("G2[solve=yes]").posterior(part, dtype=dtype).means
    v = np.where(question.free, np.nan_to_num(u * (1 - u), nan=0.25), 0.0)
    squares, found = question.storage.map_weights(np.square), []
    for _ in range(min(count or 0, len(v))):
        share = v * squares.product(v)
        unit = share.argmax(axis=0)
        found.append(np.where(share.max(axis=0) > 0, unit, -1))
        v[unit, np.arange(v.shape[1])] = 0.0
    return np.array(found, int).reshape(-1, question.num_rows)


def first_order(part: Part, dtype: str) -> Posterior:
    """G1, with what each unit contributes to the second order; at bethe's means in rows that lack a leak for G1."""
    question = part.question
    pairs = question.storage.num_pairs() if functional_of(question.model, minimisation.scheme("G2")).needs_pairs else 0
    if pairs > minimisation.MOST_PAIRS:
        why = f"to choose units it would sum over {pairs:,} pairs of parents; the limit is {minimisation.MOST_PAIRS:,}"
        raise does_not_apply(parse_method("conditioned"), why, "conditioned[G1,units=...] or bethe")
    G1 = cast(MeanField, parse_method("G1"))
    found = minimisation.posterior(G1, part, dtype=dtype, contributions=True)
    means, contributions = starting_means(found, part, dtype), found.about.contributions
    if (lost := found.status == WITHOUT_LEAK).any():
        contributions = np.where(lost, contributions_at(means, question, dtype), contributions)
    return found._replace(means=means, about=replace(found.about, contributions=np.nan_to_num(contributions)))


def starting_means(first: Posterior, part: Part, dtype: str) -> np.ndarray:
    """The means of G1, or of bethe in rows where G1 has none for lack of a leak."""
    lost = first.status == WITHOUT_LEAK
    if not lost.any():
        return first.means
    return np.where(lost, parse_method("bethe").posterior(part, dtype=dtype).means, first.means)


def contributions_at(means: np.ndarray, question: Question, dtype: str) -> np.ndarray:
    """What each unit contributes to the second order at these means, (units, rows)."""
    functional, storage = functional_of(question.model, minimisation.scheme("G2")).fitted(question), question.storage
    question = question.with_model(weights=storage.prepared(pairs=True, tables=True))
    u = np.where(question.free, np.nan_to_num(means, nan=0.5), question.values)
    work = functional.row_work(question.size, storage.num_edges, storage.num_pairs()) * question.num_rows
    return by_rows(_contributions, question, u, functional=functional, work=work, dtype=dtype)


def _pair_contributions(question: Question, u, *, functional: Functional):
    opened = question.opened(functional.powers(question.model.activation), pairs=True)
    return opened.free * functional.pair_contributions(opened, u)


_contributions = Program(_pair_contributions)


def _condition(method: Conditioned, part: Part, chosen: np.ndarray, index: np.ndarray, dtype: str) -> Posterior:
    """Some rows, each with all states of its units."""
    count = 2 ** len(chosen)
    repeated = np.repeat(index, count)
    state = np.tile(bits(np.arange(count), np.arange(len(chosen))), len(index))
    units = chosen[:, repeated]
    question = held(part.question.take(repeated), units, state)
    superfluous = ((units < 0) & (state == 1)).any(axis=0)  # the same as the state with 0 there
    inner = solve_again(partial(posterior_of, method.inner, dtype=dtype), part, question)
    found = _mixed(
        inner, inner.about.is_lower(method.inner), superfluous.reshape(len(index), count).T, part.question.take(index)
    )
    lost = np.flatnonzero(found.status == OUT_OF_STEPS) if len(chosen) else np.array([], int)
    if not len(lost):
        return found
    alone = part.question.take(index[lost])
    return _with_plain(found, lost, solve_again(partial(posterior_of, method.inner, dtype=dtype), part, alone))


def _with_plain(found: Posterior, lost: np.ndarray, plain: Posterior) -> Posterior:
    """Rows of which a state that matters has not converged have the answer without conditioning: no sum of such."""
    about, is_lost = found.about, np.isin(np.arange(len(found.status)), lost)
    slope = found.slope
    if slope is not None:
        slope = slope.copy()
        slope[:, lost] = plain.slope
    log_weights, means = (z.copy() for z in about.proposals)
    log_weights[:, lost], means[:, :, lost] = -np.inf, 0.0
    log_weights[0, lost], means[0][:, lost] = 0.0, np.nan_to_num(plain.means, nan=0.5)
    changed = replace(
        about, proposals=(log_weights, means), notes=(*about.notes, NOT_SUMMED),
        exact_rows=lambda: _exact_rows(about) & ~is_lost,
    )  # fmt: skip
    return found.with_rows(lost, plain)._replace(slope=slope, about=changed)


def held(question: Question, units: np.ndarray, state: np.ndarray) -> Question:
    """The question with units[k, row] known to be state[k, row]; none where the unit is -1."""
    free, values = question.free.copy(), question.values.copy()
    which, row = np.nonzero(units >= 0)
    free[units[which, row], row] = False
    values[units[which, row], row] = state[which, row]
    return Question(question.model, free, values, question.tilt, question.num_searched)


def solve_again(solve: Callable[[Part], Posterior], part: Part, question: Question) -> Posterior:
    """A method on a question of which more is known: reduce, solve, recover."""
    reduction = reduce_question(question, needs_slope=part.needs_slope)
    (smaller,) = reduction.parts
    found = answer_without_free_units(smaller.question) or solve(smaller)
    if found.about.contributions is not None:
        wide = np.nan_to_num(np.where(question.free, reduction.spread(found.about.contributions), 0))
        found = found._replace(about=replace(found.about, contributions=wide))
    means, slope = reduction.restored(smaller, found.means, found.slope)
    means = reduction.predicted(smaller, means, by_field=found.about.by_field)  # barren units that were not pruned
    status = np.where(reduction.impossible, IMPOSSIBLE, found.status)
    means = np.where(np.isnan(means) & ~question.free, question.values, means)
    about = replace(  # exact where no unit is barren, so that its parents were not taken to be independent
        found.about, exact_rows=lambda: exact_rows(smaller, found) & ~reduction.barren_of(smaller).any(axis=0)
    )
    free_energy = found.free_energy - smaller.constant
    return found._replace(means=means, slope=slope, status=status, free_energy=free_energy, about=about)


def _mixed(inner: Posterior, is_bound: bool, superfluous: np.ndarray, question: Question) -> Posterior:
    """All states of a row together. A state without a number leaves the row without one.

    So does a state without leak, unless the answer is a bound, which may leave it out.
    """

    def by_state(values: np.ndarray) -> np.ndarray:
        """(..., rows of all states) as (..., states, rows)."""
        return np.swapaxes(values.reshape(*values.shape[:-1], question.num_rows, -1), -1, -2)

    status = by_state(np.where(np.isnan(inner.free_energy), NOT_FINITE, inner.status))
    status = np.where(superfluous, CONVERGED, status)
    nothing = superfluous | (status == IMPOSSIBLE) | (status == WITHOUT_LEAK)  # of a bound, the weakest one: zero
    with np.errstate(invalid="ignore"):
        log_z = np.where(nothing, -np.inf, -by_state(inner.free_energy))
        total = np.logaddexp.reduce(log_z, axis=0)
    lost = ~np.isfinite(total)
    proposed = np.where(lost, np.where(superfluous, -np.inf, 0.0), log_z)
    weight = normalised(proposed, axis=0)
    means = np.where(weight > 0, by_state(inner.means), 0.0)  # (units, states, rows)
    found = np.clip(np.einsum("kr,ukr->ur", weight, means), 0.0, 1.0)
    without_leak = (status == WITHOUT_LEAK).any(axis=0)
    notes = inner.about.notes + ((LEFT_OUT,) if is_bound and (without_leak & ~lost).any() else ())
    failed = without_leak & (not is_bound)
    slope = None
    if inner.slope is not None:
        slope = np.einsum("kr,ukr->ur", weight, np.where(weight > 0, by_state(inner.slope), 0.0))
    return Posterior(
        np.where(question.free, found, question.values),
        np.where(failed, np.inf, -total),
        np.where(failed, WITHOUT_LEAK, _worst(status, weight, lost)),
        by_state(inner.num_steps).sum(axis=0),
        by_state(inner.num_cycles).sum(axis=0),
        np.where(weight > NEGLIGIBLE, by_state(inner.residual), 0.0).max(axis=0),
        slope,
        replace(
            inner.about, notes=notes, without_leak=None,
            proposals=_heaviest(proposed, means, max(MOST_PROPOSED, CONDITIONED_NUMBERS // max(1, means[:, 0].size))),
            exact_rows=lambda: (superfluous | by_state(_exact_rows(inner.about))).all(axis=0), draws=None,
            error=None, means_error=None, degrees_of_freedom=None,
        ),
    )  # fmt: skip


def _heaviest(log_weights: np.ndarray, means: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """The states of largest weight, (states, rows) and (states, units, rows)."""
    order = np.argsort(-log_weights, axis=0, kind="stable")[:count]
    chosen = np.take_along_axis(means, order[None], axis=1)
    return np.take_along_axis(log_weights, order, axis=0), np.swapaxes(chosen, 0, 1)


def _worst(status: np.ndarray, weight: np.ndarray, lost: np.ndarray) -> np.ndarray:
    """The worst status of a state that matters: of all where none is left, and of one without a number always."""
    matters = (weight > NEGLIGIBLE) | (status == NOT_FINITE)
    unknown = (status == NOT_FINITE).any(axis=0)
    found = np.where(matters & ~lost, status, CONVERGED).max(axis=0)
    return np.where(unknown, NOT_FINITE, np.where(lost, status.max(axis=0), found))


def _about(method: Conditioned, chosen: np.ndarray, parts: list[About]) -> About:
    """A bound where every part is one, with the notes of all of them."""
    notes = tuple(dict.fromkeys(note for about in parts for note in about.notes))
    count = min(len(about.proposals[0]) for about in parts)  # states of all rows, as many as every piece has
    proposals = tuple(np.concatenate([about.proposals[k][:count] for about in parts], axis=-1) for k in (0, 1))
    bound = all(about.is_lower(method.inner) for about in parts)
    units = chosen[chosen[:, 0] >= 0, 0] if chosen.shape[1] == 1 else None
    return replace(
        parts[0], is_bound=bound, is_upper=all(about.is_upper for about in parts), notes=notes,
        proposals=proposals, conditioned_on=units,
        exact_rows=lambda: np.concatenate([_exact_rows(about) for about in parts]),
    )  # fmt: skip


def _exact_rows(about: About) -> np.ndarray:
    return cast(Callable[[], np.ndarray], about.exact_rows)()
