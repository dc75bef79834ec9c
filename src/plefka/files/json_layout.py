"""How JSON is laid out for people: a line for each edge or row, never one for each number."""

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
from jaxtyping import Float

PER_LINE = 8  # names or biases in a line


def quoted(word: str) -> str:
    """A string, with its letters as they are."""
    return json.dumps(word, ensure_ascii=False)


def numbers(value: Any) -> str:
    """A float, or lists in lists of them, on one line: the shortest text that reads back the same."""
    if isinstance(value, list):
        return f"[{', '.join(map(numbers, value))}]"
    return '"inf"' if value == math.inf else float.__repr__(value)


def rows(values: Float[np.ndarray, "... row column"]) -> str:
    """A line for each row of a matrix, or of a stack of them."""
    return lines(map(rows, values)) if values.ndim > 2 else lines(map(numbers, values.tolist()))


def wrapped(items: Iterable[str]) -> str:
    """A list with a few items in each line."""
    items = list(items)
    if len(items) <= PER_LINE:
        return f"[{', '.join(items)}]"
    return lines(", ".join(items[k : k + PER_LINE]) for k in range(0, len(items), PER_LINE))


def lines(items: Iterable[str], brackets: str = "[]") -> str:
    """A line for each item, indented."""
    inside = ",\n".join(items).replace("\n", "\n  ")
    return f"{brackets[0]}\n  {inside}\n{brackets[1]}" if inside else brackets


def fields(texts: dict[str, str]) -> str:
    """An object with a line for each key."""
    return lines((f"{quoted(key)}: {text}" for key, text in texts.items()), "{}")
