"""Standard sets of binary rows (Lowd and Davis's splits): the default search for a density beside other learners.

The sets are looked for in the folder that PLEFKA_DATA names, or in ../shared/data. ln P of test rows is exact, or has
ln Z by annealing that is repeated with other seeds. All choices are made on training and validation rows.
"""

import os
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_least, at_most
from plefka.learning.annealed import AnnealingStart, log_partitions
from plefka.learning.density_search import search

SETS = Path(os.environ.get("PLEFKA_DATA", "../shared/data")) / "density"
AIMS = {"nltcs": -6.010, "plants": -13.2, "jester": -51.85, "dna": -79.5}
TREES = {"nltcs": -6.00, "plants": -14.27, "jester": -52.38, "dna": -79.05}  # PyJuice's authors, mean of 5 logged runs
SECONDS, RUNS, TEMPERATURES, REPEATS = 300.0, 400, 6000, (101, 102, 103)
COMPONENTS = (10, 30, 100, 200)  # of mixtures, chosen by validation rows


def rows() -> Iterator[Row]:
    """All sets that are there."""
    for name, aim in AIMS.items():
        path = SETS / f"{name}.npz"
        if not path.exists():
            print(f"{name} is left out: there is no {path}; set PLEFKA_DATA to the folder that has density/{name}.npz")
            continue
        yield from of_set(name, aim, *read(path))


def read(path: Path) -> list[np.ndarray]:
    """Rows to learn from, to choose by and to test on."""
    packed = np.load(path)
    columns = int(packed["columns"])
    return [np.unpackbits(packed[part], axis=1)[:, :columns].astype(float) for part in ("train", "valid", "test")]


def of_set(name: str, aim: float, train: np.ndarray, valid: np.ndarray, test: np.ndarray) -> Iterator[Row]:
    """The search, its error, and its peers."""
    begin = time.process_time()
    found = search(train, held_out=valid, budget=SECONDS, verbose=False)
    seconds = time.process_time() - begin
    values, errors = zip(*(log_likelihood(found.network, train, test, seed) for seed in REPEATS), strict=True)
    value, apart = float(np.mean(values)), max(max(errors), float(np.ptp(values)))
    tried = [
        f"{each['family']} ({each['settings']}): {each['held_log_likelihood']:.4f} +- {each['standard_error']:.4f}"
        for each in found.tried
    ]
    about = {"CPU seconds": seconds, "valid": found.held_log_likelihood, "network": repr(found.network)}
    yield at_least(f"{name}: ln P of a test row", value, "nats", aim, about | {"tried": tried})
    yield at_most(f"{name}: error of ln Z, by {len(REPEATS)} repeats", apart, "nats", 0.05, {"values": values})
    for peer, theirs, details in peers(train, valid, test):
        yield at_least(f"{name}: the same less that of {peer}", value - theirs, "nats", 0, {"theirs": theirs} | details)
    yield Row(
        f"{name}: the same less that of hidden Chow-Liu trees", value - TREES[name], "nats", "beside", True,
        {"theirs": TREES[name], "source": "PyJuice's authors, mean of 5 logged runs"},
    )  # fmt: skip


def log_likelihood(network: Any, train: np.ndarray, test: np.ndarray, seed: int) -> tuple[float, float]:
    """ln P per row of a machine whose hidden units are independent given the columns, and the error of ln Z."""
    hidden, nothing = np.full(network.size - test.shape[1], np.nan), np.full((1, network.size), np.nan)
    clamped = pf.infer(network, np.hstack([test, np.tile(hidden, (len(test), 1))]), "exact").log_partition
    start = AnnealingStart(np.append((train.sum(0) + 0.5) / (len(train) + 1), hidden))
    free = log_partitions(network, nothing, (seed,), RUNS, TEMPERATURES, seconds=5.0, start=start)
    return float(clamped.mean() - free.value[0]), float(free.error[0])


# ---- peers -----------------------------------------------------------------------------------------------------------


def peers(train: np.ndarray, valid: np.ndarray, test: np.ndarray) -> Iterator[tuple[str, float, dict]]:
    """Name, ln P of a test row and details."""
    on = (train.sum(0) + 0.5) / (len(train) + 1)
    yield "independent columns", float(np.mean(test @ np.log(on) + (1 - test) @ np.log1p(-on))), {}
    begin = time.process_time()
    mixtures = {count: mixture(train, valid, count) for count in COMPONENTS}
    best = max(mixtures, key=lambda count: mixtures[count][0])
    about = {"components": best, "CPU seconds": time.process_time() - begin}
    yield "a mixture of Bernoullis by EM", mixture_scores(test, *mixtures[best][1]), about
    yield restricted(train, test)
    for package in ("pyjuice", "cirkit"):
        if not find_spec(package):
            print(f"{package} is left out: it is not installed")


def mixture(train: np.ndarray, valid: np.ndarray, count: int) -> tuple[float, tuple[np.ndarray, np.ndarray]]:
    """The best score of validation rows, and ln weights and means of the components there."""
    rng = np.random.default_rng(count)
    weights, means = np.full(count, -np.log(count)), 0.5 * train.mean(0) + 0.5 * rng.random((count, train.shape[1]))
    means, best, since = np.clip(means, 0.01, 0.99), (-np.inf, (weights, means)), 0
    while since < 5:
        joint = weights + train @ np.log(means).T + (1 - train) @ np.log1p(-means).T
        share = np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])
        size = share.sum(axis=0)
        weights = np.log(size + 0.1) - np.log(len(train) + 0.1 * count)
        means = (share.T @ train + 0.2 * train.mean(0) + 0.01) / (size[:, None] + 0.22)
        score = mixture_scores(valid, weights, means)
        since = 0 if score > best[0] + 1e-3 else since + 1
        best = max(best, (score, (weights, means)), key=lambda each: each[0])
    return best


def mixture_scores(rows: np.ndarray, weights: np.ndarray, means: np.ndarray) -> float:
    """ln P per row."""
    joint = weights + rows @ np.log(means).T + (1 - rows) @ np.log1p(-means).T
    return float(np.logaddexp.reduce(joint, axis=1).mean())


def restricted(train: np.ndarray, test: np.ndarray) -> tuple[str, float, dict]:
    """scikit-learn's restricted machine, scored as ours."""
    from sklearn.neural_network import BernoulliRBM

    begin = time.process_time()
    rival = BernoulliRBM(64, learning_rate=0.02, n_iter=30, random_state=0).fit(train)
    seconds = time.process_time() - begin
    machine = pf.BoltzmannMachine.restricted(
        rival.components_.T, rival.intercept_visible_, rival.intercept_hidden_
    )  # fmt: skip
    value, error = log_likelihood(machine, train, test, 1)
    return "BernoulliRBM(64)", value, {"CPU seconds": seconds, "error of their ln Z": error}
