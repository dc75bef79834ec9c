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
        raise InvalidEvidence("do is for belief networks: a Boltzmann machine has no direction. Use evidence instead.")
    given = as_evidence(network, do)
    states, units = np.asarray(given.rows[0]), [network.index(unit) for unit in do]
    unsure = next((unit for unit in units if np.isnan(states[unit])), None)
    if unsure is not None or given.tilt is not None:
        name = network.names[units[0] if unsure is None else unsure]
        raise InvalidEvidence(f"do must set unit {name!r} to 0 or 1; got {do.get(name, 'a Likelihood')!r}.")
    check_not_observed(network, evidence, units)
    is_set = ~np.isnan(states)
    field, logs = _free_field(network.activation)
    own = sum(logs[int(states[unit])] for unit in units)
    rows = namespace(evidence.rows).where(is_set, states, evidence.rows)
    offset = (0.0 if evidence.offset is None else evidence.offset) + np.full(len(evidence.rows), -own)
    changed = cast(AnyNetwork, _without_parents(network, is_set, field))
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
    seen = () if is_traced(evidence.rows) else np.flatnonzero(np.asarray(evidence.informed).any(axis=0)).tolist()
    unit = next((unit for unit in units if unit in seen), None)
    if unit is not None:
        raise InvalidEvidence(
            f"unit {network.names[unit]!r} is set by do and must not be observed too. Leave it out of one of them."
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


def _without_parents(network: BeliefNetwork, units: np.ndarray, field: float) -> BeliefNetwork:
    """The network in which these units (n,) have no parents and this field; all others are as they were."""
    storage = network.storage
    into = storage.along(lambda child, parent: units[child] & (parent >= 0))
    weights = jax.tree.map(lambda w, gone: namespace(w).where(gone, 0.0, w), storage.parameters, into)
    changed = network.with_parameters((weights, namespace(network.bias).where(units, field, network.bias)))
    tables, kept = network.given_tables, network.conditionals
    if kept is not None:
        stay = np.flatnonzero(~units[np.asarray(kept.units)])
        numbers = np.split(np.asarray(kept.numbers), np.asarray(kept.starts)[1:-1])
        some = [numbers[k] for k in stay]
        kept = replace(
            kept, units=np.asarray(kept.units)[stay], kind=np.asarray(kept.kind)[stay],
            starts=np.cumsum([0, *map(len, some)]), numbers=np.concatenate([np.zeros(0), *some]),
        )  # fmt: skip
        changed = eqx.tree_at(lambda net: net.conditionals, changed, kept)
    if tables is None:
        return changed
    is_set, half = units.tolist(), np.array(0.5)
    parents = tuple(() if gone else some for gone, some in zip(is_set, tables.parents, strict=True))
    on = tuple(half if gone else some for gone, some in zip(is_set, tables.on, strict=True))
    return changed.with_tables(cast(Any, replace(tables, parents=parents, on=on)))
