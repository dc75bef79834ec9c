"""From the answers of questions to an answer for all units of the network, row by row."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from plefka.errors import listed
from plefka.methods.method import Method, posterior_of
from plefka.methods.posterior import (
    CONVERGED,
    ESTIMATE,
    EXACT,
    IMPOSSIBLE,
    NOT_FINITE,
    OUT_OF_STEPS,
    Posterior,
    ProposedComponents,
    RowAnswers,
    accuracy_of_rows,
    normalised,
)
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.barren_means import predicted as predicted_means
from plefka.reduction.dependence import follow_exactly, have_several_parents
from plefka.reduction.machine_reduction import answer_without_free_units
from plefka.reduction.question import Part
from plefka.reduction.reduce import Reduction, reduce

UNITS_AT_ONCE = 2**22  # units times rows that are reduced at once
MOST_PROPOSED = 64  # components that are kept for the check of an answer
LEAST_ERROR = 1e-9  # of a mean, below which it is rounding
DETERMINISTIC_EDGES = (
    "edges of probability one between hidden units count as weights of 30, so this is not a strict bound"
)
DETERMINISTIC_TABLES = (
    "states of hidden units that their parents rule out are given a probability of 1e-13 instead of 0, so this is not "
    "a strict bound"
)
NEEDS_LEAK = "these units need a leak greater than 0: "


def reductions(
    method: Method,
    network: Network,
    evidence: Evidence,
    *,
    prune: bool,
    keep_barren: bool | None = None,
    kept: Any = None,
) -> Iterator[tuple[np.ndarray, Reduction]]:
    """The rows in chunks that fit in memory, each reduced as the method needs it."""
    kept = method.units_to_keep(network) if kept is None else kept
    keep_barren = method.keeps_barren if keep_barren is None else keep_barren
    step = 1 if method.rows_alone else max(1, UNITS_AT_ONCE // network.size)
    for first in range(0, len(evidence.rows), step):
        rows = np.arange(first, min(first + step, len(evidence.rows)))
        piece = network if network.stack is None else network.take(rows)
        given = evidence if len(rows) == len(evidence.rows) else evidence.take(slice(first, first + step))
        yield rows, reduce(piece, given, prune=prune, keep_barren=keep_barren, kept=kept)


def recover(
    method: Method,
    reduced: Iterable[tuple[np.ndarray, Reduction]],
    network: Network,
    evidence: Evidence,
    dtype: str,
    *,
    known: dict[Part, Posterior] | None = None,
) -> RowAnswers:
    """What the method finds for rows that are reduced already.

    `known`: the posteriors of all parts, where they were computed before.
    """
    solve = (lambda part: posterior_of_part(method, part, dtype)) if known is None else known.__getitem__
    if method.rows_alone and len(evidence.rows) > 1:  # whose notes do not say which of them they are about
        alone, solve = solve, lambda part: (found := alone(part))._replace(about=replace(found.about, notes=()))
    return RowAnswers.join(
        [
            _Chunk(method, network, evidence.take(slice(rows[0], rows[-1] + 1)), dtype, reduction).answers(solve)
            for rows, reduction in reduced
        ]
    )


def posterior_of_part(method: Method, part: Part, dtype: str) -> Posterior:
    """What the method finds for the rows of a part, if anything is left to be found."""
    return answer_without_free_units(part.question) or posterior_of(method, part, dtype=dtype)


@dataclass(frozen=True)
class _Chunk:
    """Some rows that were reduced together."""

    method: Method
    network: Network
    evidence: Evidence
    dtype: str
    reduction: Reduction

    def answers(self, solve: Callable[[Part], Posterior]) -> RowAnswers:
        """All units of all rows."""
        rows, impossible, parts = self.evidence.rows, self.reduction.impossible, self.reduction.parts
        posteriors = [solve(part) for part in parts]
        means = np.array(rows, self.dtype)
        G, residual, status = np.full(len(rows), np.inf), np.zeros(len(rows)), np.full(len(rows), IMPOSSIBLE)
        steps, cycles = np.zeros((2, len(rows)), int)
        error, freedom, means_error = *np.full((2, len(rows)), np.nan), np.full(rows.shape, np.nan)
        exact = np.zeros(len(rows), bool)
        for part, found in zip(parts, posteriors, strict=True):
            some = part.rows
            exact[some] = exact_rows(part, found)
            G[some], status[some], residual[some] = found.free_energy - part.constant, found.status, found.residual
            steps[some], cycles[some] = found.num_steps, found.num_cycles
            means[some] = _all_means(self.reduction, part, found, exact[some]).T
            if found.about.error is not None:
                error[some], degrees = found.about.error, found.about.degrees_of_freedom
                freedom[some] = np.nan if degrees is None else degrees
                means_error[some] = _of_all_units(cast(Any, found.about.means_error), part, self.network).T
        np.clip(means, 0.0, 1.0, out=means)  # averages of ones may come out as 1 + 2e-16
        asked = means if self.evidence.wanted is None else means[:, self.evidence.wanted]
        status = np.where(np.isnan(asked).any(axis=1) & (status == CONVERGED), NOT_FINITE, status)
        deterministic = self.reduction.deterministic_rows & ~exact
        if impossible.any():
            G[impossible], status[impossible], means[impossible] = np.inf, IMPOSSIBLE, rows[impossible]
            exact[impossible] = True
        accuracy, notes = self._accuracy(posteriors, exact, deterministic)
        certainty = self._certainty(posteriors, exact)
        if certainty.corrected.any():
            means = _of_exact_parents(self.network, certainty.edges, means, certainty.corrected)
        others = np.isnan(rows) & ~certainty.exact & np.isnan(means_error)
        drawn = [len(found.about.draws.states) for found in posteriors if found.about.draws is not None]
        means_error = _with_others(means_error, means, others, min(drawn, default=1))
        proposals = [
            ProposedComponents(part.rows, part.units, *(np.array(z[:MOST_PROPOSED]) for z in found.about.proposals))
            for part, found in zip(parts, posteriors, strict=True)
            if found.about.proposals is not None
        ]
        return RowAnswers(
            means, G, status, steps, cycles, residual, accuracy, np.where(certainty.exact, EXACT, ESTIMATE),
            error, means_error, freedom, certainty.predicted, certainty.depends & (status == CONVERGED), None, notes,
            tuple(proposals),
        )  # fmt: skip

    def _accuracy(
        self, posteriors: list[Posterior], exact: np.ndarray, deterministic: np.ndarray
    ) -> tuple[np.ndarray, tuple[str, ...]]:
        """What ln P of every row is, and sentences for the user: a bound, where every part is one."""
        abouts = [found.about for found in posteriors]
        bounds = {about.is_bound for about in abouts} or {None}
        bound = bounds.pop() if len(bounds) == 1 else False
        is_bound = self.method.is_bound if bound is None else bound
        is_upper = bool(abouts) and all(about.is_upper for about in abouts)
        notes = dict.fromkeys(
            note
            for part, found in zip(self.reduction.parts, posteriors, strict=True)
            for note in self._notes(part, found)
        )
        if is_bound and deterministic.any():
            mixes = cast(Any, self.network).activation.mixes_kinds
            notes[DETERMINISTIC_TABLES if mixes else DETERMINISTIC_EDGES] = None
        is_lower = is_bound & ~deterministic
        return accuracy_of_rows(len(exact), is_exact=exact, is_lower=is_lower, is_upper=is_upper), tuple(notes)

    def _notes(self, part: Part, found: Posterior) -> Iterator[str]:
        """Those of a part; of a single row with the names of units that they are about."""
        about, single = found.about, len(self.evidence.rows) == 1
        if about.conditioned_on is not None and single:
            names = [self.network.names[unit] for unit in part.units[about.conditioned_on].ravel()]
            yield f"conditioned on {', '.join(names) or 'nothing, as no unit is left to choose'}"
        yield from about.notes
        if about.without_leak is not None and single:
            units = part.units[about.without_leak.any(axis=1)].ravel()
            yield NEEDS_LEAK + listed(repr(self.network.names[unit]) for unit in units)

    def _certainty(self, posteriors: list[Posterior], exact: np.ndarray) -> "_Certainty":
        """Which means are exact: those of exact rows, but for barren units whose parents depend on each other."""
        shape, reduction = self.evidence.rows.shape, self.reduction
        (left_out, certain), drawn = np.zeros((2, *shape), bool), np.zeros(shape[0], bool)
        for part, found in zip(reduction.parts, posteriors, strict=True):
            left_out[part.rows], certain[part.rows] = reduction.barren_of(part).T, reduction.certain_of(part).T
            drawn[part.rows] = (found.about.draws is not None) & ~exact[part.rows]
        left_out[reduction.impossible] = False
        nothing, exact_units = np.zeros(shape, bool), certain | exact[:, None]
        if not left_out.any():
            return _Certainty(exact_units, nothing, np.zeros(shape[0], bool), nothing.T, None)
        depends = exact & left_out.any(axis=1)
        depends = depends & reduction.barren_parents_depend if depends.any() else depends
        predicted = left_out & ~(drawn | (exact & ~depends))[:, None]
        edges: EdgeList = cast(Any, reduction).edges
        if predicted.any():
            predicted &= have_several_parents(edges)
        exact_units, corrected = certain | (exact[:, None] & ~predicted), nothing.T
        if (others := left_out & ~exact[:, None]).any():
            follows = follow_exactly(edges, exact_units.T & ~left_out.T, certain.T, others.T)
            exact_units = exact_units | follows.T
            if drawn.any() or any(found.about.by_field for found in posteriors):
                corrected = follows  # else they are averages over exact parents as they are
        return _Certainty(exact_units, predicted, depends, corrected, edges)


@dataclass(frozen=True)
class _Certainty:
    """Which means are exact, and what is known of barren units."""

    exact: np.ndarray  # (rows, units)
    predicted: np.ndarray  # (rows, units): barren, and predicted as if their parents were independent of each other
    depends: np.ndarray  # (rows,): exact, with barren units whose parents depend on each other
    corrected: np.ndarray  # (units, rows): barren, with exact parents, and not predicted from those
    edges: Any


def _of_exact_parents(network: Network, edges: EdgeList, means: np.ndarray, follows: np.ndarray) -> np.ndarray:
    """The means (rows, units) with those (units, rows) that follow from exact ones, whatever the method does."""
    h = np.atleast_2d(np.asarray(network.bias, float)).T
    found = predicted_means(edges, h, cast(Any, network).activation, means.T, follows, by_field=False)
    return np.ascontiguousarray(found.T).astype(means.dtype)


def exact_rows(part: Part, found: Posterior) -> np.ndarray:
    """(rows,): where the method says that the posterior is exact, or nothing was left to approximate."""
    nothing_left = ~np.asarray(part.question.free).any(axis=0)
    said = False if found.about.exact_rows is None else found.about.exact_rows()
    ended = (found.status == CONVERGED) | (found.status == IMPOSSIBLE)
    return np.asarray((said & ended) | (nothing_left & (ended | (found.status == OUT_OF_STEPS))))


def _of_all_units(values: np.ndarray, part: Part, network: Network) -> np.ndarray:
    """(units of the question, rows) in the place of all units, nan elsewhere."""
    full = np.full((network.size, values.shape[1]), np.nan)
    units = np.broadcast_to(part.units.reshape(len(values), -1), values.shape)
    slot, row = np.nonzero((units >= 0) & np.asarray(part.question.free))
    full[units[slot, row], row] = values[slot, row]
    return full


def _with_others(errors: np.ndarray, means: np.ndarray, others: np.ndarray, most: int) -> np.ndarray:
    """Errors (rows, units) with those of `others`: units that were summed out, or are barren, as averages of draws.

    How many draws that would be is what the errors of all other units say, in the middle, if not `most` of them.
    """
    spread = means * (1 - means)
    usable = (errors > LEAST_ERROR) & (spread > 0)
    for row in np.flatnonzero(usable.any(axis=1) & others.any(axis=1)).tolist():
        some, count = others[row], np.median(spread[row, usable[row]] / errors[row, usable[row]] ** 2)
        errors[row, some] = np.sqrt(spread[row, some] / min(count, most))
    return errors


def _all_means(reduction: Reduction, part: Part, found: Posterior, exact: np.ndarray) -> np.ndarray:
    """Of all units of the network, (units, rows); of barren ones they are averaged over the components of a mixture.

    `exact`: (rows,), where that is not left to draws, nor to f at the mean field.
    """
    full, _ = reduction.restored(part, found.means, found.slope)

    def predict(part: Part, means: np.ndarray) -> np.ndarray:
        if not found.about.by_field or exact.all():
            return reduction.predicted(part, means, by_field=False)
        by_field = reduction.predicted(part, means, by_field=True)
        if by_field is means or not exact.any():
            return by_field
        return np.where(exact, reduction.predicted(part, means, by_field=False), by_field)

    predicted = predict(part, full)
    if predicted is full:
        return full
    if found.about.draws is not None:
        # By how much dependent parents matter: what is due to the means of the draws alone is known better without.
        averages = reduction.averages(part, found.about.draws)
        corrected = predicted + averages.chances - predict(part, averages.states)
        corrected = np.where((corrected <= 0) | (corrected >= 1), np.clip(averages.chances, 0.0, 1.0), corrected)
        return np.where(reduction.barren_of(part), np.where(exact, predicted, corrected), full)
    if found.about.proposals is None:
        return predicted
    log_weights, components = found.about.proposals
    total = np.zeros(full.shape)
    for weight, means in zip(normalised(log_weights, axis=0), components, strict=True):
        inside = reduction.restored(part, means, None)[0]
        total += weight * predict(part, np.where(np.isnan(inside), full, inside))
    return np.where(np.isnan(full), total, full)
