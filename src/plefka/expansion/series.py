"""Plefka's series: the exact Taylor coefficients of G(u, gamma), the radius of convergence, and what they say."""

from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, MethodDoesNotApply
from plefka.expansion.continuation import nearest_singularity
from plefka.expansion.convergence_radius import approximant, by_ratios, guesses, poles
from plefka.expansion.hidden_states import HiddenStates, check_truncation, hidden_states, truncated_energies
from plefka.expansion.pinned import Pinned, exact_free_energy, with_digits
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.network import Network
from plefka.reduction.question import LARGEST_THETA
from plefka.tables.display import Content, ShownAnswer

MOST_ORDERS = 30
SURE, CLOSE = 1.1, 1.02  # from here on, and below its inverse, a radius decides that is estimated, or known by circles
SERIES_COLUMNS = ("order", "coefficient", "digits", "G up to this order", "error")
ENDS = "The hidden units do not interact: the series ends after the first order and is exact."
TOO_SHORT = "The radius of convergence is estimated from order 12 on; compute the series to a higher order."


def _outcome(series: "Series") -> str:
    if series.converges is None:
        return "It is not decided whether the series converges at gamma = 1."
    if series.converges:
        return f"The series converges at gamma = 1: its radius of convergence is {series.radius:.3g}."
    return (
        f"The series diverges at gamma = 1: its radius of convergence is {series.radius:.3g}. Partial sums "
        "come close to G(u, 1) at first and then leave it; series.pade() resums them."
    )


def _ground(series: "Series") -> str:
    estimates = f"{series.radius_by_ratios:.3g} from ratios of coefficients and {series.radius_by_poles:.3g} from Padé"
    if not series.is_established:
        return f"The radius is only estimated, as {estimates} poles."
    if series.singularity is None:
        return (
            f"Circles around 0 show that the nearest singularity is at this distance, to a hundredth. Estimates from "
            f"the coefficients alone are {estimates} poles."
        )
    at = series.singularity
    return (
        f"The nearest singularities, at gamma = {at.real:.4g} ± {at.imag:.4g}i, were solved for, and no other one was "
        f"found closer to 0. Estimates from the coefficients alone are {estimates} poles."
    )


