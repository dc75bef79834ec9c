"""Population annealing of a Boltzmann machine: many starts at infinite temperature that are cooled together.

K. Hukushima and Y. Iba, AIP Conf. Proc. 690 (2003); W. Wang, J. Machta and H. Katzgraber, Phys. Rev. E 92 (2015). Spins
of -1 and 1 start at random, whatever a solution says. As the inverse temperature rises to 1, each replica gains the
weight exp(rise * -E), all are swept by Gibbs sampling, and once few of them carry the weight they are resampled.
Replicas with a common ancestor are a family. How evenly the weight is spread over families says how far to believe the
averages, whatever the sweeps achieved (H. P. Chan and T. L. Lai, Annals of Statistics 41, 2013): of a machine that does
not equilibrate, a few families are left.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import Evidence
from plefka.networks.fields import FULL_UNITS
from plefka.sampling.coupling_chains import DENSE, colours
from plefka.sampling.importance import averaged, resampled
from plefka.sampling.proposals import Drawn, Proposal

EVEN = 0.99  # the effective fraction of the weights that one rise of the inverse temperature leaves, at least
RESAMPLED = 0.5  # the effective fraction of all replicas at which they are resampled
AVERAGED = 16  # sweeps at the end, over which P(on | all others) is averaged
TEMPERATURE_HALVINGS = 12  # of an interval, to find a rise
LARGEST_SINGLE = 1e4  # the sum of all couplings and fields up to which single precision has four digits after the point
MOST_UPDATES = 1e9  # of single spins


@dataclass(frozen=True, eq=False)
class PopulationProposal(Proposal):
    """The hidden units of a machine as spins, in the order of their colours: -E(s) = s J s / 2 + field s + constant."""

    spins: np.ndarray  # which unit of the machine each is
    field: np.ndarray
    couplings: tuple  # for each colour, its rows of J
    constant: float
    is_bounded = True

    @classmethod
    def of(cls, machine: BoltzmannMachine, given: Evidence) -> "PopulationProposal":
        """From the energy as it is defined, of one row of evidence."""
        (off, on), T = machine.values, machine.temperature
        middle, half = (off + on) / 2, (on - off) / 2  # a value is middle + half * spin
        L, row = sp.csr_array(machine.storage.to_sparse()), given.rows[0]
        W, h, hidden = sp.csr_array(L + L.T), np.asarray(machine.bias, float), np.isnan(row)
        tilt = np.zeros(machine.size) if given.tilt is None else given.tilt[0]
        v = np.where(hidden, middle, np.where(row == 1, on, off))
        field = half * (h + W @ v) / T + tilt / 2
        constant = (v @ h + v @ (W @ v) / 2) / T + machine.constant + tilt @ np.where(hidden, 0.5, row)
        units = np.flatnonzero(hidden)
        groups = colours(sp.csr_array(W[units][:, units])) if len(units) else []
        units = np.concatenate([units[group] for group in groups]) if groups else units
        J, ends = half**2 / T * sp.csr_array(W[units][:, units]), np.cumsum([0, *map(len, groups)])
        kind = np.float32 if abs(J).sum() + abs(field).sum() < LARGEST_SINGLE else np.float64
        is_full = len(units) > FULL_UNITS and J.nnz > DENSE * len(units) ** 2
        matrix: Any = (J.toarray() if is_full else sp.csr_array(J)).astype(kind)
        rows = tuple(matrix[first:last] for first, last in pairwise(ends))
        return cls(units, field[units].astype(kind), rows, float(constant))

    @property
    def units(self) -> np.ndarray:
        return self.spins

    @cached_property
    def _colours(self) -> list[tuple[slice, np.ndarray]]:
        """The place of each colour, and its rows of J."""
        ends = np.cumsum([0, *(rows.shape[0] for rows in self.couplings)])
        return [(slice(*place), rows) for *place, rows in zip(ends[:-1], ends[1:], self.couplings, strict=True)]

    def most(self, drawn: Drawn) -> int:
        return min(super().most(drawn), int(MOST_UPDATES / max(1, self.size * drawn.steps)))

    def drawn(self, count: int, rng: np.random.Generator) -> Drawn:
        """The replicas at inverse temperature 1; `steps` are the rises that it took."""
        s = np.where(rng.random((self.size, count)) < 0.5, 1, -1).astype(self.field.dtype)
        log_w, family = np.full(count, self.constant + self.size * np.log(2)), np.arange(count)
        beta, steps = 0.0, 0
        while beta < 1:
            gain = self._negative_energy(s)
            rise = _rise(gain, log_w, 1 - beta)
            beta, log_w, steps = 1.0 if rise == 1 - beta else beta + rise, log_w + rise * gain, steps + 1
            found = averaged(log_w)
            if found.effective < RESAMPLED * count:
                chosen = resampled(np.exp(log_w - log_w.max()) / np.exp(log_w - log_w.max()).sum(), count, rng)
                s, family, log_w = s.take(chosen, axis=1), family[chosen], np.full(count, float(found.log_mean))
            self._sweep(s, beta, rng)
        chances = np.zeros(s.shape, s.dtype)
        for _ in range(AVERAGED):
            self._sweep(s, 1.0, rng, chances)
        return Drawn(s > 0, log_w, chances / AVERAGED, family, steps)

    def _negative_energy(self, s: np.ndarray) -> np.ndarray:
        """s J s / 2 + field s of every replica."""
        total = np.zeros(s.shape[1])
        for place, rows in self._colours:
            total += (s[place] * (rows @ s / 2 + self.field[place, None])).sum(axis=0, dtype=float)
        return total

    def _sweep(self, s: np.ndarray, beta: float, rng: np.random.Generator, chances: np.ndarray | None = None) -> None:
        """Every spin is drawn given all others, those of one colour together; adds P(on | all others) to `chances`."""
        for place, rows in self._colours:
            x = rows @ s
            x += self.field[place, None]
            x *= -2 * beta
            np.minimum(x, 80, out=x)  # exp of more is no number in single precision; 1e-35 is as good as never
            np.exp(x, out=x)
            x += 1
            if chances is not None:
                chances[place] += 1 / x
            x *= rng.random(x.shape, dtype=np.float32)
            np.less(x, 1, out=s[place])
            s[place] *= 2
            s[place] -= 1


def _rise(gain: np.ndarray, log_w: np.ndarray, most: float) -> float:
    """How far the inverse temperature rises, so that what it adds to the weights is even enough."""
    gain, w = gain - gain.max(initial=0.0), np.exp(log_w - log_w.max())

    def is_even(rise: float) -> bool:
        more = np.exp(rise * gain)
        return (w @ more) ** 2 >= EVEN * w.sum() * (w @ more**2)

    low, high = 0.0, most
    if is_even(most):
        return most
    for _ in range(TEMPERATURE_HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if is_even(middle) else (low, middle)
    return max(low, most / 2**TEMPERATURE_HALVINGS)
