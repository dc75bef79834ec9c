"""Of a stack each network goes its own way: which of two trees it has, and whether all its numbers are finite."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.runtime.precision import is_key


def choose(mask: Any, new: Any, old: Any) -> Any:
    """Network by network the new tree where the mask is true, else the old one."""
    if np.ndim(mask) == 0:
        return new if mask else old

    def pick(new, old):
        wide = mask.reshape(mask.shape + (1,) * (np.ndim(new) - mask.ndim))
        return (jnp.where if is_key(new) else np.where)(wide, new, old)

    return jax.tree.map(pick, new, old)


def finite(tree: Any, stack: tuple[int, ...]) -> Any:
    """Whether all numbers are finite, network by network."""
    leaves = [np.isfinite(leaf).reshape(*stack, -1).all(axis=-1) for leaf in jax.tree.leaves(tree)]
    return np.all(leaves, axis=0)
