"""Activations: how the field of a unit sets its probability of being on (section 2 of the paper).

An activation is defined by two functions of the field x, `log_on(x)` = ln f(x) and `log_off(x)` = ln(1 - f(x)). They
are written directly and never as the logarithm of a rounded probability. Their derivatives come from automatic
differentiation; if a closed form is known, it is the derivative rule of the function. For NumPy arrays the functions
use NumPy, which compiles nothing.
"""

from collections.abc import Callable
from typing import Any

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
from plefka.runtime.registry import REGISTRABLE, import_registering_modules, instance_of

__all__ = [
    "ACTIVATIONS", "CERTAIN_FIELD", "MOST_PARENTS", "SMALLEST_FIELD", "Activation", "AnyArray", "Custom", "Mixed",
    "NoisyOr", "Sigmoid", "Table", "as_activation", "horner", "log_noisy_or", "log_one_plus", "log_sigmoid",
    "namespace", "numpy_sigmoid", "numpy_softplus", "own_activation", "sigmoid", "softplus",
]  # fmt: skip

ACTIVATIONS = {"sigmoid": Sigmoid, "noisy_or": NoisyOr}
OWN_ACTIVATIONS: dict[str, Activation] = {}  # of users, by `pf.register`


def _entries(activation: Any, name: str) -> list[tuple[dict, Any]]:
    """Where `pf.register` puts an activation of a user's own, by whose name it is then called."""
    if name in ACTIVATIONS or name.startswith("."):
        why = "is the suffix of a file" if name.startswith(".") else "is a name of the library"
        raise InvalidInput(f"{name!r} {why}. Choose another name for the activation.")
    found = instance_of(activation)
    return [(OWN_ACTIVATIONS, found.named(name) if isinstance(found, Custom) else found)]


REGISTRABLE[Activation] = _entries


def as_activation(activation: str | Activation | Callable) -> Activation:
    """Turn a name, an activation, a class of activations or a function into an activation."""
    if isinstance(activation, Activation):
        return activation
    if isinstance(activation, type) and issubclass(activation, Activation):
        return activation()
    if callable(activation):
        return Custom(activation)
    if isinstance(activation, str) and activation in ACTIVATIONS:
        return ACTIVATIONS[activation]()
    own = own_activation(activation) if isinstance(activation, str) else None
    if own is None:
        known = (*ACTIVATIONS, *OWN_ACTIVATIONS)
        raise InvalidInput(
            f"activation must be one of {', '.join(known)}, or a Custom(...); got {activation!r}."
            + nearest(str(activation), known)
        )
    return own


def own_activation(name: str) -> Activation | None:
    """The one that a user has registered by this name."""
    if name not in OWN_ACTIVATIONS:
        import_registering_modules()
    return OWN_ACTIVATIONS.get(name)
