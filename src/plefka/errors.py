"""The errors and warnings that plefka raises.

Every message says what must hold, what was given instead, and what to do. All errors about input are an `InvalidInput`,
which is also a `ValueError`.

**Example:**

>>> import plefka as pf
>>> try:
...     pf.infer(pf.example("espresso"), {"slow_flo": 1})
... except pf.errors.InvalidEvidence as error:
...     print(error)
there is no unit 'slow_flo' in this network. Did you mean 'slow_flow'?
"""

import difflib
from collections.abc import Iterable


class PlefkaError(Exception):
    """The base class of all errors that plefka raises on purpose."""


class InvalidInput(PlefkaError, ValueError):
    """A network, evidence or option that is not valid."""


class InvalidNetwork(InvalidInput):
    """Weights, biases or names that do not define a valid network."""


class InvalidEvidence(InvalidInput):
    """Observations that do not fit the network, or that have probability zero."""


class InvalidMethod(InvalidInput):
    """An unknown method, or a method with an unknown option or an invalid value."""


class MethodDoesNotApply(InvalidInput):
    """A method that cannot be used for this network or this evidence."""


class InvalidFile(InvalidInput):
    """A file that cannot be read or written, or that is not valid in the format that its suffix names."""


class NotWritten(InvalidFile, OSError):
    """A file that the system does not let us write: a full disk, a lost mount, a folder that is read-only."""

    @classmethod
    def of(cls, path: object, error: Exception) -> "NotWritten":
        """From what the system said."""
        reason = getattr(error, "strerror", None) or error
        return cls._with_code(f"{path}: cannot be written: {reason}. If the file existed, it is unchanged.", error)

    def advising(self, advice: str) -> "NotWritten":
        """This error, with a sentence on what to do."""
        return self._with_code(f"{self} {advice}", self)

    @classmethod
    def _with_code(cls, message: str, error: Exception) -> "NotWritten":
        found = cls(message)
        found.errno = getattr(error, "errno", None)
        return found


class ProcessLost(PlefkaError):
    """One of several processes that learn together has ended or cannot be reached."""


class WorkersLost(PlefkaError):
    """Worker processes, or a cluster, that went away before the work was done. What was done is kept."""


class PlefkaWarning(UserWarning):
    """Input that was corrected; the message says how."""


class MissingExtra(PlefkaError, ImportError):
    """An optional dependency that is not installed."""

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs {package}, which is not installed. Install it with: pip install 'plefka[{extra}]'"
        )
        self.given = (package, extra, purpose)

    def __reduce__(self):
        """As it was made, so that it gets from a worker to whoever waits for it."""
        return type(self), self.given


def nearest(word: str, known: Iterable[str], likeness: float = 0.5) -> str:
    """' Did you mean ...?' with the closest known word, or nothing."""
    known = list(known)
    folded = {name.casefold(): name for name in known}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=likeness)
    return f" Did you mean {folded[close[0]]!r}?" if close else ""


def first_repeated(keys: Iterable[str]) -> str | None:
    """The first key that has come before, if any."""
    seen: set[str] = set()
    return next((key for key in keys if key in seen or seen.add(key)), None)


def listed(words: Iterable[object], limit: int = 6) -> str:
    """'a, b, c, ... (12 in all)': a list that stays short in a message."""
    words = [str(word) for word in words]
    return ", ".join(words) if len(words) <= limit else f"{', '.join(words[:limit])}, ... ({len(words)} in all)"
