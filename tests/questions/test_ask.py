"""What to observe next, against sums over all states: single units, sets, costs, rules to stop, and bad input."""

import itertools
import re
from typing import Any

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput
from plefka.exact.state_sum import StateSum
from plefka.networks.evidence import as_evidence
from plefka.questions.units_off import UnitsOff
from tests.data import path_of

NET = pf.example("espresso")
SEEN = {"slow_flow": 1, "thin_crema": 1, "lukewarm_cup": 0}
KINDS = ("noisy_or", "certain", "sigmoid", "inhibited", "layers", "mixed")


class States:
    """All states of a small network with their probabilities, given the evidence."""

    def __init__(self, network: pf.BeliefNetwork, evidence: Any):
        self.S = np.array(list(itertools.product((0, 1), repeat=network.size)))
        given = as_evidence(network, evidence)
        log_p = np.asarray(network.log_joint(self.S.astype(float)))
        log_p = log_p + (0.0 if given.tilt is None else self.S @ given.tilt[0])
        log_p = np.where(((given.rows[0] == self.S) | np.isnan(given.rows[0])).all(axis=1), log_p, -np.inf)
        P = np.exp(log_p - log_p.max())
        self.P = P / P.sum()

    def entropy(self, units: list[int]) -> float:
        p = np.bincount(self.S[:, units] @ (1 << np.arange(len(units))), self.P)
        return float(-(p[p > 0] * np.log(p[p > 0])).sum())

    def information(self, units: list[int], targets: list[int]) -> float:
        return sum(self.entropy(units) + self.entropy([t]) - self.entropy([*units, t]) for t in targets)


def random_network(kind: str, seed: int) -> pf.BeliefNetwork:
    rng = np.random.default_rng(seed)
    size = int(rng.integers(3, 9))
    there = np.tril(rng.random((size, size)) < 0.45, -1)
    if kind == "layers":
        causes = size // 2
        W = rng.exponential(1.0, (size - causes, causes)) * (rng.random((size - causes, causes)) < 0.6)
        bias = [rng.exponential(0.3, causes) + 0.01, rng.exponential(0.2, size - causes)]
        return pf.BeliefNetwork.layered([W], bias, "noisy_or")
    if kind == "sigmoid":
        return pf.BeliefNetwork(np.where(there, rng.normal(0, 2, there.shape), 0), rng.normal(0, 1, size), "sigmoid")
    if kind == "inhibited":
        W = np.where(there, rng.normal(0, 0.7, there.shape), 0.0)
        return pf.BeliefNetwork(W, rng.exponential(0.4, size) - np.minimum(W, 0).sum(axis=1), "noisy_or")
    if kind == "mixed":
        return pf.BeliefNetwork.of_units(
            [_random_unit(rng, str(i), np.flatnonzero(row)[:3]) for i, row in enumerate(there)]
        )
    W = np.where(there, rng.exponential(1.0, there.shape), 0.0)
    bias = rng.exponential(0.4, size)
    if kind == "certain":  # edges of probability one, no leaks, and causes that hardly occur
        W = np.where(there & (rng.random(there.shape) < 0.2), np.inf, W)
        bias = np.where(
            there.any(axis=1), bias * (rng.random(size) < 0.5), np.where(rng.random(size) < 0.3, 1e-20, 0.3)
        )
    return pf.BeliefNetwork(W, bias, "noisy_or")


def _random_unit(rng, name: str, parents: np.ndarray) -> pf.Unit:
    names = tuple(map(str, parents))
    if rng.random() < 0.5:
        return pf.Unit(name, names, kind=pf.Table(rng.random((2,) * len(names))))
    weights = tuple(rng.exponential(1.0, len(names)))
    return pf.Unit(name, names, kind="noisy_or", bias=float(rng.exponential(0.4)), weights=weights)


