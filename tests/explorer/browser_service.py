"""The service as a process of its own, which can be stopped and started again at the same address."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND = (sys.executable, "-m", "plefka")
LONG = ("--max-seconds", "600")  # for a question: the machine may have other work, and programs are compiled
PATIENCE = 600.0  # seconds until a process has ended: only against a test that hangs


class Serving:
    """`plefka serve SOURCE`, or `plefka explore` without a network, at a port that was free."""

    def __init__(self, source: str | None, *options: str, token: str = ""):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        what = ("explore", "--no-open") if source is None else ("serve", source)
        self.command = [*COMMAND, *what, "--port", str(port), "--workers", "1", "--no-log", *LONG, *options]
        self.environment = {**os.environ, **({"PLEFKA_TOKEN": token} if token else {})}
        self.address = f"http://127.0.0.1:{port}/"
        self.start()

    def start(self) -> None:
        """Until it listens."""
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, env=self.environment, text=True)
        assert self.process.stdout is not None
        assert "serves" in self.process.stdout.readline()

    def stop(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=PATIENCE)


@contextmanager
def serving(source: str | Path | None, *options: str, token: str = "") -> Iterator[Serving]:
    """A service that has ended afterwards."""
    service = Serving(None if source is None else str(source), *options, token=token)
    try:
        yield service
    finally:
        service.stop()
