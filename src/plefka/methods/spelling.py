"""The spelling of methods: NAME[option=value,...], printed and read by one set of rules.

What stands in front, as G2 in `conditioned[G2,k=3]`, has no key; options that are as always are not printed. Inside
double quotes commas, brackets and plus signs are letters like all others: `conditioned[G2,units="a+b"+c]`.
"""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import field, fields
from typing import Any

from plefka.errors import InvalidMethod, nearest

QUOTE = '"'
APART = "+"  # stands between the names of units


class Seconds(float):
    """A time, spelled 1s."""

    def __new__(cls, value):
        return super().__new__(cls, value.strip().removesuffix("s") if isinstance(value, str) else value)

    def __str__(self) -> str:
        return f"{repr(float(self)).removesuffix('.0')}s"


def option(default: Any, holds: Callable[[Any], bool], rule: str, **metadata: Any) -> Any:
    """An option with what must hold for its value, and the words for that."""
    return field(default=default, metadata={"holds": holds, "rule": rule, **metadata})


def check_options(method: Any) -> None:
    """Refuse a value against the rule of its option."""
    for each in fields(method):
        value = getattr(method, each.name)
        if "holds" in each.metadata and not each.metadata["holds"](value):
            got = value if isinstance(value, float) else repr(value)
            raise InvalidMethod(f"{each.metadata['rule']}; got {got}.")


def spelled(method: Any) -> str:
    """The name, and in brackets the options that differ from the defaults."""
    default, options = type(method)(method.name), []
    for each in fields(method):
        value = getattr(method, each.name)
        if each.metadata.get("in_front"):
            options.insert(0, str(value))
        elif each.metadata.get("always") or value != getattr(default, each.name):
            options.append(f"{each.name}={_written(value)}")
    return f"{method.name}[{','.join(options)}]" if options else method.name


def _written(value: Any) -> str:
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def read_name(text: Any) -> tuple[str, str]:
    """The name, and what stands in the brackets behind it."""
    match = re.fullmatch(r"\s*([^\[\]\s]+)\s*(?:\[(.*)\])?\s*", text) if isinstance(text, str) else None
    if match is None:
        raise InvalidMethod(f"a method is spelled NAME or NAME[option=value,...]; got {text!r}.")
    return match[1], match[2] or ""


def read_options(default: Any, text: str, readers: Mapping[Any, Callable]) -> dict[str, Any]:
    """{option: value} as they stand in the brackets of a method; a reader for each type."""
    given: dict[str, Any] = {}
    for position, part in enumerate(_parts(text)):
        key, value = _option(default, part, position, readers)
        if key in given:
            raise InvalidMethod(f"{key} is given twice in {f'{default.name}[{text}]'!r}.")
        given[key] = value
    return given


def _parts(options: str) -> Iterator[str]:
    """Split at the commas that are not inside further brackets or quotes."""
    parts, depth, quoted = [""], 0, False
    for letter in options:
        quoted ^= letter == QUOTE
        depth += 0 if quoted else (letter == "[") - (letter == "]")
        if letter == "," and depth == 0 and not quoted:
            parts.append("")
        else:
            parts[-1] += letter
    if quoted:
        raise InvalidMethod(f"every double quote must be closed; got {options!r}.")
    return filter(None, map(str.strip, parts))


def _option(default: Any, text: str, position: int, readers: Mapping[Any, Callable]) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in text.partition("="))
    options = {each.name: each for each in fields(default) if each.name != "name"}
    in_front = next((each.name for each in options.values() if each.metadata.get("in_front")), None)
    if position == 0 and in_front and (not equals or "[" in key):
        key, equals, value = in_front, "=", text
    if not equals or key not in options:
        choices = f"options of {default.name}: {', '.join(options)}" if options else f"{default.name} has no options"
        raise InvalidMethod(f"{text!r} is not an option; {choices}." + nearest(key, options))
    kind: Any = options[key].type
    try:
        return key, readers[kind](value)
    except InvalidMethod:
        raise
    except ValueError:
        raise InvalidMethod(f"{key} must be {_KINDS.get(kind, 'a whole number')}; got {value!r}.") from None


def _yes_or_no(text: str) -> bool:
    if text not in ("yes", "no"):
        raise ValueError
    return text == "yes"


READERS = {
    float: float, int: int, str: str, int | None: int, bool: _yes_or_no, bool | None: _yes_or_no, Seconds: Seconds,
}  # fmt: skip
_KINDS = {float: "a number", bool: "yes or no", bool | None: "yes or no", Seconds: "a time such as 2s"}


def names_in(text: str) -> list[str]:
    """["a", "b+c"] from 'a+"b+c"': a quote inside quotes is written twice."""
    try:
        return next(csv.reader([text], delimiter=APART, quotechar=QUOTE, strict=True), [])
    except csv.Error:
        raise InvalidMethod(f"double quotes must enclose a whole name, as in 'a+\"b+c\"'; got {text}.") from None
