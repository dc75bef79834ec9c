"""States of units, in NumPy: their fields, what a question says of their probability, and draws along the arrows.

Arrays are (units, rows, columns): the columns of a row are chains, runs of annealing, or draws.
"""

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from plefka.networks.activations import Activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.fields import log_terms
from plefka.reduction.edge_list import EdgeList
from plefka.reduction.question import Question
from plefka.reduction.summing import LEAST

DENSE, SMALL = 0.05, 64  # fraction of edges, and units, from which a product with the full matrix is faster


class StateFields:
    """The fields of all units of a network, or of the networks of a stack, each of which is a row."""

    def __init__(self, edges: EdgeList, h: np.ndarray, activation: Activation):
        self.edges, self.h, self.activation = edges, h[:, :, None], activation

    @classmethod
    def of_network(cls, network: BeliefNetwork) -> "StateFields":
        """Of all units, without evidence."""
        h = np.atleast_2d(np.asarray(network.bias, float)).T
        return cls(EdgeList.of(network.storage), h, network.activation)

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

    def split(self, S: np.ndarray, units: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray | None]:
        """The fields of some units without edges of probability one, and how many of these are on, if there are any."""
        x = _times(self.finite, S, units) + self.h[units]
        return x, _times(self.certain, S, units) if self.certain else None

    def of(self, S: np.ndarray, units: np.ndarray | slice = slice(None)) -> np.ndarray:
        """The fields of some units, infinite where an edge of probability one is on."""
        x, on = self.split(S, units)
        return np.asarray(self.activation.clip(x if on is None else np.where(on > 0, np.inf, x)))

    def forwards(self, known: np.ndarray, rule: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """Units that are nan follow from the probability to be on given their parents, by the rule."""
        hidden, S = np.isnan(known), np.nan_to_num(known)
        for units in self.edges.order.groups(np.asarray(hidden.any(axis=(1, 2)))):
            p = np.asarray(self.activation.probability(self.of(S, units)))
            S[units] = np.where(hidden[units], rule(p), S[units])
        return S

    def drawn(self, known: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Units that are nan are drawn given their parents."""
        return self.forwards(known, lambda p: rng.random(p.shape) < p)


def _times(matrices: list, S: np.ndarray, units: np.ndarray | slice) -> np.ndarray:
    if len(matrices) == 1:
        product = matrices[0][units] @ S.reshape(len(S), S.shape[1] * S.shape[2])
        return product.reshape(len(product), *S.shape[1:])
    return np.stack([matrix[units] @ S[:, row] for row, matrix in enumerate(matrices)], axis=1)


class QuestionUnits:
    """The units of a question, without those that fill it up; arrays are (units, rows)."""

    units: np.ndarray  # of the question
    num_units: int  # of the question
    free: np.ndarray
    values: np.ndarray

    @property
    def size(self) -> int:
        """How many units there are."""
        return len(self.free)

    def widened(self, z: np.ndarray) -> np.ndarray:
        """From (..., units, rows) to the units of the question, 0 for those that fill it up."""
        out = np.zeros((*z.shape[:-2], self.num_units, z.shape[-1]), z.dtype)
        out[..., self.units, :] = z
        return out

    def known(self, columns: int) -> np.ndarray:
        """The values, nan where free, of so many columns."""
        return np.repeat(np.where(self.free, np.nan, self.values)[:, :, None], columns, axis=2)


class Target(QuestionUnits, StateFields):
    """What is sampled: the states of a question's free units, by their weight; units that fill it up are left out."""

    def __init__(self, question: Question):
        model, edges = question.model, EdgeList.of(question.storage)
        there = np.asarray((model.counted | question.free | (question.values != 0)).any(axis=1))
        self.units, self.num_units = np.flatnonzero(there), len(there)  # of the question
        inner, number = edges.take(there[edges.child] & there[edges.parent]), np.cumsum(there) - 1
        inner = EdgeList(number[inner.child], number[inner.parent], inner.weight, len(self.units))
        super().__init__(inner, np.asarray(model.h)[there], model.activation)
        self.free, self.values, self.tilt, self.counted = (
            np.asarray(z)[there] for z in (question.free, question.values, question.tilt, model.counted)
        )

    @property
    def has_slopes(self) -> bool:
        """Whether d ln P / dh is of use: where units may have been summed out."""
        return self.activation.has_linear_log_off

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

    def log_prior(self, S: np.ndarray) -> np.ndarray:
        """ln of the probability of free units to be drawn along the arrows, (rows, columns)."""
        units = np.flatnonzero(self.free.any(axis=1))
        logs = np.maximum(log_terms(self.activation, self.of(S, units), S[units]), LEAST)
        return np.where(self.free[units][:, :, None], logs, 0.0).sum(0)

    def slopes(self, S: np.ndarray) -> np.ndarray:
        """d ln weight / dh of every noisy-or unit."""
        x = np.maximum(self.of(S), np.finfo(float).tiny)
        counted = self.counted[:, :, None] & self.activation.is_linear_off(self.h)
        with np.errstate(over="ignore"):
            return counted * np.where(S == 1, 1 / np.expm1(x), -1.0)
