"""Fields that are linear in the parents, fitted to a table of probabilities (see `plefka.files.recognition`)."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Bool, Float

from plefka.networks.fields import fields_of_states

TOLERANCE = 1e-6  # the largest error of a probability with which a form counts as exact
CLOSE_FIT = 1e-12  # rounding: no better fit is looked for
ZERO = 1e-15  # a probability below is zero
SMALLEST_PROBABILITY = TOLERANCE / 2  # what a zero counts for, as tables are often rounded to six digits
REFINEMENTS = 30
FIT_SETTLED = 1e-9  # a step that is not worth another
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
LinearFit = tuple[float, Float[np.ndarray, " parent"], Bool[np.ndarray, " parent"]] | None


def linear_fit(kind: str, table: Table, limit: float) -> LinearFit:
    """Bias, weights and which parents are negated of the form of this kind, or None where there is none."""
    if kind == SIGMOID:
        edge = limit / 4 if limit > TOLERANCE else 0.0
        if not edge and (table.min() <= ZERO or table.max() >= 1 - ZERO):
            return None
        return *_fit(np.clip(table, edge, 1 - edge), SCALES[SIGMOID], limit), np.zeros(table.ndim, bool)
    found = _fit_by_zeros(table, kind, ZERO, limit)
    return _fit_by_zeros(table, kind, limit, limit) if found is None and limit > TOLERANCE else found


def _fit_by_zeros(table: Table, kind: str, zero: float, limit: float) -> LinearFit:
    """Of a noisy-or, whose parents are certain where no cause can fail in their presence."""
    quiet = 1 - table if kind == NOISY_OR else table  # the probability that no cause is effective
    on_decides, off_decides = (
        np.array([bool(np.all(quiet.take(state, axis) <= zero)) for axis in range(table.ndim)], bool)
        for state in (1, 0)
    )
    if np.any(on_decides & off_decides) or quiet.max() <= zero:
        return None  # zero everywhere: this kind would need an infinite bias
    certain = on_decides | off_decides
    rest = tuple(int(off_decides[axis]) if certain[axis] else slice(None) for axis in range(table.ndim))
    weights = np.full(table.ndim, np.inf)
    inside = np.clip(
        table[rest], *((0.0, 1 - SMALLEST_PROBABILITY) if kind == NOISY_OR else (SMALLEST_PROBABILITY, 1.0))
    )
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
    if CLOSE_FIT < _error(theta, table, scale) < min(HOPELESS, RANGE * limit) and table.ndim <= MOST_REFINED:
        theta = min(_refinements(theta, table, scale), key=lambda trial: _error(trial, table, scale))
    return float(theta[0]) + 0.0, theta[1:] + 0.0  # no negative zeros


def _refinements(theta: np.ndarray, table: Table, scale: Scale) -> Iterator[np.ndarray]:
    """The start, and Gauss and Newton's steps from it until they hardly move."""
    yield theta
    for _ in range(REFINEMENTS):
        fields = fields_of_states(theta[0], theta[1:])
        slope, residual = scale.slope(fields), table - scale.probability(fields)
        sums = _sums_where_on(np.stack([slope * slope, slope * residual]).reshape(2, *table.shape))
        step = np.linalg.lstsq(sums[0], sums[1, 0], rcond=None)[0]
        theta = theta + step
        if not np.all(np.isfinite(theta)) or _error(theta, table, scale) > 1:
            return
        yield theta
        if np.abs(step).max() < FIT_SETTLED:
            return


def _error(theta: np.ndarray, table: Table, scale: Scale) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        return float(np.abs(scale.probability(fields_of_states(theta[0], theta[1:])) - table).max())


def _sums_where_on(values: Table) -> np.ndarray:
    """Of tables (k, 2, ..., 2) the sums over all states (the first), and those with one or two parents on."""
    count = values.ndim - 1
    head, tail = count // 2, count - count // 2
    first, last = _with_one(head), _with_one(tail)
    seen = values.reshape(-1, 2**head, 2**tail)
    by_last = seen @ last  # (k, states of the head, 1 + tail)
    mixed = np.swapaxes(first, 0, 1) @ by_last  # (k, 1 + head, 1 + tail)
    sums = np.empty((len(seen), count + 1, count + 1))
    heads = np.arange(head + 1)
    tails = np.r_[0, np.arange(head + 1, count + 1)]
    sums[:, heads[:, None], heads] = first.T @ (by_last[:, :, 0, None] * first)
    sums[:, tails[:, None], tails] = last.T @ (seen.sum(axis=1)[:, :, None] * last)
    sums[:, heads[:, None], tails] = mixed
    sums[:, tails[:, None], heads] = np.swapaxes(mixed, 1, 2)
    return sums


@lru_cache(maxsize=32)
def _with_one(count: int) -> np.ndarray:
    """For each state of so many parents, 1 and their states."""
    on = (np.arange(2**count)[:, None] >> np.arange(count)[::-1]) & 1
    return np.concatenate([np.ones((2**count, 1)), on], axis=1)
