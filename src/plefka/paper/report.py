"""What a report consists of, and how it looks as Markdown, with its drawings in files beside it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

FOLDER = "figures"


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


def markdown_page(title: str, about: Sequence[str], sections: Sequence[Section], footer: Sequence[str]) -> str:
    """The whole file."""
    texts = [[f"## {each.title}", *(_PARTS[type(part)](part) for part in each.parts)] for each in sections]
    parts = [f"# {title}", *about, *(text for section in texts for text in section), "---", *footer]
    return "\n\n".join(parts) + "\n"


def markdown_table(table: ReportTable) -> str:
    """The rows alone, for other pages."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    safe = [[cell.replace("|", "\\|").replace("\n", " ") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in safe)


def captioned(part: ReportTable) -> str:
    return f"**{part.caption}**\n\n{markdown_table(part)}"


def markdown_figure(figure: Figure) -> str:
    """Its panels and caption, for other pages too."""
    pictures = [f"![{panel.alternative}]({FOLDER}/{name})" for name, panel in zip(drawing_names(figure), figure.panels)]
    return "\n".join([*pictures, "", f"*{figure.caption}*"])


def drawing_names(figure: Figure) -> list[str]:
    """What the files of its panels are called."""
    return [f"{figure.name}-{number}.svg" for number in range(1, len(figure.panels) + 1)]


_PARTS = {Text: lambda text: text.words, ReportTable: captioned, Figure: markdown_figure}
