"""How a question ends: as JSON, or as a failure in the words of the service.

What is wrong with a question itself, the library says.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidFile, InvalidInput, InvalidMethod, MethodDoesNotApply, MissingExtra
from plefka.inference.solution_words import finite

MOST_CELLS = 5_000_000  # numbers of one answer


class UnknownUnit(InvalidInput):
    """A name that no unit of the network has."""


CODES = {
    UnknownUnit: "unknown_unit",
    InvalidMethod: "invalid_method",
    MethodDoesNotApply: "method_does_not_apply",
    InvalidEvidence: "invalid_evidence",
    InvalidFile: "invalid_file",
    InvalidInput: "invalid_input",
    MissingExtra: "missing_extra",
}


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
OPENS_NONE = Failure(
    403, "opens_no_networks",
    "this service opens no other networks. Start it with --open-networks, or use plefka explore.",
)  # fmt: skip
TOO_LONG_FOR_THE_OWNER = "it took too long: more than {:g} s, the limit that --max-seconds sets"


def too_long(seconds: float) -> Failure:
    return Failure(
        503, "too_long",
        f"this question took more than {seconds:g} s and was ended. Observe more, choose a quicker method such as "
        "bethe, or ask again later. A question about fewer rows, candidates or targets is quicker, too.",
    )  # fmt: skip


def not_open(key: str) -> Failure:
    if not key:
        return Failure(404, "no_network", "no network is open here yet. Open a file, or begin a network of your own.")
    message = f"the network {key[:50]!r} is not open here any more. Open its file again."
    return Failure(404, "unknown_network", message)


def busy(waiting: int) -> Failure:
    return Failure(503, "busy", f"all workers are busy (questions that wait: {waiting}). Try again in a few seconds.")


def answered(answer: Callable[[Mapping[str, Any]], Any], fields: Mapping[str, Any]) -> Any:
    """The answer, or the failure that an error means."""
    try:
        return answer(fields)
    except pf.InferenceFailed as error:
        impossible = error.solution.status is pf.Status.IMPOSSIBLE
        return Failure(422, "impossible_evidence" if impossible else "inference_failed", str(error))
    except (InvalidInput, MissingExtra) as error:
        return Failure(422, next(code for kind, code in CODES.items() if isinstance(error, kind)), str(error))
    except MemoryError:
        return NO_MEMORY
    except Exception as error:
        if "RESOURCE_EXHAUSTED" in str(error):  # JAX's words for it
            return NO_MEMORY
        raise


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
