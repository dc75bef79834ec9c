"""`python -m benchmarks.radius`: the radius of convergence of Plefka's series on spin glasses, for docs/series.md."""

import sys
from functools import cache
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks.boltzmann import written
from plefka.runtime import whole_files

PAGE = Path("docs/series.md")
UNITS, DRAWS, SEED = 10, 50, 0
SCALES, FIELDS = (0.25, 0.5, 1.0, 1.5, 2.0), (0.0, 0.5)


@cache
def radii(scale: float, field: float) -> np.ndarray:
    """Of every draw, at the exact means. Without fields these are 1/2, and the radius is inverse to the scale."""
    if field == 0 and scale != 1:
        return radii(1.0, 0.0) / scale
    machines = pf.ensembles.spin_glass(UNITS, DRAWS, SEED, scale=scale, field=field)
    return np.array([pf.series(machines.take(k), None).radius for k in range(DRAWS)])


def cells(found: np.ndarray) -> list[str]:
    """The median, where nine in ten are, and how many are above 1."""
    low, middle, high = np.quantile(found, [0.05, 0.5, 0.95])
    return [f"{middle:.2f}", f"{low:.2f} and {high:.2f}", f"{np.mean(found > 1):.0%}".replace("%", " %")]


def table() -> str:
    """A line for each scale."""
    columns = ["median radius", "nine in ten between", "radius above 1"]
    names = [
        f"{'no fields' if field == 0 else f'fields {field:g}'}: {column}" for field in FIELDS for column in columns
    ]
    lines = [f"| scale | {' | '.join(names)} |", "|---|" + "---|" * len(names)]
    for scale in SCALES:
        found = [cell for field in FIELDS for cell in cells(radii(scale, field))]
        lines.append(f"| {scale:g} | {' | '.join(found)} |")
        print(lines[-1], file=sys.stderr, flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    made = table()
    whole_files.write(PAGE, written(PAGE.read_text(encoding="utf-8"), "spin glasses", made).encode())
