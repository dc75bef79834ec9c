"""Tables that are a noisy-or or a sigmoid of their parents in disguise, and the parents that they do not depend on.

Three forms are linear after a change of scale, for a table P of probabilities to be on:

    noisy-or              -ln(1 - P) = bias + sum_j weights_j S_j     leaks, causes and (weights below 0) inhibitors
    noisy-or, negated     -ln P      = bias + sum_j weights_j S_j     the same of being off: noisy-and among others
    sigmoid               logit P    = bias + sum_j weights_j S_j

An infinite weight of a noisy-or is a parent that decides alone. Where it does so by being off, the parent is negated:
1 - S_j stands for S_j.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from plefka.errors import InvalidInput
from plefka.formats.tables import TableNetwork, TableUnit

TOLERANCE = 1e-6  # the largest error of a probability with which a form counts as exact
CLOSE = 1e-12  # rounding: no better fit is looked for
ZERO = 1e-15  # a probability below is zero
SMALLEST = TOLERANCE / 2  # what a zero among other numbers counts for: tables are often rounded to six digits
REFINEMENTS = 30
RANGE = 1e3  # times the limit: an error beyond it is no rounding that could be fitted away
HOPELESS = 0.3  # an error of the start that refinement does not mend
MOST_REFINED = 20  # parents of a table whose fit is refined
NOISY_OR, NEGATED, SIGMOID, TABLE = "noisy-or", "noisy-or, negated", "sigmoid", "table"
COMPACT = (NOISY_OR, NEGATED, SIGMOID)
Table = Float[np.ndarray, "..."]


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
    scale = _SCALES[kind]
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
        found = _FITS[kind](reduced, limit)
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
    fields = _fields(form.bias, form.weights, form.negated_parents)
    return _SCALES[form.kind].probability(fields)


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


@dataclass(frozen=True)
class _Scale:
    """The scale on which a form is linear, and back; `slope` is the derivative of the probability by the field."""

    field: Callable[[Table], Table]
    probability: Callable[[Table], Table]
    slope: Callable[[Table], Table]


def _sigmoid(x: Table) -> Table:
    return np.exp(-np.logaddexp(0.0, -x))


_SCALES = {
    NOISY_OR: _Scale(lambda p: -np.log1p(-p), lambda x: -np.expm1(-x), lambda x: np.exp(-x)),
    NEGATED: _Scale(lambda p: -np.log(p), lambda x: np.exp(-x), lambda x: -np.exp(-x)),
    SIGMOID: _Scale(lambda p: np.log(p) - np.log1p(-p), _sigmoid, lambda x: _sigmoid(x) * _sigmoid(-x)),
}
Found = tuple[float, Float[np.ndarray, " parent"], Bool[np.ndarray, " parent"]] | None


def _fit_noisy_or(table: Table, limit: float) -> Found:
    return _fit_with_certain_parents(table, NOISY_OR, 1 - table, limit)


def _fit_negated(table: Table, limit: float) -> Found:
    return _fit_with_certain_parents(table, NEGATED, table, limit)


def _fit_sigmoid(table: Table, limit: float) -> Found:
    edge = limit / 4 if limit > TOLERANCE else 0.0
    if not edge and (table.min() <= ZERO or table.max() >= 1 - ZERO):
        return None
    bias, weights = _fit(np.clip(table, edge, 1 - edge), _SCALES[SIGMOID], limit)
    return bias, weights, np.zeros(table.ndim, bool)


def _fit_with_certain_parents(table: Table, kind: str, quiet: Table, limit: float) -> Found:
    """`quiet` is the probability that no cause is effective; parents in whose presence it is zero are certain."""
    found = _fit_by_zeros(table, kind, quiet, ZERO, limit)
    return _fit_by_zeros(table, kind, quiet, limit, limit) if found is None and limit > TOLERANCE else found


def _fit_by_zeros(table: Table, kind: str, quiet: Table, zero: float, limit: float) -> Found:
    on_decides, off_decides = (
        np.array([bool(np.all(quiet.take(state, axis) <= zero)) for axis in range(table.ndim)], bool)
        for state in (1, 0)
    )
    if np.any(on_decides & off_decides) or quiet.max() <= zero:
        return None  # zero everywhere: this kind would need an infinite bias
    certain = on_decides | off_decides
    rest = tuple(int(off_decides[axis]) if certain[axis] else slice(None) for axis in range(table.ndim))
    weights = np.full(table.ndim, np.inf)
    inside = np.clip(table[rest], *((0.0, 1 - SMALLEST) if kind == NOISY_OR else (SMALLEST, 1.0)))
    bias, weights[~certain] = _fit(inside, _SCALES[kind], limit)
    lowest = bias + np.minimum(weights, 0).sum()
    return max(bias, bias - lowest), weights, off_decides  # a field of rounded numbers may come out below 0


def _fit(table: Table, scale: _Scale, limit: float) -> tuple[float, Float[np.ndarray, " parent"]]:
    """From one state and those with one parent changed; by least squares where rounded numbers do not fit that."""
    fields = scale.field(table)
    origin = np.unravel_index(int(np.abs(scale.slope(fields)).argmax()), table.shape)  # rounding matters least there
    ends = [[(*origin[:axis], state, *origin[axis + 1 :]) for state in (0, 1)] for axis in range(table.ndim)]
    weights = np.array([fields[on] - fields[off] for off, on in ends], float)
    theta = np.array([fields[origin] - weights @ np.array(origin, float), *weights])
    if CLOSE < _error(theta, table, scale) < min(HOPELESS, RANGE * limit) and table.ndim <= MOST_REFINED:
        theta = min(_refinements(theta, table, scale), key=lambda trial: _error(trial, table, scale))
    return float(theta[0]) + 0.0, theta[1:] + 0.0  # no negative zeros


def _refinements(theta: np.ndarray, table: Table, scale: _Scale) -> Iterator[np.ndarray]:
    """The start, and Gauss and Newton's steps from it until they hardly move."""
    yield theta
    for _ in range(REFINEMENTS):
        step = _gauss_newton_step(theta, table, scale)
        theta = theta + step
        if not np.all(np.isfinite(theta)) or _error(theta, table, scale) > 1:
            return
        yield theta
        if np.abs(step).max() < CLOSE:
            return


