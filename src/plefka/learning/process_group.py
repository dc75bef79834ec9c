"""Joining the processes that learn together, on one machine or on many, by JAX's own distributed runtime.

JAX ends a process on the spot where it cannot reach the others, or finds two of one number. Processes therefore meet
first, on the same port: each says who it is, and the first one tells all of them whether they are complete.
"""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress

import jax
import numpy as np

from plefka.errors import InvalidInput, listed

TIMEOUT = 300.0  # seconds to wait for each other
HEARTBEAT = 30  # seconds without a sign of life, after which JAX ends the other processes
SHUTDOWN = 120  # seconds that a process which has finished waits for the others
POLL_SECONDS = 5.0  # seconds for a connection to say who it is
PAUSE = 0.2  # seconds between two attempts
LONGEST_LINE = 4096  # letters of what a process says
OUTPUT, ERRORS = 1, 2  # descriptors
LOOPBACK = {"127.0.0.1": "127.0.0.1", "localhost": "127.0.0.1", "::1": "::1"}  # where only this machine listens


def join_processes(coordinator: str, processes: int, process: int, *, timeout: float = TIMEOUT) -> None:
    """Join `processes` processes, before the first computation of JAX; each calls it with its own number from 0 on.

    **Arguments:**

    - `coordinator`: "HOST:PORT", where HOST is the machine of process 0 as the others reach it, and PORT is free there.
    - `processes`, `process`: how many there are, and the number of this one.
    - `timeout`: how many seconds to wait for the others.

    `jax.distributed.initialize`, which it calls, does as well where a cluster says who is who. What this adds are a
    shorter time until a lost process is noticed, and errors that can be read and caught.

    >>> import plefka as pf
    >>> pf.join_processes("node0:12345", processes=4, process=4)
    Traceback (most recent call last):
    plefka.errors.InvalidInput: process must be the number of this process, from 0 to 3 where there are 4; got 4.
    """
    address = _address(coordinator)
    if processes < 1:
        raise InvalidInput(f"processes must be a whole number of 1 or more; got {processes}.")
    if not 0 <= process < processes:
        raise InvalidInput(
            f"process must be the number of this process, from 0 to {processes - 1} where there are {processes}; "
            f"got {process}."
        )
    deadline = time.monotonic() + timeout
    meet = _gather if process == 0 else _report
    meet(address, coordinator, processes, process, deadline)
    bind = coordinator if address[0] in LOOPBACK else None  # others must not reach what is for this machine alone
    try:
        jax.distributed.initialize(
            coordinator, processes, process, coordinator_bind_address=bind, heartbeat_timeout_seconds=HEARTBEAT,
            shutdown_timeout_seconds=SHUTDOWN,
        )  # fmt: skip
    except RuntimeError as error:
        raise InvalidInput(
            f"processes must be joined once, before the first computation of JAX: {str(error).splitlines()[0]}"
        ) from error
    with _output_to_errors():  # Gloo greets on standard output
        from jax.experimental import multihost_utils

        multihost_utils.process_allgather(np.zeros(1))


def _address(coordinator: str) -> tuple[str, int]:
    host, _, port = coordinator.rpartition(":")
    if not host or not port.isascii() or not port.isdigit() or not 0 < int(port) < 2**16:
        raise InvalidInput(
            f"the coordinator must be HOST:PORT, the machine of process 0 and a free port there; got {coordinator!r}. "
            "Write 10.0.0.1:12345, say."
        )
    return host.strip("[]"), int(port)


# ---- the first process -----------------------------------------------------------------------------------------------


def _gather(address: tuple[str, int], coordinator: str, processes: int, process: int, deadline: float) -> None:
    """Wait for all others, and tell them that all are there, or what is wrong."""
    with ExitStack() as stack, _listening(address, coordinator) as server:
        there: dict[int, socket.socket] = {}
        others: list[socket.socket] = []
        wrong = ""
        while not wrong and len(there) < processes - 1:
            server.settimeout(max(deadline - time.monotonic(), 0.001))
            try:
                connection = stack.enter_context(server.accept()[0])
            except TimeoutError:
                missing = [number for number in range(1, processes) if number not in there]
                wrong = f"process {listed(missing)} of {processes} did not come to {coordinator} in time."
                break
            said = _heard(connection)
            if said is not None and isinstance(said.get("process"), int):  # others than these processes may knock
                others.append(connection)
                wrong = _objection(said, there, processes)
                there[said["process"]] = connection
        for connection in others:
            with suppress(OSError):
                connection.sendall(json.dumps({"wrong": wrong}).encode() + b"\n")
        if wrong:
            raise InvalidInput(wrong)


def _objection(said: dict, there: dict[int, socket.socket], processes: int) -> str:
    number, count = said["process"], said["processes"]
    if count != processes:
        return f"all processes must say how many there are; process 0 says {processes}, and process {number} {count}."
    if number in there or number == 0:
        return f"every process must have a number of its own; there are two of number {number}."
    return ""


def _listening(address: tuple[str, int], coordinator: str) -> socket.socket:
    host, port = address
    both = socket.has_dualstack_ipv6() and host not in LOOPBACK
    try:
        return socket.create_server(
            (LOOPBACK.get(host, ""), port), family=socket.AF_INET6 if both or host == "::1" else socket.AF_INET,
            dualstack_ipv6=both,
        )  # fmt: skip
    except OSError as error:
        raise InvalidInput(
            f"process 0 cannot listen at {coordinator}: {error.strerror}. Choose another port for all processes."
        ) from error


# ---- the others ------------------------------------------------------------------------------------------------------


def _report(address: tuple[str, int], coordinator: str, processes: int, process: int, deadline: float) -> None:
    """Tell the first process that this one is there, and wait for its word."""
    with _connected(address, coordinator, processes, process, deadline) as connection:
        connection.sendall(json.dumps({"process": process, "processes": processes}).encode() + b"\n")
        said = _heard(connection, max(deadline - time.monotonic(), 0) + POLL_SECONDS)
    if said is None:
        raise InvalidInput(
            f"process 0 did not answer at {coordinator}, or another program does. Check the address, and that all "
            "processes of an earlier run have ended."
        )
    if said.get("wrong"):
        raise InvalidInput(f"process 0 says: {said['wrong']}")


def _connected(
    address: tuple[str, int], coordinator: str, processes: int, process: int, deadline: float
) -> socket.socket:
    while True:
        try:
            return socket.create_connection(address, timeout=max(deadline - time.monotonic(), PAUSE))
        except OSError as error:
            if time.monotonic() + PAUSE > deadline:
                raise InvalidInput(
                    f"process {process} of {processes} cannot reach process 0 at {coordinator}: "
                    f"{error.strerror or error}. Start process 0 on that machine, and let its port through."
                ) from error
        time.sleep(PAUSE)


def _heard(connection: socket.socket, patience: float = POLL_SECONDS) -> dict | None:
    """One line of JSON; None where something else comes, or nothing."""
    connection.settimeout(patience)
    try:
        with connection.makefile("rb") as lines:
            said = json.loads(lines.readline(LONGEST_LINE))
    except (OSError, ValueError):
        return None
    known = isinstance(said, dict) and all(isinstance(value, int | str) for value in said.values())
    return said if known and ("wrong" in said or {"process", "processes"} <= said.keys()) else None


@contextmanager
def _output_to_errors() -> Iterator[None]:
    """What compiled code prints goes to standard error, so that standard output is the command's own."""
    kept = os.dup(OUTPUT)
    os.dup2(ERRORS, OUTPUT)
    try:
        yield
    finally:
        os.dup2(kept, OUTPUT)
        os.close(kept)
