"""One cause at a time: P(. | evidence, exactly one unit of a group is on), as a sum over who it is.

With one member on and the others off the group is observed: a row of evidence for each member. ln P of these rows is
added up, and their means are averaged with the weights that follow. Where no other hidden unit has children, the field
of every unit is known in each of these rows, and all of them are one pass over the edges of the group.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from plefka.errors import InvalidInput, listed
from plefka.inference.ranking import CAUSES, chosen_units
from plefka.methods.posterior import (
    CONVERGED,
    ESTIMATE,
    EXACT,
    IMPOSSIBLE,
    LOWER_BOUND,
    OBSERVED,
    UPPER_BOUND,
    RowAnswers,
    normalised,
)  # fmt: skip
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence, ExclusiveGroup
from plefka.networks.index_arrays import mask_of
from plefka.networks.network import Network
from plefka.runtime.precision import is_traced

MOST_NUMBERS = 2**24  # of rows and units that are answered at once
Solve = Callable[[Evidence], RowAnswers]


def with_group(network: Network, evidence: Evidence, exclusive: Any) -> Evidence:
    """The evidence with a group of units of which exactly one is on, or with None among them at most one."""
    if exclusive is None:
        return evidence
    if (isinstance(exclusive, str) and exclusive != CAUSES) or not isinstance(exclusive, str | Sequence):
        raise InvalidInput(f"exclusive must be 'causes' or a list of units, with None for none; got {exclusive!r}.")
    if network.stack is not None or is_traced(network, evidence):
        raise InvalidInput("exclusive is for one network, outside a trace of JAX. Ask about each network of a stack.")
    names = [exclusive] if isinstance(exclusive, str) else [unit for unit in exclusive if unit is not None]
    units = chosen_units(network, CAUSES if names == [CAUSES] else names)
    if len(units) < 2 or (len(units) < len(names) and names != [CAUSES]):
        raise InvalidInput(
            f"exclusive must name at least two units, each once; got {listed(map(repr, names)) or 'none'}."
        )
    members = mask_of(units, network.size)
    return evidence._replace(exclusive=ExclusiveGroup(members, not isinstance(exclusive, str) and None in exclusive))


def of_group(network: Network, evidence: Evidence, solve: Solve) -> RowAnswers:
    """The answers given that one unit of the group is on; `solve` answers rows in which the whole group is known."""
    one, group = evidence._replace(batched=True, exclusive=None), cast(ExclusiveGroup, evidence.exclusive)
    given = [one.take([row]) for row in range(len(evidence.rows))]
    return RowAnswers.join([_one_row(network, row, group, solve) for row in given])


def _one_row(network: Network, row: Evidence, group: ExclusiveGroup, solve: Solve) -> RowAnswers:
    members, seen = np.flatnonzero(group.units), np.asarray(row.rows[0])
    on, off = members[seen[members] == 1], members[seen[members] == 0]
    possible = np.setdiff1d(members, off) if not len(on) else on[: len(on) == 1]
    chosen = possible.tolist() + ([-1] if group.or_none and not len(on) else [])
    if not chosen:
        return _exactly(seen, -np.inf)
    states = np.where(group.units, 0.0, seen)
    if _fields_are_known(network, states):
        return _over_edges(network, row, states, np.array(chosen))
    size, parts = max(1, MOST_NUMBERS // network.size), []
    for first in range(0, len(chosen), size):
        some = np.array(chosen[first : first + size])
        rows = np.repeat(states[None], len(some), axis=0)
        rows[np.flatnonzero(some >= 0), some[some >= 0]] = 1.0
        parts.append(solve(row.take(np.zeros(len(some), int))._replace(rows=rows)))
    return _average(RowAnswers.join(parts))


def _average(found: RowAnswers) -> RowAnswers:
    """One row: the average over rows of which one holds, by their probability."""
    log_likelihood = -np.asarray(found.free_energy)
    total, weight = np.logaddexp.reduce(log_likelihood), normalised(log_likelihood, 0)
    if np.isneginf(total):
        return replace(found.take(np.arange(1)), proposals=())
    some, weight = found.take(np.flatnonzero(weight != 0)), weight[weight != 0]  # nan of a row without an answer too
    mean, changed = weight @ some.means, {}
    kinds = (kind for kind in (EXACT, LOWER_BOUND, UPPER_BOUND) if np.isin(found.accuracy, (EXACT, kind)).all())
    accuracy = next(kinds, ESTIMATE)
    unsettled = found.status[~np.isin(found.status, (CONVERGED, IMPOSSIBLE))]
    if some.error is not None and some.means_error is not None:
        error, errors = np.nan_to_num(some.error), np.nan_to_num(some.means_error)
        spread = errors**2 + (error[:, None] * (some.means - mean)) ** 2
        changed = {"error": np.sqrt(weight**2 @ error**2)[None], "means_error": np.sqrt(weight**2 @ spread)[None]}
    if some.predicted is not None:
        changed["predicted"] = some.predicted.any(axis=0)[None]
    exact = (accuracy == EXACT) & np.isin(some.means_accuracy, (EXACT, OBSERVED)).all(axis=0)
    return replace(
        some.take(np.array([int(weight.argmax())])), **changed, means=mean[None], free_energy=np.array([-total]),
        status=unsettled[:1] if len(unsettled) else np.array([CONVERGED]), accuracy=np.array([accuracy], np.uint8),
        means_accuracy=np.where(exact, EXACT, ESTIMATE)[None], proposals=(),
    )  # fmt: skip


# ---- one pass over the edges of the group ----------------------------------------------------------------------------


def _fields_are_known(network: Network, states: np.ndarray) -> bool:
    """Whether no hidden unit has children, so that nothing is left to sum over; tables of a file are more exact."""
    if not isinstance(network, BeliefNetwork) or network.given_tables is not None:
        return False
    return not np.isnan(states[network.storage.edge_list()[1]]).any()


def _over_edges(network: Any, row: Evidence, states: np.ndarray, chosen: np.ndarray) -> RowAnswers:
    """`states`: (n,), of the group all off; `chosen`: who may be on, -1 for nobody.

    With member k on ln P differs from that of nobody on by the terms of k and of its children alone.
    """
    f, (child, parent, weights) = network.activation, network.storage.edge_list()
    tilt = np.zeros(network.size) if row.tilt is None else np.asarray(row.tilt[0])
    on = states[parent] == 1
    field = np.asarray(network.bias, float) + np.bincount(child[on], weights[on, 0], network.size)
    place = np.full(network.size, -1)
    place[chosen[chosen >= 0]] = np.flatnonzero(chosen >= 0)
    some = place[parent] >= 0
    child, at, weight = child[some], place[parent[some]], weights[some, 0]

    def terms(x: np.ndarray, state: np.ndarray, tilt: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """What units in these states add to ln P, where nan is summed over, and ln of their means."""
        with np.errstate(divide="ignore", invalid="ignore"):
            log_on, log_off = np.asarray(f.log_on(f.clip(x))) + tilt, np.asarray(f.log_off(f.clip(x)))
            both = np.where(tilt == 0, 0.0, np.logaddexp(log_on, log_off))
            return np.where(state == 1, log_on, np.where(state == 0, log_off, both)), log_on - both

    def apart(x: np.ndarray) -> np.ndarray:
        """Finite numbers, and which are not, so that both can be added up and taken back: (2, ...)."""
        ruled_out = np.isneginf(x)
        return np.stack([np.where(ruled_out, 0.0, x), ruled_out])

    own, log_mean = terms(field, states, tilt)
    below, log_mean_below = terms(field[child] + weight, states[child], tilt[child])
    change = apart(below) - apart(own[child])
    added = np.stack([np.bincount(at, part, len(chosen)) for part in change]).astype(float)  # without edges, whole ones
    members = chosen[chosen >= 0]
    switched, _ = terms(field[members], np.ones(len(members)), tilt[members])
    added[:, chosen >= 0] += apart(switched) - apart(own[members])
    finite, ruled_out = apart(own).sum(axis=1)[:, None] + added
    log_likelihood = np.where(ruled_out > 0.5, -np.inf, finite)
    total, share = np.logaddexp.reduce(log_likelihood), normalised(log_likelihood, 0)
    if np.isneginf(total):
        return _exactly(np.asarray(row.rows[0]), total)
    mean = np.exp(log_mean)
    mean += np.bincount(child, share[at] * (np.exp(log_mean_below) - mean[child]), network.size)
    mean = np.where(np.isnan(states), np.clip(mean, 0.0, 1.0), states)
    mean[members] = share[chosen >= 0]
    return _exactly(mean, total)


def _exactly(means: np.ndarray, log_likelihood: float) -> RowAnswers:
    """One row that is known; -inf of one that is impossible."""
    zero, status = np.zeros(1, int), IMPOSSIBLE if np.isneginf(log_likelihood) else CONVERGED
    return RowAnswers(
        means[None], np.array([-log_likelihood]), np.array([status]), zero, zero, np.zeros(1),
        np.full(1, EXACT, np.uint8), np.full((1, len(means)), EXACT), predicted=np.zeros((1, len(means)), bool),
    )  # fmt: skip