def random_question(kind: str, seed: int) -> tuple[pf.BeliefNetwork, dict, list[int], list[int]] | None:
    """A network, evidence that can happen, soft at times, candidates and targets."""
    network, rng = random_network(kind, seed), np.random.default_rng(seed + 1)
    states, seen = network.sample(seed, 1)[0], rng.random(network.size) < 0.25
    evidence: dict = {int(unit): int(states[unit]) for unit in np.flatnonzero(seen)}
    hidden = np.flatnonzero(~seen)
    if len(hidden) < 2:
        return None
    if rng.random() < 0.3:
        evidence[int(rng.choice(hidden))] = pf.Likelihood(*rng.uniform(0.1, 1, 2))
    causes = [unit for unit in hidden.tolist() if network.roots[unit]]
    some = rng.choice(hidden, rng.integers(1, len(hidden)), replace=False).tolist()
    targets = causes if causes and rng.random() < 0.6 else some
    candidates = [unit for unit in hidden.tolist() if unit not in targets]
    return (network, evidence, candidates, targets) if candidates else None


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_information_is_that_of_all_states(kind, seed):
    question = random_question(kind, seed)
    if question is None:
        pytest.skip("nothing is left to ask about")
    network, evidence, candidates, targets = question
    states = States(network, evidence)
    size = min(3, len(candidates))
    found = pf.ask(network, evidence, candidates, targets, "exact", together=size, top=network.size)
    assert found.is_exact
    for each in found.candidates:
        unit = network.index(each.unit)
        assert each.information == pytest.approx(states.information([unit], targets), abs=1e-9)
        assert each.probability == pytest.approx(states.P[states.S[:, unit] == 1].sum(), abs=1e-9)
        for outcome in each.outcomes:
            there = states.P * (states.S[:, unit] == (outcome.state == "on"))
            assert outcome.chance == pytest.approx(there.sum(), abs=1e-9)
            for name, probability in outcome.leading:
                mean = there[states.S[:, network.index(name)] == 1].sum() / there.sum()
                assert probability == pytest.approx(mean, abs=1e-7)
    if found.best_set is not None:
        units = [network.index(name) for name in found.best_set.units]
        assert found.best_set.information == pytest.approx(states.information(units, targets), abs=1e-9)
        of_all = [states.information(list(some), targets) for some in itertools.combinations(candidates, size)]
        assert max(of_all) <= found.best_set.bound + 1e-9
        assert found.best_set.information == pytest.approx(max(of_all), abs=1e-9)
        assert found.best_set.is_best


def large_question(seed: int = 0, observed: int = 3) -> tuple[pf.BeliefNetwork, dict[int, int]]:
    """60 causes above 300 findings."""
    rng = np.random.default_rng(seed)
    W = rng.exponential(1.0, (300, 60)) * (
        (rng.random((300, 60)) < 0.12) | (np.arange(60) == np.arange(300)[:, None] % 60)
    )
    network = pf.BeliefNetwork.layered([W], [rng.uniform(0.01, 0.1, 60), rng.uniform(0.005, 0.05, 300)], "noisy_or")
    states = network.sample(seed, 1)[0]
    on = np.flatnonzero(states[60:])[:observed]
    return network, {60 + int(unit): 1 for unit in on}


def test_all_candidates_are_one_batch_of_sums(monkeypatch):
    network, evidence = large_question()
    rows, sums = [], StateSum.sums
    monkeypatch.setattr(StateSum, "sums", lambda way, dtype: (rows.append(way.question.num_rows), sums(way, dtype))[1])
    found = pf.ask(network, evidence, top=300)
    assert found.is_exact
    assert rows == [1, 1 + len(found.candidates)]  # of the evidence, and of every candidate off
    some = found.candidates[::60]
    means = {
        state: pf.infer(network, [{**evidence, network.index(c.unit): state} for c in some], "exact")
        for state in (0, 1)
    }
    prior = pf.infer(network, evidence, "exact").means[:60]

    def entropy(p):
        return -(p * np.log(p) + (1 - p) * np.log1p(-p)).sum(axis=-1)

    for k, each in enumerate(some):
        p = each.probability
        left = p * entropy(means[1].means[k, :60]) + (1 - p) * entropy(means[0].means[k, :60])
        assert each.information == pytest.approx(entropy(prior) - left, abs=1e-9)


