"""Beyond the paper: large networks against long runs of sampling, and the price of an average or of a message."""

import multiprocessing
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import jax
import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.core import EDGES, dense_network, lower_part_observed, sparse_network
from benchmarks.measure import Row, best, peak_memory
from plefka.averages import Enumerated, Fourier
from plefka.averages.choice import range_of
from plefka.inference.library import parse_method
from plefka.networks.evidence import as_evidence
from plefka.reduction.question import BeliefModel
from plefka.reduction.reduce import reduce
from plefka.sampling.gibbs import Sampled, sample_posterior

METHODS = ("G1", "G2", "bethe", "conditioned[G2,k=4]")
LONG = "gibbs[sweeps=2000,burn=500,chains=8,temperatures=2000,runs=32,seed=1]"
FEW, MANY = 1, 7  # steps of two runs, whose difference is the cost of a step
PRICE, MESSAGES = 4, 3  # G1 costs at most (nodes / 4) steps of G12, and bethe at most 3 steps of G1


# ---- large networks --------------------------------------------------------------------------------------------------


def dense_sigmoid() -> tuple[pf.BeliefNetwork, np.ndarray]:
    """50x100x200 units whose fields spread by about 2, and a bottom layer drawn from the network."""
    rng, layers = np.random.default_rng(0), (50, 100, 200)
    weights = [rng.uniform(-1, 1, (b, a)) * 2 * np.sqrt(6 / a) for a, b in pairwise(layers)]
    network = pf.BeliefNetwork.layered(weights, [rng.uniform(-1, 1, n) for n in layers])
    row = np.array(network.sample(1, 1)[0], float)
    row[: -layers[-1]] = np.nan
    return network, row


