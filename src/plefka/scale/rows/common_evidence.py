"""Evidence that holds in every row, certain or soft, beside that of the rows themselves."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plefka.errors import InvalidEvidence
from plefka.networks.evidence import Evidence, as_evidence

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


class CommonEvidence(NamedTuple):
    """One row of evidence, of a network."""

    network: "BeliefNetwork"
    evidence: Evidence
    called: str = "evidence"  # in messages

    @classmethod
    def of(cls, network: "BeliefNetwork", evidence: Any, called: str = "evidence") -> "CommonEvidence":
        found = as_evidence(network, evidence)
        if len(found.rows) > (network.stack or 1):
            raise InvalidEvidence(f"the evidence that holds for all rows must be a single row; got {len(found.rows)}.")
        return cls(network, found.take([0]), called)

    @property
    def units(self) -> np.ndarray:
        """The units of which it says something."""
        return np.flatnonzero(self.evidence.informed[0])

    def added(self, given: Evidence, first: int, where: str) -> Evidence:
        """The rows with it; an error where a row says otherwise. `first` is the number of the first of the rows."""
        common, rows = self.evidence, given.rows
        if not self.units.size:
            return given
        certain = ~np.isnan(common.rows[0])
        conflicts = np.argwhere(rows == 1 - common.rows)
        if conflicts.size:
            row, unit = conflicts[0]
            states = f"{rows[row, unit]:.0f} here, but {common.rows[0, unit]:.0f}"
            raise InvalidEvidence(
                f"{where}: row {first + row}: unit {self.network.names[unit]!r} is {states} in {self.called}."
            )
        rows = np.where(certain, common.rows, rows)
        if common.tilt is None:
            return given._replace(rows=rows)
        twice = np.flatnonzero((common.tilt[0] != 0) & ~certain & ~np.isnan(rows).all(axis=0))
        if twice.size:
            raise InvalidEvidence(
                f"{where}: unit {self.network.names[twice[0]]!r} must not have states, as it has soft evidence in "
                f"{self.called}."
            )
        repeated = common.take(np.zeros(len(rows), int))
        return given._replace(rows=rows, tilt=repeated.tilt, offset=repeated.offset)
