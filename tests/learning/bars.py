"""The paper's bars: 4 x 4 images of either horizontal or vertical bars, each there with probability 1/2."""

import numpy as np

SOURCE_ENTROPY = 3.379  # nats: 28 images of 1/32 each, and two of 1/16


def images(seed: int, count: int = 2000) -> np.ndarray:
    rng = np.random.default_rng(seed)
    pictures = np.repeat(rng.integers(0, 2, (count, 4, 1)), 4, axis=2)
    vertical = rng.random(count) < 0.5
    pictures[vertical] = pictures[vertical].transpose(0, 2, 1)
    return pictures.reshape(count, 16).astype(float)


BARS = images(seed=0)
