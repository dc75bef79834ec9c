"""Markov networks beside plain sums over all states: ln Z, means, the most probable states, zeros that stay zeros."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidInput, InvalidNetwork, PlefkaError


def weights(size, factors, evidence=()):
    """All states, and the product of the factors of each that fits the evidence."""
    states = np.array(list(product((0, 1), repeat=size)))
    found = np.ones(len(states))
    for units, table in factors:
        found = found * np.asarray(table)[tuple(states[:, unit] for unit in units)]
    for unit, state in dict(evidence).items():
        found = found * (states[:, unit] == state)
    return states, found


def drawn(seed):
    """Factors of up to four units, constants among them, with and without zeros."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 7))
    factors = []
    for _ in range(rng.integers(0, 8)):
        count = int(rng.integers(0, min(size, 4) + 1))
        table = np.exp(2 * rng.normal(size=(2,) * count)) * (rng.random((2,) * count) < 0.85)
        factors.append((tuple(map(int, rng.permutation(size)[:count])), table if table.any() else table + 1))
    return size, factors, {unit: int(rng.integers(2)) for unit in range(size) if rng.random() < 0.2}


def test_sums_and_most_probable_states_are_those_of_all_states():
    possible = 0
    for seed in range(60):
        size, factors, evidence = drawn(seed)
        network, (states, weight) = pf.MarkovNetwork(size, factors), weights(size, factors, evidence)
        if not weight.any():
            with pytest.raises(PlefkaError):
                pf.infer(network, evidence)
            continue
        possible += 1
        solution, best = pf.infer(network, evidence), pf.most_probable(network, evidence)
        assert solution.log_partition == pytest.approx(np.log(weight.sum()), abs=1e-10)
        np.testing.assert_allclose(solution.means, weight @ states / weight.sum(), atol=1e-10)
        assert best.log_joint[0] == pytest.approx(np.log(weight.max()), abs=1e-9)
        assert network.log_joint(best.states[0]) == pytest.approx(best.log_joint[0], abs=1e-9)
    assert possible > 40


CIRCLE = [((0, 1), [[1, 0], [2, 4]]), ((1, 2), [[3, 1], [1, 3]]), ((0, 2), [[1, 2], [2, 1]])]


def test_a_forbidden_state_is_forbidden_in_messages_and_chains():
    network = pf.MarkovNetwork(3, CIRCLE)  # 0 off and 1 on is forbidden
    for method in ("bethe", "gibbs[sweeps=100,seed=0]", "exact"):
        assert pf.infer(network, {1: 1}, method, throw=False).means[0] == pytest.approx(1.0, abs=1e-9)


def test_messages_of_a_tree_of_factors_are_exact():
    factors = [((0, 1, 2), np.arange(8.0).reshape(2, 2, 2)), ((2, 3), [[1, 0.5], [0, 2]]), ((3,), [1, 3])]
    states, weight = weights(4, factors)
    solution = pf.infer(pf.MarkovNetwork(4, factors), {}, "bethe")
    assert solution.log_partition == pytest.approx(np.log(weight.sum()), abs=1e-6)
    np.testing.assert_allclose(solution.means, weight @ states / weight.sum(), atol=1e-6)


def test_batches_soft_evidence_and_ln_p():
    network = pf.MarkovNetwork(3, CIRCLE, names=["a", "b", "c"])
    rows = [{"a": 1}, {"b": 0, "c": pf.Likelihood(0.9, 0.2)}]
    batch = pf.infer(network, rows)
    for row, evidence in enumerate(rows):
        alone = pf.infer(network, evidence)
        assert batch.log_partition[row] == pytest.approx(alone.log_partition)
        np.testing.assert_allclose(batch.means[row], alone.means)
    _, weight = weights(3, CIRCLE)
    _, clamped = weights(3, CIRCLE, {0: 1})
    assert batch.log_likelihood[0] == pytest.approx(np.log(clamped.sum() / weight.sum()))
    assert batch.row(0)["b"] == pytest.approx(batch.means[0, 1])
    assert "ln Z" in str(batch.row(1))


def test_no_factor_at_all_and_all_units_observed():
    assert pf.infer(pf.MarkovNetwork(2, [])).log_partition == pytest.approx(np.log(4))
    network = pf.MarkovNetwork(3, CIRCLE)
    everything = {0: 1, 1: 1, 2: 0}
    assert pf.infer(network, everything).log_partition == pytest.approx(np.log(4 * 1 * 2))
    assert pf.most_probable(network, everything).states[0].tolist() == [1, 1, 0]


def test_large_and_small_numbers():
    factors = [((0, 1), [[1e300, 1e-300], [1e280, 1e300]]), ((1,), [1e-200, 1e-210])]
    solution = pf.infer(pf.MarkovNetwork(2, factors))
    assert solution.log_partition == pytest.approx(np.log(1e300) + np.log(1e-200), abs=1e-9)


BAD = {
    "two units twice": ([((0, 0), np.ones((2, 2)))], "different units from 0 to 1; got 0, 0"),
    "a unit beyond": ([((0, 2), np.ones((2, 2)))], "different units from 0 to 1; got 0, 2"),
    "a wrong shape": ([((0, 1), np.ones(4))], "shape"),
    "a negative number": ([((0,), [1, -1])], "numbers of at least 0"),
    "only zeros": ([((0,), [0, 0])], "one of them above 0"),
    "not a number": ([((0,), [1, np.nan])], "numbers of at least 0"),
}


