"""A solution in the forms that people work with: one unit's probability, a DataFrame, plain numbers."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from plefka.errors import InvalidInput
from plefka.inference.batched_types import NumberByRow
from plefka.inference.log_odds import log_odds
from plefka.inference.solution_words import accuracies, checks_of, kind_of, status_word
from plefka.methods.posterior import ESTIMATE, OBSERVED
from plefka.runtime import extras

if TYPE_CHECKING:
    import pandas

    from plefka.inference.solution import Solution

ROW, STATUS, LOG_LIKELIHOOD, LOG_PARTITION = "row", "status", "log_likelihood", "log_partition"
OF_CHECK = ("log_likelihood", "standard_error", "pareto_k", "effective_samples", "num_samples", "trusted", "verdict")
ACCURACY, ESTIMATES = "accuracy", "estimates"  # what ln P of a row is, and which of its units have an estimate


def estimated_units(solution: "Solution", units: np.ndarray | slice = slice(None)) -> list[str]:
    """For every row, which of these units have a mean that is an estimate: none, all, or their names, with ; between.

    Of units that are observed nothing is estimated: all are those that are hidden.
    """
    codes, names = np.atleast_2d(solution.codes.means)[:, units], np.array(solution.names, object)[units]
    estimates, hidden = codes == ESTIMATE, codes != OBSERVED
    few = estimates.any(axis=1) & (estimates != hidden).any(axis=1)
    words = np.where(estimates.any(axis=1), "all", "none").astype(object)
    for row in np.flatnonzero(few).tolist():
        words[row] = ";".join(names[estimates[row]])
    return words.tolist()


def of_unit(solution: "Solution", unit: int) -> NumberByRow:
    """P(on | evidence) of a unit: a plain number of one row, an array of a batch; inside a trace what is traced."""
    found = solution.means.T[unit]
    return cast(NumberByRow, float(found) if isinstance(found, np.floating) else found)


# ---- DataFrames ------------------------------------------------------------------------------------------------------


def frame(solution: "Solution", *, wide: bool) -> "pandas.DataFrame":
    """See `Solution.to_frame`."""
    return extras.pandas("a DataFrame of a solution").DataFrame(_wide(solution) if wide else _long(solution))


def _long(solution: "Solution") -> dict[str, Any]:
    from plefka.networks.units import kinds_of  # networks load JAX

    means, observed = np.atleast_2d(solution.means), np.atleast_2d(solution.observed)
    count, size = means.shape
    columns = {
        "name": np.tile(np.array(solution.names, object), count),
        "kind": np.tile(np.array(kinds_of(solution.network), object), count),
        "probability": means.ravel(),
        "log_odds": log_odds(means).ravel(),
        "observed": observed.ravel(),
        "accuracy": np.atleast_2d(solution.accuracy).ravel().astype(str).astype(object),
    }
    return {ROW: np.repeat(np.arange(count), size), **columns} if solution.is_batch else columns


def quantity_column(solution: "Solution") -> str:
    """What is written: ln P(evidence), or of a Boltzmann machine ln Z with the evidence clamped."""
    return LOG_LIKELIHOOD if solution.network.is_normalised else LOG_PARTITION


def _wide(solution: "Solution") -> dict[str, Any]:
    own = (ROW, STATUS, quantity_column(solution), ACCURACY, ESTIMATES)
    taken = next((name for name in solution.names if name in own), None)
    if taken is not None:
        raise InvalidInput(
            f"the wide form has columns {', '.join(own[:-1])} and {own[-1]} beside those of the units; got "
            f"a unit called {taken!r}. Rename the unit, or use to_frame() without wide=True."
        )
    means = np.atleast_2d(solution.means)
    about = {
        ROW: np.arange(len(means)),
        STATUS: [status_word(status) for status in np.atleast_1d(solution.status)],
        quantity_column(solution): np.atleast_1d(solution.log_partition),
        ACCURACY: accuracies(solution),
        ESTIMATES: estimated_units(solution),
    }
    return about | dict(zip(solution.names, means.T, strict=True))


# ---- plain numbers ---------------------------------------------------------------------------------------------------


def as_dict(solution: "Solution") -> dict[str, Any]:
    """See `Solution.to_dict`."""
    rows = _rows(solution)
    return {
        **solution.network.identity,
        "method": str(solution.method),
        "kind": kind_of(solution),
        "is_bound": bool(solution.is_bound),
        "notes": list(solution.notes),
        **({"rows": rows} if solution.is_batch else rows[0]),
    }


def _rows(solution: "Solution") -> list[dict[str, Any]]:
    batch, names = solution.is_batch, np.array(solution.names, object)
    means, observed = np.atleast_2d(solution.means), np.atleast_2d(solution.observed)
    name = quantity_column(solution)
    log_partition, status, steps, residual = (
        np.atleast_1d(z) for z in (solution.log_partition, solution.status, solution.num_steps, solution.residual)
    )
    accuracy = accuracies(solution)
    of_means = np.atleast_2d(solution.accuracy)
    warnings = solution.warnings if batch else [solution.warnings]
    checks = checks_of(solution)
    return [
        {
            name: float(log_partition[row]),
            ACCURACY: accuracy[row],
            STATUS: status_word(status[row]),
            "message": status[row].value,
            "warnings": list(warnings[row]),
            "num_steps": int(steps[row]),
            "residual": float(residual[row]),
            "num_restarts": int(solution.num_restarts),
            "observed": names[observed[row]].tolist(),
            "means": dict(zip(solution.names, means[row].tolist(), strict=True)),
            "means_accuracy": dict(zip(solution.names, map(str, of_means[row]), strict=True)),
            **errors_of(solution, row),
            **({"check": {name: getattr(checks[row], name) for name in OF_CHECK}} if checks else {}),
        }
        for row in range(len(means))
    ]


def errors_of(solution: "Solution", row: int) -> dict[str, Any]:
    """The standard errors of a row, where there are any."""
    if solution.standard_error is None and solution.means_error is None:
        return {}
    error = np.nan if solution.standard_error is None else np.atleast_1d(solution.standard_error)[row]
    ends = (float(np.atleast_1d(end)[row]) for end in solution.log_partition_interval)
    found: dict[str, Any] = {"standard_error": float(error), "interval": list(ends)}
    if solution.means_error is not None:
        errors = np.atleast_2d(solution.means_error)[row]
        known = np.flatnonzero(np.isfinite(errors))
        found["means_error"] = {solution.names[unit]: float(errors[unit]) for unit in known.tolist()}
    return found
