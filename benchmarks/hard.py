"""The hard end: |error of ln P| of methods that are not exact, their CPU seconds, and whether their intervals hold.

`python -m benchmarks hard --draws 3` answers three draws of every kind; without it there are 20.
"""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import plefka as pf
from benchmarks.hard_cases import HardCase, Kind, kinds
from benchmarks.measure import Row
from plefka.errors import PlefkaError
from plefka.runtime import whole_files

METHODS = ("bethe", "auto[exact=no]", "auto[budget=5s,exact=no]", "loops", "gibbs[seed=0]")
DRAWS = 20
SMALL_MEAN = 0.05  # that the worst mean of a unit should be off by at most, in the median
ELSEWHERE = """\
Measured elsewhere (error of ln Z, in nats; libDAI and merlin, one instance each, machine and draws not ours):

| | libDAI BP | libDAI tree EP | libDAI HAK (loops of 4) | merlin WMB i=14 |
|---|---|---|---|---|
| Grids_12 (UAI 2014) | +43 | fails | -.004 (6.9 s) | exact |
| Grids_14, a torus | +66 | -22 | +21 | 106 |
| DBN_13 | -1.0 | 11 | - | 41 |
| Segmentation_14 / 16 | .38 / 2.2 | .23 / .74 | | - / .75 |
| 12 x 12 grid, couplings to 1 / to 2 | .67 / 6.8 | .28 / .53 | .002 / .15 | .23 / .16 |
| 32 x 32, to 1 / to 2 / ferromagnet .44 | 1.7 / 42 / -44 | .78 / 11 / -34 | .025 / 1.7 / 3.1 | |
| 8 x 8 ferromagnet .3 / .45 / .8 | | | .003 / .067 / .055 | |
| sigmoid 4x8x12 | .126 | .047 | | |
| 60-unit random DAG, in-degree to 6 | .017 | .011 | | |
"""


class HardTrial(NamedTuple):
    """What a method gave for one draw."""

    kind: str
    method: str
    error: float  # of ln P, with its sign
    worst_mean: float
    seconds: float
    converged: bool
    inside: bool | None  # whether the interval contains the truth; None where there is none
    width: float
    chosen: str


def trial(kind: str, case: HardCase, method: str, *, compiled: bool) -> HardTrial | None:
    """None where the method does not apply; a first call compiles, and counts only if `compiled`."""
    try:
        pf.infer(case.network, case.evidence, method, throw=False) if not compiled else None
        start = time.process_time()
        found = pf.infer(case.network, case.evidence, method, throw=False)
    except PlefkaError:
        return None
    seconds, (low, high) = time.process_time() - start, found.log_partition_interval
    inside = None if np.isnan(low) else bool(low - 1e-9 <= case.log_z <= high + 1e-9)
    worst = float(np.abs(found.means - case.means).max())
    return HardTrial(
        kind, method, float(found.log_partition - case.log_z), worst, seconds, bool(found.converged), inside,
        float(high - low), str(found.methods[0]),
    )  # fmt: skip


def trials(kind: Kind, draws: int, methods: tuple[str, ...] = METHODS) -> Iterator[HardTrial]:
    """All draws by all methods; the first of them compiles."""
    for number in range(min(draws, kind.most or draws)):
        case = kind.draw(number)
        for method in (*methods, *(kind.methods if methods is METHODS else ())):
            found = trial(kind.name, case, method, compiled=number > 0)
            if found is not None:
                yield found


def summary(found: list[HardTrial]) -> dict[str, Any]:
    """Of the trials of one method on one kind."""
    error, said = np.abs([each.error for each in found]), [each.inside for each in found if each.inside is not None]
    return {
        "median": float(np.median(error)),
        "high": float(np.percentile(error, 95)),
        "worst_mean": float(np.median([each.worst_mean for each in found])),
        "seconds": float(np.median([each.seconds for each in found])),
        "most_seconds": max(each.seconds for each in found),
        "converged": float(np.mean([each.converged for each in found])),
        "intervals": len(said),
        "inside": float(np.mean(said)) if said else float("nan"),
        "width": float(np.nanmedian([each.width for each in found])) if said else float("nan"),
        "draws": len(found),
        "chosen": sorted({each.chosen for each in found}),
    }


def rows(folder: Path, draws: int | None = None) -> Iterator[Row]:
    """For every kind, how `auto` does against its aims; all methods are in the details, and in a table beside it."""
    table = [
        "| | method | median | 95 % | worst mean | CPU s | converged | interval holds | its width |",
        "|---" * 9 + "|",
    ]
    everything: list[HardTrial] = []
    for kind in kinds():
        by_method: dict[str, list[HardTrial]] = {}
        for each in trials(kind, draws or DRAWS):
            by_method.setdefault(each.method, []).append(each)
            everything.append(each)
        found = {method: summary(some) for method, some in by_method.items()}
        table += [_line(kind.name, method, each) for method, each in found.items()]
        whole_files.write(folder / "hard.md", ("\n".join(table) + "\n\n" + ELSEWHERE).encode())
        whole_files.write(folder / "hard_trials.json", json.dumps([each._asdict() for each in everything]).encode())
        best = next(method for method in reversed(by_method) if method.startswith("auto"))
        yield _judged(kind, best, found)


def _judged(kind: Kind, method: str, found: dict[str, dict[str, Any]]) -> Row:
    said, aims = found[method], kind.aims
    met = said["median"] <= aims.median and said["high"] <= aims.high and said["worst_mean"] <= SMALL_MEAN
    met = met and said["most_seconds"] <= aims.seconds
    aim = f"median {aims.median:g}, 95 % {aims.high:g}, within {aims.seconds:g} s"
    return Row(f"{kind.name}, {method}", said["median"], "nats", aim, met, found)


def _line(kind: str, method: str, said: dict[str, Any]) -> str:
    holds = f"{said['inside']:.0%} of {said['intervals']}" if said["intervals"] else "-"
    return (
        f"| {kind} | `{method}` | {said['median']:.2g} | {said['high']:.2g} | {said['worst_mean']:.2g} | "
        f"{said['seconds']:.2g} | {said['converged']:.0%} | {holds} | {said['width']:.2g} |"
    )
