"""`smc` of belief networks of every kind: beside sums over all states, with zeros, and what it says of itself."""

import numpy as np
import pytest

import plefka as pf
from plefka.exact.cost import BELIEF_CALLS
from plefka.sampling import belief_start
from plefka.sampling.annealing import annealed
from plefka.sampling.belief_factors import BeliefFactors
from plefka.sampling.belief_target import BeliefTarget
from plefka.sampling.importance import Proposals, averaged
from plefka.sampling.state_weights import Target
from tests import mixed_networks, zoo
from tests.sampling.cases import part_of, tilted, with_certain_edges, without_leak
from tests.sampling.test_smc import FAR, size_of

METHOD = "smc[budget=0.3s]"
RNG = np.random.default_rng(0)


def mixed(seed: int, *, certain: bool) -> tuple[pf.BeliefNetwork, dict]:
    """Tables, noisy-or, sigmoid and other units in one network, observed in a state that is possible."""
    network = pf.BeliefNetwork.of_units(mixed_networks.random_units(seed, 8, certain=certain))
    state = network.sample(seed, 1)[0]
    return network, {unit: int(state[unit]) for unit in (1, 3, 5)}


def of_factors(size: int, count: int, seed: int) -> tuple[pf.BeliefNetwork, dict]:
    """A Markov network with zeros: every factor is the table of a unit that is observed on."""
    rng = np.random.default_rng(seed)
    hidden, units = rng.integers(0, 2, size), [pf.Unit(f"x{k}", [], pf.Table(0.5)) for k in range(size)]
    for k in range(count):
        some = rng.choice(size, 3, replace=False)
        p = np.where(rng.random((2, 2, 2)) < 0.5, 0.0, rng.random((2, 2, 2)))
        p[tuple(hidden[some])] = 0.5
        units.append(pf.Unit(f"f{k}", [f"x{i}" for i in some], pf.Table(p)))
    return pf.BeliefNetwork.of_units(units), {f"f{k}": 1 for k in range(count)}


def sigmoid(scale: float, size: int = 6, **options) -> pf.BeliefNetwork:
    W = np.tril(scale * RNG.normal(size=(size, size)), -1)
    return pf.BeliefNetwork(W, RNG.normal(size=size), "sigmoid", **options)


