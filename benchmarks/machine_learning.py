"""Learning Boltzmann machines: recorded neurons, and digits beside scikit-learn's BernoulliRBM.

Neurons are looked for in the folder that PLEFKA_DATA names, or in ../shared/data; without them only digits are learned.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_least, at_most
from plefka.learning.annealed import LogPartitions, independent, log_partitions
from plefka.learning.pair_moments import moments
from plefka.learning.patterns import as_patterns

SPIKES = Path(os.environ.get("PLEFKA_DATA", "../shared/data")) / "ising" / "spikes.npz"
EPOCHS = 300
METHODS = ("G2", "bethe", "pseudolikelihood", "persistent[chains=200]", "G1")
PLANTS = SPIKES.parents[1] / "density" / "plants.npz"
HIDDEN, RUNS, TEMPERATURES = 64, 1000, 1000
RIVALS = ({}, {"learning_rate": 0.05, "n_iter": 50}, {"learning_rate": 0.01, "n_iter": 100})  # of BernoulliRBM


def rows() -> Iterator[Row]:
    """All of them."""
    if SPIKES.exists():
        yield from few_neurons()
        yield from many_neurons()
    yield from digits()
    if PLANTS.exists():
        yield from plants()


# ---- neurons ---------------------------------------------------------------------------------------------------------


def few_neurons() -> Iterator[Row]:
    """15 neurons: exact moments, and what other methods gain of what the maximum gains over independent neurons."""
    spikes = np.load(SPIKES)["spikes15"].astype(float)
    start = pf.ensembles.machine_to_learn(0, spikes)
    exact, seconds = fitted(start, spikes, "exact")
    found = moments(exact, np.full((1, 15), np.nan), np.ones(1), pf.parse_method("exact"))
    lower = np.tril_indices(15, -1)
    apart = np.abs(found.first - spikes.mean(0)).max()
    pairs = np.abs(found.second[0] - spikes.T @ spikes / len(spikes))[lower].max()
    yield at_most("15 neurons by exact: largest error of a mean", apart, "", 1e-3, {"CPU seconds": seconds})
    yield at_most("15 neurons by exact: largest error of a pairwise moment", pairs, "", 1e-3, {})
    alone = independent(as_patterns(start, spikes))
    most = log_likelihood(exact, spikes) - alone
    yield Row("15 neurons by exact: gain over independent neurons", most, "nats a row", "beside", True, {})
    for method in METHODS:
        machine, seconds = fitted(start, spikes, method)
        share, name = (log_likelihood(machine, spikes) - alone) / most, f"15 neurons by {method}: share of that gain"
        details = {"CPU seconds": seconds}
        yield (
            at_least(name, share, "", 0.95, details)
            if method == "G2"
            else Row(name, share, "", "beside", True, details)
        )


def many_neurons() -> Iterator[Row]:
    """50 neurons, whose ln Z is annealed: how long it takes, and what is gained."""
    spikes = np.load(SPIKES)["spikes50"].astype(float)
    start = pf.ensembles.machine_to_learn(0, spikes)
    alone = independent(as_patterns(start, spikes))
    for method in ("G2", "persistent[chains=200]"):
        machine, seconds = fitted(start, spikes, method)
        z = annealed(machine)
        gain = float(np.mean(machine.log_joint(spikes)) - z.value[0] - alone)
        details = {"gain": gain, "error": float(z.error[0])}
        yield at_most(f"50 neurons by {method}", seconds, "CPU s", 60, details)
        yield at_least(f"50 neurons by {method}: gain over independent neurons", gain, "nats a row", 0, details)


def fitted(start: Any, spikes: np.ndarray, method: str) -> tuple[Any, float]:
    """The machine, and CPU seconds."""
    begin = time.process_time()
    found = pf.fit(start, spikes, method, epochs=EPOCHS, seed=0, verbose=False)
    return found.network, time.process_time() - begin


def log_likelihood(machine: Any, spikes: np.ndarray) -> float:
    return float(np.mean(machine.log_joint(spikes)) - pf.infer(machine, None, "exact").log_partition)


# ---- digits ----------------------------------------------------------------------------------------------------------


def digits() -> Iterator[Row]:
    """ln P of test images, with ln Z by the same annealing for all machines."""
    from sklearn.datasets import load_digits
    from sklearn.neural_network import BernoulliRBM

    images = np.asarray(load_digits(return_X_y=True)[0] > 7, float)
    order = np.random.default_rng(0).permutation(len(images))
    train, test = images[order[:1347]], images[order[1347:]]
    begin = time.process_time()
    start = pf.ensembles.machine_to_learn(HIDDEN, train, seed=0)
    ours = pf.fit(start, train, epochs=100, seed=0, verbose=False).network
    seconds = time.process_time() - begin
    value, error = judged(ours, test)
    about = {"CPU seconds": seconds, "error": error, "training rows": judged(ours, train)[0]}
    yield Row("digits, 64 hidden units: ln P of a test image", value, "nats", "beside", True, about)
    for options in RIVALS:
        begin = time.process_time()
        rival = BernoulliRBM(HIDDEN, random_state=0, **options).fit(train)
        seconds = time.process_time() - begin
        machine = pf.BoltzmannMachine.restricted(
            rival.components_.T, rival.intercept_visible_, rival.intercept_hidden_
        )  # fmt: skip
        other, error = judged(machine, test)
        name = f"the same less that of BernoulliRBM({', '.join(f'{key}={each}' for key, each in options.items())})"
        details = {"theirs": other, "error": error, "CPU seconds": seconds}
        yield at_least(name, value - other, "nats", 0, details)


def plants() -> Iterator[Row]:
    """As many hidden units on other rows: CPU time to what BernoulliRBM reaches, and how far learning goes on."""
    from sklearn.neural_network import BernoulliRBM

    stored = np.load(PLANTS)
    train, test = (np.unpackbits(stored[part], axis=1)[:, : int(stored["columns"])] * 1.0 for part in ("train", "test"))
    begin = time.process_time()
    rival = BernoulliRBM(HIDDEN, learning_rate=0.01, n_iter=50, random_state=0).fit(train)
    theirs = time.process_time() - begin
    machine = pf.BoltzmannMachine.restricted(rival.components_.T, rival.intercept_visible_, rival.intercept_hidden_)
    value, error = judged(machine, test)
    start = pf.ensembles.machine_to_learn(HIDDEN, train, seed=0)
    for epochs in (40, 100):
        begin = time.process_time()
        ours = pf.fit(start, train, epochs=epochs, seed=0, verbose=False).network
        seconds = time.process_time() - begin
        about = {"CPU seconds": seconds, "theirs": theirs, "error": float(np.hypot(error, judged(ours, test)[1]))}
        yield at_least(
            f"plants, {epochs} epochs: ln P less BernoulliRBM's", judged(ours, test)[0] - value, "nats", 0, about
        )


def judged(machine: Any, images: np.ndarray) -> tuple[float, float]:
    """ln P of an image on average, and the error of ln Z."""
    rows = np.full((len(images), machine.size), np.nan)
    rows[:, : images.shape[1]] = images
    z = annealed(machine)
    return float(pf.infer(machine, rows, "G1").log_partition.mean() - z.value[0]), float(z.error[0])


def annealed(machine: Any) -> LogPartitions:
    return log_partitions(machine, np.full((1, machine.size), np.nan), (1,), RUNS, TEMPERATURES)
