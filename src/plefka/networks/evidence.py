"""From what users have (nothing, a dictionary, an array, a DataFrame) to rows: a number per unit, nan where hidden."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidEvidence, listed
from plefka.networks.hierarchy import without_implied
from plefka.networks.network import Network
from plefka.runtime.precision import is_traced
from plefka.tables.columns import is_frame, of_frame, roles_of
from plefka.tables.table import value_errors_as
from plefka.tables.values import (
    NO_STATE,
    StateWords,
    advice_on_value,
    as_off_and_on,
    is_numeric,
    meaning,
    numbers_in_words,
    rows_of_off_and_on,
    state_words_text,
    states_in,
)


@dataclass(frozen=True)
class Likelihood:
    """Soft evidence: how probable what was seen is if the unit is on, and if it is off. Only their ratio moves means.

    `{"fever": Likelihood(on=0.9, off=0.2)}` is a thermometer that shows fever in 90 of 100 patients who have it, and in
    20 of 100 who have not. Inside a JAX trace both numbers may be traced, and must be above 0.

    >>> import plefka as pf
    >>> solution = pf.infer(pf.example("espresso"), {"slow_flow": pf.Likelihood(on=0.9, off=0.2)}, "exact")
    >>> round(solution["limescale"], 3) > round(pf.infer(pf.example("espresso"), {}, "exact")["limescale"], 3)
    True
    """

    on: float
    off: float

    def __post_init__(self):
        if self.is_traced:
            return
        for value in (self.on, self.off):
            if not isinstance(value, int | float | np.number) or not 0 <= value < math.inf:
                raise InvalidEvidence(
                    f"a Likelihood must have two numbers of at least 0; got on={self.on}, off={self.off}."
                )
        if self.on == self.off == 0:
            raise InvalidEvidence("a Likelihood must be above 0 for at least one of the states; got on=0, off=0.")

    @property
    def is_hard(self) -> bool:
        """Whether it leaves one state only."""
        return not self.is_traced and (self.on == 0 or self.off == 0)

    @property
    def is_traced(self) -> bool:
        """Whether its numbers belong to a trace of JAX, where they must be above 0 and are not checked."""
        return is_traced(self.on, self.off)


class ExclusiveGroup(NamedTuple):
    """Units (n,) of which exactly one is on, or at most one."""

    units: Any
    or_none: bool

    def in_words(self, names: Sequence[str]) -> str:
        """'exactly one of flu and cold is on'."""
        some = [name for name, belongs in zip(names, self.units, strict=True) if belongs]
        return f"{'at most' if self.or_none else 'exactly'} one of {listed(some)} is on"


class Evidence(NamedTuple):
    """Rows of evidence, of one network or one for each network of a stack.

    Soft evidence multiplies the weight of a state S by exp(offset + sum_i tilt_i S_i).
    """

    rows: Any  # (B, n): 0, 1, or nan where hidden
    tilt: Any = None  # (B, n), or None where there is no soft evidence
    offset: Any = None  # (B,)
    batched: bool = False
    wanted: Any = None  # (n,): the units whose means are asked for, and all above them; None for all units
    exclusive: ExclusiveGroup | None = None  # of which one is on in every row
    intervened: Any = None  # (n,): the states of units that are not observed but set, nan of all others; or None

    def take(self, index: Any) -> "Evidence":
        """Some of the rows."""
        return self._replace(
            rows=self.rows[index],
            tilt=None if self.tilt is None else self.tilt[index],
            offset=None if self.offset is None else self.offset[index],
        )

    @property
    def highest(self) -> Any:
        """What ln P(evidence) cannot exceed: 0, or as much as soft evidence multiplies the weight of a state with."""
        return 0.0 if self.tilt is None else self.offset + np.maximum(self.tilt, 0).sum(1)

    @property
    def informed(self) -> Any:
        """Where something is known of a unit, for certain or not."""
        seen = self.rows == self.rows
        return seen if self.tilt is None else seen | (self.tilt != 0)


def as_rows(network: Network, evidence: Any) -> tuple[Any, bool]:
    """Rows (B, n) of certain evidence with nan for hidden units, and whether a batch was asked for."""
    found = as_evidence(network, evidence)
    if found.tilt is not None:
        raise InvalidEvidence("evidence must be 0 or 1 here; got a Likelihood. pf.infer takes soft evidence.")
    return found.rows, found.batched


def as_evidence(network: Network, evidence: Any, *, takes_group: bool = False) -> Evidence:
    """What is known of the units, row by row, checked; whoever takes it must say if it takes a group along."""
    if isinstance(evidence, Evidence):
        if evidence.exclusive is not None and not takes_group:
            raise InvalidEvidence(
                f"the evidence says that {evidence.exclusive.in_words(network.names)}, which is for infer, ask and "
                "joint alone. Pass evidence without this condition."
            )
        return _checked(network, evidence)
    if evidence is None or isinstance(evidence, Mapping):
        found = _from_mappings(network, [evidence or {}]).take(0)
    elif isinstance(evidence, Sequence) and len(evidence) > 0 and isinstance(evidence[0], Mapping):
        for number, row in enumerate(evidence):
            if not isinstance(row, Mapping):
                raise InvalidEvidence(
                    "every row in a list of dictionaries must be a dictionary; got "
                    f"{type(row).__name__} in row {number}. Use {{}} for a row in which nothing is observed."
                )
        found = _from_mappings(network, evidence)
    elif is_frame(evidence):
        found = _from_frame(network, evidence)
    elif hasattr(evidence, "index") and hasattr(evidence, "items"):  # a Series: one row of a DataFrame
        found = _from_frame(network, cast(Any, evidence).to_frame().T).take(0)
    else:
        found = Evidence(_from_array(network, evidence))
        if network.values != (0, 1):
            found = found._replace(rows=rows_of_off_and_on(network, found.rows))
    if found.rows.shape[0] == 0:
        raise InvalidEvidence(f"a batch of evidence must have at least one row; got shape {found.rows.shape}.")
    batched = found.rows.ndim == 2 or network.stack is not None
    found = _checked(network, (found if found.rows.ndim == 2 else found.take(None))._replace(batched=batched))
    if network.hierarchy is not None and is_traced(found.rows, found.tilt):
        raise InvalidEvidence(
            "evidence for a network with `implies` must be known outside a JAX trace; got traced values."
        )
    return without_implied(network, found)


def _checked(network: Network, found: Evidence) -> Evidence:
    """Rows (B, n), one for each network of a stack, of numbers that are states."""
    if network.stack is not None and len(found.rows) != network.stack:
        if len(found.rows) != 1:
            raise InvalidEvidence(
                f"a stack of {network.stack} networks takes one row of evidence, or {network.stack}; "
                f"got {len(found.rows)}."
            )
        found = found.take(np.zeros(network.stack, int))
    rows = found.rows
    if not is_traced(rows) and (odd := ~(np.isnan(rows) | (rows == 0) | (rows == 1))).any():
        row, unit = np.argwhere(odd)[0]
        raise InvalidEvidence(
            f"evidence must be 0, 1 or nan (hidden); got {rows[row, unit]:g} for unit {network.names[unit]!r} "
            f"in row {row}."
        )
    return found


def _from_mappings(network: Network, evidence: Sequence[Mapping]) -> Evidence:
    rows, odds = np.full((len(evidence), network.size), np.nan), _Odds((len(evidence), network.size))
    for row, states in enumerate(evidence):
        seen = set()
        for unit, state in states.items():
            position = network.index(unit)
            if position in seen:
                raise InvalidEvidence(f"unit {network.names[position]!r} is observed twice, by name and by index.")
            seen.add(position)
            soft = isinstance(state, Likelihood)
            rows[row, position] = odds.read(row, position, state) if soft else _state(network, position, state)
    return odds.with_rows(rows)


class _Odds:
    """Soft evidence as it is being read."""

    def __init__(self, shape: tuple[int, int]):
        self.tilt, self.offset, self.any = np.zeros(shape), np.zeros(shape[0]), False
        self.traced: list[tuple[int, int, Likelihood]] = []

    def read(self, row: int, unit: int, likelihood: Likelihood) -> float:
        """The state of the unit: nan, or what is left where one state is excluded."""
        self.any = True
        if likelihood.is_hard:
            self.offset[row] += math.log(likelihood.on + likelihood.off)
            return float(likelihood.on > 0)
        if likelihood.is_traced:
            self.traced.append((row, unit, likelihood))
            return math.nan
        self.tilt[row, unit] = math.log(likelihood.on) - math.log(likelihood.off)
        self.offset[row] += math.log(likelihood.off)
        return math.nan

    def with_rows(self, rows: np.ndarray) -> Evidence:
        tilt, offset = self.tilt, self.offset
        for row, unit, likelihood in self.traced:
            on, off = jnp.log(likelihood.on), jnp.log(likelihood.off)
            tilt, offset = jnp.asarray(tilt).at[row, unit].set(on - off), jnp.asarray(offset).at[row].add(off)
        return Evidence(rows, tilt, offset) if self.any else Evidence(rows)


def _state(network: Network, unit: int, state: Any) -> float:
    """0, 1, or nan where it is missing, from a number or from a word for one of the unit's states."""
    own = _state_words(network, unit)
    found = meaning(as_off_and_on(network, state), own)
    if found == NO_STATE:
        raise InvalidEvidence(
            f"the state of unit {network.names[unit]!r} must be {numbers_in_words(network)}{state_words_text(own)}; "
            f"got {state!r}.{advice_on_value(state, own) if isinstance(state, str) else ''} "
            "Leave a unit out to keep it hidden, or pass a Likelihood(on, off) if the observation is uncertain."
        )
    return found


