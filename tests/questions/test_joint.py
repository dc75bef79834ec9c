"""Joint answers, beside a plain sum over all states."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput
from plefka.inference import further_rows
from tests.mixed_networks import random_units
from tests.zoo import dense

STATES = {n: np.array(list(itertools.product((0, 1), repeat=n))) for n in range(1, 11)}


def log_weights(network) -> np.ndarray:
    """Of all states, up to a constant."""
    S = STATES[network.size]
    if isinstance(network, pf.BeliefNetwork):
        return network.log_joint(S)
    off, on = network.values
    s = off + (on - off) * S
    W = network.weights if isinstance(network.weights, np.ndarray) else network.weights.toarray()
    return (np.einsum("ki,ij,kj->k", s, np.asarray(W), s) / 2 + s @ np.asarray(network.bias)) / network.temperature


def table_of(network, evidence: dict, units: list[int]) -> np.ndarray:
    """P(units | evidence) by the sum over all states."""
    S = STATES[network.size]
    log_w = log_weights(network)
    for unit, state in evidence.items():
        on = S[:, unit] == 1
        soft = state if isinstance(state, pf.Likelihood) else pf.Likelihood(float(state), 1.0 - state)
        with np.errstate(divide="ignore"):
            log_w = log_w + np.log(np.where(on, soft.on, soft.off))
    w = np.exp(log_w - log_w.max())
    found = np.zeros((2,) * len(units))
    np.add.at(found, tuple(S[:, units].T), w)
    return found / found.sum()


def machine(n: int, seed: int, values=(0, 1)) -> pf.BoltzmannMachine:
    rng = np.random.default_rng(seed)
    W = np.tril(rng.normal(0, 1, (n, n)), -1)
    return pf.BoltzmannMachine(W + W.T, rng.normal(0, 1, n), 1.3, values=values)


NETWORKS = {
    "sigmoid": lambda: dense(7, -2, 2, "sigmoid", 0),
    "noisy-or": lambda: dense(8, 0, 2, "noisy_or", 1),
    "tables": lambda: pf.BeliefNetwork.of_units(random_units(3, 7)),
    "machine": lambda: machine(7, 2),
    "spins": lambda: machine(6, 3, (-1, 1)),
    "isolated": lambda: pf.BeliefNetwork(np.zeros((4, 4)), [0.1, 0.0, 1e-20, 40.0], "noisy_or"),
    "without leak": lambda: pf.BeliefNetwork([[0, 0, 0], [2.0, 0, 0], [np.inf, 1, 0]], [1e-20, 0, 0], "noisy_or"),
}


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("seen", [{}, {0: 1}, {1: pf.Likelihood(0.9, 0.2)}, "last"])
def test_tables_are_sums_over_states(kind, seen):
    network = NETWORKS[kind]()
    last = network.size - 1
    evidence = {last: 0} if seen == "last" else {k: v for k, v in seen.items() if k < last}
    units = [unit for unit in range(network.size) if isinstance(evidence.get(unit), pf.Likelihood | None)][::-1][:3]
    found = pf.joint(network, evidence | {last: network.values[0]} if seen == "last" else evidence, units)
    expected = table_of(network, evidence, units)
    np.testing.assert_allclose(found.table, expected, rtol=1e-12, atol=1e-300 if expected.min() > 0 else 1e-30)
    assert found.accuracy is pf.Accuracy.EXACT


def test_a_batch_is_its_rows():
    network, rows = dense(8, 0, 2, "noisy_or", 1), [{}, {7: 1}, {6: 0, 7: 1}]
    found = pf.joint(network, rows, [2, 0, 5])
    assert found.table.shape == (3, 2, 2, 2)
    for table, row in zip(found.table, rows, strict=True):
        np.testing.assert_allclose(table, pf.joint(network, row, [2, 0, 5]).table, rtol=1e-13)
    np.testing.assert_allclose(found.probability({0: 1}), pf.infer(network, rows)[0], rtol=1e-12)


def test_a_row_that_is_impossible_has_no_table_and_leaves_others_alone():
    network = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.0], "noisy_or", ["flu", "fever"])
    sure = pf.BeliefNetwork([[0, 0, 0], [2.0, 0, 0], [0, 1, 0]], [0.1, 0, 0], "noisy_or", ["flu", "fever", "cough"])
    assert pf.joint(network, {"fever": 1}, "flu").probability({"flu": 1}) == 1.0
    table = pf.joint(sure, [{"cough": 1}, {"flu": 0, "cough": 1}], ["fever"]).table
    np.testing.assert_allclose(table, [[0, 1], [np.nan, np.nan]])
    with pytest.raises(InvalidEvidence, match=r"impossible.*flu"):
        pf.joint(sure, {"flu": 0, "cough": 1}, ["fever"])


@pytest.mark.parametrize("method", ["bethe", "G12", "conditioned[bethe,k=2]", "mixture[2]", "G2"])
def test_estimates_say_so_and_are_near(method):
    network = dense(8, 0, 1, "noisy_or", 1)
    found = pf.joint(network, {7: 1}, [0, 1], method)
    assert found.accuracy is pf.Accuracy.ESTIMATE
    assert found.standard_error is None
    np.testing.assert_allclose(found.table, table_of(network, {7: 1}, [0, 1]), atol=0.05)
    assert found.table.sum() == pytest.approx(1)


@pytest.mark.parametrize("method", ["gibbs[seed=0]", "findings[k=0,seed=0]"])
def test_draws_have_errors(method):
    network = dense(8, 0, 1, "noisy_or", 1) if method.startswith("gibbs") else pf.example("espresso")
    evidence = {network.size - 1: 1, network.size - 2: 1}
    found = pf.joint(network, evidence, [0, 1], method)
    exact = pf.joint(network, evidence, [0, 1], "exact")
    assert found.accuracy is pf.Accuracy.ESTIMATE
    assert found.standard_error is not None
    assert np.all(abs(found.table - exact.table) <= 6 * found.standard_error + 1e-12)
    assert found.standard_error.max() < 0.05


def large() -> pf.BeliefNetwork:
    """60 causes and 600 findings, in edges, without names."""
    rng, W = np.random.default_rng(0), np.zeros((660, 660))
    for finding in range(60, 660):
        W[finding, rng.choice(60, 9, replace=False)] = 1.0
    return pf.BeliefNetwork(sp.csr_array(W), np.full(660, 0.03), "noisy_or")


def test_all_states_are_rows_of_one_reduced_part(monkeypatch):
    """Of a large network only what the units and the evidence depend on, and not the whole network for each state."""
    network, shapes, infer = large(), [], pf.infer

    def counted(net, given, *rest, **options):
        shapes.append(given.rows.shape)
        return infer(net, given, *rest, **options)

    monkeypatch.setattr(further_rows, "supplied", lambda name: counted)
    found = pf.joint(network, {600: 1, 601: 0}, [3, 650])
    ((rows, units),) = shapes
    assert rows == 4
    assert units < 70
    both = pf.infer(network, [{600: 1, 601: 0}, {600: 1, 601: 0, 3: 1, 650: 1}]).log_likelihood
    assert found.probability({3: 1, 650: 1}) == pytest.approx(np.exp(both[1] - both[0]), rel=1e-12)


def test_units_that_a_method_names_are_part_of_what_is_asked():
    """By their numbers too, in a network without names of which a part is cut out."""
    evidence, method = {600: 1, 601: 1}, "conditioned[bethe,units=603+5]"
    found = pf.joint(large(), evidence, [650], method)
    rows = pf.infer(large(), [{**evidence, 650: 0}, {**evidence, 650: 1}], method)
    expected = 1 / (1 + np.exp(rows.log_likelihood[0] - rows.log_likelihood[1]))
    assert found.probability({650: 1}) == pytest.approx(expected, abs=1e-6)


def test_probability_of_some_units_and_by_words():
    network = pf.BeliefNetwork(
        [[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", ["supply", "lamp"], states=[("ok", "low"), ("lit", "dark")]
    )
    found = pf.joint(network, None, ["lamp", "supply"])
    assert found.states == (("lit", "dark"), ("ok", "low"))
    assert found.probability({"supply": "low", "lamp": "dark"}) == found.table[1, 1]
    assert found.probability({"supply": "low"}) == pytest.approx(found.table[:, 1].sum())
    assert found.probability({}) == pytest.approx(1)
    assert "low" in str(found)
    assert "P(lamp, supply | evidence)" in str(found)
    assert "<table" in found._repr_html_()
    assert "dark" in found._repr_html_()
    frame = found.to_frame()
    assert list(frame.columns) == ["lamp", "supply", "probability", "accuracy"]
    assert frame.probability.is_monotonic_decreasing
    assert frame.probability.sum() == pytest.approx(1)
    assert found.to_dict()["states"][0]["state"] == {"lamp": 0, "supply": 0}
    with pytest.raises(InvalidEvidence, match="there is no unit 'lam'"):
        found.probability({"lam": 1})
    with pytest.raises(InvalidInput, match="units of this table, lamp; got 'supply'"):
        pf.joint(network, None, ["lamp"]).probability({"supply": 1})


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (["slow_flow"], "takes hidden units; 'slow_flow' is observed. Leave it out"),
        ([], "at least one unit; got none"),
        (["limescale", "limescale"], "distinct; got 'limescale' twice"),
        (["limescal"], "no unit 'limescal'.*limescale"),
    ],
)
def test_bad_units(units, message):
    with pytest.raises(InvalidInput, match=message):
        pf.joint(pf.example("espresso"), {"slow_flow": 1}, units)


def test_too_many_units_says_how_large_the_table_would_be():
    network = pf.BeliefNetwork(np.zeros((40, 40)), np.full(40, 0.1), "noisy_or")
    with pytest.raises(InvalidInput, match=r"at most 12 units.*got 40 units.*2\^40 = 1,099,511,627,776 entries"):
        pf.joint(network, None, list(range(40)))
    assert pf.joint(network, None, list(range(12))).table.sum() == pytest.approx(1)


def test_stacks_and_observed_units_of_a_batch_are_refused():
    stack = pf.ensembles.layered((2, 3), -1, 1, 2, 0, "sigmoid")
    with pytest.raises(InvalidInput, match="joint takes one BeliefNetwork or BoltzmannMachine; got a stack"):
        pf.joint(stack, None, [0])
    with pytest.raises(InvalidEvidence, match="'limescale' is observed in row 1"):
        pf.joint(pf.example("espresso"), [{}, {"limescale": 1}], ["limescale"])


def test_units_that_are_set_from_outside():
    network, evidence = large(), {600: 1, 601: 0}
    found = pf.joint(network, evidence, [3, 650], do={5: 1, 602: 1})
    rows = pf.infer(network, [evidence, {**evidence, 3: 1, 650: 1}], do={5: 1, 602: 1}).log_likelihood
    assert found.probability({3: 1, 650: 1}) == pytest.approx(np.exp(rows[1] - rows[0]), rel=1e-12)
    pairs = pf.infer(network, evidence, do={5: 1, 602: 1}).pairs([3, 650])
    np.testing.assert_allclose(pairs["3", "650"], found.table, atol=1e-13)
    with pytest.raises(InvalidInput, match="'5' is observed"):
        pf.joint(network, evidence, [5], do={5: 1})


def test_a_method_that_does_not_converge_is_an_error():
    with pytest.raises(pf.InferenceFailed, match="max_steps=1"):
        pf.joint(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, ["stale_beans"], "G12[max_steps=1]")


def test_units_and_states_that_are_no_such_thing_are_refused():
    network = pf.example("espresso")
    with pytest.raises(InvalidInput, match="units must be names or indices of units, in a list; got None"):
        pf.joint(network, {}, None)  # pyright: ignore[reportArgumentType]
    for state in ([1, 0], "limescale", None):
        with pytest.raises(InvalidInput, match=r"state must be a dictionary \{unit: 0 or 1\} of units of this table"):
            pf.joint(network, {}, ["limescale"]).probability(state)  # pyright: ignore[reportArgumentType]
