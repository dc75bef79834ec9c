"""A process that holds the network and answers one batch of questions after another."""

import signal
import sys
import time
import traceback
import warnings
from collections.abc import Mapping
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any

import plefka as pf
from plefka.explorer.failures import FAILED, Failure
from plefka.explorer.json_encoding import encoded
from plefka.explorer.worker_answers import Answers

READY = "ready"
WARM_SECONDS = 30.0  # after which no further question is asked in advance
RAW = ("compare", "priors")  # answers that the service goes on to work with


def run(connection: Connection) -> None:
    """Take the network, say when it is ready, and answer until the service ends."""
    for sent in (signal.SIGINT, signal.SIGTERM):  # they are for the service, which ends its workers
        signal.signal(sent, signal.SIG_IGN)
    warnings.simplefilter("ignore")
    with suppress(EOFError, BrokenPipeError, ConnectionResetError):
        network, warm, memory = connection.recv()
        _limit_memory(memory)
        answers = _ready(network, warm)
        connection.send(READY)
        while True:
            kind, asked = connection.recv()
            connection.send(_answered(answers, kind, asked))


def _ready(network: pf.BeliefNetwork, warm: "list[tuple[str, Mapping[str, Any]]]") -> Answers:
    pf.keep_compiled()
    answers = Answers(network)
    _warm_up(answers, warm)
    return answers


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
