"""The paper again: how long the command takes, from nothing compiled to the report."""

import tempfile
from collections.abc import Iterator

from benchmarks.measure import Row, python_seconds

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
        return python_seconds(("-m", "plefka", "reproduce", *arguments, "--out", f"{folder}/out"), f"{folder}/cache")
