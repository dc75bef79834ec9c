"""What can go wrong at the door, and the words for it.

Every message says what must hold, what came, and what to do.
"""

import difflib
from collections.abc import Iterable


class PlefkaError(Exception):
    """The root of all errors that plefka raises on purpose."""


class InvalidInput(PlefkaError, ValueError):
    """A network, evidence or option that cannot be right."""


class InvalidNetwork(InvalidInput):
    """Weights, biases or names that do not make a network."""


class InvalidEvidence(InvalidInput):
    """Observations that do not fit the network, or that cannot happen."""


class InvalidMethod(InvalidInput):
    """A method that is not known, or one with an option that is not."""


class MethodDoesNotApply(InvalidInput):
    """A method that cannot serve this network."""


class InvalidFile(InvalidInput):
    """A file that cannot be read as what its name says."""


class PlefkaWarning(UserWarning):
    """Input that was put right, where the user should know of it."""


class MissingExtra(PlefkaError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs {package}, which is not installed. Install it with: pip install 'plefka[{extra}]'"
        )


def nearest(word: str, known: Iterable[str]) -> str:
    """' Did you mean ...?' with the closest known word, or nothing."""
    known = list(known)
    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.5)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def listed(words: Iterable[object], limit: int = 6) -> str:
    """'a, b, c, ... (12 in all)': a list that stays short in a message."""
    words = [str(word) for word in words]
    return ", ".join(words) if len(words) <= limit else f"{', '.join(words[:limit])}, ... ({len(words)} in all)"
