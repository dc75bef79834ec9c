"""Belief propagation on short loops: exact where regions form a tree, and it always converges."""

import itertools

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidMethod, MethodDoesNotApply
from plefka.messages import loops
from plefka.messages.message_methods import Loops
from plefka.messages.region_beliefs import RegionGraph, log_sums, minima_of_bounds, plain_sweeps
from plefka.messages.regions import Regions
from plefka.networks.evidence import as_evidence
from plefka.reduction.reduce import reduce
from tests import zoo

TIGHT = "tol=1e-13"


def grid(length: int, largest: float, seed: int, fields: float = 0.5, **options) -> pf.BoltzmannMachine:
    """Couplings and fields drawn uniformly, on a square grid."""
    rng, W = np.random.default_rng(seed), np.zeros((length**2, length**2))
    for i, j in itertools.product(range(length), repeat=2):
        for k in ([] if j + 1 == length else [i * length + j + 1]) + (
            [] if i + 1 == length else [(i + 1) * length + j]
        ):
            W[i * length + j, k] = rng.uniform(-largest, largest)
    return pf.BoltzmannMachine(W + W.T, rng.uniform(-fields, fields, length**2), values=(-1, 1), **options)


def from_edges(edges, size: int, seed: int, largest: float = 2.0) -> pf.BoltzmannMachine:
    rng, W = np.random.default_rng(seed), np.zeros((size, size))
    for i, j in edges:
        W[i, j] = W[j, i] = rng.uniform(-largest, largest)
    return pf.BoltzmannMachine(W, rng.normal(size=size))


def ring(size: int) -> list[tuple[int, int]]:
    return [(k, (k + 1) % size) for k in range(size)]


