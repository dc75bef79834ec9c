"""`python -m benchmarks.peers RESULTS.json`: the table of a run of `python -m benchmarks peers`, in Markdown."""

import json
import sys
from pathlib import Path

from benchmarks.peers.libraries import LIBRARIES


def main(path: str) -> None:
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    rows = {row["name"].rpartition(": ")[0]: row["details"] for row in content["rows"]}
    versions = next(iter(rows.values()))["versions"]
    print(", ".join(f"{package} {version}" for package, version in versions.items()), f"({content['machine']['date']})")
    print("\n| network | parents |", " | ".join(LIBRARIES), "|")
    print("|---|---|", "---|" * len(LIBRARIES), sep="")
    for name, details in rows.items():
        cells = [_cell(details["libraries"][library]) for library in LIBRARIES]
        print(f"| {name} | {details['parents']} |", " | ".join(cells), "|")


def _cell(found: dict) -> str:
    """First and later answer, memory, worst error of a probability."""
    if "unfinished" in found:
        return found["unfinished"]
    first, later = (_milliseconds(found[answer]) for answer in ("first", "later"))
    return f"{first}, {later} ms; {found['memory'] / 2**20:.0f} MiB; {found['error']:.0e}"


def _milliseconds(seconds: float) -> str:
    """Three digits, and no powers of ten."""
    digits = f"{1000 * seconds:.3g}"
    return f"{float(digits):,.0f}" if "e" in digits else digits


if __name__ == "__main__":
    main(*sys.argv[1:])
