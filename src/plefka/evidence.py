"""From what users have (nothing, a dictionary, an array, a DataFrame) to rows: a number per unit, nan where hidden."""

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from plefka.activations import NoisyOr
from plefka.errors import InvalidEvidence, listed, nearest
from plefka.free_energies.problem import forwards
from plefka.networks.belief import BeliefNetwork
from plefka.precision import is_traced, precision


def as_rows(network: BeliefNetwork, evidence: Any) -> tuple[Any, bool]:
    """Rows (B, n) with nan for hidden units, and whether a batch was asked for."""
    if evidence is None or isinstance(evidence, Mapping):
        rows = _from_mapping(network, evidence or {})
    elif hasattr(evidence, "columns"):
        rows = _from_frame(network, evidence)
    else:
        rows = _from_array(network, evidence)
    batched = rows.ndim == 2 or network.stack is not None
    rows = _one_per_network(network, rows[None] if rows.ndim == 1 else rows)
    if not is_traced(rows, network):
        _check_values(network, rows)
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
    repeated = [str(column) for column, again in zip(frame.columns, frame.columns.duplicated(), strict=True) if again]
    if repeated:
        raise InvalidEvidence(f"a DataFrame has one column for each unit; this column is there twice: {repeated[0]}.")
    rows = np.full((len(frame), network.size), np.nan)
    for column in frame.columns:
        rows[:, positions[str(column)]] = _numbers(frame[column].to_numpy(dtype=object, na_value=np.nan), column)
    return rows


def _numbers(values: Any, column: Any) -> np.ndarray:
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        odd = next(value for value in values if not isinstance(value, (int, float, np.number)))
        raise InvalidEvidence(f"the states of unit {str(column)!r} must be 0, 1 or nan; got {odd!r}.") from None


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
    """A noisy-or unit without leak is on only if a cause is; and off only if no certain cause is on."""
    if not isinstance(network.activation, NoisyOr):
        return
    if np.any(network.bias == 0):
        _refuse(
            network,
            rows,
            _unexplained(network, rows),
            "observed on, but has no leak and no cause that could be on",
            "Give it a leak (a positive bias) or a possible cause",
        )
    if any(np.isinf(values).any() for values in network.storage.leaves()):
        _refuse(
            network,
            rows,
            _contradicted(network, rows),
            "observed off, but a cause that switches it on for certain is observed on",
            "Correct the evidence or make the edge less than certain",
        )


def _refuse(network: BeliefNetwork, rows: np.ndarray, wrong: np.ndarray, why: str, advice: str) -> None:
    if wrong.any():
        row, unit = np.argwhere(wrong)[0]
        where = f" (row {row})" if len(rows) > 1 else ""
        raise InvalidEvidence(f"the evidence is impossible: unit {network.names[unit]!r} is {why}{where}. {advice}.")


def _unexplained(network: BeliefNetwork, rows: np.ndarray) -> np.ndarray:
    """Observed on, though neither its leak nor any parent that could be on can switch it on."""
    with precision("float64"):
        known = jnp.asarray(rows).T
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
        certain = network.storage.map_weights(lambda w: jnp.isinf(jnp.asarray(w)) * 1.0).open(1, 1.0)

        def surely_on(x):
            return jnp.where(jnp.isnan(known), (x > 0) * 1.0, known)

        on = forwards(certain, jnp.zeros((network.size, 1)), surely_on, jnp.zeros(known.shape))
        return np.asarray((known == 0) & (certain.field_of(on) > 0)).T
