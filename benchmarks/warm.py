"""Warm answers: what a single question costs once all is compiled, over another commit of plefka in the same run.

`python -m benchmarks warm --over FOLDER` needs a clone or a worktree of the other commit in that folder. Both are
measured by turns, each time in a process of its own, so that a noisy machine is noisy for both.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.measure import Row

REPEATS = 5  # processes of each commit
WARM_UP, BLOCK, BLOCKS = 0.5, 0.1, 8  # seconds before measuring, of a block of calls, and how many blocks
FEW, MANY = 3, 13  # epochs of two runs, whose difference is the price of an epoch
THRESHOLD = 5  # of 16: pixels above it are black
ROOT = Path(__file__).parents[1]
EPOCH = "an epoch of G12 in epochs of BernoulliRBM"
MOST = {"espresso by exact": 1.0, "sigmoid 50x100x200 by bethe": 400.0, EPOCH: 4.0}  # beside being no slower
NOISE = 0.05  # how far two equal times may differ


def rows(other: Path | None) -> Iterator[Row]:
    """CPU milliseconds of each answer, and how many times as long it takes as with the other commit."""
    if other is None:
        raise SystemExit("warm needs another commit: python -m benchmarks warm --over FOLDER")
    runs = [(_measured(ROOT), _measured(other)) for _ in range(REPEATS)]
    for name in runs[0][0]:
        ours, theirs = (np.array([run[side][name] for run in runs]) for side in (0, 1))
        ratios, unit, most = ours / theirs, "" if name == EPOCH else " ms", MOST.get(name, np.inf)
        ratio, value = float(np.median(ratios)), float(np.median(ours))
        yield Row(
            f"{name} ({value:.3g}{unit}; ratios {ratios.min():.2f} to {ratios.max():.2f})",
            ratio, "x the other commit", f"at most 1, and {most:g}{unit}" if name in MOST else "at most 1",
            ratio <= 1 + NOISE and value <= most, {"ours": ours.tolist(), "theirs": theirs.tolist()},
        )  # fmt: skip


def _measured(clone: Path) -> dict[str, float]:
    """By a process with the code of this clone."""
    path = os.pathsep.join([str(clone.resolve() / "src"), str(ROOT)])
    command = [sys.executable, "-m", "benchmarks.warm"]
    environment = {**os.environ, "PYTHONPATH": path}
    found = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=ROOT)
    return json.loads(found.stdout.splitlines()[-1])


# ---- what runs in a process of its own, also beside an older plefka --------------------------------------------------


def questions() -> Iterator[tuple[str, Callable[[], object]]]:
    import plefka as pf

    espresso, evidence = pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}
    for method in ("exact", "auto", "G12", "bethe"):
        yield f"espresso by {method}", partial(pf.infer, espresso, evidence, method)
    for layers, methods in {(2, 4, 6): ("exact", "G12", "bethe"), (50, 100, 200): ("bethe", "G1", "G12")}.items():
        rng = np.random.default_rng(0)
        weights = [rng.normal(0, 1 / np.sqrt(above), (below, above)) for above, below in pairwise(layers)]
        network = pf.BeliefNetwork.layered(weights, [rng.normal(0, 0.5, units) for units in layers])
        row = np.r_[np.full(sum(layers[:-1]), np.nan), rng.integers(0, 2, layers[-1])]
        for method in methods:
            yield f"sigmoid {'x'.join(map(str, layers))} by {method}", partial(pf.infer, network, row, method)


def milliseconds(answer: Callable[[], object]) -> float:
    """CPU time of one call: the best of some blocks of calls, after as many as a background compilation may need."""
    begin, calls = time.perf_counter(), 0
    while calls < 3 or time.perf_counter() - begin < WARM_UP:
        answer()
        calls += 1
    once = _cpu_seconds(answer)
    count = max(1, round(BLOCK / once))
    return min(_cpu_seconds(answer, count) for _ in range(BLOCKS if count > 1 else 3)) / count * 1e3


def epochs_of_bernoulli_rbm() -> float:
    """What an epoch of G12 on 1,797 digits with 24 hidden units costs, in epochs of scikit-learn's machine."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import BernoulliRBM

    import plefka as pf

    X = (np.asarray(load_digits(return_X_y=True)[0]) > THRESHOLD).astype(float)
    start = pf.ensembles.to_learn((24,), X, 0)

    def ours(epochs: int) -> object:
        return pf.fit(start, X, "G12", epochs=epochs, seed=0, verbose=False)

    def theirs(epochs: int) -> object:
        return BernoulliRBM(24, n_iter=epochs, random_state=0).fit(X)

    ours(FEW)
    costs = [[_cpu_seconds(partial(fit, epochs)) for epochs in (FEW, MANY) for fit in (ours, theirs)] for _ in range(2)]
    few, few_of_theirs, many, many_of_theirs = np.min(costs, axis=0)
    return float((many - few) / (many_of_theirs - few_of_theirs))


def _cpu_seconds(answer: Callable[[], object], count: int = 1) -> float:
    """Of all threads."""
    begin = time.process_time()
    for _ in range(count):
        answer()
    return time.process_time() - begin


def main() -> None:
    found = {name: milliseconds(answer) for name, answer in questions()}
    print(json.dumps({**found, EPOCH: epochs_of_bernoulli_rbm()}))


if __name__ == "__main__":
    main()