EXACT = {
    "a tree": ([(0, 1), (1, 2), (1, 3), (3, 4), (3, 5)], 6, 4),
    "a triangle": (ring(3), 3, 3),
    "a square": (ring(4), 4, 4),
    "a ring of six": (ring(6), 6, 6),
    "squares in a row": ([*ring(4), (2, 4), (4, 5), (5, 3), (5, 6), (6, 7), (7, 3)], 8, 4),
    "two triangles and a tail": ([*ring(3), (1, 3), (2, 3), (3, 4)], 5, 3),
    "units without couplings": ([(0, 1)], 4, 4),
    "one unit": ([], 1, 4),
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("joined", ["yes", "no"])
def test_exact_where_regions_form_a_tree(name, joined):
    edges, size, length = EXACT[name]
    machine = from_edges(edges, size, seed=len(name))
    found = pf.infer(machine, None, f"loops[length={length},joined={joined},{TIGHT}]")
    right = pf.infer(machine, None, "exact")
    np.testing.assert_allclose(found.log_partition, right.log_partition, rtol=1e-11)
    np.testing.assert_allclose(found.means, right.means, atol=1e-11)


def test_without_loops_it_is_belief_propagation():
    machine = grid(4, 0.5, seed=3)
    found, right = (pf.infer(machine, None, method) for method in (f"loops[length=2,{TIGHT}]", f"bethe[{TIGHT}]"))
    np.testing.assert_allclose(found.log_partition, right.log_partition, atol=1e-10)
    np.testing.assert_allclose(found.means, right.means, atol=1e-9)
    sparse = from_edges(ring(7), 7, seed=1)  # no loop of four
    found, right = (pf.infer(sparse, None, method) for method in (f"loops[{TIGHT}]", f"bethe[{TIGHT}]"))
    np.testing.assert_allclose(found.log_partition, right.log_partition, atol=1e-10)


@pytest.mark.parametrize("seed", range(3))
def test_closer_than_belief_propagation_on_grids(seed):
    machine = grid(6, 1.5, seed)
    right = pf.infer(machine, None, "exact")
    methods = ("bethe", "loops[joined=no]", "loops")
    error = [abs(pf.infer(machine, None, each, throw=False).log_partition - right.log_partition) for each in methods]
    assert error[1] < error[0] / 3
    assert error[2] < 0.02
    found = pf.infer(machine, None, "loops")
    assert found.converged
    assert not found.is_exact
    np.testing.assert_allclose(found.means, right.means, atol=0.02)


def test_every_unit_and_coupling_counts_once():
    factors = [(k, k + 1) for k in range(5)] + [(k, k + 3) for k in range(3)] + [(0, 5), (1, 4), (2, 5)]
    for joined in (False, True):
        regions = Regions.of(range(6), factors, 4, joined=joined)
        for some in (*factors, *((unit,) for unit in range(6))):
            inner = sum(c for region, c in zip(regions.inner, regions.counts, strict=True) if {*some} <= {*region})
            assert inner + sum({*some} <= {*region} for region in regions.outer) == 1


def test_loops_that_are_sums_of_others_are_no_regions():
    edges = [(i, j) for i, j in itertools.combinations(range(16), 2) if (j == i + 1 and j % 4) or j == i + 4]
    four, eight = (Regions.of(range(16), edges, length) for length in (4, 8))
    assert four.outer == eight.outer  # the nine squares
    assert len(four.outer) == 9
    complete = Regions.of(range(5), list(itertools.combinations(range(5), 2)), 3)
    assert len(complete.outer) == 6  # 10 couplings - 5 units + 1


def region_graph(machine: pf.BoltzmannMachine) -> tuple[RegionGraph, np.ndarray]:
    reduction = reduce(machine, as_evidence(machine, None))
    method = Loops("loops", joined=False)
    ((factors, regions),) = loops.region_groups(method, reduction.parts[0].question)
    theta = loops._theta(factors, regions)
    return RegionGraph(regions, ~np.isneginf(theta[:, 0])), theta


def free_energy(graph: RegionGraph, theta: np.ndarray, messages: np.ndarray) -> float:
    """By its definition, where beliefs agree."""
    logs = theta + graph.spread @ messages
    logs -= log_sums(logs, graph.region_of)[graph.region_of]
    inner = graph.gather @ (graph.sum_out @ np.exp(logs)) / graph.number[graph.inner_of, None]
    counted = graph.counts[graph.inner_of, None] * inner * np.log(inner)
    return float((np.exp(logs) * (logs - theta)).sum() + counted.sum())


@pytest.mark.parametrize("largest", [1.0, 3.0])
def test_the_free_energy_falls_from_bound_to_bound(largest):
    graph, theta = region_graph(grid(4, largest, seed=1))
    found = list(minima_of_bounds(graph, theta, 1e-5, 20_000, within=1e-8))
    energies = [free_energy(graph, theta, each.values) for each in found]
    assert found[-1].residual[0] <= 1e-5
    assert len(energies) > 3
    assert np.diff(energies).max() < 2e-5  # beliefs of the last bounds agree to half of 1e-5
    np.testing.assert_allclose(energies[-1], -graph.log_partition(theta, found[-1].values)[0], atol=1e-5)


def test_both_ways_end_at_the_same_beliefs():
    graph, theta = region_graph(grid(5, 1.0, seed=2))
    plain = plain_sweeps(graph, theta, 1e-10, 2000)
    *_, double = minima_of_bounds(graph, theta, 1e-7, 20_000)
    np.testing.assert_allclose(graph.log_partition(theta, plain.values), graph.log_partition(theta, double.values))


@pytest.mark.parametrize("scale", [1e-9, 30.0, 1e3])
@pytest.mark.parametrize("fields", [0.0, 1.0, 1e3])
def test_extreme_couplings_and_fields(scale, fields):
    machine = grid(3, scale, seed=5, fields=fields)
    found, right = (pf.infer(machine, None, method) for method in ("loops", "exact"))
    np.testing.assert_allclose(found.log_partition, right.log_partition, rtol=1e-9)
    strong = pf.infer(grid(5, scale, seed=5, fields=fields), None, "loops[joined=no]", throw=False)
    assert np.isfinite(strong.log_partition)
    assert np.isfinite(strong.means).all()


def test_rows_together_are_as_rows_alone():
    machine = grid(4, 1.0, seed=4, temperature=1.5)
    rows = np.full((4, 16), np.nan)
    rows[1, 0], rows[2, [5, 6]], rows[3] = 1, -1, 1
    together = pf.infer(machine, rows, f"loops[{TIGHT}]")
    right = pf.infer(machine, rows, "exact")
    np.testing.assert_allclose(together.log_likelihood, right.log_likelihood, atol=0.01)
    for k in range(4):
        alone = pf.infer(machine, rows[k], f"loops[{TIGHT}]")
        np.testing.assert_allclose(together.log_likelihood[k], alone.log_likelihood, atol=1e-10)
        np.testing.assert_allclose(together.means[k], alone.means, atol=1e-10)
    soft = {0: pf.Likelihood(0.2, 0.9)}
    found, right = (pf.infer(machine, soft, method).log_likelihood for method in ("loops", "exact"))
    np.testing.assert_allclose(found, right, atol=0.01)
    single = pf.infer(machine, None, "loops", dtype="float32")
    np.testing.assert_allclose(single.log_partition, pf.infer(machine, None, "loops").log_partition, rtol=1e-5)


def test_conditioning_uses_it():
    machine = grid(6, 2.0, seed=0)
    right = pf.infer(machine, None, "exact").log_partition
    found = pf.infer(machine, None, "conditioned[loops[joined=no],k=3]")
    assert abs(found.log_partition - right) < 0.03


def test_belief_networks_of_small_tables():
    network = zoo.layered((3, 4, 6), -2, 2, "sigmoid", 2)
    evidence = {unit: unit % 2 for unit in range(7, 13)}
    right = pf.infer(network, evidence, "exact")
    found, messages = (pf.infer(network, evidence, method) for method in ("loops", "bethe"))
    assert abs(found.log_likelihood - right.log_likelihood) < abs(messages.log_likelihood - right.log_likelihood)
    np.testing.assert_allclose(found.means, right.means, atol=0.02)


def test_rows_without_hidden_units_and_impossible_ones():
    network = zoo.layered((2, 2, 3), -2, 2, "sigmoid", 1)
    rows = np.array([[np.nan] * 4 + [1, 0, 1], [1, 0, 1, 1, 0, 0, 1], [np.nan, 1, np.nan, 0, 1, 1, 1]])
    for prune in (True, False):
        found, right = (pf.infer(network, rows, method, prune=prune) for method in (f"loops[{TIGHT}]", "exact"))
        np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, atol=0.05)
        np.testing.assert_allclose(found.log_likelihood[1:], right.log_likelihood[1:], atol=1e-10)
    equal = pf.BeliefNetwork.from_tables([[], [], [0, 1], [0, 1]], [0.5, 0.5, [[0, 1], [1, 0]], [[1, 0], [0, 1]]])
    found = pf.infer(equal, [{2: 1, 3: 1}, {2: 1}], "loops", throw=False)
    assert found.status[0] is pf.Status.IMPOSSIBLE
    np.testing.assert_allclose(found.log_likelihood, [-np.inf, np.log(0.5)])


