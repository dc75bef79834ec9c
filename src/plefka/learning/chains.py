"""Learning by persistent chains: the free averages are those of Gibbs chains that go on from step to step.

Chains lag behind the parameters by little, as these move slowly (Tieleman, 2008). Hidden units of a row are averaged
over exactly where they are independent given the row, and by a chain of its own elsewhere. In both, units that no
other of their colour is coupled to are averaged over in closed form. ln P per row is estimated now and then, with
ln Z by annealed importance sampling.
"""

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidInput
from plefka.learning.annealed import MOST_SCORED_ROWS, annealed_score, annealed_score_of_rows
from plefka.learning.gradients import Gradient, Gradients, Rows
from plefka.learning.pair_moments import outer
from plefka.learning.patterns import Patterns, leaves_independent
from plefka.learning.steps import BatchNumber
from plefka.networks.activations import numpy_sigmoid
from plefka.networks.evidence import Evidence
from plefka.reduction.machine_reduction import answer_without_free_units
from plefka.reduction.question import Part
from plefka.reduction.reduce import reduce
from plefka.sampling.coupling_chains import PairSampler, PairTarget, colours

if TYPE_CHECKING:
    from plefka.learning.steps import LearningRun
    from plefka.networks.boltzmann import BoltzmannMachine

MOST_STATES = 2**25  # of hidden units of all rows, that are kept from epoch to epoch
FREE, CLAMPED = range(2)  # tell the random numbers of one step apart


