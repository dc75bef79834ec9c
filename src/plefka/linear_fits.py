"""Fields that are linear in the parents, fitted to a table of probabilities (see `plefka.recognition`)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

TOLERANCE = 1e-6  # the largest error of a probability with which a form counts as exact
CLOSE = 1e-12  # rounding: no better fit is looked for
ZERO = 1e-15  # a probability below is zero
SMALLEST = TOLERANCE / 2  # what a zero among other numbers counts for: tables are often rounded to six digits
REFINEMENTS = 30
SETTLED = 1e-9  # a step that is not worth another
RANGE = 1e3  # times the limit: an error beyond it is no rounding that could be fitted away
HOPELESS = 0.3  # an error of the start that refinement does not mend
MOST_REFINED = 20  # parents of a table whose fit is refined
NOISY_OR, NEGATED, SIGMOID = "noisy-or", "noisy-or, negated", "sigmoid"
Table = Float[np.ndarray, "..."]


@dataclass(frozen=True)
class Scale:
    """The scale on which a form is linear, and back; `slope` is the derivative of the probability by the field."""

    field: Callable[[Table], Table]
    probability: Callable[[Table], Table]
    slope: Callable[[Table], Table]


def _sigmoid(x: Table) -> Table:
    return np.exp(-np.logaddexp(0.0, -x))


SCALES = {
    NOISY_OR: Scale(lambda p: -np.log1p(-p), lambda x: -np.expm1(-x), lambda x: np.exp(-x)),
    NEGATED: Scale(lambda p: -np.log(p), lambda x: np.exp(-x), lambda x: -np.exp(-x)),
    SIGMOID: Scale(lambda p: np.log(p) - np.log1p(-p), _sigmoid, lambda x: _sigmoid(x) * _sigmoid(-x)),
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
    bias, weights = _fit(np.clip(table, edge, 1 - edge), SCALES[SIGMOID], limit)
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
    bias, weights[~certain] = _fit(inside, SCALES[kind], limit)
    lowest = bias + np.minimum(weights, 0).sum()
    return max(bias, bias - lowest), weights, off_decides  # a field of rounded numbers may come out below 0


def _fit(table: Table, scale: Scale, limit: float) -> tuple[float, Float[np.ndarray, " parent"]]:
    """From one state and those with one parent changed; by least squares where rounded numbers do not fit that."""
    fields = scale.field(table)
    origin = np.unravel_index(int(np.abs(scale.slope(fields)).argmax()), table.shape)  # rounding matters least there
    ends = [[(*origin[:axis], state, *origin[axis + 1 :]) for state in (0, 1)] for axis in range(table.ndim)]
    weights = np.array([fields[on] - fields[off] for off, on in ends], float)
    theta = np.array([fields[origin] - weights @ np.array(origin, float), *weights])
    if CLOSE < _error(theta, table, scale) < min(HOPELESS, RANGE * limit) and table.ndim <= MOST_REFINED:
        theta = min(_refinements(theta, table, scale), key=lambda trial: _error(trial, table, scale))
    return float(theta[0]) + 0.0, theta[1:] + 0.0  # no negative zeros


def _refinements(theta: np.ndarray, table: Table, scale: Scale) -> Iterator[np.ndarray]:
    """The start, and Gauss and Newton's steps from it until they hardly move."""
    yield theta
    for _ in range(REFINEMENTS):
        step = _gauss_newton_step(theta, table, scale)
        theta = theta + step
        if not np.all(np.isfinite(theta)) or _error(theta, table, scale) > 1:
            return
        yield theta
        if np.abs(step).max() < SETTLED:
            return


def _error(theta: np.ndarray, table: Table, scale: Scale) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(scale.probability(_plain_fields(theta)) - table).max())


def _gauss_newton_step(theta: np.ndarray, table: Table, scale: Scale) -> np.ndarray:
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
    return fields_of(theta[0], theta[1:], np.zeros(len(theta) - 1, bool))


def fields_of(bias: float, weights: Float[np.ndarray, " parent"], negated: Bool[np.ndarray, " parent"]) -> Table:
    """bias + sum_j weights_j S_j for every state of the parents."""
    fields = np.array(bias, float)
    for weight, flipped in zip(weights, negated, strict=True):
        fields = np.add.outer(fields, np.array([weight, 0.0] if flipped else [0.0, weight]))
    return fields


FITS: dict[str, Callable[[Table, float], Found]] = {
    NOISY_OR: _fit_noisy_or,
    NEGATED: _fit_negated,
    SIGMOID: _fit_sigmoid,
}
