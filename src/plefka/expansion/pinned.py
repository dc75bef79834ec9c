"""Independent units with means u, and the part of the energy that no single unit explains.

With <.> the average over independent units, D_i = (S_i - u_i) / sqrt(v_i) and U = E - <E> - sum_i D_i <E D_i>,

    G(u, gamma) = G_0 + gamma <E> - ln < exp(-gamma U + sum_i phi_i D_i) >,    phi such that the means stay at u.   (11)
"""

from typing import Any, NamedTuple

import numpy as np

from plefka.expansion.deviations import Deviations

NO_INTERACTION = 1e-14  # of the largest energy: rounding leaves about as much


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