class ByChains(Gradients):
    """Gradients from chains; their states are what later steps need."""

    def __init__(self, run: "LearningRun"):
        super().__init__(run)
        seed = run.method.seed if run.method.seed is not None else run.seed
        if seed is None:
            raise InvalidInput("persistent chains are random; pass a seed, as in fit(..., seed=0).")
        self.seed, self.colours = seed, _colours(run.network.storage)
        stack, size, latent = run.network.stack or 1, run.network.size, run.data.latent
        rng = np.random.default_rng([seed, FREE])
        free = (rng.random((stack, size, run.method.chains)) < self._frequencies()[:, None]).astype(np.int8)
        keeps = not leaves_independent(run.network, run.data) and stack * len(run.data) * len(latent) <= MOST_STATES
        rows = rng.integers(0, 2, (stack, len(run.data) if keeps else 0, len(latent)), np.int8)
        self.memory = free, rows, np.full(stack, np.nan)

    def _frequencies(self) -> np.ndarray:
        """How often units are on in the rows that are in memory, and 1/2."""
        data, found = self.run.data, np.full(self.run.network.size, 0.5)
        if isinstance(data, Patterns):
            seen = data.values >= 0
            found[data.units] = (data.counts @ (data.values == 1) + 0.5) / (data.counts @ seen + 1)
        return found

    def of(self, number: int, machine: "BoltzmannMachine", rows: Rows, when: BatchNumber) -> Gradient:
        machine = machine.converted()
        clamped, n = self._clamped(number, machine, rows, when)
        first, second = jax.tree.map(lambda a, b: a - n * b, clamped, self._free(number, machine, when))
        return Gradient(0.0, n, n, first, second)

    def _free(self, number: int, machine: "BoltzmannMachine", when: BatchNumber) -> tuple[np.ndarray, Any]:
        """Averages over all chains, after some sweeps."""
        reduction = reduce(machine, Evidence(np.full((1, machine.size), np.nan), batched=True))
        (part,) = reduction.parts
        states, here = self.memory[0][number], part.units >= 0
        U, S = self._swept(part, states[np.where(here, part.units, 0)][:, None], (number, *when, FREE))
        full = reduction.restored(part, U[:, 0], None)[0]
        states[part.units[here]] = S[here, 0]
        chains = full.shape[1]
        return full.mean(axis=1), outer(machine.storage, full / chains, full)

    def _clamped(self, number: int, machine: "BoltzmannMachine", rows: Rows, when: BatchNumber) -> tuple[tuple, float]:
        """Sums over rows, and what these weigh."""
        if self.is_complete:
            found = self.clamped(machine, rows)
            return (found.first, found.second), found.counted
        numbers, evidence, c = rows
        reduction = reduce(machine, Evidence(evidence, batched=True))
        (part,) = reduction.parts
        found = answer_without_free_units(part.question)
        U = self._row_chains(number, part, numbers, when) if found is None else found.means
        u = reduction.restored(part, U, None)[0]
        return (u @ c, outer(machine.storage, u * c, u)), float(c.sum())

    def _row_chains(self, number: int, part: Part, numbers: np.ndarray, when: BatchNumber) -> np.ndarray:
        """(units of the question, rows) after sweeps of a chain for each row, from where the last epoch left it."""
        kept, latent = self.memory[1][number], self.run.data.latent
        rng = np.random.default_rng([self.seed, number, *when, CLAMPED])
        place = np.full(self.run.network.size, -1)
        place[part.units[part.units >= 0]] = np.flatnonzero(part.units >= 0)
        S = rng.integers(0, 2, part.question.free.shape).astype(float)
        there = place[latent] >= 0
        if len(kept):
            S[place[latent[there]]] = kept[numbers][:, there].T
        U, S = self._swept(part, S[:, :, None], (number, *when, CLAMPED))
        if len(kept):
            some = kept[numbers]
            some[:, there] = S[place[latent[there]], :, 0].T
            kept[numbers] = some
        return U[:, :, 0]

    def _swept(self, part: Part, S: np.ndarray, key: tuple) -> tuple[np.ndarray, np.ndarray]:
        """States (units of the question, rows, columns) after sweeps; before them, with chances for the last colour."""
        target = PairTarget(part.question)
        if not target.size:  # no unit is coupled to another
            return S, S
        colour = self.colours[part.units[target.units]]
        sampler = PairSampler(part.question, [np.flatnonzero(colour == k) for k in np.unique(colour)])
        start = np.where(target.free[:, :, None], S[target.units], target.values[:, :, None])
        seed = np.random.SeedSequence([self.seed, *key]).generate_state(2)
        states, _ = sampler.swept(start, self.run.method.sweeps, seed)
        means, last = states.copy(), sampler.colours[-1]
        chances = numpy_sigmoid(target.h[last] + target.fields(states, last))
        means[last] = np.where(target.free[last][:, :, None], chances, states[last])
        return target.widened(means, axis=0), target.widened(states, axis=0)

    # ---- ln P --------------------------------------------------------------------------------------------------------

    def estimate(self, number: int, machine: "BoltzmannMachine", epoch: int) -> float:
        """After some epochs: all up to the tenth, every fifth up to the hundredth, and so on; else the last one."""
        known = self.memory[2]
        if epoch % max(1, 10 ** (len(str(epoch)) - 1) // 2) == 0:
            known[number] = self._estimate(machine)
        return float(known[number])

    def _estimate(self, machine: "BoltzmannMachine") -> float:
        data = self.run.data
        if isinstance(data, Patterns):
            return annealed_score(machine, data, self.seed).value
        piece = next(data.pieces(min(MOST_SCORED_ROWS, len(data)), self.seed, 0, 0, 1))
        return annealed_score_of_rows(machine, data.evidence(piece.values), piece.counts, self.seed).value


def _colours(storage: Any) -> np.ndarray:
    """The colour of each unit; a coupling counts whatever its weight, which may become another."""
    one = storage if storage.stack is None else storage.take(0)
    L = sp.csr_array(one.map_weights(lambda w: np.ones(np.shape(w))).to_sparse())
    L = sp.csr_array(L - sp.diags_array(L.diagonal()))
    found = np.zeros(storage.size, int)
    for number, units in enumerate(colours(sp.csr_array(L + L.T))):
        found[units] = number
    return found
