"""Sweeps of single-unit updates, compiled: all rows and columns (chains, or runs of annealing) at once.

The state is S, its fields x, and the logarithm L of every factor. Flipping a unit changes the fields of its children
alone, so that a visit costs one new factor for each child, and the change of their sum is the log-odds of the flip.
The current state has L above `LEAST`, which stands for ln 0, so that no difference is infinite; a state of probability
zero, if there must be one, is left as soon as a flip repairs one of its factors.

At inverse temperature beta, the logarithm l of a factor of the likelihood counts as max(beta l, -beta / (1 - beta)):
all of it at beta = 1, nothing at beta = 0, and between them a finding that no cause explains yet is improbable, but
not impossible, however certain the network is.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.activations import Activation, sigmoid
from plefka.sampling.target import LEAST, Target
from plefka.sampling.visits import Visits, padded, visits

SWEEPS_AT_ONCE = 50  # in one call, at most
SMALLEST = 16  # units, so that all small networks share a compiled sweep


class Problem(NamedTuple):
    """A target with its units padded, (units, rows, 1)."""

    free: Any
    counted: Any
    likelihood: Any  # the factors that are switched on by degrees
    tilt: Any


class State(NamedTuple):
    """Arrays (units, rows, columns); `gain` is (rows, columns), the logarithm of a run's weight so far."""

    S: Any
    x: Any
    on: Any  # how many edges of probability one are on
    gain: Any


class Sampler:
    """A target laid out for sweeps."""

    def __init__(self, target: Target):
        self.target = target
        self.size = max(SMALLEST, padded(target.size + 1))
        self.tables = visits(target)
        self.certain = bool(target.is_certain.any())
        pad = self._pad
        self.problem = Problem(pad(target.free), pad(target.counted), pad(target.observed), pad(target.tilt))

    def _pad(self, z: np.ndarray) -> np.ndarray:
        return np.concatenate([z, np.zeros((self.size - len(z), *z.shape[1:]), z.dtype)])[:, :, None]

    def state(self, S: np.ndarray, gain: np.ndarray | None = None) -> State:
        """From states (m, rows, columns) to all that is known about them."""
        rest = np.zeros((self.size - len(S), *S.shape[1:]))
        x, on = self.target.fields(S)
        S, x, on = (np.concatenate([z, rest]) for z in (S, x, on))
        return State(S, x, on, np.zeros(S.shape[1:]) if gain is None else gain)

    def states(self, state: State) -> np.ndarray:
        """The states (m, rows, columns) without the padding."""
        return np.asarray(state.S)[: self.target.size]

    def clamped(self, columns: int) -> State:
        """Observed units as observed, all others off."""
        S = np.nan_to_num(self.target.values)[:, :, None]
        return self.state(np.repeat(S, columns, axis=2))

    def advance(self, state: State, betas: np.ndarray, key, first: int, *, forwards: bool = False) -> tuple:
        """A sweep at each inverse temperature betas[1:], the weights moved to it from the one before.

        Returns the state and, for every table of visits, the sums over sweeps of P(on | all others). `forwards` leaves
        the children out of it, so that units are drawn from their parents. The random numbers are those of sweeps
        number `first` and on.
        """
        ladder = np.full(SWEEPS_AT_ONCE + 1, betas[-1])
        ladder[: len(betas)] = betas
        reach = 0.0 if forwards else 1.0
        return _advance(
            self.target.activation, self.problem, self.tables, state, ladder, reach, key, first, len(betas) - 1,
            certain=self.certain,
        )  # fmt: skip

    def by_unit(self, sums: tuple) -> np.ndarray:
        """What was gathered by visits, (m, rows, columns) in the order of the units; zero for those not visited."""
        out = np.zeros((self.target.size + 1, *sums[0].shape[2:]))
        for table, values in zip(self.tables, sums, strict=True):
            out[table.units] = np.asarray(values)
        return out[:-1]

    def log_weight(self, state: State) -> np.ndarray:
        """ln weight of every column but for the constant; below LEAST / 2 it is that of an impossible state."""
        return np.asarray(
            _log_weight(self.target.activation, self.problem, state, certain=self.certain),
        )


class Scale(NamedTuple):
    """How much of a factor's logarithm counts: max(share times it, floor); (units, rows, 1)."""

    share: Any
    floor: Any


def _scale(problem: Problem, beta) -> Scale:
    share = jnp.where(problem.likelihood, beta, 1.0) * problem.counted
    return Scale(share, jnp.where(problem.likelihood, _floor(beta), LEAST))


