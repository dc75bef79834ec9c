"""The graph of a network against the powers of its matrix."""

import numpy as np
import pytest

from plefka.networks.graph import Graph


def _random(size: int, edges: int, seed: int, *, acyclic: bool) -> Graph:
    rng = np.random.default_rng(seed)
    child, parent = np.unique(rng.integers(0, size, (2, edges)), axis=1)
    other = child != parent
    child, parent = child[other], parent[other]
    if acyclic:
        place = rng.permutation(size)
        child, parent = np.where(place[child] > place[parent], (child, parent), (parent, child))
    return Graph(child, parent, size)


def _chain(size: int) -> Graph:
    return Graph(np.arange(1, size), np.arange(size - 1), size)


def _paths(graph: Graph) -> np.ndarray:
    """[i, j]: whether a path leads from j to i."""
    A = np.eye(graph.size, dtype=bool)
    A[graph.child, graph.parent] = True
    for _ in range(graph.size.bit_length()):
        A = A @ A
    return A


GRAPHS = {
    **{f"acyclic {seed}": _random(12, 18, seed, acyclic=True) for seed in range(4)},
    **{f"any {seed}": _random(12, 14, seed, acyclic=False) for seed in range(4)},
    "chain": _chain(300),
    "backwards": _chain(300).reversed,
    "no edges": _random(3, 0, 0, acyclic=True),
}
each_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS.keys())


@each_graph
def test_ancestors_and_descendants_are_those_from_and_to_which_a_path_leads(graph):
    paths = _paths(graph)
    some = np.random.default_rng(0).random((5, graph.size)) < 0.2
    for units in some:
        np.testing.assert_array_equal(graph.with_ancestors(units), paths[units].any(axis=0))
        np.testing.assert_array_equal(graph.with_descendants(units), paths[:, units].any(axis=1))
    union = graph.ancestors_by_row(some)
    found = np.zeros(some.shape, bool)
    found[union.row, union.unit] = True
    np.testing.assert_array_equal(found, [graph.with_ancestors(units) for units in some])
    np.testing.assert_array_equal(union.unit[union.child], graph.child[union.edge])
    np.testing.assert_array_equal(union.unit[union.parent], graph.parent[union.edge])
    assert len(union.edge) == found[:, graph.child].sum()


@each_graph
def test_levels_are_the_longest_paths_and_a_cycle_is_found_where_there_are_none(graph):
    paths, cycle = _paths(graph), graph.cycle()
    has_cycle = bool((paths & paths.T & ~np.eye(graph.size, dtype=bool)).any())
    assert (cycle is not None) == has_cycle == (graph.levels is None)
    if cycle is not None:
        edges = set(zip(graph.parent.tolist(), graph.child.tolist(), strict=True))
        assert all(edge in edges for edge in zip(cycle, [*cycle[1:], cycle[0]], strict=True))
        return
    for unit, level in enumerate(graph.levels):
        above = graph.parent[graph.child == unit]
        assert level == (graph.levels[above].max() + 1 if len(above) else 0)


@each_graph
def test_orders_have_every_unit_once_and_after_its_parents(graph):
    if graph.levels is None:
        return
    some = np.random.default_rng(1).random(graph.size) < 0.7
    inner = some[graph.child] & some[graph.parent]
    for order in (graph.depth_first(some), np.concatenate(graph.groups(some))):
        np.testing.assert_array_equal(np.sort(order), np.flatnonzero(some))
        place = np.argsort(np.append(order, np.setdiff1d(np.arange(graph.size), order)))
        assert np.all(place[graph.child[inner]] > place[graph.parent[inner]])


@each_graph
def test_components_are_what_paths_in_any_direction_join(graph):
    ends = np.concatenate([graph.child, graph.parent]), np.concatenate([graph.parent, graph.child])
    count, label = graph.components()
    np.testing.assert_array_equal(label[:, None] == label, _paths(Graph(*ends, graph.size)))
    assert count == len(np.unique(label))
