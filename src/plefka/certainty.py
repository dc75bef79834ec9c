"""What is certain in a noisy-or network: units that can only be on or off, and evidence that cannot be.

An edge of probability one switches its child on, so that a child that is off has no such parent that is on; and a unit
without leak is on only if a parent is. What follows from that is known as well as if it had been observed.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from plefka.activations import NoisyOr
from plefka.networks.arrows import forwards, with_ancestors
from plefka.precision import precision

if TYPE_CHECKING:
    from plefka.evidence import Evidence
    from plefka.networks.belief import BeliefNetwork


class Certain(NamedTuple):
    """What follows from rows of evidence."""

    known: Float[np.ndarray, "rows units"]  # the evidence with all that follows from it
    unexplained: Bool[np.ndarray, "rows units"]  # observed on, though nothing can switch it on
    contradicted: Bool[np.ndarray, "rows units"]  # observed off, though a parent switches it on
    loose: Bool[np.ndarray, "rows units"]  # hidden, with a hidden parent that would switch it on for certain

    @property
    def impossible(self) -> Bool[np.ndarray, " rows"]:
        """The rows that are seen to have probability zero."""
        return np.asarray((self.unexplained | self.contradicted).any(axis=1))


def certain(network: "BeliefNetwork", rows: Float[np.ndarray, "rows units"]) -> Certain:
    """What follows from rows of evidence; nothing does without a unit that has no leak or an edge that is certain."""
    decides = bool(np.any(network.bias == 0)) or any(np.isinf(w).any() for w in network.storage.leaves())
    if isinstance(network.activation, NoisyOr) and decides:
        with precision("float64"):
            return Certain(*(np.asarray(field).T for field in _follow(network.storage, network.bias, rows)))
    nothing = np.zeros(rows.shape, bool)
    return Certain(rows, nothing, nothing, nothing)


@jax.jit
def _follow(storage, bias, rows) -> tuple[Array, ...]:
    known, h = jnp.asarray(rows).T, jnp.atleast_2d(jnp.asarray(bias)).T
    sure = storage.map_weights(lambda w: jnp.isinf(jnp.asarray(w)) * 1.0).plain(1.0, len(rows))
    excitation = storage.map_weights(lambda w: jnp.maximum(jnp.asarray(w), 0)).plain(1.0, len(rows))
    nothing = jnp.zeros(known.shape)

    with_off = jnp.where(with_ancestors(sure, known == 0, jnp.isnan(known)), 0.0, known)
    may_be_on = forwards(excitation, h, lambda x: jnp.where(jnp.isnan(with_off), (x > 0) * 1.0, with_off), nothing)
    must_be_on = forwards(sure, jnp.zeros_like(h), lambda x: jnp.where(jnp.isnan(known), (x > 0) * 1.0, known), nothing)
    found = jnp.where(jnp.isnan(with_off) & (may_be_on == 0), 0.0, with_off)
    found = jnp.where(jnp.isnan(found) & (must_be_on == 1), 1.0, found)
    unexplained = (known == 1) & (h + excitation.field_of(may_be_on) <= 0)
    contradicted = (known == 0) & (sure.field_of(must_be_on) > 0)
    hidden = jnp.isnan(found)
    return found, unexplained, contradicted, hidden & (sure.field_of(hidden * 1.0) > 0)


def impossibilities(found: Certain) -> Iterator[tuple[np.ndarray, str, str]]:
    """Which units of which rows are impossible, why, and what to do."""
    why = "observed on, but has no leak and no cause that could be on"
    yield found.unexplained, why, "Give it a leak (a positive bias) or a possible cause"
    why = "observed off, but a cause that switches it on for certain is observed on"
    yield found.contradicted, why, "Correct the evidence or make the edge less than certain"


def with_certain(found: Certain, evidence: "Evidence") -> "Evidence":
    """The evidence with all that follows from it, in rows that are possible."""
    rows = np.where(found.impossible[:, None], evidence.rows, found.known)
    new = ~np.isnan(rows) & np.isnan(evidence.rows)
    if not new.any():
        return evidence
    if evidence.tilt is None:
        return evidence._replace(rows=rows)
    said = np.where(new & (rows == 1), evidence.tilt, 0.0).sum(1)
    return evidence._replace(rows=rows, tilt=np.where(new, 0.0, evidence.tilt), offset=evidence.offset + said)
