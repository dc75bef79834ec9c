"""The report as Markdown, with its drawings in files beside it."""

from collections.abc import Sequence

from plefka.tables.html_page import Figure, ReportTable, Section, Text

FOLDER = "figures"


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
