"""Loops over blocks of columns, which keep the work near the processor."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

NUMBERS_PER_BLOCK = 2**17  # numbers that are worked on at once


def map_columns(function: Callable, work: int, *arrays) -> Any:
    """function(*arrays) by blocks of columns, which are the last axis but one of all arrays and results.

    The arrays may come in trees. `work` numbers are held for one column. An array with a single column belongs to
    all of them. Columns that are added to fill the last block are zero: no edges.
    """
    columns, parts, rejoined = blocks_of(work, arrays)
    if parts is None:
        return function(*arrays)
    results = jax.lax.map(lambda part: function(*rejoined(part)), parts)
    return jax.tree.map(lambda x: join(x, columns), results)


def sum_columns(function: Callable, work: int, *arrays) -> Any:
    """The sum of function(*arrays) over blocks of columns."""
    _, parts, rejoined = blocks_of(work, arrays)
    if parts is None:
        return function(*arrays)
    like = jax.eval_shape(lambda: function(*rejoined(tuple(x[0] for x in parts))))
    start = jnp.zeros(like.shape, like.dtype)
    return jax.lax.scan(lambda total, part: (total + function(*rejoined(part)), None), start, parts)[0]


def blocks_of(work: int, arrays: tuple) -> tuple:
    """How many columns there are, the blocks of the arrays that have them, and how to put in those that do not."""
    leaves, form = jax.tree.flatten(arrays)
    columns = max(x.shape[-2] for x in leaves)
    blocks = min(columns, -(-columns * work // NUMBERS_PER_BLOCK))
    if blocks <= 1:
        return columns, None, None
    width = -(-columns // blocks)
    blocks = -(-columns // width)
    own = [x.shape[-2] == columns for x in leaves]

    def rejoined(part):
        mine = iter(part)
        return jax.tree.unflatten(form, [next(mine) if is_own else x for x, is_own in zip(leaves, own, strict=True)])

    return columns, tuple(split(x, blocks, width) for x, is_own in zip(leaves, own, strict=True) if is_own), rejoined


def split(x, blocks: int, width: int):
    """(..., columns, rows) as (blocks, ..., width, rows), with zeros behind."""
    padding = [(0, 0)] * (x.ndim - 2) + [(0, blocks * width - x.shape[-2]), (0, 0)]
    x = jnp.pad(x, padding).reshape(*x.shape[:-2], blocks, width, x.shape[-1])
    return jnp.moveaxis(x, -3, 0)


def join(x, columns: int):
    """(blocks, ..., width, rows) as (..., columns, rows)."""
    x = jnp.moveaxis(x, 0, -3)
    return x.reshape(*x.shape[:-3], -1, x.shape[-1])[..., :columns, :]
