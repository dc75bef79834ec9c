"""Derivatives of most methods are known in reverse mode only: forward mode is refused in the library's own words."""

from collections.abc import Iterator
from contextlib import contextmanager

from plefka.errors import MethodDoesNotApply

JAX_SAYS = "forward-mode"  # of a function whose reverse derivative alone is known


@contextmanager
def reverse_mode_only(method: object) -> Iterator[None]:
    """Names what to use instead where JAX differentiates in forward mode."""
    try:
        yield
    except TypeError as error:
        if JAX_SAYS not in str(error):
            raise
        raise MethodDoesNotApply(
            f"{method} does not apply: its derivatives are computed in reverse mode only; got forward mode, as of "
            "jax.jvp, jax.jacfwd, jax.linearize or jax.hessian. Use jax.grad, jax.vjp or jax.jacrev, or the method "
            "exact on a small network."
        ) from error
