"""JSON out: numbers that are not finite, which JSON does not have, become null."""

import json
from typing import Any

import numpy as np

from plefka.inference.solution_tables import finite


def encoded(content: Any) -> bytes:
    """A JSON document in ASCII."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":"), default=_plain).encode()
    except ValueError:
        return json.dumps(finite(content), allow_nan=False, separators=(",", ":"), default=_plain).encode()


def _plain(value: Any) -> Any:
    """NumPy's numbers are no JSON."""
    if isinstance(value, np.generic):
        return finite(value.item())
    raise TypeError(f"{type(value).__name__} is no JSON")
