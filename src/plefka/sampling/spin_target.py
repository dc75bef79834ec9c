"""A Boltzmann machine for annealed populations: spins of -1 and 1, those of one colour drawn together."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from plefka.exact.cost import DENSE_COUPLING, SPARSE_COUPLING, SPIN, SPIN_COLOUR
from plefka.networks.fields import product_with_states
from plefka.reduction.question import Question
from plefka.sampling.annealing import AnnealedTarget
from plefka.sampling.coupling_chains import DENSE, PairTarget, colours

LARGEST_SINGLE = 500.0  # the norm of all couplings and fields up to which single precision has three digits of ln Z
ATTRACTIVE = 0.8  # of the sum of |couplings| that their sum is, from which on fields are switched on after them
LATE = 2  # the power of beta that they then have: else domains freeze that couplings alone would not let there be


class SpinColour(NamedTuple):
    """Spins no two of which are coupled, and their couplings to others."""

    place: slice
    others: slice  # that they are coupled to
    rows: Any  # of J: those of this colour, the columns of the others
    earlier: Any  # and the columns of the colours before it

    @classmethod
    def of(cls, J: Any, first: int, last: int, *, is_full: bool) -> "SpinColour":
        rows, earlier = J[first:last], J[first:last, :first]
        others = slice(int(rows.indices.min(initial=J.shape[0])), int(rows.indices.max(initial=-1)) + 1)
        rows = rows[:, others]
        return cls(slice(first, last), others, *((z.toarray() if is_full else z) for z in (rows, earlier)))


class SpinTarget(AnnealedTarget):
    """Spins s in the order of their colours, from random ones; -E(s) = s J s / 2 + field s + constant.

    `J` has the coupling of each pair in both places. ln weight is beta s J s / 2 + beta^power field s + constant. Parts
    without fields are as likely with all their spins flipped, so that the means of their units are 1/2.
    """

    def __init__(self, J: Any, field: np.ndarray, constant: float):
        J = sp.csr_array(J)
        J.eliminate_zeros()
        groups, (count, part) = colours(J), connected_components(J, directed=False)
        self.order = np.concatenate([np.zeros(0, int), *groups])  # which of the units each spin is
        is_single = np.hypot(np.linalg.norm(J.data), np.linalg.norm(field)) < LARGEST_SINGLE
        kind = np.float32 if is_single else np.float64
        self.power = LATE if J.sum() > ATTRACTIVE * abs(J).sum() else 1
        self.part, flips = part[self.order], np.bincount(part, field != 0, count) == 0
        self.parts, self.symmetric = np.flatnonzero(flips), flips[self.part]
        J, self.field = sp.csr_array(J[self.order][:, self.order]).astype(kind), field[self.order].astype(kind)
        is_full = J.nnz > DENSE * len(field) ** 2
        self.ends = sp.triu(J, format="coo").coords
        ends = np.cumsum([0, *map(len, groups)]).tolist()
        self.colours = [SpinColour.of(J, first, last, is_full=is_full) for first, last in pairwise(ends)]
        self.size = self.num_averages = len(field)
        self.log_start = float(constant + self.size * np.log(2))
        self.sweep_seconds = SPIN * self.size + SPIN_COLOUR * len(groups)
        self.sweep_seconds += (DENSE_COUPLING if is_full else SPARSE_COUPLING) * J.nnz

    @classmethod
    def of_question(cls, question: Question) -> "SpinTarget":
        """The free units of a question of one row, in their order; they are 0 and 1 there."""
        target = PairTarget(question)
        W, h = sp.csr_array(target.matrices[0]), target.h[:, 0, 0]
        field = h / 2 + W.sum(axis=1) / 4
        field[abs(field) < 1e-12 * (abs(h) + abs(W).sum(axis=1))] = 0.0  # where it is the rounding of a difference
        return cls(W / 4, field, float(h.sum() / 2 + W.sum() / 8))

    def start(self, count: int, rng: np.random.Generator) -> np.ndarray:
        return np.where(rng.random((self.size, count)) < 0.5, 1, -1).astype(self.field.dtype)

    def gain(self, particles: np.ndarray) -> np.ndarray:
        """s J s / 2: every coupling counts once, with the colour that is last of the two."""
        total = np.zeros(particles.shape[1])
        for place, _, _, earlier in self.colours[1:]:
            total += np.einsum("up,up->p", particles[place], product_with_states(earlier, particles[: place.start]))
        return total

    def rising(self, particles: np.ndarray, beta: float) -> Callable[[float], np.ndarray]:
        pairs, fields = self.gain(particles), np.einsum("u,up->p", self.field, particles).astype(float)
        return lambda rise: rise * pairs + ((beta + rise) ** self.power - beta**self.power) * fields

    def sweep(
        self, particles: np.ndarray, beta: float, rng: np.random.Generator, sums: np.ndarray | None = None
    ) -> None:
        field = (-2 * beta**self.power * self.field)[:, None]
        for place, others, rows, _ in self.colours:
            x = product_with_states(rows, particles[others])
            x *= -2 * beta
            x += field[place]
            np.minimum(x, 80, out=x)  # exp of more is no number in single precision; 1e-35 is as good as never
            np.exp(x, out=x)
            x += 1
            if sums is not None:
                sums[place] += np.where(self.symmetric[place, None], 0.5, 1 / x)
            x *= rng.random(x.shape, dtype=np.float32)
            np.less(x, 1, out=particles[place])
            particles[place] *= 2
            particles[place] -= 1
        if sums is not None and len(self.parts):
            signs = np.ones((self.part.max() + 1, particles.shape[1]), particles.dtype)
            signs[self.parts] -= 2 * (rng.random((len(self.parts), particles.shape[1])) < 0.5)
            particles *= signs[self.part]

    def take(self, particles: np.ndarray, chosen: np.ndarray) -> np.ndarray:
        return particles.take(chosen, axis=1)

    def exchange(self, particles: np.ndarray, some: slice, rng: np.random.Generator) -> None:
        """Clusters of spins in which two particles differ are exchanged: the sum of their energies stays the same.

        J. Houdayer, Eur. Phys. J. B 22 (2001). The first half of the particles is paired with the second.
        """
        half, (child, parent) = (some.stop - some.start) // 2, self.ends
        one, other = (particles[:, first : first + half] for first in (some.start, some.start + half))
        differ = one != other
        edge, pair = np.nonzero(differ[child] & differ[parent])
        ends, shape = (child[edge] * half + pair, parent[edge] * half + pair), (differ.size,) * 2
        count, cluster = connected_components(sp.coo_array((np.ones(len(edge), np.int8), ends), shape=shape), False)
        flips = differ & (rng.random(count) < 0.5)[cluster].reshape(differ.shape)
        one[flips] *= -1
        other[flips] *= -1

    def states(self, particles: np.ndarray) -> np.ndarray:
        return particles > 0
