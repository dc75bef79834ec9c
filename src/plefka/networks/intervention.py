"""do(a = 1): a unit is set from outside, so that its parents no longer act on it, before anything is observed.

In the network that remains the unit has no parents and is observed. What its own state adds to ln P is taken back, so
that P(evidence | do) is the product of the other units' probabilities alone.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar, cast

import equinox as eqx
import jax
import numpy as np

from plefka.errors import InvalidEvidence
from plefka.networks.activations import Activation, namespace
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.network import Network
from plefka.runtime.precision import is_traced

AnyNetwork = TypeVar("AnyNetwork", bound=Network)
FIELDS = (0.0, math.log(2), 1.0, -1.0)  # at one of them a unit of most activations may be on or off


def intervened(network: AnyNetwork, evidence: Evidence, do: Any) -> tuple[AnyNetwork, Evidence]:
    """The network without the edges to the units that are set, and the evidence with their states."""
    if do is None or (isinstance(do, Mapping) and not do):
        return network, evidence
    if not isinstance(do, Mapping):
        raise InvalidEvidence(f"do must be a dictionary {{unit: 0 or 1}} of what is set; got {type(do).__name__}.")
    if not isinstance(network, BeliefNetwork):
        raise InvalidEvidence(f"do is for belief networks: a {type(network).__name__} has no direction. Use evidence.")
    units, hierarchy = [network.index(unit) for unit in do], network.hierarchy
    if hierarchy is not None and np.isin(units, hierarchy.pairs).any():
        name = network.names[next(unit for unit in units if unit in hierarchy.pairs)]
        raise InvalidEvidence(f"do must not set a unit that implies others or is implied; got {name!r}. Observe it.")
    given = as_evidence(network, do)
    states = np.asarray(given.rows[0])
    is_set = ~np.isnan(states)
    if not is_set[units].all() or given.tilt is not None:
        raise InvalidEvidence(f"do must set every unit to 0 or 1; got {do!r}.")
    check_not_observed(network, evidence, units)
    field, logs = _free_field(network.activation)
    own = sum(logs[int(states[unit])] for unit in units)
    rows = namespace(evidence.rows).where(is_set, states, evidence.rows)
    offset = (0.0 if evidence.offset is None else evidence.offset) + np.full(len(evidence.rows), -own)
    changed = cast(AnyNetwork, without_parents(network, is_set, field))
    return changed, evidence._replace(rows=rows, offset=offset, intervened=states)


def interventions(network: Network, evidence: Evidence) -> tuple[str, ...]:
    """A note on what was set, 'do(a = 1, b = 0)', where something was."""
    if evidence.intervened is None:
        return ()
    states, words = evidence.intervened, cast(BeliefNetwork, network).states
    units = np.flatnonzero(~np.isnan(states)).tolist()
    names = [f"{network.names[unit]} = {words[unit][int(states[unit])]}" for unit in units]
    return (f"do({', '.join(names)}): the probabilities are those after this intervention",)


def check_not_observed(network: Network, evidence: Evidence, units: Any) -> None:
    """Nothing is observed of what is set, as far as that can be seen: not inside a trace."""
    seen = () if is_traced(evidence.rows) else np.flatnonzero(np.asarray(evidence.informed).any(axis=0))
    both = [network.names[unit] for unit in units if unit in seen]
    if both:
        raise InvalidEvidence(
            f"unit {both[0]!r} is set by do and must not be observed too. Leave it out of one of them."
        )


def _free_field(activation: Activation) -> tuple[float, tuple[float, float]]:
    """A field at which a unit may be off or on, and ln of both probabilities."""
    low, high = activation.domain
    with np.errstate(divide="ignore", invalid="ignore"):
        for x in FIELDS:
            if low <= x <= high:
                off, on = (float(np.asarray(log(np.array([x])))[0]) for log in (activation.log_off, activation.log_on))
                if math.isfinite(off) and math.isfinite(on):
                    return x, (off, on)
    raise InvalidEvidence(f"do needs an activation that is neither 0 nor 1 at one of the fields {FIELDS}.")


def without_parents(network: BeliefNetwork, units: np.ndarray, field: Any) -> BeliefNetwork:
    """The network in which these units (n,) have no parents and this field; all others are as they were."""
    storage = network.storage
    into = storage.along(lambda child, parent: units[child] & (parent >= 0))
    weights = jax.tree.map(lambda w, gone: namespace(w).where(gone, 0.0, w), storage.parameters, into)
    changed = network.with_parameters((weights, namespace(network.bias).where(units, field, network.bias)))
    tables, kept = network.given_tables, network.conditionals
    if kept is not None:  # a unit that is set is none of those that are kept as tables
        stay = ~units[np.asarray(kept.units)]
        counts = np.diff(kept.starts)
        changes = {"units": kept.units[stay], "kind": kept.kind[stay], "numbers": kept.numbers[np.repeat(stay, counts)]}
        kept = replace(kept, **changes, starts=np.cumsum([0, *counts[stay]]))
        changed = eqx.tree_at(lambda net: net.conditionals, changed, kept)
    if tables is None:
        return changed
    is_set, half = units.tolist(), np.array(0.5)
    parents = tuple(() if gone else some for gone, some in zip(is_set, tables.parents, strict=True))
    on = tuple(half if gone else some for gone, some in zip(is_set, tables.on, strict=True))
    return changed.with_tables(cast(Any, replace(tables, parents=parents, on=on)))
