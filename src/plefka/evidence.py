"""From what users have (nothing, a dictionary, an array, a DataFrame) to rows: a number per unit, nan where hidden."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import jax.numpy as jnp
import numpy as np

from plefka.activations import NoisyOr
from plefka.errors import InvalidEvidence, listed, nearest
from plefka.free_energies.problem import forwards, with_ancestors
from plefka.networks.belief import BeliefNetwork
from plefka.networks.storage import OpenStorage
from plefka.precision import is_traced, precision


def as_rows(network: BeliefNetwork, evidence: Any) -> tuple[Any, bool]:
    """Rows (B, n) with nan for hidden units, and whether a batch was asked for."""
    if evidence is None or isinstance(evidence, Mapping):
        rows = _from_mapping(network, evidence or {})
    elif hasattr(evidence, "columns"):
        rows = _from_frame(network, evidence)
    elif hasattr(evidence, "index") and hasattr(evidence, "items"):  # a Series: one row of a DataFrame
        rows = _from_frame(network, evidence.to_frame().T)[0]
    else:
        rows = _from_array(network, evidence)
    if rows.shape[0] == 0:
        raise InvalidEvidence(f"a batch of evidence must have a row; got shape {rows.shape}.")
    batched = rows.ndim == 2 or network.stack is not None
    rows = _one_per_network(network, rows[None] if rows.ndim == 1 else rows)
    if not is_traced(rows):
        _check_values(network, rows)
        if not batched and not is_traced(network):
            _check_possible(network, rows)
    return rows, batched


def _from_mapping(network: BeliefNetwork, evidence: Mapping) -> np.ndarray:
    row = np.full(network.size, np.nan)
    for unit, state in evidence.items():
        position = network.index(unit)
        if not np.isnan(row[position]):
            raise InvalidEvidence(f"unit {network.names[position]!r} is observed twice, by name and by index.")
        row[position] = _state(unit, state)
    return row


def _state(unit: Any, state: Any) -> float:
    try:
        number = float(state)
    except (TypeError, ValueError):
        number = np.nan
    if number not in (0.0, 1.0):
        raise InvalidEvidence(
            f"the state of unit {unit!r} must be 0 or 1; got {state!r}. Leave a unit out to keep it hidden."
        )
    return number


def _from_frame(network: BeliefNetwork, frame: Any) -> np.ndarray:
    positions = {name: position for position, name in enumerate(network.names)}
    unknown = [str(column) for column in frame.columns if str(column) not in positions]
    if unknown:
        raise InvalidEvidence(
            f"the columns of a DataFrame must be names of units; got {listed(unknown)}."
            + nearest(unknown[0], positions)
        )
    repeated = [name for name, count in Counter(map(str, frame.columns)).items() if count > 1]
    if repeated:
        raise InvalidEvidence(f"a DataFrame has one column for each unit; this column is there twice: {repeated[0]}.")
    rows = np.full((len(frame), network.size), np.nan)
    for column in frame.columns:
        rows[:, positions[str(column)]] = _numbers(frame[column].to_numpy(), column)
    return rows


def _numbers(values: Any, column: Any) -> np.ndarray:
    if values.dtype != object:
        with suppress(ValueError):
            return values.astype(float)
    found = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            found[row] = np.nan if value is None or type(value).__name__ in ("NAType", "NaTType") else value
        except (TypeError, ValueError):
            raise InvalidEvidence(f"the states of unit {str(column)!r} must be 0, 1 or nan; got {value!r}.") from None
    return found


def _from_array(network: BeliefNetwork, evidence: Any) -> Any:
    rows = evidence if is_traced(evidence) else _numbers_in_array(evidence)
    if rows.ndim not in (1, 2) or rows.shape[-1] != network.size:
        raise InvalidEvidence(
            f"an array of evidence has one column for each unit, shape ({network.size},) or (rows, {network.size}) "
            f"with nan for hidden units; got shape {rows.shape}."
        )
    return rows


def _numbers_in_array(evidence: Any) -> np.ndarray:
    try:
        if isinstance(evidence, np.ma.MaskedArray):
            return np.where(np.ma.getmaskarray(evidence), np.nan, np.asarray(evidence.data, dtype=float))
        return np.asarray(evidence, dtype=float)
    except (TypeError, ValueError):
        raise InvalidEvidence(
            "evidence is None, a dictionary {unit: 0 or 1}, an array with nan for hidden units, or a DataFrame; "
            f"got {type(evidence).__name__}: {str(evidence)[:60]!r}."
        ) from None


def _one_per_network(network: BeliefNetwork, rows: Any) -> Any:
    """A stack takes one row for all networks, or one row for each."""
    if network.stack is None or rows.shape[0] == network.stack:
        return rows
    if rows.shape[0] != 1:
        raise InvalidEvidence(
            f"a stack of {network.stack} networks takes one row of evidence, or {network.stack}; got {rows.shape[0]}."
        )
    broadcast = jnp.broadcast_to if is_traced(rows) else np.broadcast_to
    return broadcast(rows, (network.stack, network.size))


def _check_values(network: BeliefNetwork, rows: np.ndarray) -> None:
    odd = ~(np.isnan(rows) | (rows == 0) | (rows == 1))
    if odd.any():
        row, unit = np.argwhere(odd)[0]
        raise InvalidEvidence(
            f"evidence must be 0, 1 or nan (hidden); got {rows[row, unit]:g} for unit {network.names[unit]!r} "
            f"in row {row}."
        )


def _check_possible(network: BeliefNetwork, rows: np.ndarray) -> None:
    """Refuse evidence of probability zero, and say why it is that."""
    for wrong, why, advice in _impossibilities(network, rows):
        if wrong.any():
            unit = network.names[np.argwhere(wrong)[0][1]]
            raise InvalidEvidence(f"the evidence is impossible: unit {unit!r} is {why}. {advice}.")


def impossible_rows(network: BeliefNetwork, rows: np.ndarray) -> np.ndarray:
    """The rows of a batch that are seen to have probability zero."""
    found = np.zeros(len(rows), bool)
    for wrong, _, _ in _impossibilities(network, rows):
        found |= wrong.any(axis=1)
    return found


def _impossibilities(network: BeliefNetwork, rows: np.ndarray) -> Iterator[tuple[np.ndarray, str, str]]:
    """A noisy-or unit without leak is on only if a cause is; and off only if no certain cause is on.

    Which units of which rows are impossible, why, and what to do.
    """
    if not isinstance(network.activation, NoisyOr):
        return
    if np.any(network.bias == 0):
        why = "observed on, but has no leak and no cause that could be on"
        yield _unexplained(network, rows), why, "Give it a leak (a positive bias) or a possible cause"
    if any(np.isinf(values).any() for values in network.storage.leaves()):
        why = "observed off, but a cause that switches it on for certain is observed on"
        yield _contradicted(network, rows), why, "Correct the evidence or make the edge less than certain"


def _unexplained(network: BeliefNetwork, rows: np.ndarray) -> np.ndarray:
    """Observed on, though neither its leak nor any parent that could be on can switch it on."""
    with precision("float64"):
        known = jnp.asarray(rows).T
        surely_off = with_ancestors(_certain_edges(network), known == 0, jnp.isnan(known))
        known = jnp.where(surely_off, 0.0, known)
        h = jnp.atleast_2d(jnp.asarray(network.bias)).T
        excitation = network.storage.map_weights(lambda w: jnp.maximum(jnp.asarray(w), 0)).open(1, 1.0)

        def could_be_on(x):
            return jnp.where(jnp.isnan(known), (x > 0) * 1.0, known)

        on = forwards(excitation, h, could_be_on, jnp.zeros(known.shape))
        return np.asarray((known == 1) & (h + excitation.field_of(on) <= 0)).T


def _contradicted(network: BeliefNetwork, rows: np.ndarray) -> np.ndarray:
    """Observed off, though an ancestor that is observed on switches it on for certain."""
    with precision("float64"):
        known = jnp.asarray(rows).T
        certain = _certain_edges(network)

        def surely_on(x):
            return jnp.where(jnp.isnan(known), (x > 0) * 1.0, known)

        on = forwards(certain, jnp.zeros((network.size, 1)), surely_on, jnp.zeros(known.shape))
        return np.asarray((known == 0) & (certain.field_of(on) > 0)).T


def _certain_edges(network: BeliefNetwork) -> OpenStorage:
    """1 for an edge of probability one, 0 for all others."""
    return network.storage.map_weights(lambda w: jnp.isinf(jnp.asarray(w)) * 1.0).open(1, 1.0)
