"""Boltzmann machines of columns that are coupled to each other, and of hidden units that are coupled to columns alone.

Hidden units are summed out: ln P(v) + ln Z = b z + z'L z / 2 + sum_j ln(1 + exp(c_j + W_j z)), with z = v - m. The
means m of the data are taken off so that the steps of weights do not move the log-odds of columns by themselves.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp

from plefka.ensembles import machine_around
from plefka.networks.activations import numpy_sigmoid, numpy_softplus
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.runtime.programs import Program
from plefka.sampling.free_states import chances

BATCH, BETA_1, BETA_2, FLOOR = 256, 0.9, 0.998, 1e-6  # rows of a step; Adam's numbers
STATES, ROWS = 1000, 4096  # of a step: chains, and rows whose hidden units are averaged
RATE, WARM = 7e-4, 50  # of these steps, and the first of them, which are smaller
AVERAGED_PART = 0.2  # the part of them that is averaged, about
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


class CompleteRows(NamedTuple):
    """Distinct complete rows with their shares, and the means of the columns."""

    V: np.ndarray  # float32
    shares: np.ndarray
    means: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray, counts: np.ndarray) -> "CompleteRows":
        V, shares = values.astype(np.float32), (counts / counts.sum()).astype(np.float32)
        return cls(V, shares, (shares @ V).astype(np.float32))

    def drawn(self, rng: np.random.Generator, shape: Any) -> np.ndarray:
        """Numbers of rows."""
        return rng.choice(len(self.V), shape, p=self.shares / self.shares.sum(dtype=float))


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


# ---- maximum likelihood ----------------------------------------------------------------------------------------------


def seconds_of_a_step(columns: int, hidden: int, rows: int) -> float:
    """What a step takes, about, on one core of 2024."""
    products = 1e-10 * (STATES * columns * (columns + 2 * hidden) + 2 * min(rows, ROWS) * columns * hidden)
    return 1.5e-5 * columns + 0.7 * products + 7e-9 * (STATES * (columns + hidden) + min(rows, ROWS) * hidden) + 3e-4


def polished(
    machine: SemiRestricted, columns: CompleteRows, penalties: Penalties, steps: int, seed: int, parts: int = 4
) -> Iterator[SemiRestricted]:
    """The averaged machine after every part of the steps; all parameters are around the means of the columns.

    It climbs ln P itself: averages of the data less those of the machine, in small steps. The machine's averages are
    those of persistent chains, whose hidden units are drawn together and whose columns one after another. Steps fall to
    nothing, and the result is the average over the later ones, as they are random.
    """
    rng = np.random.default_rng([seed, 1])
    z, w = columns.V - columns.means, columns.shares
    free, climb, average, pairs = FreeChains(columns, rng), Climb.begin(machine), machine, (z.T * w) @ z
    for step in range(1, steps + 1):
        some = slice(None) if len(z) <= ROWS else columns.drawn(rng, ROWS)
        data = averages(climb.machine, z[some], w if len(z) <= ROWS else np.full(ROWS, 1 / ROWS, np.float32), pairs)
        slope = SemiRestricted(*(d - f for d, f in zip(data, free.averages(climb.machine), strict=True)))
        if len(z) > ROWS:  # known without the noise of some rows
            slope = slope._replace(bias=slope.bias - data.bias)
        np.fill_diagonal(slope.pairs, 0)
        now = np.float32(RATE * min(1.0, step / WARM, 1.4 * (1.02 - step / steps)))
        climb = moved(climb, slope, now, penalties, np)
        kept = np.float32(1 / (1 + AVERAGED_PART * step))
        average = SemiRestricted(*(a + kept * (new - a) for a, new in zip(average, climb.machine, strict=True)))
        if step % max(steps // parts, 1) == 0:
            yield average


def averages(machine: SemiRestricted, z: np.ndarray, w: np.ndarray, pairs: Any = None) -> SemiRestricted:
    """Of z z', z, z h and h over weighted states, which are what the parameters multiply."""
    h = chances(z @ machine.weights + machine.hidden)
    weighted = z * w[:, None]
    return SemiRestricted(weighted.T @ z if pairs is None else pairs, w @ z, weighted.T @ h, w @ h)


class FreeChains:
    """The machine's averages by chains that go on from step to step; they begin at rows."""

    def __init__(self, columns: CompleteRows, rng: np.random.Generator):
        self.rng, self.means = rng, columns.means
        self.V = columns.V[columns.drawn(rng, STATES)].T.copy()  # (columns, chains)
        self.share = np.full(STATES, 1 / STATES, np.float32)

    def averages(self, machine: SemiRestricted) -> SemiRestricted:
        """After hidden units, every column is drawn in place: on where a random log-odds is below its own."""
        L, b, W, c = machine.around(-self.means)
        H = self.rng.random((len(c), STATES), np.float32) < chances(W.T @ self.V + c[:, None])
        logistic = -np.log(1 / (self.rng.random(self.V.shape, np.float32) * 0.999999 + 5e-7) - 1)
        threshold = logistic - b[:, None] - W @ H.astype(np.float32)
        for unit in range(len(b)):
            self.V[unit] = L[unit] @ self.V > threshold[unit]
        return averages(machine, self.V.T - self.means, self.share)