def test_tables_with_zeros():
    parents = [[], [], [0, 1], [0, 1], [2, 3]]
    on = [0.3, 0.6, [[0.0, 0.4], [0.7, 1.0]], [[0.2, 0.5], [1.0, 0.5]], [[0.1, 1.0], [0.3, 0.8]]]
    network = pf.BeliefNetwork.from_tables(parents, on, names=[f"u{k}" for k in range(5)])
    for evidence in ({"u4": 1}, {"u2": 1, "u3": 0}):
        found, right = (pf.infer(network, evidence, method) for method in ("loops", "exact"))
        np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, atol=0.05)


def test_markov_networks():
    pairs = [
        ((0, 1), [[1, 0], [2, 4]]),
        ((1, 2), [[3, 1], [1, 3]]),
        ((2, 3), [[1, 2], [0, 1]]),
        ((3, 0), [[1, 2], [1, 1]]),
    ]
    network = pf.MarkovNetwork(5, [*pairs, ((0, 1, 2), np.arange(8).reshape(2, 2, 2)), ((3, 4), [[5, 1], [0, 2]])])
    found, right = (pf.infer(network, None, method) for method in (f"loops[{TIGHT}]", "exact"))
    np.testing.assert_allclose(found.log_partition, right.log_partition, atol=1e-9)
    np.testing.assert_allclose(found.means, right.means, atol=1e-9)


def test_what_it_refuses():
    dense = np.triu(np.random.default_rng(0).normal(size=(80, 80)), 1)
    with pytest.raises(MethodDoesNotApply, match=r"loops does not apply.*Use loops\[joined=no\], smc or bethe instead"):
        pf.infer(pf.BoltzmannMachine(dense + dense.T, np.zeros(80)), None, "loops")
    with pytest.raises(MethodDoesNotApply, match="noisy-or"):
        pf.infer(pf.example("espresso"), {"slow_flow": 1}, "loops")
    for bad in ("length=1", "length=9", "tol=0", "max_steps=0"):
        with pytest.raises(InvalidMethod):
            pf.parse_method(f"loops[{bad}]")
    assert str(pf.parse_method("loops[joined=no,length=6]")) == "loops[length=6,joined=no]"


def test_out_of_steps_is_said():
    found = pf.infer(grid(6, 6.0, seed=0), None, "loops[max_steps=3]", throw=False)
    assert found.status is pf.Status.OUT_OF_STEPS


def test_work_is_predicted():
    def seconds(machine: pf.BoltzmannMachine, *, joined: bool = True) -> float:
        part = reduce(machine, as_evidence(machine, None)).parts[0]
        return loops.seconds(Loops("loops", joined=joined), part.question)

    small, large = grid(4, 1.0, seed=0), grid(12, 1.0, seed=0)
    assert 0 < seconds(small, joined=False) < seconds(small) < seconds(large) < 10
    dense = np.ones((80, 80)) - np.eye(80)
    assert seconds(pf.BoltzmannMachine(dense, np.zeros(80))) == np.inf
