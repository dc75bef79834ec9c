"""Lower and upper bounds of ln P and ln Z beside sums over all states: how many are on the wrong side of the truth.

Small random networks of every kind, with couplings and fields from 0.03 to 1,000, none, or certain ones, leaks of 0,
tables with zeros and ones, and with nothing, something or everything observed. A bound is wrong where it is beyond the
truth by more than 1e-9 of its size, which is what the sum itself may be off by.

`PLEFKA_BOUNDED` says how many networks there are, 100,000 unless given. Machines that are published are looked for in
the folder that PLEFKA_DATA names, or in ../shared/data: how far apart their bounds are.
"""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.measure import Row, at_most
from plefka.exact.state_sum import planned_sum
from plefka.methods.posterior import EXACT, LOWER_BOUND, UPPER_BOUND
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.questions import bounds as bounds_module
from plefka.reduction.reduce import reduce

COUNT = int(os.environ.get("PLEFKA_BOUNDED") or 100_000)
DATA = Path(os.environ.get("PLEFKA_DATA") or "../shared/data")
CHUNK = 250  # networks of one kind and size, which are solved together
CLOSE = 1e-9
WIDEST = {"DBN": 45.0, "Grids": 15.0, "Segmentation": 1.0}  # nats between the bounds
METHODS = {
    "machine": ("G1", "minibucket"),
    "sigmoid": ("G1", "SJJ", "minibucket"),
    "noisy_or": ("G1", "findings[samples=0]", "minibucket"),
    "table": ("G1", "minibucket"),
}


def drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers of the same size in each network, some of which have none at all."""
    size = 10 ** rng.uniform(-1.5, 3.0, (shape[0], *(1,) * (len(shape) - 1))) * (rng.random(shape[0]) < 0.9).reshape(
        -1, *(1,) * (len(shape) - 1)
    )
    return rng.normal(0, 1, shape) * size


def network(kind: str, rng: np.random.Generator, count: int, n: int) -> tuple[Network, np.ndarray]:
    """A stack of networks, and ln of the weights of all states of each, (networks, states)."""
    S = ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(float)
    there = rng.random((count, n, n)) < rng.uniform(0.2, 1.0, (count, 1, 1))
    W, h = np.tril(drawn(rng, (count, n, n)) * there, -1), drawn(rng, (count, n))
    if kind == "machine":
        W = W + W.transpose(0, 2, 1)
        values = (0, 1) if rng.random() < 0.5 else (-1, 1)
        spins = values[0] + (values[1] - values[0]) * S
        logs = np.einsum("si,bij,sj->bs", spins, W, spins) / 2 + np.einsum("si,bi->bs", spins, h)
        return pf.BoltzmannMachine(W, h, values=values), logs
    if kind == "noisy_or":
        W, h = np.abs(W), np.abs(h) * (rng.random(h.shape) < 0.8)
        W[(rng.random(W.shape) < 0.03) & (W > 0)] = np.inf
        x = h[:, None] + np.where((S[:, None] == 1) & (W[:, None] > 0), W[:, None], 0.0).sum(-1)
        with np.errstate(divide="ignore"):
            on, off = np.log(-np.expm1(-x)), -x
    else:
        x = h[:, None] + np.einsum("bij,sj->bsi", W, S)
        on, off = -np.logaddexp(0, -x), -np.logaddexp(0, x)
    return pf.BeliefNetwork(W, h, kind), np.where(S == 1, on, off).sum(-1)


def of_tables(rng: np.random.Generator, n: int) -> tuple[Network, np.ndarray]:
    """One network of tables, some of them with zeros and ones."""
    S = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    units, logs = [], np.zeros(2**n)
    for unit in range(n):
        parents = np.flatnonzero(rng.random(unit) < 0.5)[:4]
        on = rng.random((2,) * len(parents)) ** rng.choice([1, 4, 40])
        on = np.where(rng.random(on.shape) < 0.1, np.round(on), on)
        units.append(pf.Unit(str(unit), [str(parent) for parent in parents], pf.Table(on)))
        chance = on[tuple(S[:, parents].T)]
        with np.errstate(divide="ignore"):
            logs += np.where(S[:, unit] == 1, np.log(chance), np.log1p(-chance))
    return pf.BeliefNetwork.of_units(units), logs[None]


def chunk(kind: str, number: int) -> tuple[int, int, float]:
    """How many networks were bounded, how many of their bounds are wrong, and the largest share that one is beyond."""
    rng = np.random.default_rng((number, list(METHODS).index(kind)))
    n = int(rng.integers(1 if kind == "machine" else 2, 8))
    count = CHUNK if kind != "table" else 1
    model, logs = of_tables(rng, n) if kind == "table" else network(kind, rng, count, n)
    rows = np.where(rng.random((count, n)) < rng.random((count, 1)), rng.integers(0, 2, (count, n)), np.nan)
    tilt = rng.normal(0, 3, (count, n)) * np.isnan(rows) * (rng.random((count, 1)) < 0.3)
    S = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    agrees = ((rows[:, None] == S) | np.isnan(rows[:, None])).all(-1)
    truth = np.logaddexp.reduce(np.where(agrees, logs + tilt @ S.T, -np.inf), axis=1)
    wrong, beyond = 0, 0.0
    for name in METHODS[kind]:
        if name == "minibucket":
            name = f"minibucket[i={rng.integers(2, 4)},max_steps={rng.choice([1, 3, 10, 30])}]"
        found = pf.infer(model, Evidence(rows, tilt, batched=True), name, throw=False)
        code, above = (
            found.codes.log_partition,
            np.where(np.isneginf(truth), 0.0, found.log_partition - np.maximum(truth, -1e300)),
        )
        far = np.where(code == LOWER_BOUND, above, np.where(code == UPPER_BOUND, -above, 0.0))
        far = np.where(code == EXACT, np.abs(above), far) / (1 + np.abs(truth))
        wrong, beyond = wrong + int((~(far <= CLOSE) & np.isfinite(truth)).sum()), max(beyond, np.nanmax(far))
    if kind == "machine":  # bounds that have no method of their own
        for row in range(0, count, 25):
            wrong += beyond_of_machine(model.take(row), rows[row], tilt[row], truth[row])
    return count, wrong, float(beyond)


def beyond_of_machine(machine: Network, row: np.ndarray, tilt: np.ndarray, truth: float) -> int:
    """How many of the eigenvalue's bound and that of exact sums with units held are wrong."""
    (part,) = reduce(machine, Evidence(row[None], tilt[None], batched=True)).parts
    if not part.question.free.any() or planned_sum(part).seconds == np.inf:
        return 0
    upper = float(part.constant[0]) + bounds_module._largest_eigenvalue(part.question)
    scopes = [axes for axes in bounds_module.bounding_tables(part.question, 2).scopes if len(axes) > 1]
    lower = bounds_module._with_held_units(part, scopes, np.full(part.question.size, 0.7), (1,))[0]
    far = CLOSE * (1 + abs(truth))
    return int(not upper >= truth - far) + int(not lower <= truth + far)


