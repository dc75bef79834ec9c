"""What rows say of the probabilities in a network: priors, leaks and links of noisy-or units, and entries of tables.

Each is the probability of a coin that is thrown in every row in which it acts: a leak always does, a link where its
parent is on (of negative weight, off), an entry where the parents are in its state. A unit is on if one of the coins
that act shows on. So a unit that is off says off of all of them, and one that is on says on of the only one, or of one
of a set.
"""

from typing import Any, NamedTuple, cast

import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidInput
from plefka.networks.activations import Table, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import field
from plefka.networks.units import Unit
from plefka.tables.dataset import MISSING

LARGEST_LEAK = field(np.nextafter(1.0, 0.0))  # as a field


class Coins:
    """The probabilities of a network, (coins,), unit after unit: a leak and its links, or all entries of a table."""

    def __init__(self, network: BeliefNetwork):
        self.network, self.units, W = network, network.units, network.storage.to_sparse()
        self.parents = np.split(W.indices, W.indptr[1:-1])
        fields = [_fields(unit, name) for unit, name in zip(self.units, network.names, strict=True)]
        self.field, self.start = np.concatenate(fields), np.cumsum([0, *map(len, fields)])  # -ln(1 - p)
        self.unit = np.repeat(np.arange(network.size), np.diff(self.start))
        self.place = np.arange(len(self.field)) - self.start[self.unit]  # in its family; that of a leak is 0
        self.is_table = np.array([isinstance(unit.kind, Table) for unit in self.units])
        self.parent = np.full(len(self.field), -1)  # of links
        self.parent[(self.place > 0) & ~self.is_table[self.unit]] = W[~self.is_table].indices
        signs = np.concatenate([np.sign([1.0, *unit.weights]) for unit in self.units if unit.weights] or [[]])
        self.sign = np.ones(len(self.field))  # of a link: -1 acts where its parent is off
        self.sign[np.isin(self.unit, [k for k, unit in enumerate(self.units) if unit.weights])] = signs
        order = np.argsort(self.parent, kind="stable")
        self.acting = [order[(self.parent[order] >= 0) & (self.sign[order] == sign)] for sign in (-1, 1)]  # by state

    def network_with(self, fields: np.ndarray) -> BeliefNetwork:
        """The network with other probabilities."""
        network, finite = self.network, np.minimum(fields, LARGEST_LEAK)
        leaks = finite[self.start[:-1]] + np.bincount(self.unit, finite * (self.sign < 0))
        fields = np.where(self.sign < 0, -finite, fields)
        if network.conditionals is None and network.activation.has_linear_log_off:
            links, at = np.append(fields[self.parent >= 0], 0.0), self.unit * network.size + self.parent
            keys = np.append(at[self.parent >= 0], network.size**2)

            def weight(child: Any, parent: Any) -> np.ndarray:
                at = np.searchsorted(keys, child * network.size + parent)
                return links[np.where(keys[at] == child * network.size + parent, at, -1)]

            return network.with_parameters((network.storage.along(weight), leaks))
        families = zip(self.units, np.split(fields, self.start[1:-1]), leaks.tolist(), strict=True)
        found = BeliefNetwork.of_units([_unit(*family) for family in families], states=network.given_states)
        return found if network.hierarchy is None else found.with_implies(network.hierarchy.part(np.arange(found.size)))

    def cases(self, states: np.ndarray) -> "Cases":
        """Of states (cases, units): 0, 1, or MISSING where nothing below is known; parents of known units are known."""
        size, (case, unit) = len(states), np.nonzero((states != MISSING) & ~self.is_table)
        coin = self.start[unit]
        for state, links in enumerate(self.acting):
            on, parent = np.nonzero(states == state) if len(links) else 2 * [np.zeros(0, int)]
            first, last = np.searchsorted(self.parent[links], [parent, parent + 1])
            count = last - first
            more = links[np.repeat(last - np.cumsum(count), count) + np.arange(count.sum())]
            case, coin = np.append(case, np.repeat(on, count)), np.append(coin, more)
        for unit in np.flatnonzero(self.is_table):
            known, parents = np.flatnonzero(states[:, unit] != MISSING), self.parents[unit]
            entry = states[np.ix_(known, parents)] @ 2 ** np.arange(len(parents))[::-1]
            case, coin = np.append(case, known), np.append(coin, self.start[unit] + entry)
        acts = states[case, self.unit[coin]] != MISSING
        case, coin = case[acts], coin[acts]
        is_on = states[case, self.unit[coin]] == 1
        off, (case, coin) = (case[~is_on], coin[~is_on]), (z[is_on & (self.field[coin] > 0)] for z in (case, coin))
        event, number, acting = np.unique(case + self.unit[coin] * size, return_inverse=True, return_counts=True)
        event %= max(size, 1)
        possible = np.bincount(event, minlength=size) == (states == 1).sum(axis=1)
        possible[off[0][np.isinf(self.field[off[1]])]] = False
        is_set, shape = acting > 1, (size, len(self.field))
        is_set[number[np.isinf(self.field[coin])]] = False  # what is certain explains all, and others say nothing
        several, alone = is_set[number], acting[number] == 1
        ends = (np.cumsum(is_set) - 1)[number[several]], coin[several]
        sets = _ones(ends, (np.count_nonzero(is_set), len(self.field)))
        members = _ones((event[is_set], np.arange(sets.shape[0])), (size, sets.shape[0]))
        return Cases(_ones((case[alone], coin[alone]), shape), _ones(off, shape), sets, members, possible)