@dataclass(frozen=True, repr=False, eq=False)
class Series(ShownAnswer):
    """The result of `series`: the power series of G(u, gamma), whose value at gamma = 1 is the free energy.

    - `coefficients`: of gamma^0, gamma^1, ...; the first is the negative entropy of the means, the second the mean
        energy.
    - `digits`: how many significant digits of each coefficient do not depend on the rounding of the energies.
    - `exact`: G(u, 1) without any expansion. If the means are the posterior means, it is -ln Z with the evidence
        clamped, which is `-solution.log_partition` of `infer`: -ln P(evidence) of a belief network. For a Boltzmann
        machine ln P(evidence) is the difference to ln Z without evidence.
    - `means`: u of all units, the probabilities to be on; 0 or 1 for observed units.
    - `radius_by_ratios`, `radius_by_poles`: two estimates of the radius of convergence, from ratios of the last
        coefficients (Mercer and Roberts) and from the nearest pole of a Padé approximant; nan below order 12.
    - `singularity`: the nearest singularity in the upper half plane, to all digits, with a check that there is none
        inside its distance. None if it was not found.
    - `radius_by_circles`: the distance of the singularity; if that was not found, the radius of the largest circle
        inside which there is none, to a hundredth; nan if there is no such circle either.

    **Example:**

    >>> import plefka as pf
    >>> found = pf.series(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, order=12)
    >>> bool(abs(found.partial_sums[12] - found.exact) < abs(found.partial_sums[2] - found.exact))
    True
    """

    coefficients: np.ndarray
    digits: np.ndarray
    exact: float
    means: np.ndarray
    radius_by_ratios: float
    radius_by_poles: float
    radius_by_circles: float
    singularity: complex | None

    @property
    def order(self) -> int:
        """The highest power of gamma."""
        return len(self.coefficients) - 1

    @property
    def partial_sums(self) -> np.ndarray:
        """G_0, G_1, G_2, ... of Plefka's expansion: the series at gamma = 1, up to each order."""
        return np.cumsum(self.coefficients)

    @property
    def radius(self) -> float:
        """The radius of convergence: by circles if they found it, or else the estimate by poles."""
        return self.radius_by_circles if self.is_established else self.radius_by_poles

    @property
    def is_established(self) -> bool:
        """Whether the radius is more than an estimate from the coefficients."""
        return not np.isnan(self.radius_by_circles)

    @property
    def converges(self) -> bool | None:
        """Whether the series converges at gamma = 1; None where this is not decided."""
        if self.singularity is not None:
            return self.radius > 1
        sure = CLOSE if self.is_established else SURE
        estimates = (self.radius,) if self.is_established else (self.radius_by_ratios, self.radius_by_poles)
        return True if min(estimates) > sure else False if max(estimates) < 1 / sure else None

    @property
    def verdict(self) -> str:
        """Whether the series converges at gamma = 1 and how that is known, in a sentence or two."""
        if self.radius == np.inf:
            return ENDS
        if np.isnan(self.radius):
            return TOO_SHORT
        return f"{_outcome(self)} {_ground(self)}"

    def pade(self, m: int | None = None, n: int | None = None) -> float:
        """The value at gamma = 1 of the quotient of polynomials of degrees m and n that has the same series.

        This can be close to `exact` where the partial sums diverge. Without degrees, both are half of the order.

        >>> import plefka as pf
        >>> found = pf.series(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, order=12)
        >>> bool(abs(found.pade() - found.exact) < 1e-4)
        True
        """
        m = self.order - self.order // 2 if m is None else _degree("m", m)
        n = self.order - m if n is None else _degree("n", n)
        if n < 0 or m + n > self.order:
            raise InvalidInput(
                f"m + n must not exceed the order of the series, which is {self.order}; got m = {m} and n = {n}. "
                "Compute the series to a higher order."
            )
        return approximant(self.coefficients, m, n).at(1.0).real

    def __repr__(self) -> str:
        return f"<Series of order {self.order}: radius {self.radius:.4g}, exact {self.exact:.6g}>"

    def _content(self) -> Content:
        numbers = zip(self.coefficients, self.digits, self.partial_sums, self.partial_sums - self.exact)
        rows = [
            (str(n), f"{c:+.6e}", f"{digits:.0f}", f"{total:.8g}", f"{error:+.1e}")
            for n, (c, digits, total, error) in enumerate(numbers)
        ]
        title = f"G(u, 1) = {self.exact:.8f} exactly; {self.partial_sums[-1]:.8g} by order {self.order}"
        return Content(title, [self.verdict], SERIES_COLUMNS, rows, len(rows), "orders")