def rows() -> Iterator[Row]:
    """The number of wrong bounds of each kind, and how wide those of published machines are."""
    shares = {"machine": 0.35, "sigmoid": 0.3, "noisy_or": 0.3, "table": 0.05}
    for kind, share in shares.items():
        start, networks, wrong, beyond, number = time.process_time(), 0, 0, 0.0, 0
        while networks < share * COUNT:
            count, found, far = chunk(kind, number)
            networks, wrong, beyond, number = networks + count, wrong + found, max(beyond, far), number + 1
        details = {"networks": networks, "seconds": time.process_time() - start, "largest share beyond": beyond}
        yield at_most(f"wrong bounds of {networks:,} networks, {kind}", wrong, "", 0, details)
    bounds_module.BOUNDED_SECONDS = 0.1  # of exact sums, so that bounds are looked for
    for path in sorted((DATA / "boltzmann").glob("*.npz")):
        content, start = np.load(path), time.process_time()
        n, (a, b) = len(content["bias"]), content["edges"].T
        W = sp.coo_array((content["weights"], (a, b)), shape=(n, n)).tocsr()
        found = pf.bounds(pf.BoltzmannMachine(W + W.T, content["bias"]))
        truth = float(content["lnZ_exact"] - content["const"])
        details = {
            "lower": found.lower - truth, "upper": found.upper - truth, "lower by": found.lower_method,
            "upper by": found.upper_method, "seconds": time.process_time() - start,
        }  # fmt: skip
        yield at_most(
            f"width of the bounds of {path.stem}", found.gap, "nats", WIDEST[path.stem.split("_")[0]], details
        )
