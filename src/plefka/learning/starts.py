"""Where the search of every row starts: at its solution of the epoch before, while these are few enough to keep.

With `restarts` it starts from random means as well, which every batch of every epoch draws anew from the method's seed.
"""

import numpy as np

from plefka.learning.learner import When
from plefka.learning.patterns import Data
from plefka.mean_field.minimisation import random_start
from plefka.mean_field.schemes import MeanField

MOST_STARTS = 2**25  # numbers that are kept for the next epoch to start from
STORED = np.float32


class Starts:
    """The solutions of the last epoch, for the units that are hidden in every row."""

    def __init__(self, data: Data, stack: tuple[int, ...]):
        self.latent, self.stack = data.latent, stack
        shape = (*stack, len(data), len(self.latent))
        self.kept = bool(np.prod(shape) <= MOST_STARTS)
        self.theta = np.zeros(shape if self.kept else (*stack, 0, len(self.latent)), STORED)

    def read(self, index: np.ndarray, width: int) -> np.ndarray:
        theta = np.zeros((*self.stack, len(index), width))
        if self.kept:
            theta[..., self.latent] = self.theta[..., index, :]
        return theta

    def write(self, index: np.ndarray, theta: np.ndarray) -> None:
        """The solutions of some rows; `theta` may have more of them, which only filled up the batch."""
        if self.kept:
            found = theta.astype(STORED)[..., : len(index), :][..., self.latent]
            self.theta[..., index, :] = np.where(np.isfinite(found), found, 0.0)


def drawn(method: MeanField, when: When, shape: tuple[int, int]) -> np.ndarray:
    """Natural parameters of uniform means, (restarts, rows, units): those of a batch, whichever run comes to it."""
    return random_start(np.random.default_rng([method.seed or 0, *when]), (method.restarts, *shape))
