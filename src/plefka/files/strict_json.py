"""JSON in UTF-8, with no key twice, and with errors that say where.

NaN and Infinity, which Python reads though the standard has no such numbers, are refused with their place (place.py).
"""

import json
from typing import Any

from plefka.errors import InvalidFile, first_repeated


def parse(content: bytes) -> Any:
    """The value that the text stands for."""
    text = _decode(content)
    if not text.strip():
        raise InvalidFile("must be a JSON object; got an empty file. Was it cut off?")
    try:
        return json.loads(text, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise InvalidFile(
            f"line {error.lineno}, column {error.colno}: must be JSON; got {_near(text, error.pos)} ({error.msg}). "
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


def _near(text: str, position: int) -> str:
    return repr(text[position : position + 20]) if position < len(text) else "the end of the file"
