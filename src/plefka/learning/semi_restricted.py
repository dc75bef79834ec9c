"""Boltzmann machines of columns that are coupled to each other, and of hidden units that are coupled to columns alone.

Hidden units are summed out: ln P(v) + ln Z = b z + z'L z / 2 + sum_j ln(1 + exp(c_j + W_j z)), with z = v - m. The
means m of the data are taken off so that the steps of weights do not move the log-odds of columns by themselves.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from plefka.ensembles import machine_around
from plefka.networks.activations import numpy_sigmoid, numpy_softplus
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.runtime.programs import Program

BATCH, BETA_1, BETA_2, FLOOR = 256, 0.9, 0.998, 1e-6  # rows of a step; Adam's numbers
SPREAD = 0.6  # of the weights of new hidden units


class SemiRestricted(NamedTuple):
    """The parameters, around z = 0."""

    pairs: Any  # (columns, columns): symmetric, 0 on the diagonal
    bias: Any
    weights: Any  # (columns, hidden)
    hidden: Any

    @classmethod
    def of(cls, machine: BoltzmannMachine, columns: np.ndarray, hidden: np.ndarray) -> "SemiRestricted":
        """The parameters of a machine of units 0 and 1, around columns that are 0."""
        lower = machine.storage.to_sparse()
        full = (lower + lower.T).toarray()
        bias = np.asarray(machine.bias)
        return cls(full[np.ix_(columns, columns)], bias[columns], full[np.ix_(columns, hidden)], bias[hidden])

    @classmethod
    def alone(cls, on: np.ndarray) -> "SemiRestricted":
        """Independent columns, which are on so often."""
        n = len(on)
        return cls(np.zeros((n, n)), np.log(on) - np.log1p(-on), np.zeros((n, 0)), np.zeros(0))

    def around(self, shift: np.ndarray) -> "SemiRestricted":
        """The same distribution, of z + shift: by -m of columns themselves."""
        return self._replace(bias=self.bias + self.pairs @ shift, hidden=self.hidden + shift @ self.weights)

    def log_weight(self, z: np.ndarray) -> np.ndarray:
        """ln P + ln Z of rows."""
        pairs = ((z @ self.pairs) * z).sum(axis=1) / 2
        return z @ self.bias + pairs + numpy_softplus(z @ self.weights + self.hidden).sum(axis=1)

    def with_hidden(self, count: int, seed: int) -> "SemiRestricted":
        """With so many further hidden units, random and seldom on.

        Their weights are not small: near 0 is a saddle, which learning takes long to leave.
        """
        W = np.random.default_rng(seed).normal(0, SPREAD, (len(self.bias), count)).astype(self.bias.dtype)
        c = np.full(count, -1, W.dtype)
        bias = self.bias - numpy_sigmoid(c) @ W.T
        return SemiRestricted(self.pairs, bias, np.hstack([self.weights, W]), np.concatenate([self.hidden, c]))

    def machine(self, names: Sequence[str] | None = None) -> BoltzmannMachine:
        """The network, of parameters around columns that are 0: columns first; what is not coupled has no edge."""
        n, k = self.weights.shape
        lower = np.zeros((n + k, n + k))
        lower[:n, :n], lower[n:, :n] = np.tril(self.pairs, -1), self.weights.T
        bias = np.concatenate([self.bias, self.hidden]).astype(float)
        named = machine_around(k, np.full(n, 0.5), 0, restricted=False, names=names).given_names
        return BoltzmannMachine(sp.csr_array(lower + lower.T), bias, names=named)


def log_neighbours(machine: SemiRestricted, V: Any, means: Any) -> Any:
    """sum_i ln P(v_i | all other columns) of rows: of a flip, the log-odds of both states of a column."""
    z, s = V - means, 1 - 2 * V
    a = z @ machine.weights + machine.hidden
    flipped = jax.nn.softplus(a[:, None] + s[:, :, None] * machine.weights) - jax.nn.softplus(a)[:, None]
    x = s * (z @ machine.pairs + machine.bias) + flipped.sum(axis=-1)
    return -jax.nn.softplus(x).sum(axis=-1)


def _neighbours_sums(machine: SemiRestricted, V: Any, counts: Any) -> tuple:
    """The pseudo-likelihood of weighted rows, and its gradient, with every pair of columns twice."""
    return jax.value_and_grad(lambda machine: log_neighbours(machine, V, 0.0) @ counts)(machine)


neighbours_sums = Program(_neighbours_sums)


class Penalties(NamedTuple):
    """sum l1 |w| + sum l2 w^2 / 2 over pairs, and hidden w^2 / 2 over the weights of hidden units, all per row."""

    l1: Any  # a number, or one for each pair
    l2: float
    hidden: float = 0.0

    @property
    def halved(self) -> "Penalties":
        """For ln P itself, as each pair stands twice in the pseudo-likelihood."""
        return Penalties(self.l1 / 2, self.l2 / 2, self.hidden / 2)

    def __str__(self) -> str:
        kind = "l1 about " if np.ndim(self.l1) else "l1="
        return f"{kind}{np.max(self.l1):.2g}, l2={max(self.l2, self.hidden):.2g}"


class Climb(NamedTuple):
    """Where a climb by steps of Adam is."""

    machine: SemiRestricted
    first: SemiRestricted
    second: SemiRestricted
    steps: Any

    @classmethod
    def begin(cls, machine: SemiRestricted) -> "Climb":
        zeros = SemiRestricted(*map(np.zeros_like, machine))
        return cls(machine, zeros, zeros, np.zeros((), machine.bias.dtype))


def moved(climb: Climb, slope: SemiRestricted, rate: Any, penalties: Penalties, xp: Any) -> Climb:
    """A step of Adam uphill, less penalties. Pairs that are not coupled stay so.

    With l1, a coupling that would change its sign becomes 0.
    """
    l1, l2, hidden = penalties
    old, steps = climb.machine, climb.steps + 1
    there = old.pairs != 0
    pull = (l2 * old.pairs + l1 * xp.sign(old.pairs), 0.0, hidden * old.weights, 0.0)
    slope = SemiRestricted(*(g - p for g, p in zip(slope, pull, strict=True)))
    slope = slope._replace(pairs=slope.pairs * there)
    first = [m + (1 - BETA_1) * (g - m) for m, g in zip(climb.first, slope, strict=True)]
    second = [v + (1 - BETA_2) * (g * g - v) for v, g in zip(climb.second, slope, strict=True)]
    rate = rate * xp.sqrt(1 - BETA_2**steps) / (1 - BETA_1**steps)
    new = SemiRestricted(*(w + rate * m / (xp.sqrt(v) + FLOOR) for w, m, v in zip(old, first, second, strict=True)))
    crossed = (new.pairs * old.pairs < 0) & (l1 > 0)
    new = new._replace(pairs=xp.where(crossed, 0.0, new.pairs).astype(old.pairs.dtype))
    return Climb(new, SemiRestricted(*first), SemiRestricted(*second), steps)


def _climbed(climb: Climb, V: Any, means: Any, batches: Any, rates: Any, penalties: Any) -> Climb:
    """After a step of the pseudo-likelihood for each batch of rows, by their indices."""

    def step(climb: Climb, what: tuple) -> tuple[Climb, None]:
        rows, rate = V[what[0].astype(jnp.int32)], what[1]
        slope = jax.grad(lambda machine: log_neighbours(machine, rows, means).mean())(climb.machine)
        return moved(climb, slope._replace(pairs=slope.pairs + slope.pairs.T), rate, penalties, jnp), None

    return jax.lax.scan(step, climb, (batches, rates))[0]


climbed = Program(_climbed)
