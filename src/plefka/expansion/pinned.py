"""Independent units with means u, and the part of the energy that no single unit explains.

With <.> the average over independent units, D_i = (S_i - u_i) / sqrt(v_i) and U = E - <E> - sum_i D_i <E D_i>,

    G(u, gamma) = G_0 + gamma <E> - ln < exp(-gamma U + sum_i phi_i D_i) >,    phi such that the means stay at u.   (11)

The Taylor coefficients at gamma = 0 follow order by order (17). Let q(S, gamma) be the probability of a state with the
means held at u, over that of independent units. Then

    d ln q / d gamma = -U + sum_i phi_i' D_i + <q U>,    dG / d gamma = <E> + <q U>,    <q D_i> = 0.

The first gives each power of q from the lower ones, and the third gives phi, because <D_i D_j> = 1 if i = j, else 0.
q stays normalised: its powers are no larger than those of G, and few digits cancel. G(u, gamma) itself, for real and
for complex gamma, is the Legendre transform (9)-(12).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import MethodDoesNotApply

NO_INTERACTION = 1e-14  # of the largest energy: rounding leaves about as much
FEW_UNITS = 8  # up to which one product of matrices is quicker
MOST_DIGITS = 15.0
LARGEST_MOVE = 2.0  # by how much gamma U may change at once, over all states
MOST_PARTS = 1000  # of the way to gamma
MOST_STEPS = 100  # of Newton's method, for each of them
HELD = 1e-6  # in standard deviations of a unit: how far a mean may be off
LEAST_GAIN = 1e-4  # of what a Newton step promises


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


def coefficients(pinned: Pinned, order: int) -> np.ndarray:
    """Those of gamma^0 to gamma^order, in the precision of the arrays."""
    p, D, U = pinned.p, pinned.D, pinned.U
    c = np.zeros(order + 1, p.dtype)
    q, slope = np.zeros((2, order + 1, len(p)), p.dtype)  # slope[k]: k times the power k of ln q
    q[0] = 1
    for n in range(1, order + 1 if pinned.interacts else 1):
        c[n] = (p * q[n - 1] * U).sum() / n
        products = np.einsum("ks,ks->s", slope[1:n], q[n - 1 : 0 : -1]) / n
        slope[n] = n * (c[n] - (U if n == 1 else D.linear(D.first(p * products))))
        q[n] = products + slope[n] / n
    c[:2] = (pinned.negative_entropy, pinned.mean_energy)[: order + 1]
    return c


def with_digits(energies: np.ndarray, theta: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The coefficients by long floats, and how many of their digits do not change with the last one of the energies."""
    long = coefficients(Pinned.at(energies, theta, np.longdouble), order)
    sign = np.random.default_rng(0).choice([-1.0, 1.0], len(energies))
    rounded = energies * (1 + sign * np.finfo(float).eps)
    other = coefficients(Pinned.at(rounded, theta, np.longdouble), order)
    size = np.abs(long)
    size[1:-1] = np.maximum(size[1:-1], np.sqrt(size[:-2] * size[2:]))  # a coefficient may be 0 by symmetry
    with np.errstate(divide="ignore", invalid="ignore"):
        digits = -np.log10((np.abs(other - long) / size).astype(float))
    return long.astype(float), np.where(long == other, MOST_DIGITS, np.clip(digits, 0, MOST_DIGITS))


class Weights(NamedTuple):
    """exp(-gamma U + D phi) of all states, and the averages that Newton's method needs. Only their ratios matter."""

    w: np.ndarray  # (states,)
    total: complex  # Z, over exp(shift)
    shift: float
    away: np.ndarray  # (units,): sum_S w D, zero where the means are u
    spread: np.ndarray  # (units, units): sum_S w D D'

    @classmethod
    def at(cls, pinned: Pinned, gamma: complex, phi: np.ndarray) -> "Weights":
        exponent = -gamma * pinned.U + pinned.D.linear(phi)
        shift = float(np.max(exponent.real))
        w = pinned.p * np.exp(exponent - shift)
        return cls(w, w.sum(), shift, pinned.D.first(w), pinned.D.second(w))


def exact_free_energy(pinned: Pinned, gamma: float = 1.0) -> float:
    """G(u, gamma) for real gamma, where ln < exp(-gamma U + D phi) > is convex in phi and has its lowest value.

    phi is followed from gamma = 0 in steps in which the weights of states change little.
    """
    before = phi = np.zeros(pinned.units)
    steps = min(math.ceil(abs(gamma) * float(np.ptp(pinned.U)) / LARGEST_MOVE), MOST_PARTS)
    for part in gamma * np.arange(1, steps + 1) / max(steps, 1):
        before, phi = phi, _lowest(pinned, part, 2 * phi - before)
    found = Weights.at(pinned, gamma, phi)
    if np.abs(found.away / found.total).max(initial=0.0) > HELD:
        raise MethodDoesNotApply(
            "the external fields that hold the means are out of reach of double precision: energies are too large, or "
            "means too close to 0 or 1. Use means closer to the posterior means."
        )
    return float(pinned.negative_entropy + gamma * pinned.mean_energy - math.log(found.total.real) - found.shift)


def _lowest(pinned: Pinned, gamma: float, phi: np.ndarray) -> np.ndarray:
    """By Newton's method, with steps that are shortened until they lower it."""
    value = _log_average(pinned, gamma, phi)
    for _ in range(MOST_STEPS):
        found = Weights.at(pinned, gamma, phi)
        mean = (found.away / found.total).real
        covariance = (found.spread / found.total).real - np.outer(mean, mean)
        step = -np.linalg.lstsq(covariance, mean)[0]
        following, lower = _lower(pinned, gamma, phi, step, value, float(-mean @ step))
        if not lower < value:
            break
        phi, value = following, lower
    return phi


def _lower(
    pinned: Pinned, gamma: float, phi: np.ndarray, step: np.ndarray, value: float, gain: float
) -> tuple[np.ndarray, float]:
    """The first of ever shorter steps that lowers it, or where we were: the lowest that rounding lets us see."""
    for length in 0.5 ** np.arange(30):
        lower = _log_average(pinned, gamma, phi + length * step)
        if lower < value - LEAST_GAIN * length * gain:
            return phi + length * step, lower
    return phi, value


def _log_average(pinned: Pinned, gamma: float, phi: np.ndarray) -> float:
    found = Weights.at(pinned, gamma, phi)
    return float(np.log(found.total.real) + found.shift)
