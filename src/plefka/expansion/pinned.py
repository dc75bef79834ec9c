"""Independent units with means u, and the part of the energy that no single unit explains.

With <.> the average over independent units, D_i = (S_i - u_i) / sqrt(v_i) and U = E - <E> - sum_i D_i <E D_i>,

    G(u, gamma) = G_0 + gamma <E> - ln < exp(-gamma U + sum_i phi_i D_i) >,    phi such that the means stay at u.   (11)
"""

from typing import Any, NamedTuple

import numpy as np

NO_INTERACTION = 1e-14  # of the largest energy: rounding leaves about as much
FEW_UNITS = 8  # up to which one product of matrices is quicker


class Deviations(NamedTuple):
    """D_i = (S_i - u_i) / sqrt(v_i) of unit i where it is off and on, (units,).

    Sums over all states go unit by unit, each halving what is left to sum. This costs a few operations for each state,
    however many units there are, and sums pairs of pairs, which keeps digits. The states are those of `hidden_states`:
    the last unit changes at the half of the array.
    """

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


class Pinned(NamedTuple):
    """All states of the hidden units; arrays are (states,)."""

    p: np.ndarray  # the probability of a state if units were independent
    D: Deviations
    U: np.ndarray
    negative_entropy: Any  # G_0
    mean_energy: Any  # <E>
    largest_energy: Any  # of all states, without its sign

    @classmethod
    def at(cls, energies: np.ndarray, theta: np.ndarray, dtype: Any = np.float64) -> "Pinned":
        """With the log-odds of the means, which say more than means close to 0 or 1."""
        E, theta = np.asarray(energies, dtype), np.asarray(theta, dtype)
        log_on, log_off = (-np.logaddexp(dtype(0), -sign * theta) for sign in (1, -1))  # ln u and ln(1 - u)
        p, D = np.ones(1, dtype), Deviations.at(theta)
        for off, on in zip(np.exp(log_off), np.exp(log_on), strict=True):
            p = np.concatenate([p * off, p * on])
        mean = (p * E).sum()
        U = E - mean
        U = U - D.linear(D.first(p * U))
        negative_entropy = (np.exp(log_on) * log_on + np.exp(log_off) * log_off).sum()
        return cls(p, D, U, negative_entropy, mean, np.abs(E).max())

    @property
    def units(self) -> int:
        """How many units are hidden."""
        return len(self.D.off)

    @property
    def interacts(self) -> bool:
        """Whether more than rounding is left of the energy; if not, G(u, gamma) is linear in gamma."""
        return bool(np.sqrt((self.p * self.U**2).sum()) > NO_INTERACTION * self.largest_energy)
