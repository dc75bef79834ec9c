"""`plefka show`: what a network consists of."""

import numpy as np
import pytest

import plefka as pf

NET = "example:espresso"


def test_json_has_the_whole_network(run):
    content = run("show", NET, "--json").json
    network = pf.example("espresso")
    (dense,) = network.weights
    weights = np.zeros((15, 15))
    weights[7:, :7] = dense
    rebuilt = np.zeros_like(weights)
    for edge in content["edges"]:
        rebuilt[network.index(edge["child"]), network.index(edge["parent"])] = edge["weight"]
    np.testing.assert_array_equal(rebuilt, weights)
    assert content["names"] == list(network.names)
    assert content["num_edges"] == np.count_nonzero(weights)
    assert content["in_degree"]["most"] == np.count_nonzero(weights, axis=1).max()
    assert content["weights"] == {"least": weights[weights > 0].min(), "most": weights.max()}


def test_the_table_names_every_unit_with_its_parents(run):
    out = run("show", NET).out
    assert "noisy_or" in out
    assert "7 x 8" in out
    line = next(line for line in out.splitlines() if line.startswith("lukewarm_cup"))
    assert line.endswith("leak 0.1; strengths 0.5, 0.7")
    assert "limescale, faulty_thermostat" in line
    assert "prior 0.25" in next(line for line in out.splitlines() if line.startswith("stale_beans"))
    assert "0.05 to 0.25" in next(line for line in out.splitlines() if line.startswith("priors and leaks"))


def test_a_stack_of_networks_is_shown(run, tmp_path):
    path = tmp_path / "stack.npz"
    pf.save(pf.ensembles.layered((2, 3), -1, 1, 5, 0), path)
    content = run("show", path, "--json").json
    assert (content["stack"], content["num_units"], content["num_edges"]) == (5, 5, 6)
    assert "networks in the stack" in run("show", path).out


def test_a_certain_edge_is_spelled_as_in_a_file(run, tmp_path):
    path = tmp_path / "certain.json"
    pf.save(pf.BeliefNetwork([[0, 0], [np.inf, 0]], [0.1, 0.2], "noisy_or", ["a", "b"]), path)
    content = run("show", path, "--json").json
    assert content["edges"] == [{"parent": "a", "child": "b", "weight": "inf"}]
    assert content["weights"] == {"least": "inf", "most": "inf"}
    assert "1 to 1" in next(line for line in run("show", path).out.splitlines() if line.startswith("strengths"))


def test_a_single_layer_is_shown(run, tmp_path):
    path = tmp_path / "layer.json"
    pf.save(pf.BeliefNetwork.layered([], [[1, 2, 3]]), path)
    content = run("show", path, "--json").json
    assert (content["num_units"], content["num_edges"], content["weights"], content["layers"]) == (3, 0, None, [3])


@pytest.mark.parametrize("size", [1, 3])
def test_a_network_without_edges_is_shown(run, tmp_path, size):
    path = tmp_path / "lonely.json"
    pf.save(pf.BeliefNetwork(np.zeros((size, size)), np.zeros(size)), path)
    content = run("show", path, "--json").json
    assert (content["num_edges"], content["weights"], content["edges"]) == (0, None, [])
    assert run("show", path).code == 0


def test_units_of_different_kinds_are_shown(run, tmp_path):
    path = tmp_path / "mixed.json"
    units = [("a", [], "noisy_or", [], 0.1), ("b", ["a"], "noisy_or", [2.0], 0.2), ("c", ["b"], pf.Table([0.25, 0.5]))]
    pf.save(pf.BeliefNetwork.of_units(units), path)
    content = run("show", path, "--json").json
    assert content["edges"] == [
        {"parent": "a", "child": "b", "weight": 2.0},
        {"parent": "b", "child": "c", "weight": None},
    ]
    out = run("show", path).out
    assert "P(on) = 0.25, 0.5" in out
    assert "leak 0.1813; strengths 0.8647" in out
