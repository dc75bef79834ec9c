"""What was found for rows of evidence: one value with named fields, of which rows can be taken and joined."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plefka.methods.posterior import ESTIMATE, EXACT, NUMBERS, Posterior, accuracy_of_rows

if TYPE_CHECKING:
    from plefka.methods.method import Method


class Components(NamedTuple):
    """A mixture of factorial distributions near the posterior of some rows, or states that were drawn from it."""

    rows: np.ndarray
    units: np.ndarray  # of the network, which the means are of: (units,), or (units, rows); -1: none
    log_weights: np.ndarray  # (components, rows)
    means: np.ndarray  # (components, units, rows)

    def take(self, rows: np.ndarray) -> "Components":
        """Those of some rows, by their new numbers."""
        number = {int(row): k for k, row in enumerate(rows)}
        at = np.array([k for k, row in enumerate(self.rows.tolist()) if row in number], int)
        new = np.array([number[int(self.rows[k])] for k in at], int)
        units = self.units if self.units.ndim == 1 else self.units[:, at]
        return Components(new, units, self.log_weights[:, at], self.means[:, :, at])


@dataclass(frozen=True, eq=False)
class Answers:
    """What was found for rows of evidence; arrays are (rows,) or (rows, units), in the order of the rows.

    A field that is None is known of no row.
    """

    means: Any
    free_energy: Any
    status: Any  # positions in status.STATUS_CODES, from 1
    num_steps: Any
    num_cycles: Any
    residual: Any
    accuracy: Any  # (rows,): what ln P is, as positions in ACCURACIES
    means_accuracy: Any  # (rows, units): what the means are; of units that were observed it does not matter
    error: Any = None  # (rows,): the standard error of ln P; nan where it is not known
    means_error: Any = None  # (rows, units): those of the means
    predicted: Any = None  # (rows, units): hidden units whose parents were taken to be independent of each other
    knows_parents: Any = None  # (rows,): where those parents have an exact posterior
    methods: Any = None  # (rows,): the method that answered each, where they were chosen
    notes: tuple[str, ...] = ()  # sentences for the user
    proposals: tuple[Components, ...] = ()

    @classmethod
    def of(cls, found: Posterior, method: "Method") -> "Answers":
        """What a method found by itself, (rows, units): an estimate or a bound, unless it says that it is exact."""
        about, count = found.about, len(found.status)
        exact = np.zeros(count, bool) if about.exact_rows is None else np.asarray(about.exact_rows())
        bound = method.is_bound if about.is_bound is None else about.is_bound
        means = np.where(exact[:, None], EXACT, ESTIMATE) + np.zeros(found.means.shape, np.uint8)
        accuracy = accuracy_of_rows(count, is_exact=exact, is_lower=bound)
        numbers = {name: getattr(found, name) for name in NUMBERS}
        return cls(
            **numbers, accuracy=accuracy, means_accuracy=means, error=about.error, means_error=about.means_error,
            notes=about.notes,
        )  # fmt: skip

    def take(self, rows: np.ndarray) -> "Answers":
        """Some of the rows."""
        some = {name: None if (z := getattr(self, name)) is None else z[rows] for name in _BY_ROW}
        return replace(self, **some, proposals=tuple(each.take(rows) for each in self.proposals))

    @staticmethod
    def join(pieces: "Sequence[Answers]", order: np.ndarray | None = None) -> "Answers":
        """The rows of all of them one after another, or in this order."""
        if len(pieces) == 1 and order is None:
            return pieces[0]
        by_name = {name: [getattr(piece, name) for piece in pieces] for name in _BY_ROW}
        whole = {name: None if any(z is None for z in some) else np.concatenate(some) for name, some in by_name.items()}
        starts = np.cumsum([0, *(len(piece.status) for piece in pieces)])
        proposals = tuple(
            each._replace(rows=first + each.rows) for first, piece in zip(starts, pieces) for each in piece.proposals
        )
        notes = tuple(dict.fromkeys(note for piece in pieces for note in piece.notes))
        joined = Answers(**whole, notes=notes, proposals=proposals)
        return joined if order is None else joined.take(order)

    def with_predicted(self, predicted: np.ndarray) -> "Answers":
        """With other units that were predicted as if their parents were independent: all else of exact rows is."""
        exact = (self.accuracy == EXACT)[:, None]
        means = np.where(exact, np.where(predicted, ESTIMATE, EXACT), self.means_accuracy)
        return replace(self, predicted=predicted, means_accuracy=means)


_BY_ROW = tuple(each.name for each in fields(Answers) if each.name not in ("notes", "proposals"))
