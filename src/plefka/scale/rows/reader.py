"""From the columns of a table to blocks, once it is known what the columns are."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plefka.scale.rows.evidence_block import EvidenceBlock
from plefka.tables.columns import Columns, of_frame
from plefka.tables.roles import IdColumns, Roles
from plefka.tables.table import numbers_in, state_words, table_roles, units_of

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


class Reader(NamedTuple):
    """What the columns of a table are, in their order."""

    names: list[str] | None
    roles: Roles
    own: list[Any]
    units: np.ndarray
    id_columns: list[str]

    @classmethod
    def of(cls, network: "BeliefNetwork", sample: Columns, id_columns: IdColumns, where: str = "") -> "Reader":
        roles = table_roles(sample, network, id_columns)
        if not roles.units:
            raise ValueError("a table must have at least one row and one column; got nothing.")
        units = units_of(network, roles.names, len(roles.units))
        roles.report(where)
        return cls(sample.names, roles, state_words(network, roles), units, list(roles.ids_in(sample)))

    def block(self, columns: Columns) -> EvidenceBlock:
        """The states of a block of columns."""
        return EvidenceBlock.of(self.units, numbers_in(columns, self.roles, self.own), self.roles.ids_in(columns))

    def blocks(self, frame: Any, size: int) -> Iterator[EvidenceBlock]:
        """The rows of a DataFrame."""
        return map(self.block, of_frame(frame).parts(size))

    def in_order(self, columns: Columns, first: Any) -> Columns:
        """Columns of another file, which must be the same but may stand in another order."""
        if columns.names == self.names:
            return columns
        mine, others = set(self.names or ()), set(columns.names or ())
        if mine != others:
            missing, more = sorted(mine - others), sorted(others - mine)
            what = f"there is no {missing[0]!r}" if missing else f"{more[0]!r} is not there" if more else "names differ"
            raise ValueError(f"all files must have the columns of {first}; {what}{' in it' if more else ''}.")
        places = [(columns.names or []).index(name) for name in self.names or ()]
        return Columns(self.names, [columns.values[at] for at in places], columns.first, columns.lines, columns.index)
