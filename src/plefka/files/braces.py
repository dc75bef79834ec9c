"""Blocks of attributes in braces, as Hugin (.net) and Netica (.dne) write them: `node flu { states = (no, yes); }`."""

import re
from typing import Any

from plefka.errors import InvalidFile
from plefka.files.scanner import COMMENTS, Scanner

BETWEEN = re.compile(rb"(?:%s|%%[^\n]*)*+" % COMMENTS, re.DOTALL)
TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"|[{}()\[\],;|=:]|(?:[^\s{}()\[\],;|=:"/%]|/(?![/*]))+', re.DOTALL)


def read_block(scan: Scanner, owner: str, words: set[str], unread: set[str] | None = None) -> dict[str, Any]:
    """Attributes that are words or probabilities; others must be texts, for people, or `unread`: None, if all are."""
    found: dict[str, Any] = {}
    scan.expect(b"{")
    while scan.word != b"}":
        place, key = scan.place(), scan.name("the name of an attribute or '}'")
        if is_value := scan.word == b"=":
            scan.advance()
        if key in found:
            raise InvalidFile(f"{place}{owner!r} must have {key!r} once; got it twice.")
        if is_value and key in ("data", "probs"):
            found[key] = scan.entries("a probability or ';'", numbers=True)
        elif is_value and key in words:
            found[key] = scan.entries(f"an entry of {key!r}")
        elif unread is None or key in unread or (is_value and scan.word.startswith(b'"')):
            scan.skip(b";" if is_value else b"}")
        else:
            raise InvalidFile(f"{place}plefka does not know the attribute {key!r} of {owner!r}. Remove it.")
    scan.skip(b"}")
    return found
