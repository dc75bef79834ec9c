"""Rows of evidence, compact enough to travel, and evidence that holds in every row beside them."""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Int8

from plefka.errors import InvalidEvidence
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import Evidence, as_evidence
from plefka.networks.intervention import check_not_observed

HIDDEN = 2  # the byte of a unit that was not observed


class EvidenceBlock(NamedTuple):
    """The states of a few units in some rows, 0, 1 or HIDDEN, and what the rows are called."""

    units: Int[np.ndarray, " column"]
    states: Int8[np.ndarray, "row column"]
    ids: dict[str, list[Any]]

    @classmethod
    def of(
        cls, units: Int[np.ndarray, " column"], values: Float[np.ndarray, "row column"], ids: dict[str, list[Any]]
    ) -> "EvidenceBlock":
        """From 0, 1 and nan."""
        states = np.full(values.shape, HIDDEN, np.int8)
        np.copyto(states, values, where=values == values, casting="unsafe")
        return cls(units, states, ids)

    @property
    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self.states)

    @property
    def observed(self) -> Int[np.ndarray, " some"]:
        """The units that some row observes."""
        return self.units[(self.states != HIDDEN).any(axis=0)]

    def values(self) -> Float[np.ndarray, "row column"]:
        """As numbers, nan where hidden."""
        return np.where(self.states == HIDDEN, np.nan, self.states)

    def part(self, rows: slice) -> "EvidenceBlock":
        """Some of the rows."""
        return EvidenceBlock(self.units, self.states[rows], {name: values[rows] for name, values in self.ids.items()})

    def digest(self, settings: str) -> str:
        """Equal only for the same rows that are asked the same."""
        found = hashlib.sha256(settings.encode())
        found.update(np.ascontiguousarray(self.units, np.int64).tobytes())
        found.update(np.ascontiguousarray(self.states).data)
        found.update(repr((self.states.shape, self.ids)).encode())
        return found.hexdigest()


def resized(blocks: Iterable[EvidenceBlock], size: int) -> Iterator[EvidenceBlock]:
    """Blocks of `size` rows, but for the last one, from blocks of any size, which must all have the same units."""
    held: list[EvidenceBlock] = []
    for block in blocks:
        held.append(block)
        while sum(each.num_rows for each in held) >= size:
            whole = joined(held)
            yield whole.part(slice(0, size))
            held = [whole.part(slice(size, None))] if whole.num_rows > size else []
    if held:
        yield joined(held)


def joined(blocks: list[EvidenceBlock]) -> EvidenceBlock:
    """All rows in one block."""
    if len(blocks) == 1:
        return blocks[0]
    ids = {name: [value for block in blocks for value in block.ids[name]] for name in blocks[0].ids}
    return EvidenceBlock(blocks[0].units, np.concatenate([block.states for block in blocks]), ids)


class CommonEvidence(NamedTuple):
    """One row of evidence, of a network."""

    network: BeliefNetwork
    evidence: Evidence
    called: str = "evidence"  # in messages

    @classmethod
    def of(cls, network: BeliefNetwork, evidence: Any, called: str = "evidence") -> "CommonEvidence":
        found = as_evidence(network, evidence, takes_group=True)
        if len(found.rows) > (network.stack or 1):
            raise InvalidEvidence(f"the evidence that holds for all rows must be a single row; got {len(found.rows)}.")
        return cls(network, found.take([0]), called)

    @property
    def units(self) -> np.ndarray:
        """The units of which it says something."""
        group = self.evidence.exclusive
        return np.flatnonzero(self.evidence.informed[0] | (False if group is None else group.units))

    def added(self, given: Evidence, first: int, where: str) -> Evidence:
        """The rows with it; an error where a row says otherwise. `first` is the number of the first of the rows."""
        common, rows = self.evidence, given.rows
        if not self.units.size:
            return given
        if common.intervened is not None:
            check_not_observed(self.network, given, np.flatnonzero(~np.isnan(common.intervened)).tolist())
        certain = ~np.isnan(common.rows[0])
        conflicts = np.argwhere(rows == 1 - common.rows)
        if conflicts.size:
            row, unit = conflicts[0]
            states = f"{rows[row, unit]:.0f} here, but {common.rows[0, unit]:.0f}"
            raise InvalidEvidence(
                f"{where}: row {first + row}: unit {self.network.names[unit]!r} is {states} in {self.called}."
            )
        rows = np.where(certain, common.rows, rows)
        repeated = common.take(np.zeros(len(rows), int))
        given = given._replace(rows=rows, offset=repeated.offset, intervened=common.intervened)
        given = given._replace(exclusive=common.exclusive)
        if common.tilt is None:
            return given
        twice = np.flatnonzero((common.tilt[0] != 0) & ~certain & ~np.isnan(rows).all(axis=0))
        if twice.size:
            raise InvalidEvidence(
                f"{where}: unit {self.network.names[twice[0]]!r} must not have states, as it has soft evidence in "
                f"{self.called}."
            )
        return given._replace(tilt=repeated.tilt)
