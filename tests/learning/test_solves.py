"""The solves inside learning: as many steps and starts as the method says, and word of those that do not converge."""

from typing import Any

import numpy as np
import pytest

import plefka as pf
from plefka.learning.fitted import IMPOSSIBLE, UNCONVERGED
from tests.learning.bars import BARS
from tests.learning.test_fit import ROWS, small


def strong(activation: str, scale: float) -> pf.BeliefNetwork:
    """With many minima, far from where a search starts."""
    network = small(activation)
    return network.with_parameters((tuple(scale * W for W in network.weights), scale / 2 * network.bias))


STRONG = strong("sigmoid", 12)


def first(network: Any, method: str, rows: Any = ROWS, **options: Any) -> dict[str, float]:
    """What the history says of the first epoch, in which parameters have not moved yet."""
    history = pf.fit(network, rows, method, epochs=1, **options).history
    return {name: float(column[0]) for name, column in history.items()}


def mean_estimate(network: Any, method: str) -> float:
    """By `infer`, which every solve of the first epoch must agree with."""
    whole = np.hstack([np.full((len(ROWS), network.size - 4), np.nan), ROWS])
    return float(pf.infer(network, whole, method, throw=False).log_likelihood.mean())


@pytest.mark.parametrize("steps", [1, 3])
def test_fewer_steps_than_needed_are_what_a_solve_gets(steps):
    found = first(STRONG, f"G12[max_steps={steps}]")
    assert found["converged"] < 1
    assert found["objective"] == pytest.approx(mean_estimate(STRONG, f"G12[max_steps={steps},tol=1e-4]"), abs=1e-9)


MANY = np.unique(np.random.default_rng(1).integers(0, 2, (400, 8)), axis=0).astype(float)  # more than go on together


def test_rows_that_go_on_by_themselves_end_where_infer_does():
    network = pf.ensembles.to_learn((1, 4), MANY, 0, spread=1.0)
    whole = np.hstack([np.full((len(MANY), network.size - 8), np.nan), MANY])
    expected = pf.infer(network, whole, "G12[tol=1e-10]").log_likelihood.mean()
    assert first(network, "G12[max_steps=1000]", MANY, tol=1e-10)["objective"] == pytest.approx(expected, abs=1e-9)


def test_long_epochs_search_in_single_precision_and_learn_the_same(monkeypatch):
    run: Any = {"rows": MANY, "method": "G12", "epochs": 5}
    double = pf.fit(pf.ensembles.to_learn((1, 4), MANY, 0), **run).history
    monkeypatch.setattr("plefka.learning.by_free_energy.SINGLE_NUMBERS", 1)
    single = pf.fit(pf.ensembles.to_learn((1, 4), MANY, 0), **run).history
    np.testing.assert_allclose(single["objective"], double["objective"], atol=1e-5)
    assert single["objective"][-1] != double["objective"][-1]
    np.testing.assert_array_equal(single["converged"], double["converged"])


def test_more_steps_than_usual_are_taken_where_the_method_allows_them():
    """One row takes more than the 50 evaluations that a solve has unless told otherwise."""
    network = strong("noisy_or", 25)
    usual, many = (first(network, method, tol=1e-10) for method in ("G221", "G221[max_steps=500]"))
    assert usual["converged"] == 0.75
    assert many["converged"] == 1
    assert many["objective"] == pytest.approx(mean_estimate(network, "G221[tol=1e-10]"), abs=1e-7)


def test_restarts_find_lower_free_energies():
    """As those of `infer` do, from other random means; never a higher one than the start that every search has."""
    rows = np.random.default_rng(0).integers(0, 2, (16, 4)).astype(float)
    alone, among = (first(STRONG, method, rows)["objective"] for method in ("G12", "G12[restarts=8,seed=0]"))
    assert among > alone + 1e-3
    again = first(STRONG, "G12[restarts=8,seed=0]", rows)["objective"]
    assert again == among


def test_restarts_of_a_stack_are_those_of_its_networks():
    stack = pf.ensembles.to_learn((1, 4), BARS[:300], 0, count=2, spread=6.0)
    run: Any = {"rows": BARS[:300], "method": "G12[restarts=3,seed=1]", "epochs": 2}
    together, alone = (pf.fit(network, **run).history["objective"] for network in (stack, stack.take(1)))
    np.testing.assert_allclose(together[:, 1], alone, atol=1e-6)


def test_the_tolerance_of_the_method_is_that_of_its_solves():
    loose, tight = (first(STRONG, f"G12[max_steps=12,tol={tol}]")["converged"] for tol in ("0.2", "1e-12"))
    assert loose == 1 > tight
    assert first(STRONG, "G12[max_steps=12,tol=1e-12]", tol=0.2)["converged"] == 1  # what fit is given counts first


def test_held_out_rows_have_the_steps_of_the_method():
    few, many = (first(STRONG, f"G12[max_steps={n}]", validation=ROWS)["validation"] for n in (1, 1000))
    assert few < many