def _floor(beta):
    """-beta / (1 - beta), and that of ln 0 at the end."""
    return jnp.maximum(-beta / jnp.maximum(1 - beta, 1e-300), LEAST)


def _factor(activation: Activation, x, on, S, certain: bool):
    if certain:
        x = jnp.where(on > 0.5, jnp.inf, x)
    x = activation.clip(x)
    logs = jnp.where(S == 1, activation.log_on(x), activation.log_off(x))  # (4)
    return jnp.where(logs > LEAST, logs, LEAST)


def _factors(activation, problem: Problem, state: State, beta, certain):
    scale = _scale(problem, beta)
    return jnp.maximum(scale.share * _factor(activation, state.x, state.on, state.S, certain), scale.floor)


def _leaning(problem: Problem, beta):
    return jnp.maximum(beta * problem.tilt, _floor(beta))


def _total(activation, problem, state, beta, certain):
    """ln weight at beta, of the factors that beta acts on."""
    logs = jnp.where(problem.likelihood, _factors(activation, problem, state, beta, certain), 0.0)
    return (logs + jnp.where(problem.free, _leaning(problem, beta) * state.S, 0.0)).sum(0)


@partial(jax.jit, static_argnames=("certain",))
def _log_weight(activation, problem, state, *, certain):
    logs = _factors(activation, problem, state, jnp.ones(()), certain)
    return (logs + jnp.where(problem.free, problem.tilt * state.S, 0.0)).sum(0)


@partial(jax.jit, static_argnames=("certain",))
def _advance(activation, problem, tables, state, ladder, reach, key, first, count, *, certain):
    problem, tables, state = jax.tree.map(jnp.asarray, (problem, tables, state))
    sums = tuple(jnp.zeros((*table.units.shape, *state.S.shape[1:])) for table in tables)

    def one(k, carry):
        state, sums = carry
        before, beta = ladder[k], ladder[k + 1]
        total = partial(_total, activation, problem, state, certain=certain)
        gain = jnp.where(beta == before, 0.0, total(beta) - total(before))
        state = state._replace(gain=state.gain + gain)
        L = _factors(activation, problem, state, beta, certain)
        keys = jax.random.split(jax.random.fold_in(key, first + k), len(tables))
        done = []
        for table, total_on, sub in zip(tables, sums, keys, strict=True):
            state, L, on = _visit_all(activation, problem, table, state, L, beta, reach, sub, certain)
            done.append(total_on + on)
        return state, tuple(done)

    return jax.lax.fori_loop(0, count, one, (state, sums))


def _visit_all(activation, problem, table: Visits, state: State, L, beta, reach, key, certain):
    chance = jax.random.uniform(key, (*table.units.shape, *state.S.shape[1:]))
    scale, tilt, free = _scale(problem, beta), _leaning(problem, beta), problem.free

    def step(g, carry):
        S, x, on, L, probability = carry
        j, c = table.units[g], table.children[g]
        s, old, below = S[j], L[c], S[c]
        sign = 1 - 2 * s
        field = x[c] + table.weights[g] * sign[:, None]
        sure = on[c] + table.certain[g] * sign[:, None] if certain else 0.0
        new = jnp.maximum(scale.share[c] * _factor(activation, field, sure, below, certain), scale.floor[c])
        new = jax.lax.optimization_barrier(new)  # it is used twice, and would be computed as often
        own = _factor(activation, x[j], on[j], 1 - s, certain)
        odds = sign * (own - L[j] + reach * (new - old).sum(1)) + reach * tilt[j]
        p = sigmoid(odds)
        flip = ((chance[g] < p) != (s == 1)) & free[j]
        changed = flip[:, None]
        x = _put(x, c, jnp.where(changed, field, x[c]))
        on = _put(on, c, jnp.where(changed, sure, on[c])) if certain else on
        L = _put(L, c, jnp.where(changed, new, old))
        L = _put(L, j, jnp.where(flip, own, L[j]))
        S = _put(S, j, jnp.where(flip, 1 - s, s))
        return S, x, on, L, probability.at[g].set(p)

    start = (state.S, state.x, state.on, L, jnp.zeros_like(chance))
    S, x, on, L, probability = jax.lax.fori_loop(0, table.num_steps, step, start)
    return state._replace(S=S, x=x, on=on), L, probability


def _put(z, index, values):
    return z.at[index].set(values, mode="promise_in_bounds")
