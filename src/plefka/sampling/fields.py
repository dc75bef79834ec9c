"""States of units, in NumPy: their fields, what a question says of their probability, and draws along the arrows.

Arrays are (units, rows, columns): the columns of a row are chains, runs of annealing, or draws.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from plefka.activations import Activation
from plefka.networks.states import log_terms
from plefka.networks.storage import Storage
from plefka.question import Question
from plefka.reduction.cutting import LEAST
from plefka.reduction.edges import EdgeList
from plefka.reduction.predicting import in_order

DENSE, SMALL = 0.05, 64  # fraction of edges, and units, from which a product with the full matrix is faster


class StateFields:
    """The fields of all units of a network, or of the networks of a stack, each of which is a row."""

    def __init__(self, storage: Storage, h: np.ndarray, activation: Activation):
        self.edges, self.h, self.activation = EdgeList.of(storage), h[:, :, None], activation

    @cached_property
    def finite(self) -> list:
        """The finite weights as a matrix (child, parent): one for all rows, or one for each."""
        return self._matrices(np.where(np.isinf(self.edges.weight), 0.0, self.edges.weight))

    @cached_property
    def certain(self) -> list:
        """1 for every edge of probability one; nothing where there is none."""
        is_certain = np.isinf(self.edges.weight)
        return self._matrices(is_certain * 1.0) if is_certain.any() else []

    def _matrices(self, values: np.ndarray) -> list:
        edges = self.edges
        where, shape = (edges.child, edges.parent), (edges.size, edges.size)
        matrices = [sp.csr_array((column, where), shape=shape) for column in values.T]
        full = edges.size > SMALL and len(edges.child) > DENSE * edges.size**2 and len(matrices) == 1
        return [matrix.toarray() for matrix in matrices] if full else matrices

    def split(self, S: np.ndarray, units: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray]:
        """The fields of some units without edges of probability one, and how many of these edges are on."""
        x = _times(self.finite, S, units) + self.h[units]
        return x, _times(self.certain, S, units) if self.certain else np.zeros(x.shape)

    def of(self, S: np.ndarray, units: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The fields of some units, infinite where an edge of probability one is on."""
        x, on = self.split(S, units)
        return np.asarray(self.activation.clip(np.where(on > 0, np.inf, x)))

    def forwards(self, known: np.ndarray, rule: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Units that are nan follow from the probability to be on given their parents, by the rule."""
        hidden, S = np.isnan(known), np.nan_to_num(known)
        for units in in_order(self.edges, np.asarray(hidden.any(axis=(1, 2)))):
            p = np.asarray(self.activation.probability(self.of(S, units)))
            S[units] = np.where(hidden[units], rule(p), S[units])
        return S

    def drawn(self, known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Units that are nan are drawn given their parents."""
        return self.forwards(known, lambda p: rng.random(p.shape) < p)


def _times(matrices: list, S: np.ndarray, units: np.ndarray | slice) -> np.ndarray:
    if len(matrices) == 1:
        product = matrices[0][units] @ S.reshape(len(S), -1)
        return product.reshape(-1, *S.shape[1:])
    return np.stack([matrix[units] @ S[:, row] for row, matrix in enumerate(matrices)], axis=1)


class Target(StateFields):
    """What is sampled: the states of a question's free units, by their weight."""

    def __init__(self, question: Question):
        super().__init__(question.storage, np.asarray(question.model.h), question.model.activation)
        self.free, self.values, self.tilt = map(np.asarray, (question.free, question.values, question.tilt))
        self.counted = np.asarray(question.model.counted)

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.free)

    def known(self, columns: int) -> np.ndarray:
        """The values, nan where free, of so many columns."""
        return np.repeat(np.where(self.free, np.nan, self.values)[:, :, None], columns, axis=2)

    @cached_property
    def _terms(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The units whose field depends on the state, and the terms of all others: linear in S, and a constant."""
        f, children = self.activation, np.isin(np.arange(self.size), self.edges.child)
        root = self.counted & ~children[:, None]
        x = f.clip(np.where(root, self.h[:, :, 0], 1.0))
        on, off = (np.where(root, np.maximum(z, LEAST), 0.0) for z in (f.log_on(x), f.log_off(x)))
        units = np.flatnonzero(self.counted.any(axis=1) & children)
        return units, self.tilt + on - off, off.sum(0)

    def log_weight(self, S: np.ndarray) -> np.ndarray:
        """ln weight of states, (rows, columns); -inf where impossible."""
        units, linear, constant = self._terms
        logs = np.maximum(log_terms(self.activation, self.of(S, units), S[units]), LEAST)
        logs = np.where(self.counted[units][:, :, None], logs, 0.0).sum(0)
        total = logs + np.einsum("ur,urc->rc", linear, S) + constant[:, None]
        return np.where(total > LEAST / 2, total, -np.inf)

    def slopes(self, S: np.ndarray) -> np.ndarray:
        """d ln weight / dh of every unit of a noisy-or network."""
        x = np.maximum(self.of(S), np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            return self.counted[:, :, None] * np.where(S == 1, 1 / np.expm1(x), -1.0)
