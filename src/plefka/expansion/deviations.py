"""Sums over all states with D_i, which has two values for each unit: unit by unit, each halving what is left to sum.

This costs a few operations for each state, however many units there are, and sums pairs of pairs, which keeps digits.
The states are those of `hidden_states`: the last unit changes at the half of the array.
"""

from typing import NamedTuple

import numpy as np

FEW_UNITS = 8  # up to which one product of matrices is quicker


class Deviations(NamedTuple):
    """D_i = (S_i - u_i) / sqrt(v_i) of unit i where it is off and on, (units,)."""

    off: np.ndarray
    on: np.ndarray
    table: np.ndarray | None = None  # D of every state (states, units), of few units in double precision

    @classmethod
    def at(cls, theta: np.ndarray) -> "Deviations":
        """-sqrt(u / (1 - u)) and sqrt((1 - u) / u), from the log-odds of the means."""
        found = cls(-np.exp(theta / 2), np.exp(-theta / 2))
        if len(theta) > FEW_UNITS or theta.dtype != float:
            return found
        columns = [found.linear(unit) for unit in np.eye(len(theta))]
        return found._replace(table=np.stack(columns, axis=1) if columns else None)

    def linear(self, phi: np.ndarray) -> np.ndarray:
        """sum_i phi_i D_i of every state."""
        if self.table is not None:
            return self.table @ phi
        found = np.zeros(1, phi.dtype)
        for off, on in zip(self.off * phi, self.on * phi, strict=True):
            found = np.concatenate([found + off, found + on])
        return found

    def first(self, w: np.ndarray) -> np.ndarray:
        """sum_S w D_i, (units,)."""
        if self.table is not None:
            return w @ self.table
        found = np.zeros(len(self.off), w.dtype)
        for i in reversed(range(len(found))):
            off, on = np.split(w, 2)
            found[i] = (self.off[i] * off + self.on[i] * on).sum()
            w = off + on
        return found

    def second(self, w: np.ndarray) -> np.ndarray:
        """sum_S w D_i D_j, (units, units)."""
        if self.table is not None:
            return (self.table.T * w) @ self.table
        found = np.zeros((len(self.off), len(self.off)), w.dtype)
        for i in reversed(range(len(found))):
            off, on = np.split(w, 2)
            found[i, i] = (self.off[i] ** 2 * off + self.on[i] ** 2 * on).sum()
            lower = Deviations(self.off[:i], self.on[:i])
            found[i, :i] = found[:i, i] = lower.first(self.off[i] * off + self.on[i] * on)
            w = off + on
        return found
