"""The couplings between all pairs of columns by pseudo-likelihood, along a path from strong to weak penalties.

Each point is a maximum of sum_i ln P(v_i | others) per row - l1 sum |w| - l2 sum w^2 / 2, reached by accelerated
proximal steps (FISTA) from the point before, so that a coupling that does not pay is exactly 0. A second path of l1
spares the couplings that the first one found strong (the adaptive lasso of Zou, 2006): l1 / (1 + |w|).
"""

from collections.abc import Iterator

import numpy as np

from plefka.learning.semi_restricted import CompleteRows, Penalties, SemiRestricted
from plefka.networks.activations import numpy_sigmoid

ENOUGH = 2e-5  # the largest change of a coupling in a step, over the largest coupling


def penalty_path(
    columns: CompleteRows, start: SemiRestricted, penalties: list[Penalties], most_steps: int
) -> Iterator[SemiRestricted]:
    """The machine for each of the penalties, around the means of the columns, one after another."""
    z = columns.V - columns.means
    steepest = np.linalg.eigvalsh((z.T * columns.shares) @ z)[-1] / 2  # of the gradient of a row, at most
    for each in penalties:
        start = _maximum(columns, z, start, each, 1 / (max(steepest, 0.25) + each.l2), most_steps)
        yield start


def _maximum(
    columns: CompleteRows, z: np.ndarray, machine: SemiRestricted, penalties: Penalties, step: float, most: int
) -> SemiRestricted:
    (l1, l2, _), (L, b) = penalties, (machine.pairs, machine.bias)
    threshold = np.float32(step) * np.asarray(l1, np.float32)
    ahead_L, ahead_b, t = L, b, 1.0
    for _ in range(most):
        surprise = (columns.V - numpy_sigmoid(z @ ahead_L + ahead_b)) * columns.shares[:, None]
        G = surprise.T @ z
        moved_L = ahead_L + np.float32(step) * (G + G.T - l2 * ahead_L)
        moved_L = np.sign(moved_L) * np.maximum(np.abs(moved_L) - threshold, 0)
        np.fill_diagonal(moved_L, 0)
        moved_b = ahead_b + np.float32(step) * surprise.sum(axis=0)
        against = np.sum((ahead_L - moved_L) * (moved_L - L)) > 0  # momentum that leads downhill begins anew
        later = 1.0 if against else (1 + np.sqrt(1 + 4 * t * t)) / 2
        momentum = np.float32(0.0 if against else (t - 1) / later)
        change = np.abs(moved_L - L).max(initial=0)
        ahead_L, ahead_b = moved_L + momentum * (moved_L - L), moved_b + momentum * (moved_b - b)
        L, b, t = moved_L, moved_b, later
        if change <= ENOUGH * np.abs(L).max(initial=1e-3):
            break
    return machine._replace(pairs=L, bias=b)


def strongest(columns: CompleteRows) -> float:
    """The l1 at which no pair is coupled any more: twice the largest covariance."""
    z = columns.V - columns.means
    covariance = (z.T * columns.shares) @ z
    np.fill_diagonal(covariance, 0)
    return float(2 * np.abs(covariance).max(initial=0))


def sparing(penalties: Penalties, machine: SemiRestricted, factor: float) -> Penalties:
    """Penalties that are weaker where a machine has strong couplings already."""
    return penalties._replace(l1=factor * penalties.l1 / (1 + np.abs(machine.pairs)))
