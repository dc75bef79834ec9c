"""What a value in a table or a dictionary means: 0, 1, or nan where nothing was observed."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from plefka.errors import nearest

NAN = float("nan")
NO_STATE = float("inf")  # in an array of states: a value that is none
OFF, ON = ("0", "0.0", "false", "no"), ("1", "1.0", "true", "yes")  # pandas writes 1.0 beside a missing value
MISSING = ("", "nan", "na", "n/a", "<na>", "nat", "none", "null")
WORDS = dict.fromkeys(OFF, 0.0) | dict.fromkeys(ON, 1.0) | dict.fromkeys(MISSING, NAN)
StateWords = tuple[str, str] | None  # a unit's own words for off and on


def meaning(value: Any, own: StateWords = None) -> float:
    """0, 1, nan, or NO_STATE; the unit's own words come before those that everybody knows."""
    if isinstance(value, str):
        return _of_text(value, own)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return NAN
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return NO_STATE
    return number if number in (0, 1) or number != number else NO_STATE


def _of_text(text: str, own: StateWords) -> float:
    if own is not None and text in own:
        return float(own.index(text))
    word = text.strip().casefold()
    folded = [] if own is None else [each.casefold() for each in own]
    if folded.count(word) == 1:
        return float(folded.index(word))
    if word in WORDS:
        return WORDS[word]
    try:
        number = float(word)
    except ValueError:
        return NO_STATE
    return number if number in (0, 1) else NO_STATE


class _Meanings(dict):
    """The meaning of every value that came so far, so that each is looked at once."""

    def __init__(self, own: StateWords):
        super().__init__(WORDS if own is None else {})
        self.own = own

    def __missing__(self, value: Any) -> float:
        found = meaning(value, self.own)
        if value == value:  # one nan is not found under another
            self[value] = found
        return found


def states_of(values: Any, own: StateWords = None) -> np.ndarray:
    """The meaning of every value of a column."""
    if is_numeric(values):
        numbers = np.asarray(values, float)
        return np.where(np.isnan(numbers) | (numbers == 0) | (numbers == 1), numbers, NO_STATE)
    return np.array(_looked_up(values, own), float)


def is_numeric(values: Any) -> bool:
    """Whether a column is an array of numbers or truth values."""
    return isinstance(values, np.ndarray) and values.dtype.kind in "buif"


def _looked_up(values: Iterable[Any], own: StateWords) -> list[float]:
    meanings = _Meanings(own)
    try:
        return [meanings[value] for value in values]
    except TypeError:  # lists and the like, which cannot be looked up
        return [meaning(value, own) for value in values]


def state_words_text(own: StateWords) -> str:
    """What else a state may be called, for messages."""
    return "" if own is None else f", or {own[0]!r} (off) or {own[1]!r} (on)"


def advice_on_value(value: Any, own: StateWords) -> str:
    """What to do about a value that is no state."""
    if isinstance(value, str) and not _is_number(value):
        return nearest(value, own or ())
    return " Round or threshold it first."


@lru_cache(maxsize=64)
def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