def _state_words(network: Network, unit: int) -> StateWords:
    return None if network.given_states is None else network.given_states[unit]


def _from_frame(network: Network, frame: Any) -> Evidence:
    """Columns that only name the rows are left out, and a warning says so."""
    columns = of_frame(frame)
    with value_errors_as(InvalidEvidence):
        places = {name: unit for unit, name in enumerate(network.names)}
        roles = roles_of(columns, places)
    roles.report()
    rows, odds = np.full((len(columns), network.size), np.nan), _Odds((len(columns), network.size))
    for name, at in zip(roles.names or (), roles.units, strict=True):
        rows[:, places[name]] = _numbers(network, columns.values[at], places[name], odds)
    return odds.with_rows(rows)


def _numbers(network: Network, values: Any, unit: int, odds: _Odds) -> np.ndarray:
    """The states of a unit in all rows."""
    own, (off, on) = _state_words(network, unit), network.values
    found = states_in(network, values, own)
    for row in np.flatnonzero(found == NO_STATE).tolist():
        value = values[row]
        if not isinstance(value, Likelihood):
            raise InvalidEvidence(
                f"row {row}: the states of unit {network.names[unit]!r} must be {off}, {on} or nan"
                f"{state_words_text(own)}; got {value if is_numeric(values) else repr(value)}."
                f"{advice_on_value(value, own)}"
            )
        found[row] = odds.read(row, unit, value)
    return found


def _from_array(network: Network, evidence: Any) -> Any:
    try:
        rows = evidence if is_traced(evidence) else np.asarray(evidence, dtype=float)
    except (TypeError, ValueError):
        raise InvalidEvidence(
            "evidence must be None, a dictionary {unit: 0 or 1}, an array with nan for hidden units, or a DataFrame; "
            f"got {type(evidence).__name__}: {str(evidence)[:60]!r}."
        ) from None
    if isinstance(evidence, np.ma.MaskedArray):
        rows = np.where(np.ma.getmaskarray(evidence), np.nan, rows)
    if rows.ndim not in (1, 2) or rows.shape[-1] != network.size:
        raise InvalidEvidence(
            f"an array of evidence must have one column for each unit, with nan for hidden units: shape "
            f"({network.size},) or (rows, {network.size}); got shape {rows.shape}."
        )
    return rows
