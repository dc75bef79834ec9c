"""Fits with a prior: CPU seconds of counting and of a whole fit, updates beside one fit, and coverage of intervals."""

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.measure import Row, at_most
from benchmarks.sensitivity import cpu_seconds
from plefka.learning.records import Records

LEVEL, DRAWS, WORTH = 0.95, 300, 12.0
SIZES = {
    "500 x 500, all edges": (500, 500, 1.0, 10_000),
    "8,352 x 11,022": (8352, 11022, 608_589 / 8352 / 11022, 3_500),
}


def rows() -> Iterator[Row]:
    for name, (causes, findings, density, count) in SIZES.items():
        network = drawn(causes, findings, density, seed=0)
        yield from passes(name, network, network.sample(seed=0, count=count))
    yield from updates()
    for hidden in (0.0, 0.2):
        yield from coverage(hidden)


def drawn(causes: int, findings: int, density: float, seed: int) -> pf.BeliefNetwork:
    """One or two causes are on in the mean, links are .05 to .5 (of few edges, .05 to .9), and leaks about .02."""
    rng, size = np.random.default_rng(seed), causes + findings
    links = sp.random_array((findings, causes), density=density, rng=rng, format="coo")
    p = rng.uniform(0.05, 0.5 if density == 1 else 0.9, links.nnz)
    ends = links.coords[0] + causes, links.coords[1]
    weights = sp.csr_array((-np.log1p(-p), ends), shape=(size, size))
    chance = np.append(rng.uniform(0.5, 2.5, causes) / causes, rng.uniform(0.01, 0.03, findings))
    return pf.BeliefNetwork(weights, -np.log1p(-chance), "noisy_or")


def passes(name: str, network: pf.BeliefNetwork, cases: np.ndarray) -> Iterator[Row]:
    """Counting rows and one expectation step; and a fit until its numbers have settled, or 100 epochs."""
    found: list[pf.Fitted] = []

    def one_pass() -> None:
        records = Records.of(network, WORTH, 1).with_rows(cases)
        records.step(records.coins.field)

    about = {"numbers": network.size + network.num_edges, "rows": len(cases)}
    yield at_most(f"{name}: one pass", cpu_seconds(one_pass), "CPU s", 5.0, about)
    seconds = cpu_seconds(lambda: found.append(pf.fit(network, cases, prior=WORTH, verbose=False)))
    about |= {"epochs": found[0].epochs, "stopped": found[0].stopped.value}
    yield at_most(f"{name}: fit", seconds, "CPU s", 20.0, about)


def updates() -> Iterator[Row]:
    """Rows one by one in random order, with and without hidden units, beside one fit on all of them."""
    network = pf.example("espresso")
    for hidden in (0.0, 0.2):
        cases = hide(network.sample(seed=0, count=60), hidden)
        whole, fitted = pf.fit(network, cases, prior=WORTH), pf.fit(network, cases[:1], prior=WORTH)
        for row in np.random.default_rng(1).permutation(len(cases) - 1) + 1:
            fitted = fitted.update(cases[row][None])
        apart = abs(fitted.intervals().probability - whole.intervals().probability).max()
        yield at_most(f"updates beside one fit, {hidden:.0%} hidden", float(apart), "", 1e-8, {"rows": len(cases)})


def hide(cases: np.ndarray, fraction: float) -> np.ndarray:
    found = cases.astype(float)
    found[np.random.default_rng(0).random(found.shape) < fraction] = np.nan
    return found


def coverage(hidden: float) -> Iterator[Row]:
    """Numbers drawn from their prior, and rows from these: how many intervals contain them."""
    network, rng = pf.example("espresso"), np.random.default_rng(3)
    start = Records.of(network, WORTH, 100)
    p, inside = -np.expm1(-start.coins.field), {"Beta counts": [], "Laplace": []}
    for draw in range(DRAWS):
        truth = rng.beta(p * WORTH, (1 - p) * WORTH)
        cases = start.coins.network_with(-np.log1p(-truth)).sample(seed=draw, count=100)
        found = pf.fit(network, hide(cases, hidden), prior=WORTH, verbose=False).intervals(LEVEL)
        for kind, some in inside.items():
            here = (found.kind == kind).to_numpy()
            some += ((found.low <= truth) & (truth <= found.high))[here].tolist()
    for kind, some in inside.items():
        about = {"intervals": len(some), "networks": DRAWS, "rows": 100}
        if len(some) > DRAWS:
            missed = abs(float(np.mean(some)) - LEVEL)
            yield at_most(f"{kind} miss {LEVEL:.0%}, {hidden:.0%} hidden", missed, f"{np.mean(some):.3f}", 0.02, about)
