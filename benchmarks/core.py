"""The core: one iteration against two plain products, many networks against one, and growth from 10^4 to 10^7 edges."""

import multiprocessing
import time
from itertools import pairwise

import jax
import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.measure import Row, best, best_of_both, peak_memory

EDGES = 10_000_000
FEW, MANY = 5, 25  # steps of two runs, whose difference is the cost of a step


def dense_network(edges: int) -> pf.BeliefNetwork:
    """Three layers with two blocks of equal size."""
    rng = np.random.default_rng(0)
    wide = int(np.sqrt(edges * 2.5))
    narrow = edges // (2 * wide)
    layers = (narrow, wide, narrow)
    weights = [rng.normal(0, 1 / np.sqrt(a), (b, a)) for a, b in pairwise(layers)]
    return pf.BeliefNetwork.layered(weights, [rng.normal(size=n) for n in layers])


def sparse_network(edges: int) -> pf.BeliefNetwork:
    """Ten parents for each unit of the lower half, anywhere in the upper half."""
    rng = np.random.default_rng(0)
    half = edges // 10
    parents = rng.integers(0, half, edges)
    children = np.repeat(np.arange(half, 2 * half), 10)
    W = sp.csr_array((rng.normal(0, 0.3, edges), (children, parents)), shape=(2 * half, 2 * half))
    return pf.BeliefNetwork(W, rng.normal(size=2 * half))


def lower_part_observed(network: pf.BeliefNetwork) -> np.ndarray:
    row = np.full(network.size, np.nan)
    start = network.size // 2 if network.layers is None else network.size - network.layers[-1]
    row[start:] = np.random.default_rng(1).integers(0, 2, network.size - start)
    return row


def seconds_per_step(network: pf.BeliefNetwork, repeats: int = 5) -> float:
    """What a further step of G12 costs: a longer solve less a shorter one."""
    row = lower_part_observed(network)

    def run(steps):
        return lambda: pf.infer(network, row, f"G12[tol=1e-300,max_steps={steps}]", throw=False)

    run(FEW)()
    few, many = best_of_both(run(FEW), run(MANY), repeats)
    return (many - few) / (MANY - FEW)


def iteration_on_blocks() -> Row:
    network = dense_network(EDGES)
    vectors = [np.random.default_rng(2).random(W.shape[1]) for W in network.weights]
    pairs = list(zip(network.weights, vectors, strict=True))
    return _step_by_products(network, pairs, "dense layers, 1e7 edges / two numpy products")


def iteration_on_edges() -> Row:
    network = sparse_network(EDGES)
    pairs = [(network.weights, np.random.default_rng(2).random(network.size))]
    return _step_by_products(network, pairs, "sparse, 1e7 edges / two scipy CSR products")


def _step_by_products(network: pf.BeliefNetwork, pairs: list[tuple], name: str) -> Row:
    """A step of G12 beside two products of the same weights with a vector, measured before and after it."""

    def products():
        for W, z in pairs * 2:
            W.dot(z)

    two = best(products, 10)
    step = seconds_per_step(network)
    two = min(two, best(products, 10))
    ratio = step / two
    details = {"seconds_per_step": step, "two_products": two, "edges": network.num_edges}
    return Row(f"G12 step, {name}", ratio, "x", "at most 4", ratio <= 4, details)


def many_networks() -> list[Row]:
    count, alone = 10_000, 200
    stack = pf.ensembles.layered((2, 4, 6), -1, 1, count, 0, "sigmoid")
    row = np.r_[np.full(6, np.nan), np.zeros(6)]
    singles = [pf.BeliefNetwork(stack.storage.take(k), stack.bias[k], layers=stack.layers) for k in range(alone)]

    def together():
        pf.infer(stack, row, "G12")

    def one_by_one():
        for network in singles:
            pf.infer(network, row, "G12")

    together()
    one_by_one()
    batch, loop = best_of_both(together, one_by_one, 7)
    ratio, rate = (loop / alone) / (batch / count), count / batch
    details = {"seconds_for_10000": batch, "seconds_per_single_call": loop / alone}
    return [
        Row(
            "10,000 networks 2x4x6 by G12, one call / single calls",
            ratio,
            "x faster",
            "at least 100",
            ratio >= 100,
            details,
        ),
        Row("networks 2x4x6 solved by G12 in a second", rate, "per s", "50,000", rate >= 50_000, details),
    ]


def growth(kind: str) -> list[Row]:
    """Time of a step and peak memory at 10^4 ... 10^7 edges, each in a process of its own."""
    sizes = [10**4, 10**5, 10**6, 10**7]
    context = multiprocessing.get_context("spawn")
    found = []
    for edges in sizes:
        with context.Pool(1) as pool:
            found.append(pool.apply(_grown, (kind, edges)))
    seconds, memory = zip(*found, strict=True)
    per_edge = [s / e for s, e in zip(seconds, sizes, strict=True)]
    bytes_per_edge = [m / e for m, e in zip(memory, sizes, strict=True)]
    details = {"edges": sizes, "seconds_per_step": seconds, "seconds_per_edge": per_edge}
    details |= {"extra_bytes": memory, "extra_bytes_per_edge": bytes_per_edge}
    rows = (("time", per_edge), ("memory", bytes_per_edge))
    return [_straight(f"{what} per edge, {kind}, 1e7 edges / 1e6 edges", at, details) for what, at in rows]


def _straight(name: str, per_edge: list[float], details: dict) -> Row:
    ratio = per_edge[-1] / per_edge[-2]
    return Row(name, ratio, "x", "straight line: at most 2", ratio <= 2, details)


def _grown(kind: str, edges: int) -> tuple[float, int]:
    jax.numpy.zeros(1).block_until_ready()
    before = peak_memory()
    network = {"dense": dense_network, "sparse": sparse_network}[kind](edges)
    seconds = seconds_per_step(network, 3)
    return seconds, peak_memory() - before


def import_time() -> Row:
    import subprocess
    import sys

    def start():
        subprocess.run([sys.executable, "-m", "plefka", "--help"], check=True, capture_output=True)

    seconds = best(start)
    return Row("plefka --help", seconds, "s", "under 0.5", seconds < 0.5, {"measured": time.strftime("%H:%M")})


def rows():
    """All benchmarks of the core, one after another."""
    yield import_time()
    yield iteration_on_blocks()
    yield iteration_on_edges()
    yield from many_networks()
    yield from growth("dense")
    yield from growth("sparse")