CASES = {
    "sigmoid": (zoo.dense(7, -5, 5, "sigmoid", 3), {5: 1, 6: 0}),
    "noisy-or": (zoo.dense(7, 0.1, 1, "noisy_or", 2), {5: 1, 6: 1}),
    "no leak": without_leak(),
    "certain edges": with_certain_edges(),
    "soft evidence": tilted(),
    "mixed": mixed(1, certain=False),
    "mixed with zeros": mixed(2, certain=True),
    "factors with zeros": of_factors(10, 14, 0),
    "weights of 1e3": (sigmoid(1e3), {4: 1, 5: 0}),
    "no way by single flips": (
        pf.BeliefNetwork(
            np.tril(1e3 * np.random.default_rng(0).normal(size=(8, 8)), -1),
            1e3 * np.random.default_rng(1).normal(size=8),
            "sigmoid",
        ),
        {6: 1, 7: 0},
    ),
    "nothing observed": (sigmoid(1.0), None),
    "all observed": (sigmoid(1.0), dict.fromkeys(range(6), 1)),
    "one unit": (pf.BeliefNetwork([[0.0]], [0.7], "sigmoid"), {0: pf.Likelihood(0.2, 0.7)}),
    "no weights": (pf.BeliefNetwork(np.zeros((3, 3)), [0.1, 2.0, 1e3], "sigmoid"), {1: 0}),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("anneals", [False, True])
def test_answers_are_those_of_a_sum_over_all_states(name, anneals, monkeypatch):
    if anneals:
        monkeypatch.setattr(belief_start, "NEAR", 2.0)
    network, evidence = CASES[name]
    exact, found = pf.infer(network, evidence, "exact"), pf.infer(network, evidence, METHOD, throw=False)
    assert np.abs(found.log_likelihood - exact.log_likelihood) <= FAR * size_of(found.standard_error) + 1e-5
    assert (np.abs(found.means - exact.means) <= FAR * size_of(found.means_error) + 1e-3).all()


def test_a_batch_has_the_answers_of_its_rows():
    network, rows = CASES["noisy-or"][0], np.full((3, 7), np.nan)
    rows[0, 6], rows[1, 5:], rows[2] = 1, (1, 0), 0
    together = pf.infer(network, rows, METHOD)
    for row in range(3):
        alone = pf.infer(network, rows[row], METHOD)
        assert alone.log_likelihood == pytest.approx(together.log_likelihood[row], abs=1e-12)
        np.testing.assert_allclose(alone.means, together.means[row], atol=1e-12)


def test_populations_from_the_prior_find_their_way_past_zeros():
    """Draws from the prior are nearly all impossible, and single flips from those that are possible as well."""
    part = part_of(*of_factors(24, 40, 1))
    target = Target(part.question)
    prior = Proposals.of(np.full((1, 1), -1e10), np.full((1, target.size, 1), 0.5), 0.0)
    start = BeliefTarget(BeliefFactors(target), prior)
    assert np.isfinite(target.log_weight(start.start(2000, np.random.default_rng(0)).S[:, None])).mean() < 0.002
    found = annealed(start, 4, 512, np.random.default_rng(1))
    exact = pf.infer(*of_factors(24, 40, 1), "exact").log_likelihood - part.constant[0]
    each = averaged(averaged(found.log_weights).log_mean)
    assert abs(each.log_mean - exact) < FAR * each.standard_error


def test_impossible_evidence_is_named():
    """Two of three units are on for certain, in every pair; no one of the observations is impossible by itself."""
    pair = pf.Table([[0.0, 1.0], [1.0, 0.0]])
    units = [pf.Unit(name, [], pf.Table(0.5)) for name in "abc"]
    units += [pf.Unit(f"{x}{y}", [x, y], pair) for x, y in ("ab", "bc", "ac")]
    network = pf.BeliefNetwork.of_units(units)
    found = pf.infer(network, {"ab": 1, "bc": 1, "ac": 1}, METHOD, throw=False)
    assert found.status is pf.Status.IMPOSSIBLE
    assert found.log_likelihood == -np.inf
    assert pf.infer(network, {"ab": 1, "bc": 1, "ac": 0}, METHOD).log_likelihood == pytest.approx(
        np.log(0.25), abs=0.01
    )


def markov_grid(size: int) -> pf.MarkovNetwork:
    """Positive tables of neighbours, with some zeros that leave one state possible at least."""
    rng, units = np.random.default_rng(size), np.arange(size**2).reshape(size, size)
    ends, hidden, factors = ((units[:, :-1], units[:, 1:]), (units[:-1], units[1:])), rng.integers(0, 2, size**2), []
    for pair in np.concatenate([np.stack(some, -1).reshape(-1, 2) for some in ends]).tolist():
        table = np.where(rng.random((2, 2)) < 0.05, 0.0, np.exp(rng.normal(size=(2, 2))))
        table[tuple(hidden[pair])] = 1.0
        factors.append((pair, table))
    return pf.MarkovNetwork(size**2, factors)


def test_units_of_one_colour_are_visited_together():
    """A grid takes few visits, whatever its size; of a dense network every unit is visited by itself."""
    network = markov_grid(12)
    factors = BeliefFactors(
        Target(part_of(network.carrier, dict.fromkeys(range(144, network.carrier.size), 1)).question)
    )
    assert len(factors.one_by_one) == len(factors.free)
    assert len(factors.together) <= 6
    assert sorted(np.concatenate([factors.free[some.places] for some in factors.together])) == list(factors.free)
    edges = factors.target.edges
    for some in factors.together:
        touched = np.concatenate(
            [np.arange(edges.size)[some.units], edges.child[np.isin(edges.parent, factors.free[some.places])]]
        )
        assert len(set(touched)) == len(touched)
    dense = BeliefFactors(Target(part_of(zoo.dense(7, -5, 5, "sigmoid", 3), {6: 1}).question))
    assert len(dense.together) == len(dense.free)


def test_a_grid_with_zeros_is_that_of_exact():
    network = markov_grid(7)
    exact, found = pf.infer(network, {}, "exact"), pf.infer(network, {}, "smc[budget=1s]")
    assert abs(found.log_partition - exact.log_partition) <= FAR * size_of(found.standard_error)
    assert (np.abs(found.means - exact.means) <= FAR * size_of(found.means_error) + 1e-3).all()


def test_sweeps_of_large_networks_are_within_the_budget(monkeypatch):
    """Counted: the visits of all sweeps, each of which takes some time however few the particles are."""
    network, visits = markov_grid(20), []
    visit_all = BeliefTarget._visit_all

    def counted(self, S, beta, *rest):
        is_linear = beta == 1 or not len(self.u)
        visits.append(len(self.factors.together) if is_linear else len(self.factors.one_by_one))
        return visit_all(self, S, beta, *rest)

    monkeypatch.setattr(BeliefTarget, "_visit_all", counted)
    pf.infer(network, {}, "smc[budget=0.5s]", throw=False)
    assert sum(visits) * BELIEF_CALLS < 2 * 0.5


def test_units_below_the_evidence_that_follow_from_large_weights_have_an_error():
    """A correction for parents that depend on each other may go below zero, where the average of draws does not."""
    rng = np.random.default_rng([28, 793])
    for _ in range(20):
        W = np.tril(rng.normal(0, 1000, (6, 6)), -1)
        network, evidence = pf.BeliefNetwork(W, rng.normal(0, 1, 6)), {3: 1}
        found = pf.infer(network, evidence, "smc[budget=0.1s]", throw=False)
        if found.converged:
            truth = pf.infer(network, evidence, "exact").means
            assert (np.abs(found.means - truth) <= 5 * np.nan_to_num(np.asarray(found.means_error, float)) + 2e-3).all()


def test_rows_of_a_batch_have_the_answer_that_each_has_alone():
    rng = np.random.default_rng(0)
    network = pf.BeliefNetwork(np.tril(rng.normal(0, 4, (9, 9)), -1), rng.normal(0, 1, 9))
    rows = [{}, {8: 1, 6: 0}, {0: 1, 8: 0}, {5: 1, 7: pf.Likelihood(1, 0.3)}]
    together = pf.infer(network, rows, "smc[budget=0.05s]")
    for number, row in enumerate(rows):
        alone = pf.infer(network, row, "smc[budget=0.05s]", throw=False)
        assert together.log_likelihood[number] == alone.log_likelihood
        assert (together.means[number] == alone.means).all()
