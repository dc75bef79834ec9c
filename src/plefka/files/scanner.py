"""The words of a text format one after the other, each with its line and column; never a list of all of them."""

import re
from array import array
from typing import Any

import numpy as np
from jaxtyping import Float

from plefka.errors import InvalidFile

PIECE = 2**16  # bytes of numbers that are read at once
QUOTED_CHARACTERS = 30  # characters of a word in a message
OF_NUMBERS = b"0123456789.eE+- \t\r\n"
COMMENTS = rb"\s+|//[^\n]*|/\*.*?\*/"
PUNCTUATION = b"{}()[],;|"
NUMBER = re.compile(rb"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\Z")


class Scanner:
    """Reads bytes by a pattern for what is skipped and one for a word; an empty word is the end of the file."""

    def __init__(self, content: bytes, skipped: re.Pattern[bytes], word: re.Pattern[bytes]):
        self._content = content.removeprefix(b"\xef\xbb\xbf")
        self._skipped, self._word = skipped, word
        self._at = self._next = 0
        self._line, self._counted, self._newline = 1, 0, -1
        self.word = b""
        self.advance()

    @property
    def remaining(self) -> int:
        """How many bytes there are from the current word on."""
        return len(self._content) - self._at

    @property
    def is_done(self) -> bool:
        return self._at >= len(self._content)

    def advance(self) -> bytes:
        """The current word, and on to the next."""
        passed = self.word
        skipped = self._skipped.match(self._content, self._next)
        self._at = skipped.end() if skipped else self._next
        if self._content.startswith(b"/*", self._at):
            raise InvalidFile(
                f"{self.place()}a comment must end with '*/'; got one that does not. Was the file cut off?"
            )
        found = self._word.match(self._content, self._at)
        if found is None and not self.is_done:
            raise self.refuse("a word of the format")
        self.word = found.group() if found else b""
        self._next = found.end() if found else self._at
        return passed

    def skip_past(self, end: bytes) -> None:
        """On to the word after the next `end`, whatever stands before it."""
        found = self._content.find(end, self._at)
        if found < 0:
            raise self.refuse(f"followed by {end.decode()!r}")
        self._next = found + len(end)
        self.advance()

    def place(self) -> str:
        """'line 3, column 5: ', of the current word."""
        self._line += self._content.count(b"\n", self._counted, self._at)  # on from the last time: each line once
        self._newline = max(self._newline, self._content.rfind(b"\n", self._counted, self._at))
        self._counted = self._at
        return f"line {self._line}, column {self._at - self._newline}: "

    def refuse(self, wanted: str) -> InvalidFile:
        """What to raise where the current word is not what must be there."""
        if self.is_done:
            return InvalidFile(f"{self.place()}must be {wanted}; got the end of the file. Was it cut off?")
        shown = (self.word or self._content[self._at : self._at + 1])[:QUOTED_CHARACTERS].decode(
            "utf-8", "backslashreplace"
        )
        return InvalidFile(f"{self.place()}must be {wanted}; got {shown!r}.")

    def expect(self, *words: bytes) -> bytes:
        """The current word, which must be one of these."""
        if self.word not in words:
            raise self.refuse(" or ".join(repr(word.decode()) for word in words))
        return self.advance()

    def number(self, what: str = "a number") -> float:
        if not NUMBER.match(self.word):
            raise self.refuse(what)
        return float(self.advance())

    def numbers(self, count: int, what: str) -> Float[np.ndarray, " count"]:
        """Numbers with nothing but blanks between them: in pieces as long as all is plain, then one by one."""
        values, done = np.empty(count), 0
        while done < count and (piece := self._plain_numbers(count - done)):
            values[done : done + len(piece)] = piece
            done += len(piece)
        for k in range(done, count):
            values[k] = self.number(what)
        return values

    def _plain_numbers(self, most: int) -> list[float]:
        """Some of the numbers from here on; none where something else stands among them."""
        piece = self._content[self._at : self._at + min(PIECE, 32 * (most + 1))]
        words = piece.split(None, most)
        if len(words) < 2:
            return []
        rest = words.pop()  # what follows, or a word that may go on beyond the piece
        end = piece.rindex(rest)
        if piece[:end].translate(None, OF_NUMBERS):
            return []
        try:
            values = list(map(float, words))
        except ValueError:
            return []
        self._next = self._at + end
        self.advance()
        return values

    def name(self, what: str) -> str:
        """A word without its quotation marks."""
        word = self.word
        if not word or word in PUNCTUATION or word in b"=:":
            raise self.refuse(what)
        self.advance()
        try:
            text = word.decode()
        except UnicodeDecodeError:
            raise self.refuse(f"{what} in UTF-8, close to here") from None
        return text[1:-1].replace('\\"', '"') if word.startswith(b'"') else text

    def entries(self, what: str, end: bytes = b";", numbers: bool = False) -> Any:
        """Words, or numbers, up to the end of a list; commas, bars and balanced parentheses may stand between."""
        found, depth = [], 0
        while self.word != end and depth >= 0:
            if self.word in (b",", b"|", b"(", b")"):
                depth += (self.word == b"(") - (self.word == b")")
                self.advance()
            else:
                found.append(self.number(what) if numbers else self.name(what))
        if depth:
            raise self.refuse("preceded by as many '(' as ')'")
        self.advance()
        return array("d", found) if numbers else tuple(found)

    def skip(self, end: bytes) -> None:
        """Past an end that is not inside braces or parentheses which open from here on."""
        depth = 0
        while self.word != end or depth > (end == b"}"):
            depth += (self.word in (b"{", b"(")) - (self.word in (b"}", b")"))
            if self.is_done or depth < 0:
                raise self.refuse(repr(end.decode()))
            self.advance()
        self.advance()
        if end == b"}" and self.word == b";":
            self.advance()

    def family(self) -> tuple[str, tuple[str, ...]]:
        """The child and its parents: '(child | parent, parent)'."""
        self.expect(b"(")
        child = self.name("the child of a table")
        is_alone = self.expect(b"|", b")") == b")"
        return child, () if is_alone else self.entries(f"the name of a parent of {child!r}", b")")

    def whole(self, what: str, most: int) -> int:
        """A whole number from 0 to `most`."""
        if not (self.word.isdigit() and len(self.word) < 19 and int(self.word) <= most):
            raise self.refuse(f"{what}, a whole number from 0 to {most}")
        return int(self.advance())
