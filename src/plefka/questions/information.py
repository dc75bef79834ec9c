"""How much units say about targets: mutual information, exactly from the chances of all outcomes, or estimated."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import entr, expit

from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList

CERTAIN = 700.0  # a field that makes a unit certain
TIE = 1e-9
RARE = 1e-5  # of numbers beside this part of which their difference has lost digits
TINY = 1e-280  # below which products with other chances have few digits
NUM_LEADING = 3


class Outcomes(NamedTuple):
    """Of sets of k units: P(outcome | evidence) and P(outcome, target on | evidence) of the 2^k outcomes.

    Bit j of the number of an outcome is 1 where unit j of the set is off.
    """

    chance: np.ndarray  # (sets, outcomes)
    on: np.ndarray  # (sets, outcomes, targets)
    exact: np.ndarray  # (sets,)
    reach: (
        np.ndarray
    )  # (sets, outcomes): how far ln P(outcome, evidence) may be off, in 95 of 100 cases; nan: not known

    @classmethod
    def exactly(cls, chance: np.ndarray, on: np.ndarray) -> "Outcomes":
        """From sums, whose differences may be below 0 by rounding."""
        chance = np.maximum(chance, 0.0)
        return cls(chance, np.maximum(on, 0.0), np.ones(len(chance), bool), np.zeros(chance.shape))

    @property
    def interval(self) -> np.ndarray:
        """(sets, 2): where P(the first of two outcomes | evidence) lies, low and high."""
        with np.errstate(divide="ignore"):
            log_odds = np.log(self.chance[:, 0]) - np.log(self.chance[:, 1])
        reach = np.hypot(*self.reach.T)
        ends = expit(np.stack([log_odds - reach, log_odds + reach], axis=-1))
        return np.where(reach[:, None] == 0, self.chance[:, :1], ends)

    def information(self) -> np.ndarray:
        """(sets,): the mutual information of the set with each target, summed over the targets."""
        return mutual_information(np.moveaxis(self.chance, 1, 0)[..., None], np.moveaxis(self.on, 1, 0)).sum(axis=-1)

    def have_lost_digits(self, of: np.ndarray | float) -> np.ndarray:
        """(sets,): whether what is told of them is the difference of numbers `of` that are far larger."""
        with np.errstate(invalid="ignore", divide="ignore"):
            then, now = self.on / self.chance[..., None], self.on.sum(axis=1, keepdims=True)
        least, moved = np.sort(then, axis=-1)[..., -NUM_LEADING:][..., :1], abs(then - now)
        told = (then >= least) | (moved == moved.max(axis=-1, keepdims=True))
        lost = told & (now > 0) & (self.on < RARE * of)
        return (self.chance.min(axis=1) < RARE) | lost.any(axis=(1, 2))


def mutual_information(chance: np.ndarray, on: np.ndarray) -> np.ndarray:
    """H(target) + H(outcome) - H(both), outcomes along the first axis."""
    now = np.clip(on.sum(axis=0), 0.0, 1.0)
    both = entr(np.maximum(on, 0.0)) + entr(np.maximum(chance - on, 0.0))
    return np.maximum(entr(now) + entr(1 - now) + entr(np.maximum(chance, 0.0)).sum(axis=0) - both.sum(axis=0), 0.0)


class SingleUnits(NamedTuple):
    """Candidates by themselves, arrays (units,), and the outcomes of some of them by their places."""

    units: np.ndarray
    information: np.ndarray
    off: np.ndarray  # P(off | evidence)
    outcomes: Callable[[np.ndarray], Outcomes]


def estimated_information(
    network: BeliefNetwork, means: np.ndarray, units: np.ndarray, about: np.ndarray
) -> np.ndarray:
    """(units,): what each says about targets that are its parents, were all parents independent of each other.

    Units of which this is the same are told apart by their own entropy, as none says more than that.
    """
    edges, h, f = EdgeList.of(network.storage), np.asarray(network.bias, float)[:, None], network.activation
    linear = np.broadcast_to(f.is_linear_off(h), h.shape)[:, 0]
    asked, target = np.isin(np.arange(network.size), units), np.isin(np.arange(network.size), about)
    known = asked & (linear | (network.conditionals is None))  # no table
    some = known[edges.child]
    child, parent, w = edges.child[some], edges.parent[some], np.minimum(edges.weight[some, 0], CERTAIN)
    u = np.nan_to_num(means[parent], nan=0.5)
    with np.errstate(divide="ignore"):
        adds = np.where(linear[child], np.minimum(-np.log1p(u * np.expm1(-w)), CERTAIN), w * u)
    field = h[:, 0] + np.bincount(child, adds, network.size)
    own = np.where(known, f.probability(f.clip(field)), np.nan_to_num(means, nan=0.5))
    some = target[parent]
    child, u, without = child[some], u[some], (field[child] - adds)[some]
    if_on, if_off = f.probability(f.clip(without + w[some])), f.probability(f.clip(without))
    chance = u * if_on + (1 - u) * if_off
    found = mutual_information(np.stack([chance, 1 - chance]), np.stack([u * if_on, u * (1 - if_on)]))
    found = np.bincount(child, found, network.size)
    return (found + TIE * (entr(own) + entr(1 - own)))[units]
