"""States of a Boltzmann machine, in NumPy: their weight, draws of independent units, and sweeps of Gibbs sampling.

Independent units have the log-odds a_i = h_i + sum_j W_ij / 2, which is what they have if all others are undecided. At
inverse temperature beta the weight of a state is exp(a S + beta (-E(S) - a S)), so that annealing goes from independent
units, whose ln Z is known, to the machine. Arrays are (units, rows, columns), as for belief networks.
"""

import itertools
from typing import Any

import numpy as np
import scipy.sparse as sp

from plefka.networks.activations import numpy_sigmoid
from plefka.networks.blocks import Blocks
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import times_states
from plefka.reduction.question import Question
from plefka.sampling.state_weights import QuestionUnits

DENSE = 0.2  # the fraction of couplings from which on a product with the full matrix is faster


class PairTarget(QuestionUnits):
    """What is sampled: the states of a question's free units, by their weight."""

    has_slopes = False

    def __init__(self, question: Question):
        self.units = np.flatnonzero(question.free.any(axis=1))
        self.num_units = question.size
        self.free, self.values = question.free[self.units], question.values[self.units]
        h = np.broadcast_to(question.model.h, question.free.shape) + question.tilt
        self.h = np.where(self.free, h[self.units], 0.0)[:, :, None]
        self.matrices = _matrices(question, self.units)
        self.alone = self.h + self.fields(self.free[:, :, None] * 0.5)
        self.alone = np.where(self.free[:, :, None], self.alone, 0.0)

    def fields(self, S: np.ndarray, units: Any = slice(None)) -> np.ndarray:
        """sum_j W_ij S_j of some units."""
        return times_states(self.matrices, S, units)

    def log_weight(self, S: np.ndarray) -> np.ndarray:
        """-E(S) of states, (rows, columns)."""
        return (S * (self.h + self.fields(S) / 2)).sum(axis=0)


def _matrices(question: Question, units: np.ndarray) -> list:
    """The symmetric couplings between these units: one for all rows, or one for each."""
    if isinstance(storage := question.storage, Blocks) and storage.stack is None:
        return [full_matrix(storage)[np.ix_(units, units)]]
    edges = EdgeList.of(question.storage).between(units)
    ends, shape = (edges.child, edges.parent), (len(units), len(units))
    full = len(edges.child) > DENSE * len(units) ** 2
    halves = (sp.csr_array((weight, ends), shape=shape) for weight in edges.weight.T)
    return [(L + L.T).toarray() if full else sp.csr_array(L + L.T) for L in halves]


def full_matrix(storage: Blocks) -> np.ndarray:
    """The symmetric matrix of blocks, of one machine."""
    W = np.zeros((storage.size, storage.size))
    for block, child, parent in zip(storage.weights, storage.children, storage.parents, strict=True):
        c, p = slice(*child), slice(*parent)
        W[c, p] += block
        W[p, c] += np.asarray(block).T
    return W


class PairSampler:
    """Sweeps that visit units of one colour together: no two of them are coupled."""

    def __init__(self, question: Question):
        self.target = PairTarget(question)
        matrices = map(sp.csr_array, self.target.matrices)
        coupled = sum((abs(W) for W in matrices), sp.csr_array((self.target.size,) * 2))
        self.colours = colours(sp.csr_array(coupled))

    def annealed(
        self, count: int, betas: np.ndarray, key: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """So many states (units, rows, count) that were led through these temperatures, and the ln of their weights."""
        target = self.target
        known, free, alone = target.known(count), target.free[:, :, None], target.alone
        S = np.where(np.isnan(known), rng.random(known.shape) < numpy_sigmoid(alone), known)
        log_w = np.broadcast_to(np.where(free, np.logaddexp(0.0, alone), 0.0).sum(axis=0), S.shape[1:])
        for number, (before, beta) in enumerate(itertools.pairwise(betas)):
            if beta != before:
                log_w = log_w + (beta - before) * (target.log_weight(S) - (S * alone).sum(axis=0))
            self._sweep(S, beta, np.random.default_rng([*map(int, key), number]))
        return S, log_w

    def swept(self, S: np.ndarray, count: int, key: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """States (units, rows, columns) after sweeps number `first`, ..., and the sums over them of P(on | others)."""
        S, sums = np.array(S, float), np.zeros(S.shape)
        for number in range(first, first + count):
            sums += self._sweep(S, 1.0, np.random.default_rng([*map(int, key), number]))
        return S, sums

    def _sweep(self, S: np.ndarray, beta: float, rng: np.random.Generator) -> np.ndarray:
        """Every unit is drawn in place; the chances by which."""
        target, chances = self.target, np.empty(S.shape)
        free = target.free[:, :, None]
        for units in self.colours:
            alone = target.alone[units]
            x = alone + beta * (target.h[units] + target.fields(S, units) - alone)
            chances[units] = p = np.where(free[units], numpy_sigmoid(x), S[units])
            S[units] = np.where(free[units], rng.random(p.shape) < p, S[units])
        return chances


def colours(coupled: Any) -> list[np.ndarray]:
    """Groups of units no two of which are coupled: each unit in the first group that has no neighbour of it."""
    colour = np.full(coupled.shape[0], -1)
    for unit in np.argsort(-np.diff(coupled.indptr), kind="stable"):
        taken = set(colour[coupled.indices[coupled.indptr[unit] : coupled.indptr[unit + 1]]].tolist())
        colour[unit] = next(k for k in range(len(colour)) if k not in taken)
    return [np.flatnonzero(colour == k) for k in range(int(colour.max(initial=-1)) + 1)]
