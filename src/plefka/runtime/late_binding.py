"""What rooms above supply to those below, loaded on first use. The root of the package says what that is.

A network can be sampled and a contradiction be named, but what does it stands in rooms above that of networks and of
reductions. These ask here, and import nothing. So does an answer that has to ask again.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

SAMPLE_BELIEFS, SAMPLE_MACHINE = "sample a belief network", "sample a machine"
CONTRADICTION, INFER = "name a contradiction", "infer"
_HOMES: dict[str, tuple[str, str]] = {}


def supply(name: str, module: str, function: str) -> None:
    """By the root of the package: where the function of this purpose is found."""
    _HOMES[name] = module, function


def supplied(name: str) -> Callable[..., Any]:
    """The function of this purpose."""
    module, function = _HOMES[name]
    return getattr(import_module(module), function)
