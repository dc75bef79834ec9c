"""Second derivatives of averages by the means of two parents: tables (positions, positions, columns, rows).

Where all columns share their parents, only the sum over the columns matters, and the table has a single column.
"""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.averages.blocks import map_columns, sum_columns
from plefka.networks.storage import off_diagonal

Curvatures = Float[Array, "positions positions _ rows"]


def curvatures_by_columns(function: Callable, shared: bool, w, u, *terms) -> Curvatures:
    """function(w, u, *terms) by blocks of columns, without derivatives by one and the same parent."""
    work = len(w) * u.shape[2]
    if shared:
        return off_diagonal(sum_columns(function, work, w, u, *terms))
    return off_diagonal(map_columns(function, len(w) * work, w, u, *terms))


def no_curvatures(shared: bool, w, u) -> Curvatures:
    return jnp.zeros((len(w), len(w), 1 if shared else w.shape[1], u.shape[2]), u.dtype)


def products_of_pairs(shared: bool, x: Float[Array, "positions columns rows"], y) -> Curvatures:
    """x_j y_l for every two positions."""
    return jnp.einsum("jcr,lcr->jlr", x, y)[:, :, None] if shared else jnp.einsum("jcr,lcr->jlcr", x, y)
