"""Where the check of a Boltzmann machine draws from: populations that are annealed from infinite temperature.

They start at random spins, whatever a solution says, and know the machine by the definition of its energy alone.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import Evidence
from plefka.sampling.annealing import annealed
from plefka.sampling.proposals import Drawn, Proposal
from plefka.sampling.spin_target import SpinTarget

MOST_UPDATES = 1e9  # of single spins


@dataclass(frozen=True, eq=False)
class PopulationProposal(Proposal):
    """The hidden units of a machine."""

    hidden: np.ndarray
    target: SpinTarget
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
        return cls(units, SpinTarget(half**2 / T * W[units][:, units], field[units], float(constant)))

    @property
    def units(self) -> np.ndarray:
        return self.hidden[self.target.order]

    def most(self, drawn: Drawn) -> int:
        return min(super().most(drawn), int(MOST_UPDATES / max(1, self.size * drawn.steps)))

    def drawn(self, count: int, rng: np.random.Generator) -> Drawn:
        """One population; `steps` are its temperatures."""
        found = annealed(self.target, 1, count, rng)
        return Drawn(found.states, found.log_weights[0], found.averages, found.family[0], len(found.betas))
