"""A Boltzmann machine for annealed populations: spins of -1 and 1, those of one colour drawn together."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from plefka.exact.cost import DENSE_COUPLING, SPARSE_COUPLING, SPIN
from plefka.networks.fields import FULL_UNITS
from plefka.reduction.question import Question
from plefka.sampling.annealing import AnnealedTarget
from plefka.sampling.coupling_chains import DENSE, PairTarget, colours

LARGEST_SINGLE = 1e4  # the sum of all couplings and fields up to which single precision has four digits after the point


class SpinTarget(AnnealedTarget):
    """Spins in the order of their colours, from random ones: -E(s) = s J s / 2 + field s + constant. Particles are s.

    `J` has the coupling of each pair in both places.
    """

    def __init__(self, J: Any, field: np.ndarray, constant: float):
        J = sp.csr_array(J)
        J.eliminate_zeros()
        groups = colours(J)
        self.order = np.concatenate([np.zeros(0, int), *groups])  # which of the units each spin is
        kind = np.float32 if abs(J).sum() + abs(field).sum() < LARGEST_SINGLE else np.float64
        J, self.field = sp.csr_array(J[self.order][:, self.order]).astype(kind), field[self.order].astype(kind)
        is_full = len(field) > FULL_UNITS and J.nnz > DENSE * len(field) ** 2
        matrix: Any = J.toarray() if is_full else J
        ends = np.cumsum([0, *map(len, groups)]).tolist()
        self.colours = [(slice(*ends[k : k + 2]), matrix[slice(*ends[k : k + 2])]) for k in range(len(groups))]
        self.size = self.num_averages = len(field)
        self.log_start = float(constant + self.size * np.log(2))
        self.sweep_seconds = SPIN * self.size + (DENSE_COUPLING if is_full else SPARSE_COUPLING) * matrix.size

    @classmethod
    def of_question(cls, question: Question) -> "SpinTarget":
        """The free units of a question of one row, in their order; they are 0 and 1 there."""
        target = PairTarget(question)
        W, h = sp.csr_array(target.matrices[0]), target.h[:, 0, 0]
        return cls(W / 4, h / 2 + W.sum(axis=1) / 4, float(h.sum() / 2 + W.sum() / 8))

    def start(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random((self.size, count)) < 0.5, 1, -1).astype(self.field.dtype)

    def gain(self, particles: np.ndarray) -> np.ndarray:
        """s J s / 2 + field s of every particle."""
        total = np.zeros(particles.shape[1])
        for place, rows in self.colours:
            total += (particles[place] * (rows @ particles / 2 + self.field[place, None])).sum(axis=0, dtype=float)
        return total

    def sweep(
        self, particles: np.ndarray, beta: float, rng: np.random.Generator, sums: np.ndarray | None = None
    ) -> None:
        for place, rows in self.colours:
            x = rows @ particles
            x += self.field[place, None]
            x *= -2 * beta
            np.minimum(x, 80, out=x)  # exp of more is no number in single precision; 1e-35 is as good as never
            np.exp(x, out=x)
            x += 1
            if sums is not None:
                sums[place] += 1 / x
            x *= rng.random(x.shape, dtype=np.float32)
            np.less(x, 1, out=particles[place])
            particles[place] *= 2
            particles[place] -= 1

    def take(self, particles: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        return particles.take(chosen, axis=1)

    def states(self, particles: np.ndarray) -> np.ndarray:
        return particles > 0
