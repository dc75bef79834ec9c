"""Intervals contain the truth: exact numbers are their own, bounds one side, and errors reach as far as they say."""

from itertools import product

import jax
import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidInput
from plefka.inference import free_machine
from plefka.methods.posterior import About, Posterior

OBSERVED = {0: 1}


def machine(scale=0.7, seed=0, size=6):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(0, scale, (size, size)), 1)
    return pf.BoltzmannMachine(upper + upper.T, rng.normal(0, scale, size))


def log_z(network, row):
    """ln of the sum over all states that agree with {unit: state}, and P(on) of every unit, from the definition."""
    states = np.array(list(product((0, 1), repeat=network.size)))
    weights = np.triu(np.asarray(network.weights), 1)
    weight = np.exp(np.einsum("si,ij,sj->s", states, weights, states) + states @ np.asarray(network.bias))
    weight *= (states[:, list(row)] == list(row.values())).all(axis=1)
    return np.log(weight.sum()), weight @ states / weight.sum()


def estimated(network, errors, freedom=None, size=400):
    """A method that draws ln Z and the means around the truth, with known errors, each row with its own chance."""

    class Drawn(pf.Method):
        def answer(self, network, evidence, *, prune, dtype):
            rng, (truth, means) = np.random.default_rng(0), log_z(network, OBSERVED)
            count = len(evidence.rows)
            sample = rng.normal(size=(count, 10 if freedom is None else freedom + 1, network.size + 1)) * errors
            error = sample.std(axis=1, ddof=1) / np.sqrt(sample.shape[1]) if freedom else np.full((count, 1), errors)
            value = sample.mean(axis=1) if freedom else sample[:, 0]
            error = error + np.zeros((count, network.size + 1))
            about = About(error=error[:, 0], means_error=error[:, 1:], degrees_of_freedom=freedom)
            found = Posterior.of(means + value[:, 1:], truth + value[:, 0])
            return found._replace(about=about)

    rows = np.full((size, network.size), np.nan)
    rows[:, 0] = 1
    return pf.infer(network, rows, Drawn("drawn"), throw=False)


def test_exact_and_observed_numbers_are_their_own_interval():
    found = pf.infer(machine(), OBSERVED, "exact")
    truth, means = log_z(machine(), OBSERVED)
    free, _ = log_z(machine(), {})
    assert found.log_likelihood_interval == (found.log_likelihood,) * 2
    assert np.allclose(found.log_partition_interval, truth)
    assert np.allclose(found.log_likelihood_interval, truth - free)
    assert np.allclose(found.intervals(), means)


@pytest.mark.parametrize("method", ["G1", "mixture[2]"])
def test_a_lower_bound_is_the_lower_end(method):
    found = pf.infer(machine(), OBSERVED, method)
    assert found.log_partition_interval == (found.log_partition, np.inf)
    assert found.log_likelihood_interval == (-np.inf, 0.0)  # a difference of two bounds, and no ln P exceeds 0
    low, high = found.intervals()
    assert low[0] == high[0] == 1
    assert np.isnan(low[1:]).all()
    assert np.isnan(high[1:]).all()


def test_a_bound_of_a_belief_network_ends_at_certainty_or_at_what_likelihoods_allow():
    net = pf.ensembles.layered((2, 3, 4), -1, 1, 1, 0, "sigmoid").take(0)
    found = pf.infer(net, {8: 1, 7: 0}, "G1")
    assert found.log_likelihood_interval == (found.log_likelihood, 0.0)
    soft = pf.infer(net, {8: 1, 7: pf.Likelihood(3.0, 1.0)}, "G1")
    assert soft.log_likelihood_interval == (soft.log_likelihood, pytest.approx(np.log(3)))


def test_an_upper_bound_is_the_upper_end():
    rng = np.random.default_rng(0)
    weights = np.zeros((12, 12))
    weights[6:, :6] = rng.uniform(0.5, 2, (6, 6))
    net = pf.BeliefNetwork(weights, np.full(12, 0.1), "noisy_or")
    found = pf.infer(net, dict.fromkeys(range(6, 12), 1), "findings[k=0,samples=0]")
    assert str(found.log_likelihood_accuracy) == "upper bound"
    assert found.log_likelihood_interval == (-np.inf, found.log_likelihood)


def test_estimates_without_errors_and_answers_that_did_not_converge_have_none():
    assert np.isnan(pf.infer(machine(), OBSERVED, "bethe").log_likelihood_interval).all()
    short = pf.infer(machine(3.0), OBSERVED, "bethe[max_steps=1]", throw=False)
    assert not short.converged
    assert np.isnan(short.log_partition_interval).all()
    low, high = short.intervals()
    assert low[0] == high[0] == 1
    assert np.isnan(low[1:]).all()