@pytest.mark.parametrize(("factors", "message"), BAD.values(), ids=BAD)
def test_bad_factors_are_refused(factors, message):
    with pytest.raises(InvalidNetwork, match=message):
        pf.MarkovNetwork(2, factors)


def test_what_is_for_other_networks_is_refused():
    network: Any = pf.MarkovNetwork(3, CIRCLE)
    for question in (
        lambda: pf.infer(network, {}, do={0: 1}),
        lambda: pf.infer(network).pairs(),
        lambda: pf.infer(network).check(seed=0),
        lambda: pf.explain(network, {}, 0),
        lambda: network.take(0),
        lambda: pf.MarkovNetwork(0, []),
    ):
        with pytest.raises(InvalidInput):
            question()


def test_pairs_of_units_and_draws():
    network, (states, weight) = pf.MarkovNetwork(3, CIRCLE), weights(3, CIRCLE)
    both = weight[(states[:, 0] == 1) & (states[:, 1] == 1)].sum() / weight.sum()
    found = pf.joint(network, {}, [0, 1])
    assert found.probability({0: 1, 1: 1}) == pytest.approx(both)
    assert pf.bounds(network).upper == pytest.approx(np.log(weight.sum()))
    drawn_states = network.sample(seed=0, count=4000)
    np.testing.assert_allclose(drawn_states.mean(axis=0), weight @ states / weight.sum(), atol=0.04)
    assert not ((drawn_states[:, 0] == 0) & (drawn_states[:, 1] == 1)).any()


def test_it_is_described():
    network = pf.MarkovNetwork(3, CIRCLE, names=["a", "b", "c"])
    assert repr(network) == "<MarkovNetwork: 3 units, 3 factors of up to 2 units, a, b, c>"
    assert "(a, b), (a, c)" in network.describe()
    assert set(pf.infer(network).to_frame()["kind"]) == {"markov"}


def test_numbers_that_differ_by_more_than_a_float_holds_are_not_zeros():
    factors = [((0, 1), [[1e-300, 1e300], [1e300, 1e-300]]), ((1, 2), [[1e-200, 0], [1e300, 1e-300]])]
    network = pf.MarkovNetwork(3, factors)
    solution = pf.infer(network, {0: 1, 1: 1, 2: 1})
    assert solution.log_partition == pytest.approx(-600 * np.log(10), rel=1e-12)
    assert pf.infer(network, {0: 1, 1: 1}).means[2] == pytest.approx(0, abs=1e-12)
    assert pf.infer(network, {1: 0, 2: 1}, throw=False).status is pf.Status.IMPOSSIBLE
    assert pf.bounds(network).upper == pytest.approx(600 * np.log(10), rel=1e-12)


def test_what_contradicts_each_other_is_said_in_names_of_units():
    network = pf.MarkovNetwork(3, CIRCLE, names=["a", "b", "c"])
    for ask in (pf.infer, pf.most_probable):
        with pytest.raises(pf.InferenceFailed, match="The observations a=0 and b=1 cannot both be true"):
            ask(network, {"a": 0, "b": 1, "c": 1})
    batch = pf.infer(network, [{"a": 0, "b": 1}, {"a": 1}])
    assert batch.contradiction(0) == "the observations a=0 and b=1 cannot both be true"
    low, high = batch.log_likelihood_interval
    assert low[0] == high[0] == -np.inf
    assert low[1] == high[1] == pytest.approx(batch.log_likelihood[1])
    none = pf.MarkovNetwork(2, [((0,), [1, 0]), ((0,), [0, 1])])
    with pytest.raises(pf.InferenceFailed, match="No state is possible, whatever is observed"):
        pf.infer(none, {1: 1})
    with pytest.raises(InvalidInput, match="a state that is possible"):
        pf.bounds(none, of="log_likelihood")


def test_exactly_one_of_some_units_is_on():
    states, weight = weights(3, CIRCLE)
    weight = weight * (states[:, 0] + states[:, 2] == 1)
    solution = pf.infer(pf.MarkovNetwork(3, CIRCLE), exclusive=[0, 2])
    assert solution.log_partition == pytest.approx(np.log(weight.sum()))
    np.testing.assert_allclose(solution.means, weight @ states / weight.sum(), atol=1e-12)


def test_what_is_no_factor_or_no_state_is_refused_in_words():
    for factor in (0, (0, [1, 2]), ((0.7, 1), np.ones((2, 2))), (("a",), [1, 2]), ((0,), "ab"), ((0,), [1, 2], 3)):
        with pytest.raises(InvalidNetwork, match="a factor must be"):
            pf.MarkovNetwork(2, [factor])  # pyright: ignore
    network = pf.MarkovNetwork(3, CIRCLE)
    for state in ([1, 1], [1, 0.5, 1], [-1, 1, 1]):
        with pytest.raises(InvalidInput, match="a state"):
            network.log_joint(state)
    chain = [((unit, unit + 1), np.eye(2)) for unit in range(29)]
    for size, factors in ((1, [((0,), [1, 0]), ((0,), [0, 1])]), (30, chain)):
        with pytest.raises(InvalidInput, match="at most 20 units hidden"):
            pf.MarkovNetwork(size, factors).sample(0, 1)
    with pytest.raises(InvalidInput, match="do must be a dictionary"):
        pf.infer(network, do=np.ones(3))
