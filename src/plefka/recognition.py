"""Tables that are a noisy-or or a sigmoid of their parents in disguise, and the parents that they do not depend on.

Three forms are linear after a change of scale, for a table P of probabilities to be on:

    noisy-or              -ln(1 - P) = bias + sum_j weights_j S_j     leaks, causes and (weights below 0) inhibitors
    noisy-or, negated     -ln P      = bias + sum_j weights_j S_j     the same of being off: noisy-and among others
    sigmoid               logit P    = bias + sum_j weights_j S_j

An infinite weight of a noisy-or is a parent that decides alone. Where it does so by being off, the parent is negated:
1 - S_j stands for S_j.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from plefka.errors import InvalidInput
from plefka.formats.tables import TableNetwork, TableUnit
from plefka.linear_fits import FITS, NEGATED, NOISY_OR, SCALES, SIGMOID, TOLERANCE, Table, fields_of

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
    """The compact form of every unit, or its table where none fits within 1e-6, or within `approximate`."""
    limit = check_approximate(approximate)
    return [_best(forms_of(unit, limit)) for unit in tables.units]


def expanded(tables: TableNetwork, forms: Sequence[Form]) -> TableNetwork:
    """Tables again, of what each became."""
    units = [form.unit._replace(parents=form.parents, table=probabilities(form)) for form in forms]
    return TableNetwork(tuple(units), tables.named)


def linear_form(unit: TableUnit, kind: str, states: np.ndarray, on: np.ndarray) -> Form | None:
    """The form of a unit from P(on) at some states of its parents: first none on, then each alone, then any others."""
    count = len(unit.parents)
    scale = SCALES[kind]
    with np.errstate(divide="ignore", invalid="ignore"):
        fields = scale.field(on)
        weights = fields[1 : count + 1] - fields[0]
        sums = np.where(states == 1, weights, 0.0).sum(1) + fields[0]
        error = np.abs(scale.probability(sums) - on).max()
    if not (np.isfinite(fields[0]) and np.isfinite(error)):
        return None
    return Form(unit, kind, unit.parents, float(error), on, float(fields[0]), weights, np.zeros(count, bool))


def check_approximate(approximate: float | None) -> float:
    """The largest error of a form."""
    if approximate is None:
        return TOLERANCE
    if not (isinstance(approximate, int | float) and 0 < approximate < 0.5):
        raise InvalidInput(
            f"approximate must be an error of probabilities, above 0 and below 0.5; got {approximate!r}."
        )
    return max(float(approximate), TOLERANCE)


def forms_of(unit: TableUnit, limit: float, kinds: tuple[str, ...] = COMPACT) -> Iterator[Form]:
    """The forms of a unit that fit within the limit, and its table, which always does."""
    reduced, kept = _without_idle_parents(unit.table)
    parents = tuple(unit.parents[axis] for axis in kept)
    restored = np.expand_dims(reduced, [axis for axis in range(unit.table.ndim) if axis not in kept])
    for kind in kinds:
        found = FITS[kind](reduced, limit)
        if found is not None:
            bias, weights, negated = found
            form = Form(unit, kind, parents, 0.0, reduced, bias, weights, negated)
            error = np.abs(probabilities(form) - reduced).max() + np.abs(restored - unit.table).max()
            if error <= limit:
                yield Form(unit, kind, parents, float(error), reduced, bias, weights, negated)
    yield Form(unit, TABLE, parents, float(np.abs(restored - unit.table).max()), reduced)


def probabilities(form: Form) -> Table:
    """P(on) for each state of the parents that matter, by the form."""
    if form.kind == TABLE:
        return form.table
    fields = fields_of(form.bias, form.weights, form.negated_parents)
    return SCALES[form.kind].probability(fields)


def _best(forms: Iterator[Form]) -> Form:
    """The first compact form that is exact; otherwise the closest; otherwise the table."""
    others = []
    for form in forms:
        if form.error <= TOLERANCE and form.kind != TABLE:
            return form
        others.append(form)
    *compact, table = others
    return min(compact, key=lambda form: form.error, default=table)


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
