"""JSON out: numbers that are not finite, which JSON does not have, become null."""

import json
import math
from typing import Any

import numpy as np


def encoded(content: Any) -> bytes:
    """A JSON document in ASCII."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":"), default=_plain).encode()
    except ValueError:
        return json.dumps(_finite(content), allow_nan=False, separators=(",", ":"), default=_plain).encode()


def _plain(value: Any) -> Any:
    """NumPy's numbers are no JSON."""
    if isinstance(value, np.generic):
        return _finite(value.item())
    raise TypeError(f"{type(value).__name__} is no JSON")


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {key: _finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
