"""What `score` returns: ln P of every row."""

from dataclasses import dataclass, field

import numpy as np

from plefka.methods.method import Method
from plefka.methods.posterior import Accuracy


@dataclass(frozen=True, eq=False, repr=False)
class Score:
    """ln P of every row.

    - `log_likelihood`, `standard_error`: exact with errors of zero, or an estimate by importance sampling; the error is
        of the mean of the weights, and too small where few samples carry them: see `effective`.
    - `accuracy`: which of the two each row has; `is_exact`: whether all rows are exact.
    - `bound`: what the log-likelihood is not below, by `method` where that is a bound, else the mean logarithm of the
        weights, a bound up to its own sampling error. None where exact.
    - `effective`: how many samples carry the estimate of each row, inf for a row that is exact; None where all are.
    - `which`: the estimate that each row has; equal rows share one.
    - `shared_error`: of a Boltzmann machine, the part of every row's error that is that of ln Z; 0 elsewhere.
    - `ids`: what the table calls its rows, {column: values}.

    A row that cannot happen has -inf.

    >>> import plefka as pf
    >>> net = pf.BeliefNetwork.layered([[[1.6, 0.3], [0.8, 1.0]]], [[0.06, 0.2], [0.02, 0.1]], "noisy_or")
    >>> score = pf.score(net, [[1, 0], [0, 0], [1, 1]])
    >>> len(score.log_likelihood), score.is_exact
    (3, True)
    """

    log_likelihood: np.ndarray
    standard_error: np.ndarray
    accuracy: np.ndarray
    bound: np.ndarray | None
    effective: np.ndarray | None
    method: Method | None
    which: np.ndarray
    ids: dict[str, list] = field(default_factory=dict)
    shared_error: float = 0.0

    @property
    def is_exact(self) -> bool:
        """Whether ln P of every row is exact."""
        return bool(np.all(self.accuracy == Accuracy.EXACT))

    @property
    def mean(self) -> float:
        """ln P per row."""
        return float(self.log_likelihood.mean())

    @property
    def mean_error(self) -> float:
        """The sampling error of the mean; equal rows share one estimate, and so their errors add up."""
        own = np.sqrt(np.maximum(self.standard_error**2 - self.shared_error**2, 0.0))
        shared = np.bincount(self.which, own)
        return float(np.hypot(np.sqrt(np.sum(shared**2)) / len(self.which), self.shared_error))

    def __repr__(self) -> str:
        if self.is_exact:
            return f"<Score: {self.mean:.4f} per row, exact, {len(self.log_likelihood):,} rows>"
        bound = "" if self.bound is None else f", at least {self.bound.mean():.4f}"
        how = "annealed importance sampling" if self.method is None else "importance sampling"
        return f"<Score: {self.mean:.4f} +- {self.mean_error:.4f} per row by {how}{bound}>"


def accuracies(exact: np.ndarray) -> np.ndarray:
    """What ln P of every row is."""
    return np.where(exact, Accuracy.EXACT, Accuracy.ESTIMATE).astype(object)
