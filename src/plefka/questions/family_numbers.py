"""Units with tables, sigmoids and other activations: what P(evidence) makes of their numbers."""

from collections.abc import Iterator
from typing import Any, NamedTuple, cast

import jax.numpy as jnp
import numpy as np

from plefka.networks.activations import Activation, Table, as_activation
from plefka.networks.activations.activation import derivatives
from plefka.networks.belief import BeliefNetwork
from plefka.networks.fields import bits
from plefka.networks.units import units_of
from plefka.questions.noisy_or_numbers import NOTHING, Lines, NetworkNumbers, NoisyOrNumbers
from plefka.runtime.precision import precision


def moved_numbers(
    network: BeliefNetwork, found: NoisyOrNumbers, factor: float, log_scale: float = 0.0
) -> NetworkNumbers:
    """All numbers of a network, with odds that change by up to the factor; nan in rows that are impossible.

    `log_scale`: ln of what slopes are multiplied by, which may overflow without it.
    """
    with np.errstate(invalid="ignore", over="ignore"):
        numbers = [found.leaks().moved(factor, log_scale), found.links().moved(factor, log_scale)]
        numbers += [family.moved(factor, log_scale) for family in _families(network, found)]
    return NetworkNumbers(*(np.concatenate(fields) for fields in zip(*numbers, strict=True)))


def _families(network: BeliefNetwork, found: NoisyOrNumbers) -> "Iterator[Family]":
    """Of all units but the noisy-or units that have fields."""
    units = np.flatnonzero(~found.linear)
    given = None if network.conditionals is None else list(units_of(network))
    order, table = np.argsort(found.child, kind="stable"), 0
    first, last = (np.searchsorted(found.child[order], units, side) for side in ("left", "right"))
    for unit, into in zip(units.tolist(), (order[a:b] for a, b in zip(first, last, strict=True)), strict=True):
        kind, numbers, parents = network.activation, np.array([found.h[unit], *found.w[into]]), found.parent[into]
        is_table = given is not None and isinstance(given[unit].kind, Table)
        if given is not None and not is_table:
            weight_of = dict(zip(map(network.index, given[unit].parents), given[unit].weights, strict=True))
            kind = as_activation(cast(Any, given[unit].kind))
            numbers = np.array([given[unit].bias, *(weight_of[parent] for parent in parents.tolist())])
        free, outside = found.free[parents], found.entries[:, unit, None]
        states = np.nan_to_num(found.values[parents])[:, None]
        if found.counted[unit] and free.any():
            states = np.repeat(states, 2 ** free.sum(), axis=1)
            states[free] = bits(np.arange(states.shape[1]), np.arange(free.sum())[::-1])
            outside = np.full((2, states.shape[1], found.shape[1]), NOTHING)
            here = [0, 1] if found.free[unit] else [int(found.values[unit])]
            outside[here] = found.outside.table[table].reshape(-1, *outside.shape[1:])
            table += 1
        yield Family(unit, kind, numbers, parents, states, outside, bool(found.counted[unit]), is_table)


class Family(NamedTuple):
    """A unit, its numbers, and what all else says of its states and those of its parents."""

    unit: int
    kind: Activation
    numbers: np.ndarray  # bias and weights; of a table those that spell its entries
    parents: np.ndarray
    states: np.ndarray  # (parents, states): those of known parents do not change
    outside: np.ndarray  # (2, states, rows): ln, divided by P, of the unit's being off and on
    counted: bool  # whether anything depends on it
    is_table: bool

    def moved(self, factor: float, log_scale: float) -> NetworkNumbers:
        if not len(self.parents):
            return self._lines(["prior"], self.numbers, self.outside, [self.counted]).moved(factor, log_scale)
        if self.is_table:
            return self._entries().moved(factor, log_scale)
        if self.kind.has_linear_log_off:
            return self._links().moved(factor, log_scale)
        return self._curves(factor, log_scale)

    def _entries(self) -> Lines:
        """Those of a table, each with a field of its own: see plefka.networks.activations.mixed."""
        x = self.numbers[0] - np.arange(2.0 ** len(self.parents))
        place = -(self.numbers[1:] @ self.states).astype(int)
        outside, always = np.full((2, len(x), self.outside.shape[2]), NOTHING), np.zeros(len(x), bool)
        outside[:, place], always[place] = self.outside, self.counted and len(place) == 1
        return self._lines(np.full(len(x), "entry"), x, outside, always)._replace(
            parent=np.full(len(x), -1), entry=np.arange(len(x))
        )

    def _links(self) -> Lines:
        """A leak and links that are kept as a table: those of negative weight act where the parent is off."""
        weights, (off, on) = self.numbers[1:], self.outside
        numbers = np.array([self.numbers[0] + np.minimum(weights, 0.0).sum(), *abs(weights)])
        acts = np.vstack([np.ones((1, len(off))), self.states == (weights > 0)[:, None]])
        certain = np.isinf(numbers)
        finite = np.where(certain, 0.0, numbers)
        rest = finite @ acts - acts * finite[:, None]
        rest = np.where(certain @ acts - acts * certain[:, None] > 0, np.inf, rest)
        both = np.stack([NoisyOrNumbers.if_off(off, on, rest), np.broadcast_to(on, (*rest.shape, on.shape[-1]))])
        both = np.logaddexp.reduce(np.where(acts[..., None] == 1, both, NOTHING), axis=2)
        return self._lines(["leak", *["link"] * len(weights)], numbers, both, self.counted & (acts == 1).all(axis=1))

    def _lines(self, kinds: object, x: np.ndarray, outside: np.ndarray, always: object) -> Lines:
        none, parents = np.full(len(x), -1), np.array([-1, *self.parents])
        log_on, log_off = self.kind.log_on(x), self.kind.log_off(x)
        off, on = outside
        return Lines(np.array(kinds), none * 0 + self.unit, parents, none, log_on, log_off, on, off, np.array(always))

    def _curves(self, factor: float, log_scale: float) -> NetworkNumbers:
        """A bias and weights: ln(factor) is subtracted, and added."""
        along, step = np.vstack([np.ones((1, self.states.shape[1])), self.states]), np.log(factor)
        x, none = self.numbers @ along, np.full(len(along), -1)
        by_state = (self._parts(x) * np.array(self._slopes(x))[..., None]).sum(axis=0)
        ends = ([self._parts(self.kind.clip(x + sign * step * z)).sum(axis=(0, 1)) for z in along] for sign in (-1, 1))
        low, high = (np.array(end) if self.counted else np.ones(np.shape(end)) for end in ends)
        return NetworkNumbers(
            np.array(["bias", *["weight"] * len(self.parents)]), none * 0 + self.unit, np.array([-1, *self.parents]),
            none, none * np.nan, none * np.nan, self.numbers, self.numbers - step, self.numbers + step,
            np.exp(log_scale) * (along @ by_state), low, high, low * np.nan, low * np.nan, none == 0,
        )  # fmt: skip

    def _parts(self, x: np.ndarray) -> np.ndarray:
        """The parts of P with these fields, divided by P."""
        return np.exp(self.outside + np.array([self.kind.log_off(x), self.kind.log_on(x)])[..., None])

    def _slopes(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The derivatives of ln P(off) and ln P(on) by the field."""
        if self.kind.has_linear_log_odds:
            return -np.exp(self.kind.log_on(x)), np.exp(self.kind.log_off(x))
        with precision("float64"):
            slopes = (derivatives(log, jnp.asarray(x), 1)[1] for log in (self.kind.log_off, self.kind.log_on))
            of_off, of_on = map(np.asarray, slopes)
        return of_off, of_on