def series(
    network: Network, evidence: Any, order: int = MOST_ORDERS, means: Any = None, *, taylor: int | None = None
) -> Series:
    """The exact Taylor coefficients in gamma of G(u, gamma), Plefka's expansion, for up to 16 hidden units.

    G(u, gamma) is the free energy of the network with its energy multiplied by gamma, and with external fields that
    hold the means at u. The approximations of the paper are the first terms of its power series, at gamma = 1. The
    network is taken as it is, without reduction, as by `pf.free_energy(..., prune=False)`.

    **Arguments:**

    - `network`, `evidence`: a single BeliefNetwork or BoltzmannMachine and a single row of evidence, as for `infer`.
        Every state of the hidden units must be possible.
    - `order`: the highest power of gamma, from 1 to 30.
    - `means`: the means u of all units, as for `free_energy`, strictly between 0 and 1 where units are hidden. The
        default is the exact posterior means, where G(u, 1) is lowest and equals -ln Z with the evidence clamped:
        -ln P(evidence) for a belief network, `-infer(...).log_partition` for a Boltzmann machine.
    - `taylor`: C of (43), from 1 to 4: instead of the energy (4), its Taylor polynomial of this degree in the fields,
        about the mean fields at u. The first two partial sums are then the schemes G11, G12, ... and G21, G22 at u, and
        `exact` is what the whole series of this energy stands for, which is not -ln P(evidence).

    **Example:**

    >>> import plefka as pf
    >>> net = pf.BeliefNetwork([[0, 0, 0], [1, 0, 0], [2, -1, 0]], [0.5, 0, -1])
    >>> found = pf.series(net, {2: 1})
    >>> print(f"radius {found.radius:.2f}, exact {found.exact:.6f}, order 4 {found.partial_sums[4]:.6f}")
    radius 2.42, exact 0.859957, order 4 0.859906
    """
    if not isinstance(order, int | np.integer) or isinstance(order, bool) or not 1 <= order <= MOST_ORDERS:
        raise InvalidInput(f"order must be a whole number from 1 to {MOST_ORDERS}; got {order!r}.")
    given = _one_row(network, evidence)
    if taylor is not None:
        check_truncation(network, taylor)
    states = hidden_states(network, given)
    theta = states.log_odds() if means is None else _log_odds(network, states, means)
    _check_uncertain(network, states, theta)
    u = np.where(states.hidden, 0.0, given.rows[0])
    u[states.hidden] = 1 / (1 + np.exp(-theta))
    energies = -states.log_weights
    if taylor is not None:
        energies = truncated_energies(cast(BeliefNetwork, network), given, states, u, taylor)
    c, digits = with_digits(energies, theta, int(order))
    pinned = Pinned.at(energies, theta)
    exact = -states.log_partition if means is None and taylor is None else exact_free_energy(pinned)
    return Series(c, digits, exact, u, *_radius(pinned, c))


def _one_row(network: Network, evidence: Any) -> Evidence:
    if not isinstance(network, Network) or network.stack is not None:
        kind = f"a stack of {network.stack}" if isinstance(network, Network) else type(network).__name__
        raise InvalidInput(f"series takes one BeliefNetwork or BoltzmannMachine; got {kind}.")
    given = as_evidence(network, evidence)
    if len(given.rows) > 1:
        raise InvalidEvidence(f"series takes one row of evidence; got {len(given.rows)}. Ask about one at a time.")
    return given


def _radius(pinned: Pinned, c: np.ndarray) -> tuple[float, float, float, complex | None]:
    if not pinned.interacts:
        return np.inf, np.inf, np.inf, None
    found = poles(c)
    nearest = nearest_singularity(pinned, guesses(found))
    return by_ratios(c).radius, float(abs(found[0])) if len(found) else np.nan, nearest.distance, nearest.point


def _log_odds(network: Network, states: HiddenStates, means: Any) -> np.ndarray:
    u = np.asarray(means, float)
    if u.shape != (network.size,):
        raise InvalidInput(f"means must have shape ({network.size},), one for each unit; got {u.shape}.")
    wrong = np.flatnonzero(states.hidden & ~((u > 0) & (u < 1)))
    if wrong.size:
        raise InvalidInput(
            f"means of hidden units must lie strictly between 0 and 1; got {u[wrong[0]]:g} for unit "
            f"{network.names[wrong[0]]!r}."
        )
    u = u[states.hidden]
    return np.log(u) - np.log1p(-u)


def _check_uncertain(network: Network, states: HiddenStates, theta: np.ndarray) -> None:
    sure = np.flatnonzero(np.abs(theta) > LARGEST_THETA)
    if sure.size:
        unit = network.names[np.flatnonzero(states.hidden)[sure[0]]]
        raise MethodDoesNotApply(
            f"series needs hidden units whose states are open; unit {unit!r} has posterior log-odds of "
            f"{theta[sure[0]]:.4g}. Observe it."
        )


def _degree(name: str, value: Any) -> int:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 0:
        raise InvalidInput(f"{name} must be a whole number from 0 on; got {value!r}.")
    return int(value)
