"""What a report consists of; `html` and `markdown` know how it looks."""

from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    words: str


@dataclass(frozen=True)
class ReportTable:
    """Rows under a header; the first column names the row, the last one may explain it."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Panel:
    """A drawing, and the words for those who do not see it."""

    svg: str
    alternative: str


@dataclass(frozen=True)
class Figure:
    """Panels side by side, or below each other where there is no room."""

    name: str  # for files
    panels: Sequence[Panel]
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of the paper."""

    title: str
    parts: Sequence[Text | ReportTable | Figure] = field(default_factory=tuple)

    @property
    def anchor(self) -> str:
        kept = "".join(letter if letter.isalnum() else " " for letter in self.title.lower())
        return "-".join(kept.split())
