"""Derivatives of most methods are known in reverse mode only, and once.

Forward mode is refused in the library's own words. So are second derivatives: the first ones hold what a solver has
found fixed, by the envelope theorem, and to differentiate them again would leave out how that moves.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from plefka.errors import MethodDoesNotApply
from plefka.runtime.precision import is_traced

JAX_SAYS = "forward-mode"  # of a function whose reverse derivative alone is known
ADVICE = "or the method exact on a small network."
Tree = TypeVar("Tree")


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
            f"jax.jvp, jax.jacfwd, jax.linearize or jax.hessian. Use jax.grad, jax.vjp or jax.jacrev, {ADVICE}"
        ) from error


def differentiable_once(method: object, inputs: Tree) -> Tree:
    """The inputs of a trace, guarded so that an answer can be differentiated by them once and not a second time."""

    @jax.custom_jvp
    def not_again(derivative: Any, value: Any) -> Any:
        """It also depends on the value, as a derivative at a fixed solution may be constant by itself."""
        return derivative

    @not_again.defjvp
    def _refuse(_: Any, __: Any) -> Any:
        raise MethodDoesNotApply(
            f"{method} does not apply: only its first derivatives are computed; got second ones, as of jax.hessian or "
            f"jax.grad of jax.grad. Use differences of jax.grad, {ADVICE}"
        )

    @jax.custom_vjp
    def once(value: Any) -> Any:
        return value

    once.defvjp(lambda value: (value, value), lambda value, derivative: (not_again(derivative, value),))

    def guarded(leaf: Any) -> Any:
        return once(leaf) if is_traced(leaf) and jnp.issubdtype(leaf.dtype, jnp.inexact) else leaf

    return jax.tree.map(guarded, inputs)
