"""`loops` beside `bethe` on grids and real machines: `python -m benchmarks.short_loops` writes its table of docs."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.boltzmann import written
from benchmarks.calibration_machines import kac_ward
from benchmarks.real_machines import real_machines
from plefka.errors import MethodDoesNotApply
from plefka.runtime import whole_files

PAGE = Path("docs/boltzmann.md")
METHODS = ("bethe", "loops[joined=no]", "loops")
DRAWS = {8: 1, 12: 20, 32: 3}  # of grids with so many units on a side


class Group(NamedTuple):
    """Machines of a kind, with their ln Z and means (nan where these are not known)."""

    name: str
    machines: list[tuple[pf.BoltzmannMachine, float, np.ndarray]]


def grid(side: int, draw: int, couplings: float, fields: float, strength: float = 0.0) -> pf.BoltzmannMachine:
    """Couplings and fields up to a size, or all couplings of one strength."""
    rng, place = np.random.default_rng(draw), np.arange(side**2).reshape(side, side)
    ends = np.concatenate(
        [
            np.stack([place[:, :-1], place[:, 1:]], -1).reshape(-1, 2),
            np.stack([place[:-1], place[1:]], -1).reshape(-1, 2),
        ]
    )
    W = np.full(len(ends), strength) if strength else rng.uniform(-couplings, couplings, len(ends))
    half = sp.csr_array((W, ends.T), shape=(side**2, side**2))
    return pf.BoltzmannMachine(half + half.T, rng.uniform(-fields, fields, side**2), values=(-1, 1))


def groups() -> Iterator[Group]:
    """All that the table has a line for."""
    kinds = [(8, 0.0, 0.0, strength) for strength in (0.3, 0.45, 0.8)]
    kinds += [(12, largest, fields, 0.0) for fields in (0.0, 1.0) for largest in (1.0, 2.0)]
    kinds += [(32, 1.0, 0.0, 0.0), (32, 2.0, 0.0, 0.0), (32, 0.0, 0.0, 0.44)]
    for side, largest, fields, strength in kinds:
        made = [grid(side, draw, largest, fields, strength) for draw in range(1 if strength else DRAWS[side])]
        name = f"ferromagnet {strength:g}" if strength else f"couplings to {largest:g}, fields to {fields:g}"
        yield Group(f"{side} x {side}, {name}", [(each, *_truth(each, side)) for each in made])
    for known in real_machines():
        yield Group(
            known.name.replace("_", " ").replace("ising", "neurons "), [(known.machine, known.log_z, known.means)]
        )


def _truth(machine: pf.BoltzmannMachine, side: int) -> tuple[float, np.ndarray]:
    if side > 12:
        return kac_ward(machine, side), np.full(machine.size, 0.5)
    exact = pf.infer(machine, None, "exact")
    return float(exact.log_partition), exact.means


def cell(group: Group, method: str) -> str:
    """Errors, how many did not converge, and seconds."""
    errors, wrong, failed, seconds = [], [], 0, []
    for machine, log_z, means in group.machines:
        start = time.process_time()
        try:
            found = pf.infer(machine, None, method, throw=False)
        except MethodDoesNotApply:
            return "refused"
        seconds.append(time.process_time() - start)
        errors.append(abs(found.log_partition - log_z))
        wrong.append(np.abs(found.means - means).max())
        failed += not found.converged
    star = f" {failed} \\*" if failed else ""
    most = f" (most {max(errors):.2g})" if len(errors) > 1 else ""
    return f"{np.median(errors):.2g}{most}, {np.median(wrong):.1g}, {np.median(seconds):.2g} s{star}"


def table() -> str:
    """A line for each kind of machine."""
    lines = [f"| | {' | '.join(f'`{method}`' for method in METHODS)} |", "|---|" + "---|" * len(METHODS)]
    for group in groups():
        lines.append(f"| {group.name} | {' | '.join(cell(group, method) for method in METHODS)} |")
        print(lines[-1], flush=True)
    return "\n".join(lines)


if __name__ == "__main__":
    page = PAGE.read_text(encoding="utf-8")
    whole_files.write(PAGE, written(page, "short loops", table()).encode())
