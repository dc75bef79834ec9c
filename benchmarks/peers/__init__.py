"""Other libraries on the same networks and evidence: time of the first and of a later answer, memory, and error.

`make peers` installs them in an environment of their own and runs this; in an environment without one of them it says
what to install. Every library answers in a fresh process with limits, and imports are not part of the times.
"""

import math
from collections.abc import Iterator

from benchmarks.measure import Row, at_most, in_a_process
from benchmarks.peers.cases import Case, cases
from benchmarks.peers.libraries import LIBRARIES, versions
from benchmarks.peers.one_answer import imported, measured

SECONDS = 60  # for a library and a network
OURS, CLOSEST = "plefka", "pyAgrum"
WIDE = 12  # parents of a unit from which on ours should be ahead of all others
AS_QUICK = ("asia", "andes", "win95pts")  # where ours should take at most twice as long as the closest one


def rows() -> Iterator[Row]:
    """Of every network how ours compares, in its first and in its later answers; all figures are in the details."""
    known, modules = versions(), {}
    for case in cases():
        for library in LIBRARIES:
            key = library, type(case.network)
            if key not in modules:
                modules[key] = in_a_process(imported, library, case, seconds=SECONDS).get("modules", [])
        found = {
            library: in_a_process(measured, library, case, modules[library, type(case.network)], seconds=SECONDS)
            for library in LIBRARIES
        }
        details = {"versions": known, "parents": case.most_parents, "units": case.size, "libraries": found}
        for answer in ("first", "later"):
            others = {name: _seconds(found, name, answer) for name in LIBRARIES if name != OURS}
            yield _compared(case, answer, _seconds(found, OURS, answer), others, details)


def _seconds(found: dict[str, dict], library: str, answer: str) -> float:
    return found[library].get(answer, math.inf)


def _compared(case: Case, answer: str, ours: float, others: dict[str, float], details: dict) -> Row:
    if case.name in AS_QUICK:
        return at_most(f"{case.name}: {answer} answer", ours / others[CLOSEST], f"x {CLOSEST}", 2, details)
    quickest = min(others.values())
    ratio = ours / quickest if quickest < math.inf else 0.0
    if case.most_parents >= WIDE:
        return at_most(f"{case.name}: {answer} answer", ratio, "x the quickest other", 1, details)
    return Row(f"{case.name}: {answer} answer", ratio, "x the quickest other", "none", ours < math.inf, details)
