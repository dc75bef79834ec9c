"""Boltzmann machines: spin glasses, machines whose ln Z is published, and the price of a step.

`python -m benchmarks.boltzmann` writes the tables of docs/boltzmann.md; real machines are looked for in the folder that
PLEFKA_DATA names, or in ../shared/data.
"""

import os
import re
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.measure import Row, at_most, best
from plefka import atomic

PAGE = Path("docs/boltzmann.md")
DATA = Path(os.environ.get("PLEFKA_DATA", "../shared/data"))
GLASSES = ("G1", "G2", "bethe", "conditioned[bethe,k=8]")
AUTO = "auto[exact=no]"
METHODS = ("G1", "G2", "G3", "G4", "bethe", "conditioned[bethe,k=6]", "mixture[3]")
CHECK = "its check"
DRAWS, SIZE = 500, 16
LARGE = 3163  # units of a machine with 10 million weights
FEW, MANY = 5, 25  # steps of two runs, whose difference is the price of a step


def rows() -> Iterator[Row]:
    """What the methods miss on spin glasses, and what a step costs."""
    for scale, most in ((1.0, 0.02), (2.0, 0.1)):
        found = spin_glasses(scale, (*GLASSES, AUTO))
        error = {method: errors.mean() for method, (errors, _) in found.items()}
        if scale == 1:
            yield at_most("G2 over G1, |ln Z error|", error["G2"] / error["G1"], "", 0.25, error)
        auto, converged = found[AUTO]
        yield at_most(f"auto without exact, scale {scale:g}", auto.mean(), "nats", most, {"largest": float(auto.max())})
        yield at_most(f"not converged, scale {scale:g}", DRAWS - converged, "draws", 0, {})
    yield step_price()


def spin_glasses(scale: float, methods: Sequence[str]) -> dict[str, tuple[np.ndarray, int]]:
    """|ln Z error| of every draw, and how many of them converged, by method."""
    machines = pf.ensembles.spin_glass(SIZE, DRAWS, 0, scale=scale)
    exact = pf.infer(machines, None, "exact").log_partition
    found = {}
    for method in methods:
        solution = pf.infer(machines, None, method)
        found[method] = np.abs(solution.log_partition - exact), int(solution.converged.sum())
    return found


def step_price() -> Row:
    """A step of G2 on 10 million weights, over two products of NumPy with the matrix."""
    machine = pf.ensembles.spin_glass(LARGE, 1, 0, scale=0.5).take(0).converted()
    W, u = np.asarray(machine.weights), np.random.default_rng(0).uniform(size=LARGE)
    method = "G2[solve=yes,tol=1e-300,max_steps={}]"

    def steps(count: int) -> float:
        return best(lambda: pf.infer(machine, None, method.format(count), throw=False), 3)

    products = best(lambda: (W @ u, W @ u), 5)
    ratio = (steps(MANY) - steps(FEW)) / (MANY - FEW) / products
    return at_most("a step of G2 over two products, 10 million weights", ratio, "", 6, {"products": products})


ABOUT = """\
Machines of the UAI competition of 2014 (DBN are restricted machines; grids; image segmentation) and pairwise models of
15 and 20 recorded neurons, without evidence. Each cell has |error of ln Z| in nats; the largest and the mean error of a
mean; and CPU seconds of a second call. A star marks what did not converge, or draws that are not reliable.

"""


# ---- tables of the documentation -------------------------------------------------------------------------------------


def real_machines() -> Iterator[tuple[str, pf.BoltzmannMachine, float, np.ndarray]]:
    """Name, machine, ln Z and means of all for which these are known."""
    for path in sorted((DATA / "boltzmann").glob("*.npz")):
        with np.load(path) as content:
            size = len(content["bias"])
            half = sp.csr_array((content["weights"], content["edges"].T), shape=(size, size))
            machine = pf.BoltzmannMachine(half + half.T, content["bias"], constant=float(content["const"]))
            yield path.stem, machine, float(content["lnZ_exact"]), _means(content)
    for path in sorted((DATA / "ising").glob("model_*.npz")):
        with np.load(path) as content:
            if "lnZ_exact" in content:
                machine = pf.BoltzmannMachine(content["J"] + content["J"].T, content["bias"])
                yield path.stem.removeprefix("model_"), machine, float(content["lnZ_exact"]), _means(content)


def _means(content: np.lib.npyio.NpzFile) -> np.ndarray:
    return content["p1_exact" if "p1_exact" in content else "p1_reference"]


def trials(machine: pf.BoltzmannMachine, log_z: float, means: np.ndarray) -> Iterator[tuple[str, str]]:
    """By method: |ln Z error|, the worst and the mean error of a mean, and CPU seconds of a second call."""
    for method in METHODS:
        pf.infer(machine, None, method, throw=False)
        start = time.process_time()
        found = pf.infer(machine, None, method, throw=False)
        yield (
            method,
            _cell(float(found.log_partition) - log_z, found.means - means, start, converged=bool(found.converged)),
        )
        if method.startswith("conditioned"):
            start = time.process_time()
            check = found.check(seed=0)
            yield CHECK, _cell(check.log_likelihood - log_z, check.means - means, start, converged=check.reliable)


def _cell(error: float, wrong: np.ndarray, start: float, *, converged: bool) -> str:
    seconds = time.process_time() - start
    mark = "" if converged else " \\*"
    return f"{abs(error):.2g}{mark}; {np.abs(wrong).max():.2g}, {np.abs(wrong).mean():.1g}; {seconds:.2g} s"


def glass_table() -> str:
    """The errors on spin glasses."""
    lines = [f"| couplings | {' | '.join(f'`{method}`' for method in GLASSES)} |", "|---|" + "---|" * len(GLASSES)]
    for scale in (1.0, 2.0):
        found = spin_glasses(scale, GLASSES).values()
        cells = [f"{e.mean():.2g} (largest {e.max():.2g}, {n} of {DRAWS} converged)" for e, n in found]
        lines.append(f"| {'' if scale == 1 else 'twice as large, '}variance {scale**2:g}/16 | {' | '.join(cells)} |")
    return "\n".join(lines)


def real_table() -> Iterator[str]:
    """One line for each real machine."""
    columns = [*METHODS[:6], CHECK, *METHODS[6:]]
    yield f"| machine | units | {' | '.join(column if column == CHECK else f'`{column}`' for column in columns)} |"
    yield "|---|---|" + "---|" * len(columns)
    for name, machine, log_z, means in real_machines():
        found = dict(trials(machine, log_z, means))
        yield f"| {name} | {machine.size} | {' | '.join(found[column] for column in columns)} |"


def written(page: str, mark: str, table: str) -> str:
    """The page with a table between its marks."""
    pattern = re.compile(f"(<!-- {mark} -->\n).*?(<!-- end of {mark} -->)", re.DOTALL)
    return pattern.sub(lambda match: f"{match[1]}\n{table}\n\n{match[2]}", page)


if __name__ == "__main__":
    text = written(PAGE.read_text(encoding="utf-8"), "spin glasses", glass_table())
    lines = []
    for line in real_table():
        print(line, flush=True)
        lines.append(line)
    atomic.write(PAGE, written(text, "real machines", ABOUT + "\n".join(lines)).encode())
