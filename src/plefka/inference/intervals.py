"""Where ln P(evidence) and the means lie: 95 of 100 intervals from standard errors contain the truth.

An exact number is its own interval, and a bound one side of it. Where a few independent populations stand behind a
standard error, Student's t says how far to go.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, stdtrit

from plefka.errors import InvalidInput
from plefka.methods.posterior import EXACT, LOWER_BOUND, OBSERVED, UPPER_BOUND, Status

if TYPE_CHECKING:
    from plefka.inference.solution import Solution

TWO_SIDED = 0.975  # the quantile that ends an interval of 95 %
Interval = tuple[Any, Any]


def log_partition_interval(solution: "Solution") -> Interval:
    """(low, high) of ln Z, or of ln P of a belief network; arrays of a batch; nan where nothing is known."""
    is_answer, code = _is_answer(solution), np.asarray(solution.codes.log_partition)
    value, reach = np.asarray(solution.log_partition), _reach(solution, solution.standard_error)
    highest = _at_most(solution, value) if solution.network.is_normalised else np.inf
    with np.errstate(invalid="ignore"):  # of evidence that is impossible
        low, high = value - reach, value + reach
    exact = code == EXACT
    low = np.where(exact | (code == LOWER_BOUND), value, np.where(code == UPPER_BOUND, -np.inf, low))
    high = np.where(exact | (code == UPPER_BOUND), value, np.where(code == LOWER_BOUND, highest, high))
    return _plain(np.where(is_answer, low, np.nan)), _plain(np.where(is_answer, high, np.nan))


def log_likelihood_interval(solution: "Solution") -> Interval:
    """That of ln P(evidence); of a Boltzmann machine, whose ln P is a difference, distances add up as errors do."""
    low, high = log_partition_interval(solution)
    if solution.network.is_normalised:
        return low, high
    from plefka.inference.free_machine import free_partition, is_blank

    value, (free, _, (free_low, free_high)) = solution.log_likelihood, free_partition(solution)
    with np.errstate(invalid="ignore"):  # of evidence that is impossible
        below, above = (
            np.where(low == high, 0.0, z) for z in (solution.log_partition - low, high - solution.log_partition)
        )
    reach = np.hypot(above, free - free_low)
    high = np.where(np.isinf(reach), _at_most(solution, value), value + reach)
    ends = value - np.hypot(below, free_high - free), high
    low, high = (_plain(np.where(is_blank(solution), value, end)) for end in ends)
    return low, high


def mean_intervals(solution: "Solution") -> Interval:
    """(low, high) of every mean, each (n,) or (B, n), within [0, 1]; nan where nothing is known."""
    is_answer, means, code = _is_answer(solution), np.asarray(solution.means), np.asarray(solution.codes.means)
    known = (code == EXACT) | (code == OBSERVED)
    reach = np.where(known, 0.0, _reach(solution, solution.means_error, axis=-1))
    reach = np.where((code == OBSERVED) | np.expand_dims(is_answer, -1), reach, np.nan)
    return np.clip(means - reach, 0.0, 1.0), np.clip(means + reach, 0.0, 1.0)


def _at_most(solution: "Solution", value: Any) -> np.ndarray:
    """What no ln P(evidence) exceeds, or this value of it if that does."""
    return np.maximum(value, np.broadcast_to(solution.evidence.highest, solution.num_rows).reshape(np.shape(value)))


def _is_answer(solution: "Solution") -> np.ndarray:
    """Where a row has one; nothing is known of a row that has not converged."""
    if not isinstance(solution.log_partition, float | np.ndarray | np.generic):
        raise InvalidInput("an interval is for a solution outside a trace of JAX. Return the solution, and ask there.")
    status = np.asarray(solution.status)
    return (status == Status.CONVERGED) | (status == Status.IMPOSSIBLE)


def _reach(solution: "Solution", error: Any, axis: int | None = None) -> np.ndarray:
    """Half the width of an interval, by Student's t where the degrees of freedom are known; nan without an error."""
    freedom = np.asarray(np.inf if solution.degrees_of_freedom is None else solution.degrees_of_freedom, float)
    t = stdtrit(np.where(freedom > 0, freedom, 1.0), TWO_SIDED)
    one = np.where(freedom > 0, t, ndtri(TWO_SIDED))
    return (one if axis is None else np.expand_dims(one, axis)) * (np.nan if error is None else np.asarray(error))


def _plain(values: np.ndarray) -> Any:
    """A number of a single row, an array of a batch."""
    return float(values) if np.ndim(values) == 0 else values
