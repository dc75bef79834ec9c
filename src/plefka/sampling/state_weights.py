"""States of units, in NumPy: their fields, what a question says of their probability, and draws along the arrows.

Arrays are (units, rows, columns): the columns of a row are chains, runs of annealing, or draws.
"""

from functools import cached_property

import numpy as np

from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import StateFields, log_terms
from plefka.reduction.question import Question
from plefka.reduction.summing import LEAST


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

    def widened(self, z: np.ndarray, axis: int = -2) -> np.ndarray:
        """With the units of the question on this axis, 0 for those that fill it up."""
        z = np.moveaxis(z, axis, 0)
        out = np.zeros((self.num_units, *z.shape[1:]), z.dtype)
        out[self.units] = z
        return np.moveaxis(out, 0, axis)

    def known(self, columns: int) -> np.ndarray:
        """The values, nan where free, of so many columns."""
        return np.repeat(np.where(self.free, np.nan, self.values)[:, :, None], columns, axis=2)


class Target(QuestionUnits, StateFields):
    """What is sampled: the states of a question's free units, by their weight; units that fill it up are left out."""

    def __init__(self, question: Question):
        model, edges = question.model, EdgeList.of(question.storage)
        there = np.asarray((model.counted | question.free | (question.values != 0)).any(axis=1))
        self.units, self.num_units = np.flatnonzero(there), len(there)  # of the question
        super().__init__(edges.between(self.units), np.asarray(model.h)[there], model.activation)
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
