"""Draws along an elimination have the posterior's distribution, whole states and not only means."""

import numpy as np
import pytest

import plefka as pf
from plefka.exact import posterior_draws
from plefka.exact.elimination import eliminated
from plefka.exact.elimination_steps import LOGARITHMS, PLAIN_NUMBERS, Match, Multiply
from plefka.exact.log_factors import factors_of
from plefka.exact.ordering import greedy_plan
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import as_evidence
from plefka.reduction.reduce import reduce
from tests import mixed_networks, zoo
from tests.two_layers import two_layer

COUNT = 40_000


def chain_of_findings(count=7):
    """Causes that each have two findings, the next cause sharing one: tables that meet and both switch a finding on."""
    weights = np.zeros((count, count + 1))
    for finding in range(count):
        weights[finding, [finding, finding + 1]] = 0.6, 1.1
    weights[count // 2, 0] = weights[0, count] = 0.4
    network = pf.BeliefNetwork.layered([weights], [np.full(count + 1, 0.3), np.full(count, 0.05)], "noisy_or")
    return network, np.r_[np.full(count + 1, np.nan), np.ones(count)]


def inhibited():
    """A finding that one cause switches on when it is off."""
    W = np.array([[0.9, 0.7, -0.4], [0.0, 0.8, 0.5], [0.6, 0.0, 0.7]])
    network = pf.BeliefNetwork.layered([W], [np.full(3, 0.4), [0.6, 0.1, 0.0]], "noisy_or")
    return network, np.array([np.nan, np.nan, np.nan, 1, 1, 1])


def deep():
    """Hidden units that depend on each other, and findings below them."""
    network = zoo.dense(10, 0.1, 0.8, "noisy_or", 0, share=0.3)
    return network, np.r_[np.full(6, np.nan), 1.0, 0.0, 1.0, 1.0]


def of_kinds():
    """Tables, sigmoid and noisy-or units."""
    return pf.BeliefNetwork.of_units(mixed_networks.random_units(3, 8)), np.r_[np.full(6, np.nan), 1.0, 1.0]


CASES = {
    "two layers": lambda: two_layer(0, 12, 9),
    "two layers, certain edges": lambda: two_layer(3, 12, 9),
    "a chain of findings": chain_of_findings,
    "inhibitors": inhibited,
    "hidden units below hidden units": deep,
    "units of different kinds": of_kinds,
}


def factors_for(case):
    network, row = CASES[case]()
    (part,) = reduce(network, as_evidence(network, [row]), prune=case == "two layers").parts
    question = part.question
    return factors_of(question, EdgeList.of(question.storage), np.array([0]))


@pytest.mark.parametrize("arithmetic", [PLAIN_NUMBERS, LOGARITHMS], ids=["plain", "logarithms"])
@pytest.mark.parametrize("case", CASES)
def test_pairs_and_means_are_those_of_the_posterior(case, arithmetic):
    """P(both on) follows from ln Z with one unit held on, and the mean of the other there."""
    factors = factors_for(case)
    order = greedy_plan(factors.structure)
    found, rng = eliminated(factors, order), np.random.default_rng(0)
    run = posterior_draws.EliminationDraws(factors, order, arithmetic, COUNT, rng)
    run.total()
    drawn = run.of_units()
    assert set(drawn) == set(found.mean_of) == set(factors.structure.free)
    for first in factors.structure.free:
        held = factors._replace(prior={**factors.prior, first: factors.prior[first] + np.array([[-np.inf], [0.0]])})
        given = eliminated(held, order)
        chance = np.exp(given.log_z[0] - found.log_z[0])
        for second, mean in given.mean_of.items():
            p = chance * mean[0] if chance > 0 else 0.0
            error = np.sqrt(max(p * (1 - p), 1e-12) / COUNT)
            assert (drawn[first] & drawn[second]).mean() == pytest.approx(p, abs=5 * error + 1e-12)


def test_the_cases_have_all_kinds_of_steps():
    steps = [step for case in CASES for c in greedy_plan(factors_for(case).structure).clusters for step in c.steps]
    assert any(isinstance(step, Match) for step in steps)
    together = [step for step in steps if isinstance(step, Multiply) and step.together]
    assert any(step.factor[0] == "message" for step in together)
    assert any(isinstance(step, Multiply) and step.factor[0] == "leak" for step in steps)


def test_draws_go_over_to_logarithms_where_numbers_would_underflow():
    factors = factors_for("two layers")
    order = greedy_plan(factors.structure)
    unlikely = {switch: log + np.array([[0.0], [-600.0]]) for switch, log in factors.strength.items()}
    tiny = {unit: np.array([[0.0], [-700.0]]) for unit in factors.leak}
    drawn = posterior_draws.drawn(factors._replace(strength=unlikely, leak=tiny), order, 1000, np.random.default_rng(0))
    means = eliminated(factors._replace(strength=unlikely, leak=tiny), order).mean_of
    for unit, states in drawn.items():
        assert states.mean() == pytest.approx(means[unit][0], abs=0.08)
