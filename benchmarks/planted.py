"""Planted noisy-or networks: are their causes found from rows, beside NMF of scikit-learn and the scheme G12.

An edge from a cause to a finding is there with probability a quarter, strengths are uniform from .5 to .95, priors from
.1 to .35, leaks are .02. A cause is found where the links of a learned one correlate with its own by more than .9
(one to one, by the best assignment). ln P is of fresh complete rows, beside that of the planted network itself: exact
for 6 causes, by importance sampling for 20. `--draws 3` takes so many networks of each kind.
"""

import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.decomposition import NMF

import plefka as pf
from benchmarks.measure import Row, at_least, at_most

DRAWS, ALIKE, FOUND = 20, 0.9, 0.95
KINDS = ((6, 30, 1500), (20, 100, 10000))  # causes, findings, rows
EPOCHS, TEST_ROWS = {6: 100, 20: 5}, {6: 2000, 20: 200}
BESIDE = {6: 20, 20: 1}  # draws that G12 learns


class Planted(NamedTuple):
    """A network, rows to learn from, and fresh ones."""

    network: pf.BeliefNetwork
    links: np.ndarray
    train: np.ndarray
    test: np.ndarray


def planted(causes: int, findings: int, count: int, missing: float, draw: int) -> Planted:
    """One of the ensemble."""
    rng = np.random.default_rng([causes, draw])
    there = rng.random((findings, causes)) < 0.25
    links = np.where(there, rng.uniform(0.5, 0.95, there.shape), 0.0)
    priors, leaks = rng.uniform(0.1, 0.35, causes), np.full(findings, 0.02)
    net = pf.BeliefNetwork.layered([-np.log1p(-links)], [-np.log1p(-priors), -np.log1p(-leaks)], "noisy_or")
    train, test = (net.sample(seed, n)[:, causes:] * 1.0 for seed, n in ((1, count), (2, TEST_ROWS[causes])))
    return Planted(net, links, np.where(rng.random(train.shape) < missing, np.nan, train), test)


def rows(draws: int | None = None) -> Iterator[Row]:
    """All of them."""
    for missing in (0.0, 0.5):
        for causes, findings, count in KINDS:
            cases = partial(planted, causes, findings, count, missing)
            name = f"{causes} x {findings}, {count:,} rows{', half missing' if missing else ''}"
            yield from of_kind(name, cases, causes, 0.2 if missing else 0.1, draws or DRAWS)


def of_kind(name: str, cases: Any, causes: int, most: float, draws: int) -> Iterator[Row]:
    """Of one size and share of missing entries."""
    ours = [learned(cases(draw), "em", EPOCHS[causes]) for draw in range(draws)]
    found, gaps, seconds = map(np.array, zip(*ours, strict=True))
    details = {"found by draw": found.tolist(), "gaps": gaps.tolist(), "CPU seconds": seconds.tolist()}
    yield at_least(f"{name}: causes found by em", found.mean(), "of 1", FOUND, details)
    yield at_most(f"{name}: ln P below the truth's by em, mean", gaps.mean(), "nats a row", most, details)
    yield Row(f"{name}: the same, worst draw", gaps.max(), "nats a row", "beside", True, {})
    yield Row(f"{name}: CPU of em", np.median(seconds), "s", "beside", True, {})
    found, gaps, seconds = map(
        np.array, zip(*[learned(cases(draw), "G12", 100) for draw in range(min(draws, BESIDE[causes]))], strict=True)
    )
    yield Row(f"{name}: causes found by G12", found.mean(), "of 1", "beside", True, {})
    yield Row(f"{name}: ln P below the truth's by G12", gaps.mean(), "nats a row", "beside", True, {})
    yield Row(f"{name}: CPU of G12", np.median(seconds), "s", "beside", True, {})
    factors = float(np.mean([by_factors(cases(draw)) for draw in range(draws)]))
    yield Row(f"{name}: causes found by NMF", factors, "of 1", "beside", True, {"missing entries": "as column means"})


def learned(case: Planted, method: str, epochs: int) -> tuple[float, float, float]:
    """The share of causes that are found, how far ln P is below the truth's, and seconds."""
    start = pf.ensembles.to_learn((case.links.shape[1],), case.train, 0, "noisy_or")
    begin = time.process_time()
    network = pf.fit(start, case.train, method, epochs=epochs, seed=0, verbose=False).network
    seconds = time.process_time() - begin
    truth, ours = (pf.score(each, case.test, seed=0).mean for each in (case.network, network))
    return share_found(case.links, -np.expm1(-np.asarray(network.weights[0]))), truth - ours, seconds


def by_factors(case: Planted) -> float:
    """The share of causes that a factorisation finds."""
    filled = np.where(np.isnan(case.train), np.nanmean(case.train, axis=0), case.train)
    model = NMF(case.links.shape[1], init="nndsvda", max_iter=400).fit(filled)
    return share_found(case.links, model.components_.T)


def share_found(links: np.ndarray, learned: np.ndarray) -> float:
    """Of the planted causes, those whose links correlate with those of a learned cause of their own."""
    causes = links.shape[1]
    with np.errstate(divide="ignore", invalid="ignore"):
        alike = np.nan_to_num(np.corrcoef(links.T, learned.T)[:causes, causes:])
    return float(np.mean(alike[linear_sum_assignment(-alike)] > ALIKE))