def _fields(unit: Unit, name: str) -> np.ndarray:
    if isinstance(unit.kind, Table):
        return field(unit.kind.probabilities.ravel())
    kind = as_activation(unit.kind)
    if kind.has_linear_log_odds and not unit.parents:
        return np.logaddexp(0.0, [unit.bias])
    if not kind.has_linear_log_off:
        raise InvalidInput(
            f"prior is for noisy-or units, tables and units without parents; unit {name!r} is none of these "
            f"({kind.name}). Leave prior out to learn by gradient steps."
        )
    return np.array([max(unit.bias + sum(w for w in unit.weights if w < 0), 0.0), *map(abs, unit.weights)])


def _unit(unit: Unit, fields: np.ndarray, leak: float) -> Unit:
    if isinstance(unit.kind, Table):
        return unit._replace(kind=Table(-np.expm1(-fields).reshape(unit.kind.probabilities.shape)))
    bias = float(np.log(np.expm1(leak))) if as_activation(unit.kind).has_linear_log_odds else leak
    return unit._replace(bias=bias, weights=tuple(fields[1:].tolist()))


def one_of_them_on(members: np.ndarray, one_of: np.ndarray) -> np.ndarray:
    """Of sets of coins one of which was on so often: times p, how often a coin of the set was on.

    It was with probability p / P(one of them is on).
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(members > 0, members / one_of, 0.0)


def _ones(ends: tuple[np.ndarray, np.ndarray], shape: Any) -> Any:
    return sp.csr_array((np.ones(len(ends[0])), ends), shape=shape)


class Cases(NamedTuple):
    """How often each case has shown a coin on and off, (cases, coins), and one of a set of coins on, (cases, sets)."""

    on: Any  # matrices of SciPy
    off: Any
    sets: Any  # (sets, coins)
    members: Any
    possible: np.ndarray  # (cases,), bool

    def joined(self, *others: "Cases") -> "Cases":
        """With other cases. Every set is there once, in an order of its own; sums of 63 bits tell them apart."""
        on, off, sets, members, possible = zip(self, *others, strict=True)
        sets, keys = (
            cast(Any, sp.vstack(sets, "csr")),
            np.random.default_rng(0).integers(1, 2**63, self.on.shape[1], np.uint64),
        )
        _, first, which = np.unique(sets.astype(np.uint64) @ keys, return_index=True, return_inverse=True)
        merged = sp.block_diag(members, "csr") @ _ones((np.arange(len(which)), which), (len(which), len(first)))
        return Cases(sp.vstack(on, "csr"), sp.vstack(off, "csr"), sets[first], merged, np.concatenate(possible))

    def summed(self, weights: np.ndarray) -> "Cases":
        """As one case."""
        on, off, members = (sp.csr_array((weights @ z)[None]) for z in (self.on, self.off, self.members))
        return Cases(on, off, self.sets, members, np.ones(1, bool))

    def log_joint(self, fields: np.ndarray) -> np.ndarray:
        """ln P of each case."""
        with np.errstate(divide="ignore"):
            on, one_of = (np.log(-np.expm1(-z)) for z in (fields, self.sets @ fields))
        return np.where(self.possible, self.on @ on - self.off @ fields + self.members @ one_of, -np.inf)
