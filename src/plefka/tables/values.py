"""What a value in a table or a dictionary means: 0, 1, or nan where nothing was observed.

The numbers for off and on are 0 and 1, or in some Boltzmann machines -1 and 1.
"""

import re
from typing import Any, TypeAlias

import numpy as np

from plefka.errors import InvalidEvidence, nearest

NAN = float("nan")
NO_STATE = float("inf")  # in an array of states: a value that is none
OFF = "0|0.0|false|no|off|negative|neg|absent|-|\N{MINUS SIGN}|nein|falsch|negativ|abwesend|nicht vorhanden|non|faux"
OFF += "|négatif|négative|falso|negativo|negativa|ausente"
ON = "1|1.0|true|yes|on|positive|pos|present|+|x|ja|wahr|positiv|anwesend|vorhanden|oui|vrai|positif|présent|présente"
ON += "|sí|si|verdadero|positivo|positiva|presente"  # pandas writes 1.0 beside a missing value
MISSING_WORDS = (
    "|nan|na|n/a|<na>|nat|none|null|unknown|?|missing|not observed|not tested|unbekannt|k.a.|k. a.|keine angabe"
)
MISSING_WORDS += "|inconnu|inconnue|desconocido|desconocida"
WORDS = {word: state for words, state in ((OFF, 0.0), (ON, 1.0), (MISSING_WORDS, NAN)) for word in words.split("|")}
THOUSANDS = re.compile("[+-]?[1-9][0-9]{0,2},[0-9]{3}")  # or a decimal comma: nobody can tell
Network: TypeAlias = Any  # what has units with names, states and values; networks stand on tables
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
        number = number_in(word)
    except ValueError:
        return NO_STATE
    return number if number in (0, 1) else NO_STATE


def number_in(text: str) -> float:
    """A number as people write it: 0.1, 0,1, 10% or 0,1 %; a ValueError where it is none, or may be two."""
    bare = text.strip().removesuffix("%").rstrip()
    if "_" in bare or THOUSANDS.fullmatch(text.strip()):
        raise ValueError(f"a number must have digits and a decimal point; got {text!r}.")
    return float(bare if "." in bare else bare.replace(",", ".")) / (100 if text.rstrip().endswith("%") else 1)


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
    meanings = _Meanings(own)
    try:
        return np.array([meanings[value] for value in values], float)
    except TypeError:  # lists and the like, which cannot be looked up
        return np.array([meaning(value, own) for value in values], float)


def is_numeric(values: Any) -> bool:
    """Whether a column is an array of numbers or truth values."""
    return isinstance(values, np.ndarray) and values.dtype.kind in "buif"


def state_words_text(own: StateWords) -> str:
    """What else a state may be called, for messages."""
    return "" if own is None else f", or {own[0]!r} (off) or {own[1]!r} (on)"


def advice_on_value(value: Any, own: StateWords) -> str:
    """What to do about a value that is no state."""
    if isinstance(value, str) and not is_number(value):
        slip = nearest(value, (*(own or ()), *(word for word in WORDS if len(word) > 1)), likeness=0.75)
        return slip or " Words such as yes, no, present, absent and unknown are read, too."
    return " Round or threshold it first."


def is_number(value: Any) -> bool:
    """Whether this is a number, or text of one."""
    try:
        float(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return True


# ---- numbers for off and on ------------------------------------------------------------------------------------------


def numbers_in_words(network: Network) -> str:
    """The numbers for off and on."""
    return f"{network.values[0]} or {network.values[1]}"


def as_off_and_on(network: Network, values: Any) -> Any:
    """Numbers in the values of a network as 0 and 1; a 0 where off is -1 is no state. Words are left as they are."""
    if network.values == (0, 1) or values is None:
        return values
    if isinstance(values, str):
        states = {float(value): state for state, value in enumerate(network.values)}
        return states.get(float(values), "neither off nor on") if is_number(values) else values
    if not isinstance(values, np.ndarray | int | float | np.number):
        return values
    off, on = network.values
    numbers = np.asarray(values, float)
    found = np.where(numbers == off, 0.0, np.where((numbers == on) | np.isnan(numbers), numbers, NO_STATE))
    return found if isinstance(values, np.ndarray) else float(found)


def states_in(network: Network, values: Any, own: StateWords) -> np.ndarray:
    """The meaning of every value of a column, whatever the numbers of the network for off and on are."""
    if network is not None and network.values != (0, 1):
        numeric = is_numeric(values)
        values = as_off_and_on(network, values) if numeric else [as_off_and_on(network, value) for value in values]
    return states_of(values, own)


def rows_of_off_and_on(network: Network, rows: np.ndarray) -> np.ndarray:
    """Rows of 0 and 1 from rows in the values of the network; inside a trace they are not checked."""
    from plefka.runtime.precision import is_traced  # a report is drawn without JAX

    if is_traced(rows):
        off, on = network.values
        return (rows - off) / (on - off)
    found = as_off_and_on(network, rows)
    wrong = np.argwhere(found == NO_STATE)
    if wrong.size:
        unit, got = network.names[wrong[0][-1]], rows[tuple(wrong[0])]
        raise InvalidEvidence(
            f"evidence must be {network.values[0]}, {network.values[1]} or nan (hidden), the values of this machine; "
            f"got {got:g} for unit {unit!r}."
        )
    return found
