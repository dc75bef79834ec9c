"""States of a Boltzmann machine: sweeps of Gibbs sampling, and annealing where nothing is observed, of many at once.

Units of one colour are not coupled to each other and are drawn together, in single precision. Those of the last colour
are summed out in closed form where weights are needed: given the others,

    ln sum_B exp(-beta E(A, B)) = beta sum_A S_A (h_A + sum_A' W_AA' S_A' / 2) + sum_B ln(1 + exp(beta x_B)),

which leaves less to chance (R. Salakhutdinov and I. Murray, ICML 2008). Arrays are (units, columns).
"""

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.exact.cost import DENSE_COUPLING, SPARSE_COUPLING, SPIN, SPIN_COLOUR
from plefka.networks.activations import numpy_softplus
from plefka.networks.blocks import Blocks
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.sampling.coupling_chains import colours, full_matrix

Single = np.float32


class Colour(NamedTuple):
    """Units that are drawn together."""

    units: Any  # a slice, or their numbers
    near: slice  # where the units are that these may be coupled to
    weights: Any  # (units, near)


class FreeStates:
    """A machine of units 0 and 1 at temperature 1; `coloured`: the units of each colour, as of `colours_of`."""

    def __init__(self, machine: BoltzmannMachine, coloured: list[Any]):
        self.h, self.constant = np.asarray(machine.bias, Single)[:, None], float(machine.constant)
        layers, ends = _layers(machine), [(units[0], units[-1] + 1, len(units)) for units in coloured]
        if all(each in layers for each in ends):
            self.colours, self.within = [layers[each] for each in ends], None
        else:
            W = _symmetric(machine.storage)
            self.colours = [Colour(units, slice(None), W[units]) for units in coloured]
            self.within = W
        self.last = self.colours[-1]

    def fields(self, colour: Colour, S: np.ndarray) -> np.ndarray:
        """h_i + sum_j W_ij S_j."""
        return self.h[colour.units] + colour.weights @ S[colour.near]

    def swept(self, S: np.ndarray, count: int, rng: np.random.Generator, free: np.ndarray | None = None) -> np.ndarray:
        """States after sweeps, the last colour first, before that colour is drawn once more; `free`: what is drawn."""
        S = S.astype(Single)
        colours = [each for each in (self.last, *self.colours[:-1]) if free is None or free[each.units].any()]
        for _ in range(count):
            for colour in colours:
                new = drawn(self.fields(colour, S), rng)
                S[colour.units] = new if free is None else np.where(free[colour.units], new, S[colour.units])
        return S

    def averaged(self, S: np.ndarray, free: np.ndarray | None = None) -> np.ndarray:
        """States with P(on | all others) in the place of those of the last colour that are free."""
        U, last = S.astype(Single), self.last.units
        p = chances(self.fields(self.last, U))
        U[last] = p if free is None else np.where(free[last], p, U[last])
        return U

    def annealed(self, alone: np.ndarray, runs: int, betas: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """ln weights of runs that begin with independent units of log-odds `alone`; their mean is an estimate of Z."""
        a = np.array(alone, float)[:, None]
        a[self.last.units] = 0
        log_w = np.full(runs, np.logaddexp(0, a).sum() + self.constant)
        a = a.astype(Single)
        S = drawn(np.broadcast_to(a, (len(a), runs)), rng)
        for before, beta in pairwise(betas.astype(Single)):
            x = self.fields(self.last, S)
            log_w += np.sum(numpy_softplus(beta * x) - numpy_softplus(before * x), axis=0)
            log_w += (beta - before) * self._gain(a, S)
            S[self.last.units] = drawn(beta * x, rng)
            for colour in self.colours[:-1]:
                S[colour.units] = drawn(beta * self.fields(colour, S) + (1 - beta) * a[colour.units], rng)
        return log_w

    def _gain(self, a: np.ndarray, S: np.ndarray) -> np.ndarray:
        """Of units that are not summed out, what their weight gains with beta."""
        if self.within is None:
            units = self.colours[0].units
            return np.sum(S[units] * (self.h - a)[units], axis=0, dtype=float)
        S = S.copy()
        S[self.last.units] = 0
        return np.sum(S * (self.h - a + (self.within @ S) / 2), axis=0, dtype=float)

    @property
    def seconds(self) -> float:
        """Predicted, of a sweep of one column."""
        couplings = sum(
            DENSE_COUPLING * colour.weights.size if isinstance(colour.weights, np.ndarray)
            else SPARSE_COUPLING * colour.weights.nnz for colour in self.colours
        )  # fmt: skip
        return couplings + SPIN * len(self.h) + SPIN_COLOUR * len(self.colours)


def _layers(machine: BoltzmannMachine) -> dict[tuple[int, int, int], Colour]:
    """The colours of a restricted machine by their first unit, the one after the last, and their number."""
    if not machine.is_restricted:
        return {}
    storage: Any = machine.storage
    W, hidden, visible = np.asarray(storage.weights[0], Single), storage.children[0], storage.parents[0]
    found = ((visible, hidden, W.T), (hidden, visible, W))
    return {(a, b, b - a): Colour(slice(a, b), slice(*near), weights) for (a, b), near, weights in found}


def _symmetric(storage: Any) -> Any:
    if isinstance(storage, Blocks):
        return full_matrix(storage).astype(Single)
    L = sp.csr_array(storage.to_sparse(), dtype=Single)
    return sp.csr_array(L + L.T)


def colours_of(coupled: Any, hidden: np.ndarray) -> list[np.ndarray]:
    """The units of each colour, by a symmetric pattern of couplings (sparse).

    The last one is that of hidden units, if none of these are coupled to each other, and else the largest.
    """
    if len(hidden) and is_independent(coupled, hidden):
        others = np.setdiff1d(np.arange(coupled.shape[0]), hidden)
        found = colours(sp.csr_array(coupled[others][:, others]))
        return [*(others[units] for units in found), hidden]
    return sorted(colours(coupled), key=len)


def is_independent(coupled: Any, units: np.ndarray) -> bool:
    """Whether no two of some units are coupled."""
    return not coupled[units][:, units].nnz


def chances(x: np.ndarray) -> np.ndarray:
    """P(on) by log-odds: the hyperbolic tangent never overflows."""
    return Single(0.5) + Single(0.5) * np.tanh(Single(0.5) * x)


def drawn(x: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """States by their log-odds."""
    return (rng.random(x.shape, dtype=Single) < chances(x)).astype(Single)
