"""Tables that are a noisy-or or a sigmoid of their parents in disguise, and the parents that they do not depend on.

Three forms are linear after a change of scale, for a table P of probabilities to be on:

    noisy-or              -ln(1 - P) = bias + sum_j weights_j S_j     leaks, causes and (weights below 0) inhibitors
    noisy-or, negated     -ln P      = bias + sum_j weights_j S_j     the same of being off: noisy-and among others
    sigmoid               logit P    = bias + sum_j weights_j S_j

An infinite weight of a noisy-or is a parent that decides alone. Where it does so by being off, the parent is negated:
1 - S_j stands for S_j.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from plefka.errors import InvalidInput
from plefka.files.conditional_tables import TableNetwork, TableUnit
from plefka.files.linear_fits import NEGATED, NOISY_OR, SCALES, SIGMOID, TOLERANCE, Table, linear_fit
from plefka.networks.fields import fields_of_states

TABLE = "table"
COMPACT = (NOISY_OR, NEGATED, SIGMOID)


@dataclass(frozen=True)
class Form:
    """What a table became: `kind`, and by how much its probabilities differ from those of the table at most.

    `parents` are those that matter. Of a `table`, `table` has an axis for each of them; of the other kinds, `weights`
    has a number for each, and `negated_parents` says where 1 - S_j stands for S_j.
    """

    unit: TableUnit
    kind: str
    parents: tuple[int, ...]
    error: float
    table: Table
    bias: float = 0.0
    weights: Float[np.ndarray, " parent"] = field(default_factory=lambda: np.zeros(0))
    negated_parents: Bool[np.ndarray, " parent"] = field(default_factory=lambda: np.zeros(0, bool))

    @property
    def dropped(self) -> tuple[int, ...]:
        """The parents on which the table does not depend."""
        return tuple(parent for parent in self.unit.parents if parent not in self.parents)


def recognised(tables: TableNetwork, approximate: float | None = None) -> list[Form]:
    """The compact form of every unit, or its table where none fits within 1e-6, or within `approximate`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import plefka as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.save(pf.example("espresso"), Path(folder) / "espresso.bif")
    ...     forms = pf.recognised(pf.load_tables(Path(folder) / "espresso.bif"))
    >>> {form.kind for form in forms}
    {'noisy-or'}
    """
    limit = check_approximate(approximate)
    return [Candidates(unit, limit).best for unit in tables.units]


def expanded(tables: TableNetwork, forms: Sequence[Form]) -> TableNetwork:
    """Tables again, of what each became."""
    units = [form.unit._replace(parents=form.parents, table=probabilities(form), linear=None) for form in forms]
    return TableNetwork(tuple(units), tables.named)


def check_approximate(approximate: float | None) -> float:
    """The largest error of a form."""
    if approximate is None:
        return TOLERANCE
    if not (isinstance(approximate, int | float) and 0 < approximate < 0.5):
        raise InvalidInput(
            f"approximate must be an error of probabilities, above 0 and below 0.5; got {approximate!r}."
        )
    return max(float(approximate), TOLERANCE)


class Candidates:
    """What a unit may become within a limit: its forms, each fitted once and when it is asked for, and its table."""

    def __init__(self, unit: TableUnit, limit: float):
        self.unit, self.limit = unit, limit
        self._forms: dict[str, Form | None] = {}
        if unit.linear is not None:
            kind, bias, weights = unit.linear
            form = Form(unit, kind, unit.parents, 0.0, unit.table, bias, weights, np.zeros(len(weights), bool))
            self._forms = {**dict.fromkeys(COMPACT), kind: form}

    @cached_property
    def table(self) -> Form:
        """Without the parents on which it does not depend; it always fits."""
        reduced, kept = _without_idle_parents(self.unit.table)
        restored = np.expand_dims(reduced, [axis for axis in range(self.unit.table.ndim) if axis not in kept])
        error = float(np.abs(restored - self.unit.table).max())
        return Form(self.unit, TABLE, tuple(self.unit.parents[axis] for axis in kept), error, reduced)

    def form(self, kind: str) -> Form | None:
        """The form of this kind, where it fits."""
        if kind not in self._forms:
            self._forms[kind] = self._fitted(kind)
        return self._forms[kind]

    def _fitted(self, kind: str) -> Form | None:
        table = self.table
        found = linear_fit(kind, table.table, self.limit)
        if found is None:
            return None
        form = Form(self.unit, kind, table.parents, 0.0, table.table, *found)
        error = float(np.abs(probabilities(form) - table.table).max()) + table.error
        return replace(form, error=error) if error <= self.limit else None

    @property
    def best(self) -> Form:
        """The first compact form that is exact; otherwise the closest; otherwise the table."""
        others = []
        for form in filter(None, map(self.form, COMPACT)):
            if form.error <= TOLERANCE:
                return form
            others.append(form)
        return min(others, key=lambda form: form.error, default=self.table)


def probabilities(form: Form) -> Table:
    """P(on) for each state of the parents that matter, by the form."""
    if form.kind == TABLE:
        return form.table
    fields = fields_of_states(form.bias, form.weights, form.negated_parents)
    return SCALES[form.kind].probability(fields)


def _without_idle_parents(table: Table) -> tuple[Table, list[int]]:
    """The table without the axes along which it does not change, and the axes that are left."""
    kept, reduced = list(range(table.ndim)), table
    for axis in reversed(range(table.ndim)):
        off, on = reduced.take(0, axis), reduced.take(1, axis)
        if np.abs(on - off).max() <= TOLERANCE / 2:
            smaller = np.where(on == off, on, (on + off) / 2)
            others = [k for k in kept if k != axis]
            restored = np.expand_dims(smaller, [k for k in range(table.ndim) if k not in others])
            if np.abs(restored - table).max() <= TOLERANCE / 2:
                kept, reduced = others, smaller
    return reduced, kept
