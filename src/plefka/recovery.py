"""From the answers of questions to an answer for all units of the network, row by row."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias, cast

import numpy as np

from plefka.errors import listed
from plefka.evidence import Evidence
from plefka.methods import Method
from plefka.networks.network import Network
from plefka.posterior import About, Posterior, normalised
from plefka.reduction.dependence import have_several_parents
from plefka.reduction.edges import EdgeList
from plefka.reduction.reduce import Part, Reduction, reduce
from plefka.solution import CONVERGED, IMPOSSIBLE, NOT_FINITE

AT_ONCE = 2**22  # units times rows that are reduced at once
LOOSE = "edges of probability one between hidden units count as weights of 30, so this is not a strict bound"
LOOSE_TABLES = (
    "states of hidden units that their parents rule out are given a probability of 1e-13 instead of 0, so this is not "
    "a strict bound"
)
# Some rows, the units that the means are of, ln weights (components, rows) and means (components, units, rows).
Components: TypeAlias = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
NEEDS_LEAK = "these units need a leak greater than 0: "


def solved(method: Method, network: Network, evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    """What the method finds for every row; arrays are (rows, units) and (rows,)."""
    return of_reduction(method, reductions(method, network, evidence, prune=prune), network, evidence, dtype)


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
    step = max(1, AT_ONCE // network.size)
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
    jointly: bool = True,
) -> Posterior:
    """What the method finds for rows that are reduced already.

    `jointly`: barren units whose parents depend on each other are predicted exactly, where the method knows these.
    """
    pieces = [
        _of_chunk(method, reduction, network, evidence.take(_neighbours(rows)), dtype, rows[0])
        for rows, reduction in reduced
    ]
    arrays = (np.concatenate(field) for field in zip(*(piece[:6] for piece in pieces), strict=True))
    found = pieces[0] if len(pieces) == 1 else Posterior(*arrays, about=_of_all([piece.about for piece in pieces]))
    if not jointly or not found.about.knows_parents.any():
        return found
    from plefka.exact.predictions import improved  # it reduces and recovers itself

    return improved(cast(Any, network), evidence, found, dtype)


def _of_chunk(
    method: Method, reduction: Reduction, network: Network, evidence: Evidence, dtype: str, first: int
) -> Posterior:
    """What the method finds for some rows, of which `first` is the number of the first one."""
    count = len(evidence.rows)
    means = np.array(evidence.rows, dtype)
    G, residual = np.full(count, np.inf), np.zeros(count)
    status, steps, cycles = np.full(count, IMPOSSIBLE), np.zeros(count, int), np.zeros(count, int)
    (left_out, predicted), exact = np.zeros((2, *evidence.rows.shape), bool), np.zeros(count, bool)
    abouts = []
    for part in reduction.parts:
        found = part.question.model.settled(part.question) or method.posterior(part, dtype=dtype)
        rows = part.rows
        G[rows], status[rows], residual[rows] = found.free_energy - part.constant, found.status, found.residual
        steps[rows], cycles[rows] = found.num_steps, found.num_cycles
        means[rows] = _all_means(reduction, part, found, evidence.wanted).T
        abouts.append(_about_part(found.about, part, network, first, count))
        barren = reduction.barren_of(part, evidence.wanted)
        left_out[rows], predicted[rows] = barren.T, barren.T & (found.about.draws is None)
        exact[rows] = found.about.exact_rows() if barren.any() and found.about.exact_rows is not None else False
    np.clip(means, 0.0, 1.0, out=means)  # averages of ones may come out as 1 + 2e-16
    depends = reduction.binds_barren(evidence.wanted) if exact.any() else exact
    predicted[exact & ~depends] = False
    if predicted.any():
        predicted &= have_several_parents(EdgeList.of(network.storage))
    asked = means if evidence.wanted is None else means[:, evidence.wanted]
    status = np.where(np.isnan(asked).any(axis=1) & (status == CONVERGED), NOT_FINITE, status)
    impossible = reduction.impossible
    if impossible.any():
        G[impossible], status[impossible], means[impossible] = np.inf, IMPOSSIBLE, evidence.rows[impossible]
        predicted[impossible] = False
    about = joined(abouts) if abouts else About()
    is_bound = method.is_bound if about.is_bound is None else about.is_bound
    if is_bound and reduction.is_loose.any() and not (about.is_exact or method.name == "exact"):
        loose = LOOSE_TABLES if cast(Any, network).activation.mixes_kinds else LOOSE
        about = replace(about, is_bound=False, notes=(*about.notes, loose))
    knows = exact & depends & (status == CONVERGED)
    about = replace(about, barren=left_out, predicted=predicted, knows_parents=knows)
    return Posterior(means, G, status, steps, cycles, residual, about=about)


def _all_means(reduction: Reduction, part: Part, found: Posterior, wanted: np.ndarray | None) -> np.ndarray:
    """Of all units of the network, (units, rows); of barren ones they are averaged over the components of a mixture."""
    full, _ = reduction.restored(part, found.means, found.slope)
    predict = partial(reduction.predicted, by_field=found.about.by_field, wanted=wanted)
    predicted = predict(part, full)
    if predicted is full:
        return full
    if found.about.draws is not None:
        # By how much dependent parents matter: what is due to the means of the draws alone is known better without.
        averages = reduction.averages(part, found.about.draws, wanted=wanted)
        corrected = np.clip(predicted + averages.chances - predict(part, averages.states), 0.0, 1.0)
        return np.where(reduction.barren_of(part, wanted), corrected, full)
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
    return replace(about, without_leak=None, conditioned_on=None, proposals=proposals, components=None, draws=None)


def _of_all(abouts: list[About]) -> About:
    """Of all rows, from those of chunks of them."""
    names = ("barren", "predicted", "knows_parents")
    arrays = {name: np.concatenate([getattr(about, name) for about in abouts]) for name in names}
    return replace(joined(abouts), **arrays)


def joined(abouts: list[About]) -> About:
    """A bound where every part is one, with the notes of all of them."""
    notes = tuple(dict.fromkeys(note for about in abouts for note in about.notes))
    bounds = {about.is_bound for about in abouts}
    bound = bounds.pop() if len(bounds) == 1 else False
    proposals = [found for about in abouts for found in about.proposals or ()]
    return About(bound, notes, all(about.is_exact for about in abouts), proposals=proposals or None)
