"""What is computed from a value once, and kept for as long as the value lives."""

import weakref
from collections.abc import Callable, Hashable
from typing import Any

_known: dict[tuple, tuple[weakref.ref, Any]] = {}


def cached_for(owner: Any, name: Hashable, compute: Callable[[], Any]) -> Any:
    """compute(), which depends on the owner and the name alone; owners are told apart by identity."""
    key = (id(owner), name)
    known = _known.get(key)
    if known is None or known[0]() is not owner:
        forget = _known.pop  # which is there until the very end of the interpreter
        known = _known[key] = (weakref.ref(owner, lambda _: forget(key, None)), compute())
    return known[1]
