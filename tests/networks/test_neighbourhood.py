"""Parents, children and edges by name, and parts of networks."""

import itertools

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput, InvalidNetwork
from tests import zoo
from tests.mixed_networks import random_units

NETWORKS = {**zoo.ZOO, "mixed": pf.BeliefNetwork.of_units(random_units(0, 8))}
ESPRESSO = pf.example("espresso")


@pytest.fixture(params=NETWORKS)
def network(request) -> pf.BeliefNetwork:
    return NETWORKS[request.param]


def test_edges_are_those_of_the_units(network):
    expected = [
        (str(parent), name, weight)
        for name, unit in zip(network.names, network.units, strict=True)
        for parent, weight in itertools.zip_longest(unit.parents, unit.weights)
        if weight != 0
    ]
    assert sorted(network.edges(), key=str) == sorted(expected, key=str)


def test_parents_and_children_are_the_two_ends_of_edges(network):
    for unit, name in enumerate(network.names):
        assert network.parents(name) == network.parents(unit) == [e.parent for e in network.edges() if e.child == name]
        assert network.children(name) == [e.child for e in network.edges() if e.parent == name]


def test_hops_are_steps_along_edges_in_either_direction(network):
    reached = {network.names[3]}
    for hops in range(4):
        assert {*network.subnetwork(3, hops).names} == reached
        beyond = [{e.parent, e.child} for e in network.edges() if {e.parent, e.child} & reached]
        reached = reached.union(*beyond)


def test_with_enough_hops_it_is_the_whole_component():
    part = ESPRESSO.subnetwork("slow_flow", hops=100)
    assert part.names == ESPRESSO.names
    assert part.edges() == ESPRESSO.edges()
    evidence = {"slow_flow": 1}
    np.testing.assert_allclose(pf.infer(part, evidence, "exact").means, pf.infer(ESPRESSO, evidence, "exact").means)


def test_parents_that_are_cut_off_count_as_off(network):
    """The part says of its units what the network does when all others that they depend on are observed off."""
    for unit in range(network.size):
        part = network.subnetwork(unit, hops=1)
        S = np.array([*itertools.product((0.0, 1.0), repeat=part.size)])
        whole = np.zeros((len(S), network.size))
        inside = [network.names.index(name) for name in part.names]
        whole[:, inside] = S
        outside = [k for k in range(network.size) if k not in inside]
        others = conditional(network, whole, outside)
        np.testing.assert_allclose(part.log_joint(S), network.log_joint(whole) - others, atol=1e-9)


def conditional(network: pf.BeliefNetwork, states: np.ndarray, units: list[int]) -> np.ndarray:
    """The sum of ln P(S_i | parents) of some units: what flipping them to the other state loses or wins."""
    total = np.zeros(len(states))
    for unit in units:
        one = network.subnetwork([unit, *map(network.names.index, network.parents(unit))], hops=0)
        place = one.names.index(network.names[unit])
        S = states[:, [network.names.index(name) for name in one.names]]
        flipped = S.copy()
        flipped[:, place] = 1 - S[:, place]
        total += one.log_joint(S) - np.logaddexp(one.log_joint(S), one.log_joint(flipped))
    return total


def test_a_part_keeps_states_and_takes_several_units():
    net = pf.BeliefNetwork(
        [[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]], np.zeros(3), names=["a", "b", "c"], states=[("no", "yes")] * 3
    )
    part = net.subnetwork(["c", "a"], hops=0)
    assert (part.names, part.states) == (("a", "c"), (("no", "yes"),) * 2)
    assert pf.infer(part, {"a": "yes"}, "exact")["c"] == 0.5


@pytest.mark.parametrize("hops", [-1, 1.5, True, "two"])
def test_hops_are_a_whole_number(hops):
    with pytest.raises(InvalidInput, match="hops must be a whole number of edges from 0 on; got"):
        ESPRESSO.subnetwork("slow_flow", hops)


def test_units_must_be_there():
    for ask in (ESPRESSO.parents, ESPRESSO.children, ESPRESSO.subnetwork):
        with pytest.raises(InvalidEvidence, match=r"there is no unit 'slow_flo' .* Did you mean 'slow_flow'"):
            ask("slow_flo")
    with pytest.raises(InvalidInput, match="around must be a unit or a list of units; got an empty list"):
        ESPRESSO.subnetwork([])


def test_a_stack_has_no_single_graph():
    stack = pf.ensembles.layered((2, 3), -1, 1, 4, seed=0)
    for ask in (stack.edges, lambda: stack.parents(3), lambda: stack.children(0), lambda: stack.subnetwork(0)):
        with pytest.raises(InvalidNetwork, match=r"got a stack\. Take one of its networks first"):
            ask()
