"""`reduce` for Boltzmann machines: what is observed becomes part of biases and of a constant; the rest is cut out.

A unit that is not free adds its couplings to the biases of its neighbours. A free unit without free neighbours is
solved: it multiplies Z by 1 + exp(h). So the hidden units of a restricted machine whose visible units are all observed
leave nothing to be solved. All of it is exact, and NumPy's.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plefka.methods.posterior import Posterior
from plefka.networks.activations import numpy_sigmoid, numpy_softplus
from plefka.networks.blocks import Blocks
from plefka.networks.edge_list import EdgeList
from plefka.networks.storage import Storage
from plefka.reduction.compact_storage import LARGE, StorageLayout, in_matrix, sparse_cost, sparsely
from plefka.reduction.ladder import rung, table_for
from plefka.reduction.question import PairModel, Part, Question

if TYPE_CHECKING:
    from plefka.networks.boltzmann import BoltzmannMachine
    from plefka.networks.evidence import Evidence


class GivenMachine(NamedTuple):
    """A machine of units 0 and 1 at temperature 1, and what is known of it; arrays are (units, rows)."""

    storage: Storage
    h: np.ndarray  # (units, 1 or rows), with what soft evidence says
    known: np.ndarray  # nan where free
    constant: np.ndarray  # (rows,)
    layers: tuple[int, ...] | None = None


def reduce_pairs(
    machine: "BoltzmannMachine", evidence: "Evidence", *, prune: bool, keep_barren: bool, kept: Any
) -> "ReducedPairs":
    """What is left to be solved of every row."""
    machine = machine.converted()
    h, known = np.atleast_2d(np.asarray(machine.bias, float)).T, np.asarray(evidence.rows, float).T
    h = h if evidence.tilt is None else h + np.asarray(evidence.tilt, float).T
    constant = np.broadcast_to(np.asarray(machine.constant, float), known.shape[1])
    pairs = GivenMachine(machine.storage, h, known, constant, machine.layers)
    return reduced(pairs, solves=prune, named=kept if np.ndim(kept) else None)


def reduce_pair_question(question: Question) -> "ReducedPairs":
    """A question of which more units are known is reduced again."""
    known, storage = np.where(question.free, np.nan, question.values), question.storage
    layers = None
    if isinstance(storage, Blocks) and not storage.is_dense and len(storage.weights) == 1:
        layers = storage.parents[0][1], storage.size - storage.parents[0][1]
    h = np.asarray(question.model.h) + question.tilt
    return reduced(GivenMachine(storage, h, known, np.zeros(question.num_rows), layers), solves=True)


def reduced(pairs: GivenMachine, *, solves: bool, named: Any = None) -> "ReducedPairs":
    """`solves`: whether units without free neighbours are solved here."""
    free = np.isnan(pairs.known)
    on = np.where(free, 0.0, pairs.known)
    from_known = pairs.storage.product(on) if on.any() else np.zeros(on.shape)
    constant = pairs.constant + (on * (pairs.h + from_known / 2)).sum(0)
    h = pairs.h + from_known
    solved = free & ~_has_free_neighbour(pairs.storage, free) if solves else np.zeros(free.shape, bool)
    if len(alone := np.flatnonzero(solved.any(axis=1))):
        terms = numpy_softplus(np.broadcast_to(h, free.shape)[alone])
        constant = constant + np.where(solved[alone], terms, 0.0).sum(0)
    units = np.flatnonzero((free & ~solved).any(axis=1))
    layout = laid_out(pairs, units, free.shape[1])
    return ReducedPairs(pairs, free & ~solved, solved, h, constant, units, layout, named)


def answer_without_free_units(question: Question) -> Posterior | None:
    """The answer where no unit is left: ln Z is all in the constant."""
    if not isinstance(question.model, PairModel) or question.free.any():
        return None
    found = Posterior.of(question.values, np.zeros(question.num_rows), is_exact=True, is_bound=True)
    return found._replace(about=replace(found.about, contributions=np.zeros(question.free.shape)))


def _has_free_neighbour(storage: Storage, free: np.ndarray) -> np.ndarray:
    """Where a unit is coupled to one that is free: once, where all rows have the same free units and one machine."""
    there = storage.map_weights(lambda w: (np.asarray(w) != 0) * 1.0)
    if storage.stack is None and (free == free[:, :1]).all():
        return np.broadcast_to(there.product(free[:, :1] * 1.0) > 0, free.shape)
    return there.product(free * 1.0) > 0


def laid_out(pairs: GivenMachine, units: np.ndarray, rows: int) -> StorageLayout:
    """The couplings between some units, filled up to a size of the ladder where there are not too many of them."""
    storage = pairs.storage
    if pairs.layers is not None and isinstance(storage, Blocks):
        return _in_two_layers(storage, pairs.layers[0], units, rows)
    size = _size(len(units), rows)
    if isinstance(storage, Blocks) and storage.is_dense:
        if len(units) == storage.size and storage.size**2 > LARGE:
            return StorageLayout(storage, units, storage.size)
        W = np.asarray(storage.weights[0])[..., units[:, None], units]
        W = np.pad(W, [(0, 0)] * (W.ndim - 2) + [(0, size - len(units))] * 2)
        return StorageLayout(Blocks.dense(W), np.arange(len(units)), size)
    edges = EdgeList.of(storage).between(units)
    in_degrees = np.bincount(edges.child, minlength=1)
    table = table_for(len(units), int(np.count_nonzero(in_degrees)), int(in_degrees.max()))
    if size**2 <= sparse_cost(edges, table):
        return in_matrix(edges, size)
    return sparsely(edges, np.ones(len(units), bool), table)


def _size(count: int, rows: int) -> int:
    """The next of the ladder, or as many as there are where that would be large."""
    filled = rung(count, rows)
    return filled if filled**2 <= LARGE else count


def _in_two_layers(storage: Blocks, visible: int, units: np.ndarray, rows: int) -> StorageLayout:
    upper, lower = units[units < visible], units[units >= visible]
    sizes = _size(len(upper), rows), _size(len(lower), rows)
    if sizes[0] * sizes[1] > LARGE:
        sizes = len(upper), len(lower)
    W = np.asarray(storage.weights[0])
    block = np.zeros((*W.shape[:-2], sizes[1], sizes[0]))
    block[..., : len(lower), : len(upper)] = W[..., (lower - visible)[:, None], upper]
    place = np.concatenate([np.arange(len(upper)), sizes[0] + np.arange(len(lower))])
    return StorageLayout(Blocks.layered([block], sizes), place, sum(sizes))


@dataclass(frozen=True, eq=False)
class ReducedPairs:
    """All rows as one question, of the units that are not known or solved in some row."""

    pairs: GivenMachine
    free: np.ndarray  # (units, rows): what is left
    solved: np.ndarray
    h: np.ndarray
    constant: np.ndarray
    units: np.ndarray
    layout: StorageLayout
    named: Any = None

    has_barren = False

    @property
    def impossible(self) -> np.ndarray:
        """No state of a Boltzmann machine is."""
        return np.zeros(self.free.shape[1], bool)

    deterministic_rows = barren_parents_depend = impossible

    @cached_property
    def parts(self) -> list[Part]:
        """One part with all rows."""

        def filled(z: np.ndarray) -> np.ndarray:
            out = np.zeros((self.layout.storage.size, self.free.shape[1]), z.dtype)
            out[self.layout.place] = z[self.units]
            return out

        free = filled(self.free)
        h = np.where(free, filled(np.broadcast_to(self.h, self.free.shape)), 0.0)
        model = PairModel(self.layout.storage, h)
        question = Question(model, free, np.where(free, 0.5, 0.0), np.zeros(free.shape), len(free), self.constant)
        units = np.full(len(free), -1)
        units[self.layout.place] = self.units
        return [Part(np.arange(free.shape[1]), question, self.constant, units, named=self.named)]

    def restored(self, part: Part, means: np.ndarray, slope: Any) -> tuple[np.ndarray, None]:
        """The means (units, rows) of all units."""
        full = self.spread(means, self.pairs.known)
        if len(alone := np.flatnonzero(self.solved.any(axis=1))):
            h = np.broadcast_to(self.h, self.free.shape)[alone]
            full[alone] = np.where(self.solved[alone], numpy_sigmoid(h), full[alone])
        return full, None

    def spread(self, found: np.ndarray, otherwise: Any = 0.0) -> np.ndarray:
        """What was found of the units of the question, in the place of all units."""
        columns = max(self.free.shape[1], found.shape[1])  # of a single row there may be several states
        full = np.array(np.broadcast_to(otherwise, (len(self.free), columns)), float)
        full[self.units] = np.where(self.free[self.units], found[self.layout.place], full[self.units])
        return full

    def barren_of(self, part: Part) -> np.ndarray:
        """None: every unit counts."""
        return np.zeros(self.free.shape, bool)

    def certain_of(self, part: Part) -> np.ndarray:
        """Units that are known, and those without a free neighbour, whose mean is exact whatever the method."""
        return ~self.free

    def predicted(self, part: Part, means: np.ndarray, **options: Any) -> np.ndarray:
        """There is nothing to predict."""
        return means

    def averages(self, part: Part, draws: Any, **options: Any) -> Any:
        raise NotImplementedError("a Boltzmann machine has no barren units")
