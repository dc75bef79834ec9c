"""Of a large sparse noisy-or network, only the part that the evidence speaks of: what a diagnosis is computed on.

Most findings of a patient are unknown, and most of the others are absent. The unknown ones are barren. The absent ones
are linear in their causes: they only move their log-odds. A unit that has no neighbour left then is solved by itself.
What remains is small, and is filled up to sizes that are powers of two, so that few of them are ever compiled.
All of this is exact; the means of barren units follow from those of their parents.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.activations import CERTAIN_FIELD, NoisyOr
from plefka.free_energies.sjj import SaulJaakkolaJordan
from plefka.free_energies.taylor import Taylor
from plefka.methods import Bethe, Conditioned, MeanField, Method, Mixture
from plefka.networks.belief import BeliefNetwork
from plefka.networks.blocks import Blocks
from plefka.networks.edges import Edges
from plefka.networks.graph import with_ancestors
from plefka.networks.storage import Storage
from plefka.posterior import Posterior, normalised
from plefka.precision import is_traced

if TYPE_CHECKING:
    from plefka.evidence import Evidence

FEW_EDGES = 4096  # a network with fewer of them is left as it is
WORTH = 2  # so many times smaller it has to become
AT_ONCE = 2**24  # numbers that are held at once
FEW_CHILDREN = 4
FILLER = 1.0  # the leak of a unit that fills up: a usual one


def solved(method: Method, network: BeliefNetwork, evidence: "Evidence", *, prune: bool, dtype: str) -> Posterior:
    """What the method finds on the network, or on the part of it that matters."""
    cut = trim(method, network, evidence) if prune else None
    if cut is None:
        return method.posterior(network, evidence, prune=prune, dtype=dtype)
    return cut.restored(method.posterior(cut.network, cut.evidence, prune=prune, dtype=dtype), _chance_of(method))


class Trimmed(NamedTuple):
    """A part of a network, and all that is known of the rest."""

    network: BeliefNetwork
    evidence: "Evidence"
    kept: np.ndarray  # where the units of the part are in the whole
    place: np.ndarray  # and where they are in the part
    known: np.ndarray  # (rows, units): the means of units that are observed or by themselves; nan elsewhere
    constant: np.ndarray  # (rows,): ln of what was left out
    whole: BeliefNetwork

    def restored(self, found: Posterior, chance: Callable) -> Posterior:
        """The answer for the part as one for the whole network."""
        about = found.about
        means = self._completed(found.means, chance)
        if about is not None and about.proposals is not None:
            log_weights, components = about.proposals
            shape = components.shape[:2]
            row = np.repeat(np.arange(shape[0]), shape[1])
            wide = self._completed(components.reshape(-1, components.shape[2]), chance, row).reshape(*shape, -1)
            about = replace(about, proposals=(log_weights + self.constant[:, None], wide))
            means = self._averaged(means, log_weights, wide)
        return found._replace(means=means, free_energy=found.free_energy - self.constant, about=about)

    def _completed(self, means: np.ndarray, chance: Callable, row: Any = slice(None)) -> np.ndarray:
        full = self.known[row].copy()
        full[:, self.kept] = means[:, self.place]
        missing = np.asarray(np.isnan(self.known).any(axis=0))
        missing[self.kept] = False
        return _predicted(self.whole, full, np.flatnonzero(missing), chance)

    def _averaged(self, means: np.ndarray, log_weights: np.ndarray, components: np.ndarray) -> np.ndarray:
        """The means of units outside the part, averaged over the components."""
        outside = np.ones(means.shape[1], bool)
        outside[self.kept] = False
        means[:, outside] = np.einsum("rk,rkn->rn", normalised(log_weights, axis=1), components[:, :, outside])
        return means


def trim(method: Method, network: BeliefNetwork, evidence: "Evidence") -> Trimmed | None:
    """The part of the network that matters, or None where it is not much smaller than the whole."""
    if not isinstance(method, MeanField | Bethe | Conditioned | Mixture) or is_traced(network, evidence.rows):
        return None
    storage = network.storage
    if not isinstance(network.activation, NoisyOr) or not isinstance(storage, Edges):
        return None
    if storage.stack is not None or storage.num_edges < FEW_EDGES:
        return None
    W, rows = sp.csr_array(storage.to_sparse()), evidence.rows
    relevant = with_ancestors(sp.csr_array(abs(W).sign().T), np.asarray(evidence.informed.any(axis=0)))
    absent = relevant & (rows == 0).all(axis=0) & ~_has_certain_parent(W)
    left = relevant & ~absent
    inside = W[left][:, left]
    related = left.copy()
    related[left] = (np.diff(inside.indptr) > 0) | (np.diff(inside.tocsc().indptr) > 0)
    named = method.names if isinstance(method, Conditioned) else ()
    if not related.any() or not all(related[network.index(name)] for name in named):
        return None
    kept = np.flatnonzero(related)
    layout = _laid_out(network, W, kept)
    if layout is None:
        return None
    known, tilt, constant = _without(network, W, evidence, absent, left & ~related)
    part, place, cost = layout
    seen, odds = np.zeros((2, len(rows), part.size))
    seen[:, place], odds[:, place] = rows[:, kept], tilt[:, kept]
    given = evidence._replace(rows=seen, tilt=odds, offset=None)
    return Trimmed(part, given, kept, place, known, constant + cost, network)


def _has_certain_parent(W: sp.csr_array) -> np.ndarray:
    child = np.repeat(np.arange(len(W.indptr) - 1), np.diff(W.indptr))
    return np.bincount(child[np.isinf(W.data)], minlength=len(W.indptr) - 1) > 0


def _without(network: BeliefNetwork, W: sp.csr_array, evidence: "Evidence", absent: np.ndarray, alone: np.ndarray):
    """Means that are known beforehand, log-odds of the others, and ln of what units add that are absent or alone."""
    rows, h = evidence.rows, np.asarray(network.bias)
    tilt = np.zeros(rows.shape) if evidence.tilt is None else evidence.tilt
    tilt = tilt - W[absent].sum(axis=0)
    seen = ~np.isnan(rows)
    constant = np.where(seen & (rows == 1), tilt, 0.0).sum(axis=1) - h[absent].sum()
    with np.errstate(divide="ignore"):
        off, on = -h[alone], np.log(-np.expm1(-h[alone])) + np.where(seen[:, alone], 0.0, tilt[:, alone])
    total = np.logaddexp(off, on)
    state = rows[:, alone]
    constant += np.where(np.isnan(state), total, np.where(state == 1, on, off)).sum(axis=1)
    known = rows.copy()
    known[:, alone] = np.where(np.isnan(state), np.exp(on - total), state)
    return known, np.where(seen, 0.0, tilt), constant


def _laid_out(network: BeliefNetwork, W: sp.csr_array, kept: np.ndarray) -> "Layout | None":
    """The kept units as a network of a usual shape; None where that is not much smaller than the whole."""
    inside = sp.coo_array(W[kept][:, kept])
    child, parent = inside.coords
    above, below = np.unique(parent), np.unique(child)
    if len(np.intersect1d(above, below)) == 0:
        layers = _two_layers(inside.data, np.searchsorted(below, child), np.searchsorted(above, parent))
        slots = np.r_[above, below], layers.place
    else:
        layers = _one_block(inside.data, child, parent, len(kept))
        slots = np.arange(len(kept)), layers.place
    if WORTH * layers.storage.num_edges > W.nnz:
        return None
    place = np.zeros(len(kept), int)
    place[slots[0]] = slots[1]
    names, given = [f"(nothing {k})" for k in range(layers.storage.size)], network.names
    h = np.where(layers.storage.has_parents(), FILLER, 0.0)
    for at, unit in zip(place, kept, strict=True):
        h[at], names[at] = network.bias[unit], given[unit]
    others = np.ones(len(h), bool)
    others[place] = False
    part = BeliefNetwork(layers.storage, h, network.activation, names, layers=layers.layers)
    return Layout(part, place, h[others].sum())


class Layout(NamedTuple):
    """A network with units that are there to fill it up, and are off."""

    network: BeliefNetwork
    place: np.ndarray  # of the units that are no fillers
    cost: float  # -ln of the probability that fillers are off


class Layers(NamedTuple):
    """Where units are put, and what holds their edges."""

    storage: Storage
    place: np.ndarray  # of the parents, then of the children
    layers: tuple[int, ...] | None


def _two_layers(w: np.ndarray, child: np.ndarray, parent: np.ndarray) -> Layers:
    """A sparse network, filled up with edges of weight 0.

    All children have equally many parents, and all parents have equally many children, but for some that have more.
    """
    in_degree, out_degree = np.bincount(child), np.bincount(parent)
    many = out_degree > FEW_CHILDREN
    wide, heavy = _power(in_degree.max()), _power(many.sum()) if many.any() else 0
    most = _power(out_degree.max())
    columns = _power(max(len(in_degree), -(-(_power((~many).sum()) * FEW_CHILDREN + heavy * most) // wide)))
    light = (columns * wide - heavy * most) // FEW_CHILDREN
    slot = np.where(many, light + np.cumsum(many) - 1, np.cumsum(~many) - 1)
    size = np.r_[np.full(light, FEW_CHILDREN), np.full(heavy, most)]
    missing_below = wide - np.bincount(child, minlength=columns)
    missing_above = size - np.bincount(slot[parent], minlength=len(size))
    children = np.r_[child, np.repeat(np.arange(columns), missing_below)] + len(size)
    parents = np.r_[slot[parent], np.repeat(np.arange(len(size)), missing_above)]
    values = np.r_[w, np.zeros(len(children) - len(w))]
    order = np.lexsort((parents, children))
    edges = Edges.from_lists(values[order], children[order], parents[order], len(size) + columns)
    return Layers(edges, np.r_[slot, len(size) + np.arange(len(in_degree))], (len(size), columns))


def _one_block(w: np.ndarray, child: np.ndarray, parent: np.ndarray, count: int) -> Layers:
    """A dense network."""
    size = _power(count)
    W = np.zeros((size, size))
    W[child, parent] = w
    return Layers(Blocks.dense(W), np.arange(count), None)


def _power(number: int) -> int:
    """The next power of two, and 8 at least."""
    return 1 << max(3, int(number - 1).bit_length())


def _predicted(network: BeliefNetwork, means: np.ndarray, units: np.ndarray, chance: Callable) -> np.ndarray:
    """The means with those of barren units, from those of their parents, along the arrows."""
    W = sp.csr_array(network.storage.to_sparse())[units]
    collect = sp.csr_array((np.ones(W.nnz), np.arange(W.nnz), W.indptr), shape=(len(units), W.nnz))
    h, w = np.asarray(network.bias)[units, None], W.data[:, None]
    step = max(1, AT_ONCE // max(W.nnz, 1))
    for first in range(0, len(means), step):
        some = means[first : first + step]
        some[:, units] = 0.5
        while True:
            with np.errstate(divide="ignore", invalid="ignore"):
                new = -np.expm1(-(h + collect @ chance(w, some[:, W.indices].T))).T
            if np.array_equal(new, some[:, units], equal_nan=True):
                break
            some[:, units] = new
    return means


def _chance_of(method: Method) -> Callable:
    """What a parent adds to the field of a unit that is predicted: as the paper would say, or on average."""
    inner = method.inner if isinstance(method, Conditioned) else method
    by_the_field = isinstance(inner, MeanField) and isinstance(inner.functional, Taylor | SaulJaakkolaJordan)
    return _mean_field if by_the_field else _average


def _mean_field(w: np.ndarray, u: np.ndarray) -> np.ndarray:
    return np.minimum(w, CERTAIN_FIELD) * u


def _average(w: np.ndarray, u: np.ndarray) -> np.ndarray:
    """-ln(1 - u + u exp(-w))."""
    return -np.log1p(u * np.expm1(-w))