def test_a_network_of_tables_has_one_batch_as_well(monkeypatch):
    from plefka.exact import groups

    network = pf.load(path_of("bif/win95pts.bif.gz"))
    sums, eliminated = [], groups.eliminated
    monkeypatch.setattr(groups, "eliminated", lambda f, plan: (sums.append(len(f.rows)), eliminated(f, plan))[1])
    found = pf.ask(network, {"Problem1": 1, "Problem2": 0}, top=3)
    assert found.is_exact
    assert sums == [1, 1 + len(found.targets)]
    best = found.candidates[0]
    solution = pf.infer(network, [{"Problem1": 1, "Problem2": 0, best.unit: state} for state in (1, 0)], "exact")
    for row, outcome in enumerate(best.outcomes):
        for name, probability in outcome.leading:
            assert probability == pytest.approx(solution.means[row, network.index(name)], abs=1e-9)


def test_too_many_candidates_are_estimated_first(monkeypatch):
    network, evidence = large_question()
    whole = pf.ask(network, evidence, top=300)
    monkeypatch.setattr("plefka.questions.ask.ASKED_SECONDS", 0.002)
    some = pf.ask(network, evidence, top=300)
    assert some.is_exact
    assert 10 <= len(some.candidates) < len(whole.candidates)
    assert re.search(r"of 29\d candidates were chosen by an estimate", "\n".join(some.notes))
    assert some.unit == whole.unit
    monkeypatch.setattr("plefka.questions.ask.ASKED_SECONDS", 0.0)
    monkeypatch.setattr("plefka.questions.ask.MOST_CANDIDATES", 5)
    other = pf.ask(network, evidence)
    assert other.method == "bethe"
    assert not other.is_exact
    assert len(other.candidates) == 5
    assert "candidates are computed by bethe, as exact sums for them would take too long" in other.notes


def test_costs_change_the_order():
    free = pf.ask(NET, SEEN)
    costs = {free.unit: 100.0}
    paid = pf.ask(NET, SEEN, costs=costs)
    assert paid.unit == free.candidates[1].unit
    frame = paid.to_frame()
    assert list(frame.columns) == ["unit", "information", "probability", "accuracy", "cost", "information_per_cost"]
    assert frame["information_per_cost"].is_monotonic_decreasing
    assert "most information for its cost" in str(paid)
    assert "nats per cost" in paid._repr_html_()
    pair = pf.ask(NET, SEEN, costs=costs, together=2).best_set
    assert pair is not None
    assert free.unit not in pair.units
    assert pair.cost == 2
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {"Finding": [free.unit, free.unit, "sour_taste"], "cost": [100.0, 100.0, np.nan], "p": [0, 0, 0]}
    )
    assert pf.ask(NET, SEEN, costs=table) == paid


def test_rules_to_stop():
    best = pf.ask(NET, SEEN).candidates[0].information
    assert pf.ask(NET, SEEN).reason == ""
    on = pf.ask(NET, SEEN, stop_below=best / 2, certain_above=0.99)
    assert (on.stop, on.reason) == (False, "go on: no rule to stop applies yet")
    low = pf.ask(NET, SEEN, stop_below=2 * best)
    assert low.stop
    assert low.reason.startswith("stop: no candidate is expected to give")
    name, probability = low.leading[0]
    sure = pf.ask(NET, SEEN, certain_above=probability)
    assert sure.stop
    assert sure.reason.startswith(f"stop: {name} has probability")
    assert sure.reason in str(sure)


def test_a_state_that_hardly_occurs_keeps_its_digits():
    net = pf.BeliefNetwork([[0, 0, 0], [0, 0, 0], [2.0, 1.0, 0]], [1e-12, 3e-12, 0.0], "noisy_or", ["a", "b", "x"])
    (found,) = pf.ask(net, {}, method="exact").candidates
    on, off = found.outcomes
    expected = -np.expm1(-1e-12) * -np.expm1(-2), -np.expm1(-3e-12) * -np.expm1(-1)
    assert (on.state, off.state) == ("on", "off")
    assert on.chance == pytest.approx(sum(expected), rel=1e-9)
    assert dict(on.leading)["a"] == pytest.approx(expected[0] / sum(expected), rel=1e-9)


