"""An extension of Griffe: examples in docstrings, which start with >>>, become blocks of code."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"(?m)^>>> .*(?:\n(?!\s*$).+)*")


class Doctests(griffe.Extension):
    """Without it Markdown would take >>> for quotations inside quotations."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(text: str) -> str:
    """The docstring with every example between fences."""
    return EXAMPLE.sub(lambda found: f"\n```pycon\n{found[0]}\n```\n", text)
