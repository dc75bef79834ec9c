"""Plain text tables."""

from collections.abc import Iterable, Sequence

PRINTED_ROWS = 20


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned: the first to the left, the others to the right."""
    lines = [header, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    template = "  ".join(f"{{:{'>' if k else '<'}{width}}}" for k, width in enumerate(widths))
    first, *others = (template.format(*line).rstrip() for line in lines)
    return "\n".join([first, "-" * len(template.format(*header)), *others])


def rows_by_sentence(sentences: Iterable[Iterable[str]]) -> dict[str, list[int]]:
    """Every sentence once, with the rows that it is about."""
    found: dict[str, list[int]] = {}
    for row, some in enumerate(sentences):
        for sentence in some:
            found.setdefault(sentence, []).append(row)
    return found
