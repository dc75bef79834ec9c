"""A hook of MkDocs: a figure leads to its file, in which it can be looked at as large as one likes."""

import re
from typing import Any

FIGURE = re.compile(r'(<a\b[^>]*>)?(<img\b[^>]*\bsrc="([^"]*\bfigures/[^"]*)"[^>]*>)')


def on_page_content(html: str, **context: Any) -> str:
    return FIGURE.sub(linked, html)


def linked(found: re.Match[str]) -> str:
    """The figure in a link to itself, unless it is in a link already."""
    link, image, address = found.groups()
    return found[0] if link else f'<a class="figure" href="{address}" title="Open this figure">{image}</a>'
