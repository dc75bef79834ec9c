"""A report as Markdown, with its drawings in files beside it."""

from collections.abc import Sequence

from plefka.paper.report import Figure, ReportTable, Section, Text

FOLDER = "figures"


def page(title: str, about: Sequence[str], sections: Sequence[Section], footer: Sequence[str]) -> str:
    """The whole file."""
    parts = [f"# {title}", *about, *(text for section in sections for text in _section(section)), "---", *footer]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    return [f"## {section.title}", *(_PARTS[type(part)](part) for part in section.parts)]


def table(table: ReportTable) -> str:
    """The rows alone, for other pages."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    return "\n".join("| " + " | ".join(_safe(cell) for cell in line) + " |" for line in lines)


def _safe(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


def captioned(part: ReportTable) -> str:
    return f"**{part.caption}**\n\n{table(part)}"


def figure(figure: Figure) -> str:
    """Its panels and caption, for other pages too."""
    pictures = [f"![{panel.alternative}]({FOLDER}/{name})" for name, panel in zip(names(figure), figure.panels)]
    return "\n".join([*pictures, "", f"*{figure.caption}*"])


def names(figure: Figure) -> list[str]:
    """What the files of its panels are called."""
    return [f"{figure.name}-{number}.svg" for number in range(1, len(figure.panels) + 1)]


_PARTS = {Text: lambda text: text.words, ReportTable: captioned, Figure: figure}
