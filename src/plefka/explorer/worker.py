"""A process that holds the network and answers one batch of questions after another."""

import signal
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from multiprocessing.connection import Connection
from typing import Any

from plefka.explorer.answers import Answers
from plefka.explorer.failures import FAILED, Failure
from plefka.explorer.jsons import encoded

READY = "ready"
WARM_SECONDS = 30.0  # after which no further question is asked in advance
RAW = ("compare", "priors")  # answers that the service goes on to work with


def run(connection: Connection, network: Any, warm: "list[tuple[str, Mapping[str, Any]]]", memory: int | None) -> None:
    """Load, say that it is ready, and answer until the service ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the service, which ends its workers
    _limit_memory(memory)
    warnings.simplefilter("ignore")
    import plefka as pf

    pf.keep_compiled()
    answers = Answers(network)
    _warm_up(answers, warm)
    try:
        connection.send(READY)
        while True:
            kind, asked = connection.recv()
            connection.send(_answered(answers, kind, asked))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _answered(answers: Answers, kind: str, asked: list[Mapping[str, Any]]) -> list[Any]:
    try:
        found = answers.answer(kind, asked)
    except Exception:
        traceback.print_exc(file=sys.stderr)
        return [FAILED] * len(asked)
    return found if kind in RAW else [each if isinstance(each, Failure) else encoded(each) for each in found]


def _warm_up(answers: Answers, questions: "list[tuple[str, Mapping[str, Any]]]") -> None:
    """Typical questions, so that nothing is compiled while somebody waits."""
    start = time.perf_counter()
    for kind, asked in questions:
        if time.perf_counter() - start < WARM_SECONDS:
            _answered(answers, kind, [asked])


def _limit_memory(memory: int | None) -> None:
    """A question that needs more fails by itself, before the computer runs out of memory."""
    if memory is None or sys.platform != "linux":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