def test_solves_that_do_not_converge_are_a_warning():
    fitted = pf.fit(STRONG, ROWS, "G12[max_steps=1]", epochs=2)
    assert UNCONVERGED.format("G12") in fitted.warnings
    assert "allow more evaluations, as in G12[max_steps=1000]" in " ".join(fitted.warnings)
    assert pf.fit(small("sigmoid"), ROWS, "G12", epochs=2).warnings == []


def test_a_machine_has_the_steps_of_the_method():
    rng = np.random.default_rng(0)
    W = np.triu(rng.normal(0, 1.0, (6, 6)), 1)
    machine = pf.BoltzmannMachine(W + W.T, rng.normal(0, 0.5, 6))
    rows = rng.integers(0, 2, (20, 6)).astype(float)
    few = pf.fit(machine, rows, "G1[max_steps=2]", epochs=1)
    assert few.history["converged"][-1] == 0
    assert pf.fit(machine, rows, "G1", epochs=1).history["converged"][-1] == 1


# ---- what is impossible or certain stays so --------------------------------------------------------------------------


def with_ends() -> pf.BeliefNetwork:
    """Two causes, of which one never is, two findings without leak, and a cause that is certain to show."""
    W = np.zeros((5, 5))
    W[2, 0], W[3, 0], W[4, 0] = 0.8, 1.2, np.inf
    return pf.BeliefNetwork(W, [0.5, 0.0, 0.0, 0.1, 0.0], "noisy_or")


SEEN = np.array([[np.nan, np.nan, 1, 0, 1], [np.nan, np.nan, 0, 0, 0], [np.nan, np.nan, 1, 1, 1.0]])


@pytest.mark.parametrize("method", ["G12", "G1"])
def test_zeros_and_infinities_stay_through_learning(method):
    start = with_ends()
    learned = pf.fit(start, SEEN, method, epochs=5).network
    for before, after in ((start.weights, learned.weights), (start.bias, learned.bias)):
        ends = (before == 0) | np.isinf(before)
        np.testing.assert_array_equal(after[ends], before[ends])
        assert np.all(after[~ends] != before[~ends])
    with pytest.raises(pf.errors.InvalidEvidence, match="impossible"):
        pf.infer(learned, {0: 0, 2: 1}, "exact")


def test_zeros_of_layered_noisy_or_stay_and_those_of_sigmoid_units_are_numbers():
    W = np.array([[0.5, 0.0], [0.3, 0.2]])
    learned = pf.fit(
        pf.BeliefNetwork.layered([W], [[0.3, 0.4], [0.0, 0.1]], "noisy_or"), ROWS[:3, :2], epochs=3
    ).network
    assert (learned.weights[0][0, 1], learned.bias[2]) == (0, 0)
    learned = pf.fit(pf.BeliefNetwork.layered([W], [[0.3, 0.4], [0.0, 0.1]]), ROWS[:3, :2], epochs=3).network
    assert learned.weights[0][0, 1] != 0 != learned.bias[2]


def test_every_network_of_a_stack_keeps_its_own_zeros_and_infinities():
    W = np.array([[[0.5, 0.0], [0.3, 0.2]], [[0.5, 0.4], [np.inf, 0.2]]])
    stack = pf.BeliefNetwork.layered([W], [np.full((2, 2), 0.3), np.array([[0.0, 0.1], [0.2, 0.1]])], "noisy_or")
    learned = pf.fit(stack, np.array([[0, 0], [1, 1.0], [0, 1]]), epochs=2).network
    ends = (W == 0) | np.isinf(W)
    np.testing.assert_array_equal(learned.weights[0][ends], W[ends])
    assert np.all(learned.weights[0][~ends] != W[~ends])
    np.testing.assert_array_equal(learned.bias == 0, stack.bias == 0)


def test_small_numbers_start_as_they_are():
    start = pf.BeliefNetwork.layered([[[0.5]]], [[0.3], [1e-12]], "noisy_or")
    learned = pf.fit(start, np.array([[0.0], [1.0]]), epochs=1).network
    assert learned.bias[1] == pytest.approx(1e-12, rel=0.1)


def test_shared_parameters_are_the_mean_of_those_that_move():
    start = pf.BeliefNetwork.layered([[[0.5], [0.5]]], [[0.3], [0.0, 0.1]], "noisy_or")
    groups = ((np.zeros((2, 1), int),), np.array([1, 1, 1]))
    learned = pf.fit(start, np.array([[0.0, 1.0], [1.0, 1.0]]), shared=groups, epochs=2).network
    assert learned.bias[1] == 0
    assert learned.bias[0] == learned.bias[2]


def test_rows_that_stay_impossible_are_a_warning():
    fitted = pf.fit(pf.BeliefNetwork.layered([[[0.0]]], [[0.3], [0.0]], "noisy_or"), np.array([[0.0], [1.0]]), epochs=2)
    assert IMPOSSIBLE in fitted.warnings


def test_a_network_of_ends_has_nothing_to_learn():
    with pytest.raises(pf.errors.InvalidInput, match="all others are 0 or infinite, and stay so"):
        pf.fit(pf.BeliefNetwork.layered([[[np.inf]]], [[0.0], [0.0]], "noisy_or"), np.array([[0.0], [1.0]]), epochs=2)
