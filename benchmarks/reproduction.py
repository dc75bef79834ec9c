"""The paper again: how long the command takes, from nothing compiled to the report."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.measure import Row

AIMS = {
    "table 1 in full": (("table1",), 60),
    "all, quick": (("all", "--quick"), 120),
    "all": (("all",), 1200),
}  # arguments, seconds


def rows() -> Iterator[Row]:
    for name, (arguments, aim) in AIMS.items():
        seconds = reproduce(*arguments)
        yield Row(f"reproduce: {name}", seconds, "s", f"under {aim} s", seconds < aim, {"arguments": list(arguments)})


def reproduce(*arguments: str) -> float:
    """Seconds of one run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "plefka.cli", "reproduce", *arguments, "--out", f"{folder}/out"]
        start = time.perf_counter()
        environment = {**os.environ, "PLEFKA_CACHE_DIR": str(Path(folder) / "cache")}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
        return time.perf_counter() - start
