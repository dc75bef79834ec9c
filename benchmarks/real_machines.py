"""Machines whose ln Z and means are published, answered by every method: the tables of docs/boltzmann.md.

They are looked for in the folder that PLEFKA_DATA names, or in ../shared/data.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

import plefka as pf

DATA = Path(os.environ.get("PLEFKA_DATA") or "../shared/data")
METHODS = (
    "G1", "G1[restarts=20,seed=0]", "G1[anneal=30]", "G2", "G3", "G4", "mixture[3]", "bethe", "conditioned[bethe,k=6]",
)  # fmt: skip
LARGEST = {"G3": 250, "G4": 250}  # units: with more, the products of matrices of every step take minutes
CHECK = "its check"  # of the last method
LINES = (*METHODS, CHECK)


class Known(NamedTuple):
    """A machine, its ln Z and its means."""

    name: str
    machine: pf.BoltzmannMachine
    log_z: float
    means: np.ndarray


class Trial(NamedTuple):
    """What a method gave: its errors, and CPU seconds of a second call."""

    error: float  # of ln Z, with its sign
    wrong: np.ndarray  # |error| of every mean
    seconds: float
    converged: bool

    @property
    def mark(self) -> str:
        return "" if self.converged else " \\*"


def real_machines() -> Iterator[Known]:
    """All for which ln Z and means are known."""
    for path in sorted((DATA / "boltzmann").glob("*.npz")):
        with np.load(path) as content:
            size = len(content["bias"])
            half = sp.csr_array((content["weights"], content["edges"].T), shape=(size, size))
            machine = pf.BoltzmannMachine(half + half.T, content["bias"], constant=float(content["const"]))
            yield Known(path.stem, machine, float(content["lnZ_exact"]), _means(content))
    for path in sorted((DATA / "ising").glob("model_*.npz")):
        with np.load(path) as content:
            if "lnZ_exact" in content:
                machine = pf.BoltzmannMachine(content["J"] + content["J"].T, content["bias"])
                yield Known(path.stem.removeprefix("model_"), machine, float(content["lnZ_exact"]), _means(content))


def _means(content: np.lib.npyio.NpzFile) -> np.ndarray:
    return content["p1_exact" if "p1_exact" in content else "p1_reference"]


def trials(known: Known) -> dict[str, Trial]:
    """By method, and of the check of the last one."""
    found = {}
    for method in (method for method in METHODS if known.machine.size <= LARGEST.get(method, np.inf)):
        solution, seconds = _second(partial(pf.infer, known.machine, None, method, throw=False))
        found[method] = _trial(known, solution.log_partition, solution.means, seconds, bool(solution.converged))
        if method == METHODS[-1]:
            check, seconds = _second(partial(solution.check, seed=0))
            found[CHECK] = _trial(known, check.log_likelihood, check.means, seconds, check.reliable)
    return found


def _second(call: Callable[[], Any]) -> tuple[Any, float]:
    """What a second call returns, when everything is compiled, and its CPU seconds."""
    call()
    start = time.process_time()
    return call(), time.process_time() - start


def _trial(known: Known, log_z: Any, means: np.ndarray, seconds: float, converged: bool) -> Trial:
    return Trial(float(log_z) - known.log_z, np.abs(means - known.means), seconds, converged)


ABOUT = """\
Machines of the UAI competition of 2014 (DBN are restricted machines; grids; image segmentation) and pairwise models of
15 and 20 recorded neurons, without evidence. A star marks what did not converge, and a check whose draws are not
reliable. A dash marks what takes minutes. `exact` answers all of them.

The models of neurons have weak couplings: every further order is better there, and `G4` and conditioning are best. On
two of the segmentation networks `bethe` is within 0.1 nats. On all three `G3` is closer than `G2`, but `G4` is too high
by 6 to 25 nats. On the grids and on DBN 13 couplings are so strong that no method of these tables is of use: messages
do not converge, and mean-field searches converge to one mode of many, which no star marks. Further starts and annealing
find better modes, not reliably the best one. A check sees only modes that its draws reach: that of Grids 11 looks
reliable and misses 17 nats.

"""
TABLES: dict[str, Callable[[Trial], str]] = {
    "Error of ln Z, in nats": lambda trial: f"{trial.error:+.2g}{trial.mark}",
    "Mean error of the means, and in brackets the largest": lambda trial: (
        f"{trial.wrong.mean():.1g} ({trial.wrong.max():.1g})"
    ),
    "CPU seconds of a second call": lambda trial: f"{trial.seconds:.2g}",
}


def tables() -> str:
    """One for each of the figures, with a column for each machine."""
    found = []
    for known in real_machines():
        found.append((known, trials(known)))
        shown = (f"{name} {trial.error:+.3g} in {trial.seconds:.2g} s" for name, trial in found[-1][1].items())
        print(f"{known.name}: {', '.join(shown)}", file=sys.stderr, flush=True)
    return ABOUT + "\n\n".join(f"{title}:\n\n{_table(found, cell)}" for title, cell in TABLES.items())


def _table(found: list[tuple[Known, dict[str, Trial]]], cell: Callable[[Trial], str]) -> str:
    names = " | ".join(known.name.replace("_", " ").replace("ising", "neurons ") for known, _ in found)
    sizes = " | ".join(str(known.machine.size) for known, _ in found)
    lines = [f"| | {names} |", "|---|" + "---|" * len(found), f"| units | {sizes} |"]
    for name in LINES:
        cells = " | ".join(cell(trial[name]) if name in trial else "-" for _, trial in found)
        lines.append(f"| {name if name == CHECK else f'`{name}`'} | {cells} |")
    return "\n".join(lines)