def diagnosis() -> tuple[pf.BeliefNetwork, np.ndarray]:
    """600 causes, 4,000 findings and 50,000 edges; of a patient drawn from it 30 findings that are on and 60 off."""
    rng, causes, findings, edges = np.random.default_rng(0), 600, 4000, 50_000
    place = rng.choice(causes * findings, edges, replace=False)
    w = -np.log1p(-rng.uniform(0.1, 0.9, edges))
    size = causes + findings
    W = sp.csr_array((w, (causes + place // causes, place % causes)), shape=(size, size))
    prior, leak = rng.uniform(0.01, 0.05, causes), rng.uniform(0.005, 0.015, findings)
    network = pf.BeliefNetwork(W, -np.log1p(-np.r_[prior, leak]), "noisy_or")
    state = np.array(network.sample(1, 1)[0], float)
    row = np.full(size, np.nan)
    for value, count in ((1, 30), (0, 60)):
        seen = causes + rng.choice(np.flatnonzero(state[causes:] == value), count, replace=False)
        row[seen] = value
    return network, row


LARGE = {"sigmoid 50x100x200": dense_sigmoid, "noisy-or 600x4,000": diagnosis}


def against_sampling(name: str):
    """Seconds of a second call, and errors of ln P(evidence) and of means, of every method and of the check."""
    network, row = LARGE[name]()
    start = time.perf_counter()
    (part,) = reduce(network, as_evidence(network, row)).parts
    right = sample_posterior(parse_method(LONG), part.question)  # pyright: ignore[reportArgumentType]
    seconds = time.perf_counter() - start
    facts = {"by": LONG, "seconds": seconds, "log_likelihood": float(right.log_likelihood[0] + part.constant[0])}
    facts |= {"standard_error": float(right.log_likelihood_error[0]), "r_hat": float(right.r_hat[0])}
    error = facts["standard_error"]
    yield Row(f"{name}: standard error of ln P by sampling", error, "nats", "below 1", error < 1, facts)
    relevant = (part.units, right.means_error[:, 0] > 0)
    solution = None
    for method in METHODS:
        solve = partial(pf.infer, network, row, method, throw=False)
        solution = solve()
        yield from _compared(
            name, method, best(solve, 1), solution, bool(solution.converged), right, facts["log_likelihood"], relevant
        )
    assert solution is not None
    check, right_log_likelihood = partial(solution.check, seed=0), facts["log_likelihood"]
    found = check()
    facts = {"pareto_k": found.pareto_k, "effective_samples": found.effective_samples, "verdict": found.verdict}
    yield from _compared(
        name, f"check of {METHODS[-1]}", best(check, 1), found, True, right, right_log_likelihood, relevant, facts
    )


def _compared(
    name: str, method: str, seconds: float, found, converged: bool, right: Sampled, log_likelihood, relevant, facts=()
):
    error = found.log_likelihood - log_likelihood
    units, sampled = relevant
    off = np.abs(found.means[units] - right.means[:, 0])[sampled]
    details = {"log_likelihood": float(found.log_likelihood), "error_of_log_likelihood": float(error)}
    details |= {"mean_error_of_means": float(off.mean()), "largest_error_of_means": float(off.max())} | dict(facts)
    finite = np.isfinite(found.log_likelihood) and np.isfinite(found.means).all()
    yield Row(f"{name}: {method}", seconds, "s", "an answer", converged and finite, details)
    yield Row(f"{name}: error of ln P by {method}", error, "nats", "for the record", finite, details)
    yield Row(f"{name}: mean error of means by {method}", off.mean(), "", "for the record", finite, details)


# ---- the price of a step ---------------------------------------------------------------------------------------------


NETWORKS: dict[str, Callable[[int], pf.BeliefNetwork]] = {"dense": dense_network, "sparse": sparse_network}


def nodes_of(network: pf.BeliefNetwork) -> int:
    """The nodes of the quadrature over the parents of a unit, or all of its states where those are summed over."""
    parents = network.storage.most_parents()
    model = BeliefModel(network.storage, network.bias[:, None], network.activation, np.ones((network.size, 1), bool))
    average = range_of(model).average(network.activation, parents)
    if isinstance(average, Enumerated):
        return 2**parents
    assert isinstance(average, Fourier)
    return len(average.rule.nodes.t)


def seconds_per_step(network: pf.BeliefNetwork, method: str) -> float:
    """What a further step costs: a longer solve less a shorter one."""
    row = lower_part_observed(network)

    def run(steps):
        return lambda: pf.infer(network, row, f"{method}[tol=1e-300,max_steps={steps}]", throw=False)

    run(FEW)()
    return (best(run(MANY), 2) - best(run(FEW), 2)) / (MANY - FEW)


def _measured(kind: str, method: str, edges: int) -> tuple[float, int, int]:
    """Seconds of a step, bytes that were needed beyond the network itself, and nodes."""
    jax.numpy.zeros(1).block_until_ready()
    network = NETWORKS[kind](edges)
    before = peak_memory()
    return seconds_per_step(network, method), peak_memory() - before, nodes_of(network)


def prices(kind: str, edges: int = EDGES) -> list[Row]:
    """Steps of G12, G1 and bethe on the same network, each in a process of its own, one after another."""
    context = multiprocessing.get_context("spawn")
    found = {}
    for method in ("G12", "G1", "bethe"):
        with context.Pool(1) as pool:
            found[method] = pool.apply(_measured, (kind, method, edges))
    seconds = {method: step for method, (step, _, _) in found.items()}
    bytes_per_edge = {method: extra / edges for method, (_, extra, _) in found.items()}
    nodes = found["G1"][2]
    details = {"seconds_per_step": seconds, "extra_bytes_per_edge": bytes_per_edge, "nodes": nodes, "edges": edges}
    price, messages = seconds["G1"] / seconds["G12"], seconds["bethe"] / seconds["G1"]
    name, most = f"{kind}, {edges:.0e} edges", nodes / PRICE
    memory = max(bytes_per_edge["G1"], bytes_per_edge["bethe"])
    table = 8 * nodes  # bytes for an edge of an array of nodes x edges
    return [
        Row(f"G1 step / G12 step, {name}", price, "x", f"at most {nodes} nodes / 4", price <= most, details),
        Row(f"bethe sweep / G1 step, {name}", messages, "x", "at most 3", messages <= MESSAGES, details),
        Row(f"memory beyond the network, {name}", memory, "bytes per edge", f"below {table}", memory < table, details),
    ]


def rows():
    """All benchmarks beyond the paper, one after another."""
    for name in LARGE:
        yield from against_sampling(name)
    for kind in NETWORKS:
        yield from prices(kind)
