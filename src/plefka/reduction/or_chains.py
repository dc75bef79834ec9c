"""Chains of ORs: hidden noisy-or units whose only child is on for certain where they are.

Others' files have a finding of many causes as a chain of binary ORs. Where the last of it was observed on, a unit u of
the chain with the link u -> c of probability one is folded into c: P(c off) = P(u off) P(no other link acts), so that
its causes and its leak become those of c. That is exact, and the finding has its many causes again. Where nothing is
known below a chain, each of its units has the causes of all units above it in the chain instead.
"""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.reduction.certainty import certain


class OrChain(NamedTuple):
    """Units that were folded into a finding, each the only child of the one before it that matters.

    A cause, or a leak, that switches on the unit at place k, but none before it, has rank k.
    """

    finding: int
    units: list[int]
    rank_of_cause: dict[int, int]
    leaks: list[tuple[int, float]]  # the ranks and fields of leaks; what is no part of the chain has a rank beyond it


class FoldedChains(NamedTuple):
    """A network with the same units, of which those that were folded are alone, and all that is known of it."""

    network: BeliefNetwork
    evidence: Evidence
    chains: list[OrChain]


def folded_chains(network: BeliefNetwork, evidence: Evidence) -> FoldedChains | None:
    """The network of a single row without its chains of ORs; None where there are none that can be folded."""
    if network.activation.name != "noisy_or" or network.stack is not None or len(evidence.rows) != 1:
        return None
    edges, h = EdgeList.of(network.storage), np.asarray(network.bias, float)
    sure = certain(edges, h[:, None], network.activation, np.asarray(evidence.rows, float).T)
    if sure.impossible.any():
        return None
    known, tilted = sure.known[:, 0], np.zeros(len(h), bool) if evidence.tilt is None else evidence.tilt[0] != 0
    child, parent, weight = edges.child, edges.parent, edges.weight[:, 0]
    below, end = _ends(edges, np.isnan(known) & ~tilted)
    explained = np.isinf(h) | (np.bincount(child, np.isinf(weight) & (known[parent] == 1), len(h)) > 0)
    counted = edges.with_ancestors((~np.isnan(known) | tilted)[:, None])[:, 0]
    into_known = (below >= 0) & (known[end] == 1) & ~explained[end]
    free = explained & (known == 1) | ~counted  # whose parents are not known better by them
    flat = (below >= 0) & free[end]
    if not (into_known | flat).any():
        return None
    direct = ~(into_known | flat)[parent]  # links that are no part of a chain
    new = [(np.where(into_known[child], end[child], child)[direct], parent[direct], weight[direct])]
    bias = h.copy()
    np.add.at(bias, end[into_known], h[into_known])
    bias[into_known] = 0.0
    new += _flattened(edges, below, flat, bias, direct)
    to, of, strength = (np.concatenate(z) for z in zip(*new, strict=True))
    stays = ~(free & ~np.isnan(known))[to]  # a finding that is explained for certain says nothing of its other causes
    stays |= np.isinf(strength) & (known[of] == 1)
    W = sp.coo_array((strength[stays], (to[stays], of[stays])), shape=(len(h),) * 2)
    if len(np.unique(to[stays] * len(h) + of[stays])) < stays.sum():
        return None  # a cause that is twice in a chain would have two ranks
    network = BeliefNetwork(W.tocsr(), bias, network.activation)
    rows = np.where(np.isnan(evidence.rows), known, evidence.rows)
    return FoldedChains(network, evidence._replace(rows=rows), _chains(edges, h, below, end, into_known))


def _ends(edges: EdgeList, may_fold: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The child that each unit of a chain is folded into, or -1, and the unit below all of the chain."""
    child, parent, weight = edges.child, edges.parent, edges.weight[:, 0]
    num_children, has_parents = np.bincount(parent, minlength=edges.size), np.bincount(child, minlength=edges.size) > 0
    inhibited = np.bincount(child, weight < 0, edges.size) > 0
    folds = (
        (may_fold & has_parents & ~inhibited & (num_children == 1))[parent] & np.isposinf(weight) & ~inhibited[child]
    )
    below = np.full(edges.size, -1)
    below[parent[folds]] = child[folds]
    end = np.where(below >= 0, below, np.arange(edges.size))
    while (end[end] != end).any():
        end = end[end]
    return below, end


def _flattened(edges: EdgeList, below: np.ndarray, flat: np.ndarray, bias: np.ndarray, direct: np.ndarray) -> list:
    """Links from causes of units that nothing is known of to all units below these in the chain; biases are added."""
    found, at, given = [], np.arange(edges.size), bias.copy()
    at[~flat] = -1
    while (at >= 0).any():
        at = np.where(at >= 0, below[at], -1)
        passed = np.flatnonzero(at >= 0)
        np.add.at(bias, at[passed], given[passed])
        links = np.flatnonzero(direct & (at[edges.child] >= 0))
        found.append((at[edges.child[links]], edges.parent[links], edges.weight[links, 0]))
        at = np.where((at >= 0) & flat[at], at, -1)
    return found


def _chains(edges: EdgeList, h: np.ndarray, below: np.ndarray, end: np.ndarray, folded: np.ndarray) -> list[OrChain]:
    """Every folded unit in one chain, the longest first."""
    depth, at = folded * 0, np.arange(edges.size)
    while (inside := folded[at]).any():
        depth, at = depth + inside, np.where(inside, below[at], at)
    causes: dict[int, list[int]] = {}
    for child, parent in zip(edges.child.tolist(), edges.parent.tolist(), strict=True):
        causes.setdefault(child, []).extend([] if folded[parent] else [parent])
    done, found = np.zeros(edges.size, bool), []
    for first in sorted(np.flatnonzero(folded).tolist(), key=lambda unit: -depth[unit]):
        if done[first]:
            continue
        path = [first]
        while folded[unit := int(below[path[-1]])] and not done[unit]:
            path.append(unit)
        done[path], finding = True, int(end[first])
        rank = {finding: len(path)}
        members = np.flatnonzero(folded & (end == finding))
        for unit in members[np.argsort(depth[members])].tolist():  # those that are closest to the finding first
            rank[unit] = path.index(unit) if unit in path else rank[int(below[unit])]
        of_cause = {cause: place for unit, place in rank.items() for cause in causes.get(unit, ())}
        leaks = [(place, float(h[unit])) for unit, place in rank.items()]
        found.append(OrChain(finding, path, of_cause, leaks))
    return found
