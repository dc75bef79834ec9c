"""What weighted states of a question say of all units of the network, with standard errors."""

from typing import NamedTuple

import numpy as np

from plefka.posterior import Draws
from plefka.reduction.reduce import Reduction
from plefka.sampling import diagnostics
from plefka.sampling.fields import Target
from plefka.sampling.importance import averaged, resampled

ALWAYS_PREDICTED, MOST_NUMBERS = 4096, 2**25  # states that barren units are predicted from, and numbers of all units


class Weighed(NamedTuple):
    """The first fields of a `Check`."""

    log_likelihood: float
    standard_error: float
    means: np.ndarray
    means_error: np.ndarray
    pareto_k: float
    effective_samples: float


def weighed(
    reduction: Reduction,
    target: Target,
    S: np.ndarray,
    log_w: np.ndarray,
    rng: np.random.Generator,
    *,
    is_bounded: bool,
) -> Weighed | None:
    """None where no draw is possible. Weights that are bounded have no tail to be smoothed."""
    if not np.isfinite(log_w).any():
        return None
    log_w, k = (log_w, -np.inf) if is_bounded else diagnostics.smoothed(log_w)
    found = averaged(log_w + reduction.parts[0].constant[0])
    weights = np.exp(log_w - log_w.max())
    means, errors = _means(reduction, target, S, weights / weights.sum(), rng)
    return Weighed(float(found.log_mean), float(found.standard_error), means, errors, k, float(found.effective))


def _means(
    reduction: Reduction, target: Target, S: np.ndarray, weights: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Self-normalised averages of all units of the network, with their errors; barren units are predicted.

    Units that were summed out have the error of as many draws of their own, which is no less than theirs.
    """
    (part,), free = reduction.parts, target.free[:, 0]
    inside = np.clip(S[:, 0] @ weights, 0.0, 1.0)
    slope = target.widened(target.slopes(S) @ weights) if reduction.has_summed else None
    means = reduction.restored(part, target.widened(inside[:, None]), slope)[0][:, 0]
    errors = np.sqrt(means * (1 - means) * np.sum(weights**2))
    units = part.units.reshape(part.question.size, -1)[target.units, 0]
    errors[units[free]] = np.sqrt(((S[free, 0] - inside[free, None]) ** 2) @ weights**2)
    barren = np.isnan(means)
    if barren.any():
        chosen = resampled(weights, _num_predicted(len(weights), len(means)), rng)
        draws = Draws(target.widened(S[:, 0][:, chosen].T[:, :, None]), int(rng.integers(2**63)))
        found = reduction.averages(part, draws)
        fewer = max(1.0, len(chosen) * np.sum(weights**2))  # no more draws than are effective
        means[barren], errors[barren] = found.chances[barren, 0], found.errors(len(chosen))[barren, 0] * np.sqrt(fewer)
    return means, errors


def _num_predicted(draws: int, size: int) -> int:
    """More of them where there are more draws, as long as that is not too long."""
    return max(ALWAYS_PREDICTED, min(draws, MOST_NUMBERS // size))