def test_what_is_certain_has_one_outcome():
    net = pf.BeliefNetwork([[0, 0, 0], [np.inf, 0, 0], [1, 0, 0]], [0.5, 0.1, 0.1], "noisy_or", ["a", "sure", "b"])
    (found,) = pf.ask(net, {"a": 1}, ["sure"], ["b"], "exact").candidates
    assert [outcome.state for outcome in found.outcomes] == ["on"]
    assert "impossible" in str(pf.ask(net, {"a": 1}, ["sure"], ["b"], "exact"))


def test_chances_lie_in_their_intervals():
    exact = {each.unit: each for each in pf.ask(NET, SEEN).candidates}
    assert all(each.interval == [each.probability] * 2 for each in exact.values())
    for seed in range(2):
        found = pf.ask(NET, SEEN, ["bitter_taste"], method=f"gibbs[seed={seed},sweeps=300,burn=50]")
        for each in found.candidates:
            low, high = each.interval
            assert low < each.probability < high < low + 0.1
            reach = (high - low) / 2
            assert abs(exact[each.unit].probability - each.probability) < 2.5 * reach  # of five standard errors
    assert np.isnan(pf.ask(NET, SEEN, method="G12").candidates[0].interval).all()


def test_sets_of_an_approximate_method():
    found = pf.ask(NET, SEEN, method="bethe", together=3)
    exact = pf.ask(NET, SEEN, method="exact", together=3)
    assert found.best_set is not None
    assert exact.best_set is not None
    assert len(found.best_set.units) == 3
    assert not found.best_set.is_best
    assert found.best_set.information == pytest.approx(exact.best_set.information, rel=0.2)
    assert "observed together" in str(exact)
    assert "the best of all sets of 3" in str(exact)
    assert "no set of 3 gives more than" in str(found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"costs": {"sour_taste": 0}}, "cost of a unit must be a number above 0; got 0 for 'sour_taste'"),
        ({"costs": {"sour_taste": -2}}, "cost of a unit must be a number above 0; got -2"),
        ({"costs": {"sour_taste": "much"}}, "cost of a unit must be a number above 0; got 'much'"),
        ({"costs": {"sour_taste": float("nan")}}, "cost of a unit must be a number above 0; got nan"),
        ({"costs": 3}, "costs must be a dictionary .* got int"),
        ({"together": 0}, "together must be a whole number from 1 to 5; got 0"),
        ({"together": 9}, "together must be a whole number from 1 to 5; got 9"),
        ({"stop_below": -1}, "stop_below must be a number of nats"),
        ({"certain_above": 1.5}, "certain_above must be a probability above 0; got 1.5"),
        ({"stop_below": "a"}, "stop_below must be a number of nats .* got 'a'"),
        ({"certain_above": "a"}, "certain_above must be a probability above 0; got 'a'"),
        ({"candidates": 3.5}, "units must be names or indices of units, in a list; got 3.5"),
        ({"exclusive": []}, "exclusive must name at least two units, each once; got none"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        pf.ask(NET, SEEN, **options)


def test_a_single_name_is_a_list_of_one():
    found = pf.ask(NET, SEEN, "sour_taste", "stale_beans")
    assert [each.unit for each in found.candidates] == ["sour_taste"]
    assert found.targets == ("stale_beans",)


def test_evidence_that_is_impossible_is_said_in_a_sentence():
    network = pf.BeliefNetwork(
        [[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]], [0.5, 0, 0.1, 0.5], "noisy_or", [*"abcd"]
    )
    for seen, do, said in (
        ({"a": 0, "b": 1}, {}, "The observations a=0 and b=1 cannot both be true"),
        ({"b": 1}, {"a": 0}, r"The states a=0 \(set\) and b=1 cannot both be true"),
    ):
        with pytest.raises(pf.InferenceFailed, match=rf"^the evidence is impossible: .* certain\. {said}\.$"):
            pf.ask(network, seen, do=do)
        with pytest.raises(InvalidEvidence, match=said):
            pf.infer(network, seen, do=do)


def test_bad_tables_of_costs_are_refused():
    pd = pytest.importorskip("pandas")
    with pytest.raises(InvalidInput, match=r"must have the columns 'finding' .* and 'cost'; got 'a'"):
        pf.ask(NET, SEEN, costs=pd.DataFrame({"a": [1]}))
    twice = pd.DataFrame({"finding": ["sour_taste", "sour_taste"], "cost": [1, 2]})
    with pytest.raises(InvalidInput, match="cost of 'sour_taste' must be the same in all rows; got 1 and 2"):
        pf.ask(NET, SEEN, costs=twice)


def test_costs_of_unknown_units_are_refused():
    with pytest.raises((InvalidEvidence, InvalidInput, KeyError), match="there is no unit 'sour'"):
        pf.ask(NET, SEEN, costs={"sour": 2})


def test_large_sets_are_found_one_after_another():
    network, evidence = large_question()
    found = pf.ask(network, evidence, together=3).best_set
    assert found is not None
    assert not found.is_best
    rows = [dict(zip(found.units, states, strict=True)) for states in itertools.product((0, 1), repeat=3)]
    solution = pf.infer(network, [{}, *({**row, **{str(k): v for k, v in evidence.items()}} for row in rows)], "exact")
    chance = np.exp(solution.log_likelihood[1:] - pf.infer(network, evidence, "exact").log_likelihood)

    def entropy(p):
        return -(p * np.log(p) + (1 - p) * np.log1p(-p)).sum(axis=-1)

    now, then = pf.infer(network, evidence, "exact").means[:60], solution.means[1:, :60]
    assert chance.sum() == pytest.approx(1)
    assert found.information == pytest.approx(entropy(now) - chance @ entropy(then), abs=1e-9)
    assert found.information <= found.bound


@pytest.mark.parametrize("size", [2, 3])
def test_no_more_sets_are_compared_than_there_is_time_for(monkeypatch, size):
    network, evidence = large_question()
    rows, off = [], UnitsOff.off
    monkeypatch.setattr(UnitsOff, "off", lambda sums, sets: (rows.append(len(sets)), off(sums, sets))[1])
    monkeypatch.setattr(UnitsOff, "seconds", lambda sums, count: 0.07 * count)
    found = pf.ask(network, evidence, together=size)
    assert sum(rows[1:]) <= 3 / 0.07
    assert found.best_set is not None
    assert not found.best_set.is_best
    paired = {2: "8 candidates, as", 3: "5 candidates and what to add to them of the best 5, as"}[size]
    assert f"sets are pairs of the best {paired} more of them would take too long" in found.notes


@pytest.mark.parametrize("targets", [["a"], ["a", "b", "c"]])
@pytest.mark.parametrize("prior", [1e-6, 1e-12, 1e-20])
def test_small_numbers_have_all_their_digits(prior, targets):
    W = np.zeros((6, 6))
    W[3:, :3] = [[0.8, 0, 0], [0.8, 0.7, 30.0], [0, 0.5, 1.0]]
    network = pf.BeliefNetwork(W, [prior, 0.5, 1.0, 0.0, 0.0, 0.1], "noisy_or", [*"abcfgh"])
    advice = pf.ask(network, {"h": 1}, ["f", "g"], targets)
    now = pf.infer(network, {"h": 1}, "exact")
    for found in advice.candidates:
        assert found.accuracy is pf.Accuracy.EXACT
        assert found.probability == pytest.approx(now[found.unit], rel=1e-9, abs=0)
        for outcome in found.outcomes:
            then = pf.infer(network, {"h": 1, found.unit: int(outcome.state == "on")}, "exact")
            for name, probability in (*outcome.leading, (outcome.changed[0], outcome.changed[2])):
                assert probability == pytest.approx(then[name], rel=1e-9, abs=0)


def test_numbers_that_floating_point_has_few_digits_for_are_estimates():
    network = pf.BeliefNetwork([[0, 0], [1.0, 0]], [1e-310, 0.3], "noisy_or", ["a", "b"])
    assert pf.ask(network, {}, ["a"], ["b"]).candidates[0].accuracy is pf.Accuracy.ESTIMATE
