"""Sweeps of single-unit updates, compiled: all rows and chains at once.

The state is S, its fields x, and the logarithm L of every factor. Flipping a unit changes the fields of its children
alone, so that a visit costs one new factor for each child, and the change of their sum is the log-odds of the flip.
The current state has L above `LEAST`, which stands for ln 0, so that no difference is infinite; a state of probability
zero, if there must be one, is left as soon as a flip repairs one of its factors.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.networks.activations import Activation, sigmoid
from plefka.reduction.cutting import LEAST
from plefka.reduction.question import Question
from plefka.runtime.programs import Program
from plefka.sampling.state_weights import Target
from plefka.sampling.visits import Visits, padded, visits

SWEEPS_AT_ONCE = 50  # in one call, at most


class ChainFactors(NamedTuple):
    """What a question says of its units, and of some that fill up; arrays are (units, rows, 1)."""

    activation: Activation
    free: Any
    counted: Any
    tilt: Any


class Chains(NamedTuple):
    """Arrays (units, rows, columns)."""

    S: Any
    x: Any
    on: Any  # how many edges of probability one are on; None where there is no such edge


class Sampler:
    """A question laid out for sweeps."""

    def __init__(self, question: Question):
        self.target = target = Target(question)
        self.size = padded(question.size + 1)
        self.tables = visits(target.edges, np.flatnonzero(target.free.any(axis=1)))
        arrays = target.free, target.counted, target.tilt
        self.factors = ChainFactors(target.activation, *(self._filled(z)[:, :, None] for z in arrays))

    def _filled(self, z: np.ndarray) -> np.ndarray:
        return np.concatenate([z, np.zeros((self.size - len(z), *z.shape[1:]), z.dtype)])

    def swept(self, S: np.ndarray, count: int, key: np.ndarray, first: int) -> tuple[np.ndarray, np.ndarray]:
        """States (units, rows, columns) after sweeps number `first`, ..., and the sums over them of P(on | others)."""
        x, on = self.target.split(S)
        chains = Chains(self._filled(S), self._filled(x), None if on is None else self._filled(on))
        work = SWEEPS_AT_ONCE * sum(table.children.size for table in self.tables) * chains.S[0].size
        sums = np.zeros((self.target.size + 1, *S.shape[1:]))  # with a place for units that fill up
        for number in range(first, first + count, SWEEPS_AT_ONCE):
            some = number, min(SWEEPS_AT_ONCE, first + count - number)
            chains, found = _swept(self.factors, self.tables, chains, key, *some, work=work)
            for table, values in zip(self.tables, found, strict=True):
                sums[table.units] += values
        return np.array(chains.S[: self.target.size]), sums[:-1]


def _factor(f: Activation, x, on, S):
    x = f.clip(x if on is None else jnp.where(on > 0.5, jnp.inf, x))
    logs = jnp.where(S == 1, f.log_on(x), f.log_off(x))  # (4)
    return jnp.where(logs > LEAST, logs, LEAST)


def _sweep(
    factors: ChainFactors, tables: tuple[Visits, ...], chains: Chains, key: Any, first: Any, count: Any
) -> tuple[Chains, tuple]:
    """The chains after sweeps number `first`, ..., `count` of them in all, and the sums of P(on | others)."""
    sums = tuple(jnp.zeros((*table.units.shape, *chains.S.shape[1:])) for table in tables)
    key = jax.random.wrap_key_data(key, impl="threefry2x32")

    def sweep(k, carry):
        chains, sums = carry
        L = factors.counted * _factor(factors.activation, chains.x, chains.on, chains.S)
        keys = jax.random.split(jax.random.fold_in(key, first + k), len(tables))
        done = []
        for table, total_on, sub in zip(tables, sums, keys, strict=True):
            chains, L, on = _visit_all(factors, table, chains, L, sub)
            done.append(total_on + on)
        return chains, tuple(done)

    return jax.lax.fori_loop(0, count, sweep, (chains, sums))


_swept = Program(_sweep)


def _visit_all(factors: ChainFactors, table: Visits, chains: Chains, L, key):
    chance = jax.random.uniform(key, (*table.units.shape, *chains.S.shape[1:]))
    f = factors.activation

    def step(g, carry):
        S, x, on, L, probability = carry
        j, c = table.units[g], table.children[g]
        s, old, below = S[j], L[c], S[c]
        sign = 1 - 2 * s
        field = x[c] + table.weights[g] * sign[:, None]
        sure: Any = None if on is None else on[c] + table.certain[g] * sign[:, None]
        new = factors.counted[c] * _factor(f, field, sure, below)
        new = jax.lax.optimization_barrier(new)  # it is used twice, and would be computed as often
        own = _factor(f, x[j], None if on is None else on[j], 1 - s)
        p = sigmoid(sign * (own - L[j] + (new - old).sum(1)) + factors.tilt[j])
        flip = ((chance[g] < p) != (s == 1)) & factors.free[j]
        changed = flip[:, None]
        x = _put(x, c, jnp.where(changed, field, x[c]))
        on = None if on is None else _put(on, c, jnp.where(changed, sure, on[c]))
        L = _put(L, c, jnp.where(changed, new, old))
        L = _put(L, j, jnp.where(flip, own, L[j]))
        S = _put(S, j, jnp.where(flip, 1 - s, s))
        return S, x, on, L, probability.at[g].set(p)

    start = (chains.S, chains.x, chains.on, L, jnp.zeros_like(chance))
    S, x, on, L, probability = jax.lax.fori_loop(0, table.num_steps, step, start)
    return chains._replace(S=S, x=x, on=on), L, probability


def _put(z, index, values):
    return z.at[index].set(values, mode="promise_in_bounds")
