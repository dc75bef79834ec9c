"""Float64 by default, without touching the user's JAX settings.

Outside a trace the public verbs compute inside `precision(dtype)` and hand back NumPy arrays: a float64 JAX array
silently turns into float32 at its first operation outside the context it was made in. Inside a user's own trace
they follow the precision of that trace.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import numpy as np
from jax.core import Tracer

from plefka.errors import InvalidInput

DTYPES = {"float64": True, "float32": False}


def is_traced(*trees: object) -> bool:
    """True where any leaf belongs to a jit, vmap or grad of the user's."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(trees))


def check_dtype(dtype: str) -> None:
    """Only these two."""
    if dtype not in DTYPES:
        raise InvalidInput(f"dtype must be one of {', '.join(DTYPES)}; got {dtype!r}.")


@contextmanager
def precision(dtype: str) -> Iterator[None]:
    """The context in which every array made by JAX has this type."""
    check_dtype(dtype)
    with jax.enable_x64(DTYPES[dtype]):
        yield


def to_numpy(tree):
    """The tree with NumPy arrays for leaves; only keys of random numbers, which NumPy cannot hold, stay JAX's."""
    leaves, structure = jax.tree.flatten(tree)
    return jax.tree.unflatten(structure, [leaf if is_key(leaf) else np.asarray(leaf) for leaf in leaves])


def is_key(leaf: object) -> bool:
    """Whether it is a key of JAX's random numbers, of the new kind."""
    return isinstance(leaf, jax.Array) and not isinstance(leaf.dtype, np.dtype)
