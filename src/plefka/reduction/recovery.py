"""From the answers of questions to an answer for all units of the network, row by row."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, TypeAlias, cast

import numpy as np

from plefka.errors import listed
from plefka.methods.method import Method, posterior_of
from plefka.methods.posterior import ESTIMATE, EXACT, About, Posterior, normalised, of_rows
from plefka.methods.status import CONVERGED, IMPOSSIBLE, NOT_FINITE, OUT_OF_STEPS
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.barren_means import predicted as predicted_means
from plefka.reduction.dependence import follow_exactly, have_several_parents
from plefka.reduction.machine_reduction import answer_without_free_units
from plefka.reduction.question import Part
from plefka.reduction.reduce import Reduction, reduce

UNITS_AT_ONCE = 2**22  # units times rows that are reduced at once
DETERMINISTIC_EDGES = (
    "edges of probability one between hidden units count as weights of 30, so this is not a strict bound"
)
DETERMINISTIC_TABLES = (
    "states of hidden units that their parents rule out are given a probability of 1e-13 instead of 0, so this is not "
    "a strict bound"
)
# Some rows, the units that the means are of, ln weights (components, rows) and means (components, units, rows).
Components: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
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
    step = max(1, UNITS_AT_ONCE // network.size)
    for first in range(0, len(evidence.rows), step):
        rows = np.arange(first, min(first + step, len(evidence.rows)))
        piece = network if network.stack is None else network.take(rows)
        given = evidence if len(rows) == len(evidence.rows) else evidence.take(_neighbours(rows))
        yield rows, reduce(piece, given, prune=prune, keep_barren=keep_barren, kept=kept)


def _neighbours(rows: np.ndarray) -> slice:
    """Rows that follow each other, without a copy."""
    return slice(int(rows[0]), int(rows[-1]) + 1)


def of_reduction(
    method: Method,
    reduced: Iterable[tuple[np.ndarray, Reduction]],
    network: Network,
    evidence: Evidence,
    dtype: str,
    *,
    known: dict[Part, Posterior] | None = None,
) -> Posterior:
    """What the method finds for rows that are reduced already.

    `known`: the posteriors of all parts, where they were computed before.
    """
    solve = (lambda part: posterior_of_part(method, part, dtype)) if known is None else known.__getitem__
    pieces = [
        _of_chunk(method, reduction, network, evidence.take(_neighbours(rows)), dtype, rows[0], solve)
        for rows, reduction in reduced
    ]
    return concatenated(pieces)


def posterior_of_part(method: Method, part: Part, dtype: str) -> Posterior:
    """What the method finds for the rows of a part, if anything is left to be found."""
    return answer_without_free_units(part.question) or posterior_of(method, part, dtype=dtype)


def _of_chunk(
    method: Method,
    reduction: Reduction,
    network: Network,
    evidence: Evidence,
    dtype: str,
    first: int,
    solve: Callable[[Part], Posterior],
) -> Posterior:
    """What the method finds for some rows, of which `first` is the number of the first one."""
    count = len(evidence.rows)
    means = np.array(evidence.rows, dtype)
    G, residual, error = np.full(count, np.inf), np.zeros(count), np.full(count, np.nan)
    status, steps, cycles = np.full(count, IMPOSSIBLE), np.zeros(count, int), np.zeros(count, int)
    (left_out, certain), (exact, drawn) = np.zeros((2, *evidence.rows.shape), bool), np.zeros((2, count), bool)
    means_error, abouts, by_field = np.full(evidence.rows.shape, np.nan), [], False
    for part in reduction.parts:
        found, rows = solve(part), part.rows
        G[rows], status[rows], residual[rows] = found.free_energy - part.constant, found.status, found.residual
        steps[rows], cycles[rows] = found.num_steps, found.num_cycles
        exact[rows] = exact_rows(part, found)
        drawn[rows], by_field = (found.about.draws is not None) & ~exact[rows], by_field or found.about.by_field
        means[rows] = _all_means(reduction, part, found, exact[rows]).T
        abouts.append(_about_part(found.about, part, network, first, count))
        left_out[rows], certain[rows] = reduction.barren_of(part).T, reduction.certain_of(part).T
        if found.about.error is not None:
            error[rows], means_error[rows] = found.about.error, _of_all_units(found.about.means_error, part, network).T
    np.clip(means, 0.0, 1.0, out=means)  # averages of ones may come out as 1 + 2e-16
    asked = means if evidence.wanted is None else means[:, evidence.wanted]
    status = np.where(np.isnan(asked).any(axis=1) & (status == CONVERGED), NOT_FINITE, status)
    about = joined(abouts) if abouts else About()
    is_bound = method.is_bound if about.is_bound is None else about.is_bound
    deterministic = reduction.deterministic_rows & ~exact
    if is_bound and deterministic.any():
        why = DETERMINISTIC_TABLES if cast(Any, network).activation.mixes_kinds else DETERMINISTIC_EDGES
        about = replace(about, notes=(*about.notes, why))
    impossible = reduction.impossible
    if impossible.any():
        G[impossible], status[impossible], means[impossible] = np.inf, IMPOSSIBLE, evidence.rows[impossible]
        exact[impossible], left_out[impossible] = True, False
    accuracy = of_rows(count, is_exact=exact, is_lower=is_bound & ~deterministic, is_upper=about.is_upper)
    depends = exact & left_out.any(axis=1)
    depends = depends & reduction.barren_parents_depend if depends.any() else depends
    predicted = left_out & ~(drawn | (exact & ~depends))[:, None]
    sure = certain | exact[:, None]
    if left_out.any():
        edges: EdgeList = cast(Any, reduction).edges
        if predicted.any():
            predicted &= have_several_parents(edges)
        sure = certain | (exact[:, None] & ~predicted)
        if (others := left_out & ~exact[:, None]).any():
            follows = follow_exactly(edges, sure.T & ~left_out.T, certain.T, others.T)
            sure |= follows.T
            if (drawn.any() or by_field) and follows.any():  # else they are averages over exact parents as they are
                means = _of_exact_parents(network, edges, means, follows)
    about = replace(
        about, barren=left_out, predicted=predicted, knows_parents=exact & depends & (status == CONVERGED),
        accuracy=accuracy, means_accuracy=np.where(sure, EXACT, ESTIMATE), error=error, means_error=means_error,
    )  # fmt: skip
    return Posterior(means, G, status, steps, cycles, residual, about=about)


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
        corrected = np.clip(predicted + averages.chances - predict(part, averages.states), 0.0, 1.0)
        return np.where(reduction.barren_of(part), np.where(exact, predicted, corrected), full)
    mixture = found.about.components or found.about.proposals
    if mixture is None:
        return predicted
    log_weights, components = mixture
    total = np.zeros(full.shape)
    for weight, means in zip(normalised(log_weights, axis=0), components, strict=True):
        inside = reduction.restored(part, means, None)[0]
        total += weight * predict(part, np.where(np.isnan(inside), full, inside))
    return np.where(np.isnan(full), total, full)


def _about_part(about: About, part: Part, network: Network, first: int, count: int) -> About:
    """Units by their names, and components of mixtures with the units that they are about."""
    missing = about.without_leak
    if missing is not None and count == 1:
        units = part.units[missing.any(axis=1)].ravel()
        about = replace(about, notes=(*about.notes, NEEDS_LEAK + listed(repr(network.names[u]) for u in units)))
    if about.conditioned_on is not None and count == 1:
        names = [network.names[unit] for unit in part.units[about.conditioned_on].ravel()]
        chosen = f"conditioned on {', '.join(names) or 'nothing, as no unit is left to choose'}"
        about = replace(about, notes=(chosen, *about.notes))
    proposals = None if about.proposals is None else [(first + part.rows, part.units, *about.proposals)]
    return replace(
        about, without_leak=None, conditioned_on=None, proposals=proposals, components=None, draws=None,
        exact_rows=None, error=None, means_error=None,
    )  # fmt: skip


BY_ROW = ("barren", "predicted", "knows_parents", "accuracy", "means_accuracy", "error", "means_error")


def concatenated(pieces: list[Posterior], order: Any = None) -> Posterior:
    """The rows of all of them, (rows, units) and (rows,), in this order."""
    if len(pieces) == 1 and order is None:
        return pieces[0]
    order = slice(None) if order is None else order
    arrays = (np.concatenate(field)[order] for field in zip(*(piece[:6] for piece in pieces), strict=True))
    by_row = {name: [getattr(piece.about, name) for piece in pieces] for name in BY_ROW}
    joint = {
        name: None if any(z is None for z in values) else np.concatenate(values)[order]
        for name, values in by_row.items()
    }
    return Posterior(*arrays, about=replace(joined([piece.about for piece in pieces]), **joint))


def with_predicted(about: About, predicted: np.ndarray) -> About:
    """With others that are predicted as if their parents were independent: of rows that are exact, all else is."""
    exact = (about.accuracy == EXACT)[:, None]
    means = np.where(exact, np.where(predicted, ESTIMATE, EXACT), about.means_accuracy)
    return replace(about, predicted=predicted, means_accuracy=means)


def taken(about: About, rows: Any) -> About:
    """What is said of some of the rows."""
    some = {name: getattr(about, name) for name in BY_ROW}
    return replace(about, **{name: None if z is None else z[rows] for name, z in some.items()})


def joined(abouts: list[About]) -> About:
    """A bound where every part is one, with the notes of all of them."""
    notes = tuple(dict.fromkeys(note for about in abouts for note in about.notes))
    bounds = {about.is_bound for about in abouts}
    bound = bounds.pop() if len(bounds) == 1 else False
    proposals = [found for about in abouts for found in about.proposals or ()]
    return About(bound, all(about.is_upper for about in abouts), notes, proposals=proposals or None)
