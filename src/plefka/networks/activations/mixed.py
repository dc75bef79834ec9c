"""Units of different kinds in one network: a table is an activation of the number that its parents spell.

Parent k of a table with m parents has weight -2^(m - 1 - k), and the bias is where the table begins, so that the field
of the unit is the number of a row: all tables of a network lie one behind the other, far below the fields of all other
units. One function of the field then serves units of every kind, wherever they are put, and observed parents are part
of the bias as for every other unit. Whatever only asks for f at states of the parents is exact.
"""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidNetwork
from plefka.networks.activations.activation import Activation, AnyArray, namespace
from plefka.networks.activations.noisy_or import CERTAIN_FIELD

FIRST_ROW = 2.0**22  # minus the field of the first row: whole numbers up to 2^24 are exact in float32 as well
MOST_TABLE_ROWS = 2**23  # of all tables of a network
MOST_PARENTS = 16  # of a unit that is a table, or is tabulated because the network has larger units of another kind


class Table:
    """P(on | parents) of one unit, for every state of its parents.

    **Arguments:**

    - `probabilities`: an array of shape `(2,) * parents` with an axis for each parent, in the order of the parents.
        `probabilities[0, 1]` is P(on) if the first parent is off and the second one is on. At most 16 parents.

    **Example:**

    >>> import plefka as pf
    >>> table = pf.Table([[0.1, 0.8], [0.7, 0.9]])
    >>> print(table.num_parents, table.probabilities[0, 1])
    2 0.8
    """

    probabilities: np.ndarray

    def __init__(self, probabilities: Any):
        try:
            p = np.array(probabilities, float)
        except (TypeError, ValueError) as error:
            raise InvalidNetwork(f"a table must be an array of numbers; got {error}.") from None
        if p.shape != (2,) * p.ndim or p.ndim > MOST_PARENTS:
            raise InvalidNetwork(
                f"a table must have shape (2,) * parents, with at most {MOST_PARENTS} parents; got shape {p.shape}."
            )
        outside = ~((p >= 0) & (p <= 1))
        if outside.any():
            raise InvalidNetwork(f"the probabilities of a table must lie between 0 and 1; got {p[outside][0]:g}.")
        p.setflags(write=False)
        self.probabilities = p

    @property
    def num_parents(self) -> int:
        """The number of parents."""
        return self.probabilities.ndim

    def reordered(self, order: Any) -> "Table":
        """A copy of the table with its parents in another order: parent `order[k]` comes at position k."""
        return Table(np.transpose(self.probabilities, order))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and np.array_equal(self.probabilities, other.probabilities)

    def __hash__(self) -> int:
        return hash((self.probabilities.shape, self.probabilities.tobytes()))

    def __repr__(self) -> str:
        return f"Table({self.probabilities.tolist()})"


class Mixed(Activation):
    """Units of one kind with fields, and units whose field is the number of a row of the tables."""

    mixes_kinds = True

    of_fields: Activation
    rows: AnyArray  # (2, rows): ln P(on) and ln P(off) in each row of all tables
    most_summed: int = eqx.field(static=True, default=MOST_PARENTS)  # units with more parents than these have fields

    @property
    def name(self) -> str:
        return "mixed"

    @property
    def domain(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.of_fields.domain

    @property
    def has_linear_log_off(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.of_fields.has_linear_log_off

    @property
    def rules_out_states(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return bool(np.isneginf(np.asarray(self.rows)).any())

    @property
    def allows_certain_edges(self):  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.of_fields.allows_certain_edges

    def has_field(self, x):
        return ~(x < -FIRST_ROW / 2)

    def is_linear_off(self, h):
        return self.has_field(h) & np.bool_(self.of_fields.has_linear_log_off)

    def log_on(self, x):
        return self._either(x, self.of_fields.log_on, self.rows[0])

    def log_off(self, x):
        return self._either(x, self.of_fields.log_off, self.rows[1])

    def probability(self, x):
        return self._either(x, self.of_fields.probability, namespace(self.rows).exp(self.rows[0]))

    def clip(self, x):
        return namespace(x).where(self.has_field(x), self.of_fields.clip(x), x)

    def off_poles(self, x):
        return namespace(x).where(self.has_field(x), self.of_fields.off_poles(x), x)

    def finite_logs(self, x):
        """A state that a table rules out counts as one of probability 1e-13, as an edge of probability one does."""
        on, off = (namespace(self.rows).where(row == -np.inf, -CERTAIN_FIELD, row) for row in self.rows)
        f = self.of_fields
        return self._either(x, f.log_on, on), self._either(x, f.log_off, off)

    def has_certain_rows(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Which tables, from the field of their first row to that of their last, rule a state out."""
        ruled_out = np.concatenate([[0], np.cumsum(np.isneginf(np.asarray(self.rows)).any(axis=0))])
        found = ruled_out[self._number(last) + 1] > ruled_out[self._number(first)]
        return np.asarray(~self.has_field(first) & found)

    def _number(self, x):
        """Of the row; the first one where x is no such number."""
        xp = namespace(x, self.rows)
        number = -xp.where(self.has_field(x), -FIRST_ROW, x) - FIRST_ROW
        return xp.clip(xp.round(number), 0, self.rows.shape[1] - 1).astype(int if xp is np else jnp.int32)

    def _either(self, x, of_field, row):
        xp = namespace(x, self.rows)
        x = xp.asarray(x)
        has_field = self.has_field(x)
        if xp is np and has_field.all():
            return of_field(x)
        found = xp.asarray(row)[self._number(x)]
        if xp is np and not has_field.any():
            return found.astype(x.dtype)
        return xp.where(has_field, of_field(xp.where(has_field, x, 1.0)), found.astype(x.dtype))
