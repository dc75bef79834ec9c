"""Activations: how the field of a unit sets its probability of being on (section 2 of the paper).

An activation is defined by two functions of the field x, `log_on(x)` = ln f(x) and `log_off(x)` = ln(1 - f(x)). They
are written directly and never as the logarithm of a rounded probability. Their derivatives come from automatic
differentiation; if a closed form is known, it is the derivative rule of the function. For NumPy arrays the functions
use NumPy, which compiles nothing.
"""

from collections.abc import Callable

from plefka.errors import InvalidInput, nearest
from plefka.networks.activations.activation import Activation, AnyArray, namespace
from plefka.networks.activations.custom import Custom
from plefka.networks.activations.logistic import (
    Sigmoid,
    horner,
    log_one_plus,
    log_sigmoid,
    numpy_sigmoid,
    numpy_softplus,
    sigmoid,
    softplus,
)  # fmt: skip
from plefka.networks.activations.mixed import MOST_PARENTS, Mixed, Table
from plefka.networks.activations.noisy_or import CERTAIN_FIELD, SMALLEST_FIELD, NoisyOr, log_noisy_or

__all__ = [
    "ACTIVATIONS", "CERTAIN_FIELD", "MOST_PARENTS", "SMALLEST_FIELD", "Activation", "AnyArray", "Custom", "Mixed",
    "NoisyOr", "Sigmoid", "Table", "as_activation", "horner", "log_noisy_or", "log_one_plus", "log_sigmoid",
    "namespace", "numpy_sigmoid", "numpy_softplus", "sigmoid", "softplus",
]  # fmt: skip

ACTIVATIONS = {"sigmoid": Sigmoid, "noisy_or": NoisyOr}


def as_activation(activation: str | Activation | Callable) -> Activation:
    """Turn a name, an activation, a class of activations or a function into an activation."""
    if isinstance(activation, Activation):
        return activation
    if isinstance(activation, type) and issubclass(activation, Activation):
        return activation()
    if callable(activation):
        return Custom(activation)
    if not isinstance(activation, str) or activation not in ACTIVATIONS:
        raise InvalidInput(
            f"activation must be one of {', '.join(ACTIVATIONS)}, or a Custom(...); got {activation!r}."
            + nearest(str(activation), ACTIVATIONS)
        )
    return ACTIVATIONS[activation]()