def _error(theta: np.ndarray, table: Table, scale: _Scale) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(scale.probability(_plain_fields(theta)) - table).max())


def _gauss_newton_step(theta: np.ndarray, table: Table, scale: _Scale) -> np.ndarray:
    fields = _plain_fields(theta)
    slope, residual = scale.slope(fields), table - scale.probability(fields)
    count = len(theta)
    normal = np.empty((count, count))
    squares = slope**2
    for i in range(count):
        for j in range(i + 1):
            normal[i, j] = normal[j, i] = _sum_where_on(squares, {i - 1, j - 1} - {-1})
    right = np.array([_sum_where_on(slope * residual, {i - 1} - {-1}) for i in range(count)])
    return np.linalg.lstsq(normal, right, rcond=None)[0]


def _sum_where_on(values: Table, axes: set[int]) -> float:
    return float(values[tuple(1 if axis in axes else slice(None) for axis in range(values.ndim))].sum())


def _plain_fields(theta: np.ndarray) -> Table:
    return _fields(theta[0], theta[1:], np.zeros(len(theta) - 1, bool))


def _fields(bias: float, weights: Float[np.ndarray, " parent"], negated: Bool[np.ndarray, " parent"]) -> Table:
    """bias + sum_j weights_j S_j for every state of the parents."""
    fields = np.array(bias, float)
    for weight, flipped in zip(weights, negated, strict=True):
        fields = np.add.outer(fields, np.array([weight, 0.0] if flipped else [0.0, weight]))
    return fields


_FITS: dict[str, Callable[[Table, float], Found]] = {
    NOISY_OR: _fit_noisy_or,
    NEGATED: _fit_negated,
    SIGMOID: _fit_sigmoid,
}
