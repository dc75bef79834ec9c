"""Where units are drawn, and the curves between them: layer below layer."""

import numpy as np
import scipy.sparse as sp


def levels_of(weights: sp.csr_array) -> np.ndarray:
    """The longest path from a unit without parents, in edges."""
    children, parents = weights.nonzero()
    levels = np.zeros(len(weights.indptr) - 1, int)
    for _ in range(len(levels)):
        np.maximum.at(levels, children, levels[parents] + 1)
    return levels


def positions_of(weights: sp.csr_array, levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Layer below layer, and inside a layer everybody near the middle of their parents."""
    children, parents = weights.nonzero()
    x = np.zeros(len(levels))
    widest = np.bincount(levels).max()
    for level in range(levels.max() + 1):
        units = np.flatnonzero(levels == level)
        middle = [x[parents[children == unit]].mean() if level else 0.0 for unit in units]
        units = units[np.argsort(middle, kind="stable")]
        x[units] = (np.arange(len(units)) + 0.5) * widest / len(units)
    return x, -levels.astype(float)


def curve(x0: float, y0: float, x1: float, y1: float) -> np.ndarray:
    """From parent to child, leaving and arriving vertically; one that skips layers swerves around their units."""
    t = np.linspace(0, 1, 40)
    swerve = 0.5 * (y0 - y1 > 1.5) * np.sin(np.pi * t)
    return np.column_stack([x0 + (x1 - x0) * t**2 * (3 - 2 * t) + swerve, y0 + (y1 - y0) * t])
