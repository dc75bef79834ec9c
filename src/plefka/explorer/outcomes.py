"""How a question ends: as JSON, or as a failure in the words of the service.

What is wrong with a question itself, the library says.
"""

import json
from typing import Any, NamedTuple

import numpy as np

from plefka.inference.solution_words import finite


class Failure(NamedTuple):
    """The status of the response, a word for programs, and a sentence for people."""

    status: int
    code: str
    message: str


NO_MEMORY = Failure(
    503, "not_enough_memory",
    "this question needs more memory than it may have. Ask about fewer rows, or choose another method.",
)  # fmt: skip
FAILED = Failure(
    500, "internal_error", "the service failed on this question. Its log says more; please report it as a bug."
)
CLOSING = Failure(503, "closing", "the service is being stopped and answers no more questions.")
ENDED = Failure(
    503, "worker_ended",
    "the process that computed this answer ended, perhaps for lack of memory. Others go on; try again, or choose "
    "another method.",
)  # fmt: skip
TOO_LONG_FOR_THE_OWNER = "it took too long: more than {:g} s, the limit that --max-seconds sets"


def too_long(seconds: float) -> Failure:
    return Failure(
        503, "too_long",
        f"this question took more than {seconds:g} s and was ended. Observe more, choose a quicker method such as "
        "bethe, or ask again later. A question about fewer rows, candidates or targets is quicker, too.",
    )  # fmt: skip


def not_open(key: str) -> Failure:
    if key:
        return Failure(
            404, "unknown_network", f"the network {key[:50]!r} is not open here any more. Open its file again."
        )
    return Failure(404, "no_network", "no network is open here yet. Open a file, or begin a network of your own.")


def busy(waiting: int) -> Failure:
    return Failure(503, "busy", f"all workers are busy (questions that wait: {waiting}). Try again in a few seconds.")


def encoded(content: Any) -> bytes:
    """A JSON document in ASCII."""
    try:
        return json.dumps(content, allow_nan=False, separators=(",", ":"), default=_plain).encode()
    except ValueError:
        return json.dumps(finite(content), allow_nan=False, separators=(",", ":"), default=_plain).encode()


def _plain(value: Any) -> Any:
    """NumPy's numbers are no JSON."""
    if isinstance(value, np.generic):
        return finite(value.item())
    raise TypeError(f"{type(value).__name__} is no JSON")
