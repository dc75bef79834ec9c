"""JSON in UTF-8, with no key twice, read as values that know where they stand, so that errors can say where.

NaN and Infinity, which Python reads though the standard has no such numbers, are refused with their place.
"""

import json
import math
import reprlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from plefka.errors import InvalidFile, first_repeated, listed, nearest

PER_LINE = 8  # names or biases in a line


def parse(content: bytes) -> Any:
    """The value that the text stands for."""
    text = _decode(content)
    if not text.strip():
        raise InvalidFile("must be a JSON object; got an empty file. Was it cut off?")
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        near = repr(text[error.pos : error.pos + 20]) if error.pos < len(text) else "the end of the file"
        raise InvalidFile(
            f"line {error.lineno}, column {error.colno}: must be JSON; got {near} ({error.msg}). "
            "Correct it there, or just before."
        ) from None
    except RecursionError:
        raise InvalidFile("must be JSON without deep nesting; got too many brackets inside brackets.") from None
    except InvalidFile:
        raise
    except ValueError as error:  # Python refuses to read whole numbers of thousands of digits
        raise InvalidFile(f"must not have numbers with thousands of digits; got: {error}.") from None


def _decode(content: bytes) -> str:
    encoding = json.detect_encoding(content)
    if not encoding.startswith("utf-8"):
        raise InvalidFile(f"must be text in UTF-8; got {encoding.upper()}. Save the file as UTF-8.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise InvalidFile(
            f"line {line}: must be text in UTF-8; got the byte 0x{content[error.start]:02x}. "
            "Is this JSON, and saved as UTF-8?"
        ) from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        twice = first_repeated(key for key, _ in pairs)
        raise InvalidFile(f"every key of an object must occur once; got {twice!r} twice. Remove one of them.")
    return fields


@dataclass(frozen=True)
class Place:
    """A value and the path to it, such as `weights.edges[3][2]`."""

    value: Any
    path: str = ""

    def at(self, key: int | str) -> "Place":
        """The value one step further."""
        inside = f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{json.dumps(key)}]"
        return Place(self.value[key], self.path + inside if self.path else str(key))

    def refuse(self, wanted: str, advice: str = "") -> InvalidFile:
        """What to raise where this value is not what it must be."""
        return InvalidFile(f"{self.path or 'the file'} must be {wanted}; got {reprlib.repr(self.value)}.{advice}")

    def fields(self, required: Sequence[str], optional: Sequence[str] = ()) -> dict[str, "Place"]:
        """The values of an object, by key."""
        self.check_keys(required, optional)
        return {key: self.at(key) for key in self.value}

    def check_keys(self, required: Sequence[str], optional: Sequence[str] = ()) -> None:
        """An object with all required keys and with no others."""
        if not isinstance(self.value, dict):
            raise self.refuse(f"an object with the keys {listed(required)}")
        inside, allowed = f"{self.path}: " if self.path else "", dict.fromkeys((*required, *optional))
        unknown = next((key for key in self.value if key not in allowed), None)
        if unknown is not None:
            hint = nearest(unknown, allowed) or " Remove it."
            got = reprlib.repr(unknown)
            raise InvalidFile(f"{inside}keys must be among {listed(allowed)}; got {got}.{hint}")
        missing = next((key for key in required if key not in self.value), None)
        if missing is not None:
            raise InvalidFile(f"{inside}the key {missing!r} is missing; got {listed(self.value) or 'none'}. Add it.")

    def items(self, count: int | None = None, of: str = "values") -> list[Any]:
        """The items of a list, of which there must be `count`."""
        if not isinstance(self.value, list):
            raise self.refuse(f"a list of {of}" if count is None else f"a list of {count} {of}")
        if count is not None and len(self.value) != count:
            raise InvalidFile(f"{self.path} must be a list of {count} {of}; got {len(self.value)}.")
        return self.value

    def each(self, count: int | None = None, of: str = "values") -> list["Place"]:
        """The items of a list with their places."""
        return [self.at(k) for k in range(len(self.items(count, of)))]

    def word(self) -> str:
        if not isinstance(self.value, str):
            raise self.refuse("a string")
        return self.value

    def whole(self, least: int = 0, most: int | None = None) -> int:
        """A whole number in a range whose end belongs to it."""
        if type(self.value) is not int or self.value < least or (most is not None and self.value > most):
            upto = f"from {least} on" if most is None else f"from {least} to {most}"
            raise self.refuse(f"a whole number {upto}")
        return self.value

    def number(self) -> float:
        """A finite number, or "inf"."""
        if self.value == "inf":
            return math.inf
        try:
            number = float(self.value) if type(self.value) in (int, float) else math.nan
        except OverflowError:
            number = math.inf
        if not math.isfinite(number):
            raise self.refuse('a number that is finite in float64, or "inf" for an edge of probability one')
        return number

    def numbers(self, shape: tuple[int, ...]) -> Float[np.ndarray, "..."]:
        """Lists in lists of numbers, of exactly this shape."""
        items = self.items(shape[0], "numbers" if len(shape) == 1 else "rows" if len(shape) == 2 else "matrices")
        if len(shape) > 1:
            return np.array([self.at(k).numbers(shape[1:]) for k in range(shape[0])], float).reshape(shape)
        row = finite_numbers(items)
        return row if row is not None else np.array([self.at(k).number() for k in range(len(items))], float)


def finite_numbers(items: Sequence[Any]) -> Float[np.ndarray, " item"] | None:
    """All items at once, or None where some are not finite numbers and have to be looked at one by one."""
    if not {*map(type, items)} <= {int, float}:
        return None
    try:
        row = np.array(items, float)
    except OverflowError:
        return None
    return row if np.isfinite(row).all() else None


# ---- text for people: a line for each edge or row, never one for each number -----------------------------------------


def quoted(word: str) -> str:
    """A string, with its letters as they are."""
    return json.dumps(word, ensure_ascii=False)


def numbers_text(value: Any) -> str:
    """A float, or lists in lists of them, on one line: the shortest text that reads back the same."""
    if isinstance(value, list):
        return f"[{', '.join(map(numbers_text, value))}]"
    return '"inf"' if value == math.inf else float.__repr__(value)


def rows_text(values: Float[np.ndarray, "... row column"]) -> str:
    """A line for each row of a matrix, or of a stack of them."""
    return lines_text(map(rows_text, values)) if values.ndim > 2 else lines_text(map(numbers_text, values.tolist()))


def wrapped_text(items: Iterable[str]) -> str:
    """A list with a few items in each line."""
    items = list(items)
    if len(items) <= PER_LINE:
        return f"[{', '.join(items)}]"
    return lines_text(", ".join(items[k : k + PER_LINE]) for k in range(0, len(items), PER_LINE))


def lines_text(items: Iterable[str], brackets: str = "[]") -> str:
    """A line for each item, indented."""
    inside = ",\n".join(items).replace("\n", "\n  ")
    return f"{brackets[0]}\n  {inside}\n{brackets[1]}" if inside else brackets


def object_text(texts: dict[str, str]) -> str:
    """An object with a line for each key."""
    return lines_text((f"{quoted(key)}: {text}" for key, text in texts.items()), "{}")