@pytest.mark.parametrize("method", ["exact", "G1", "bethe", "bethe[max_steps=1]", "smc[budget=0.01s]"])
def test_nothing_observed_in_a_machine_is_certain_whatever_the_method(method, monkeypatch):
    network = machine(3.0)
    monkeypatch.setattr(free_machine, "_computed", None)  # it is not needed
    found = pf.infer(network, None, method, throw=False)
    assert found.log_likelihood == 0
    assert found.log_likelihood_interval == (0, 0)
    assert found.log_likelihood_accuracy is pf.Accuracy.EXACT
    alike = pf.infer(network, {1: pf.Likelihood(0.5, 0.5)}, method, throw=False)
    assert alike.log_likelihood_interval == (pytest.approx(np.log(0.5)),) * 2
    monkeypatch.undo()
    some = pf.infer(network, [{}, OBSERVED], method)
    assert some.log_likelihood[0] == some.log_likelihood_interval[0][0] == some.log_likelihood_interval[1][0] == 0
    assert some.log_likelihood_accuracy[0] is pf.Accuracy.EXACT
    assert np.allclose(
        some.row(1).log_likelihood, pf.infer(network, OBSERVED, method, throw=False).log_likelihood, equal_nan=True
    )


def test_ln_p_is_not_known_where_the_free_machine_does_not_converge():
    network = pf.BoltzmannMachine(np.array(machine(3.0).weights), np.zeros(6))
    found = pf.infer(network, dict.fromkeys(range(5), 1), "bethe[max_steps=1]", throw=False)
    assert found.converged  # one unit is left
    assert np.isnan(found.log_likelihood)
    assert np.isnan(found.log_likelihood_interval).all()
    assert found.log_likelihood_accuracy is pf.Accuracy.ESTIMATE


def test_impossible_evidence_is_known_to_be():
    net = pf.BeliefNetwork([[0, 0], [0, 0]], [0.0, 0.5], "noisy_or")
    low, high = pf.infer(net, [{0: 1}, {1: 1}]).log_likelihood_interval
    assert low[0] == high[0] == -np.inf
    assert np.isfinite(low[1])


@pytest.mark.parametrize("freedom", [None, 3, 7])
def test_95_of_100_intervals_contain_the_truth(freedom):
    network, (truth, means) = machine(), log_z(machine(), OBSERVED)
    found = estimated(network, 0.02, freedom)
    low, high = found.log_partition_interval
    inside = (low <= truth) & (truth <= high)
    lows, highs = found.intervals()
    of_means = ((lows <= means) & (means <= highs))[:, 1:]
    assert 0.92 < inside.mean() < 0.98
    assert 0.93 < of_means.mean() < 0.97
    assert lows.min() >= 0
    assert highs.max() <= 1
    assert found.row(3).log_partition_interval == (low[3], high[3])


def test_units_that_are_recovered_have_intervals_too():
    net = pf.example("espresso")
    evidence = {"slow_flow": 1, "thin_crema": pf.Likelihood(1, 0.5)}
    truth = pf.infer(net, evidence, "exact").means
    for method in ("gibbs[seed=0]", "findings[k=0]"):
        found = pf.infer(net, evidence, method)
        low, high = found.intervals()
        assert np.isfinite(low).all()
        assert np.mean((low <= truth + 1e-9) & (truth <= high + 1e-9)) > 0.8


def test_errors_of_some_rows_survive_beside_exact_ones():
    net = pf.example("espresso")
    given = [{}, {"slow_flow": 1, "thin_crema": pf.Likelihood(1, 0.5)}]
    low, high = pf.infer(net, given, "gibbs[seed=0]").log_likelihood_interval
    assert low[0] == high[0] == pytest.approx(0, abs=1e-12)
    assert low[1] < high[1]


def test_intervals_are_printed_and_written_where_there_are_errors():
    found = pf.infer(machine(), OBSERVED, "gibbs[seed=0]")
    assert "95 % interval" in str(found)
    assert found.to_dict()["interval"] == list(found.log_partition_interval)
    exact = pf.infer(machine(), OBSERVED, "exact")
    assert "95 % interval" not in str(exact)
    assert "interval" not in exact.to_dict()


def test_inside_a_trace_there_is_none():
    def traced(h):
        return pf.infer(pf.BoltzmannMachine(np.zeros((2, 2)), h), None, "bethe").log_partition_interval[0]

    with pytest.raises(InvalidInput, match="outside a trace"):
        jax.jit(traced)(np.zeros(2))
