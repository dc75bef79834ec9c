"""Why a unit is believed to be on, and what to look at next: against enumeration of the joint distribution."""

import itertools
from typing import Any, cast

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput

NET = pf.example("espresso")
SEEN = {"slow_flow": 1, "thin_crema": 1, "lukewarm_cup": 0}


def joint(network):
    """All states and their probabilities."""
    states = np.array(list(itertools.product((0, 1), repeat=network.size)))
    return states, np.exp(network.log_joint(states))


@pytest.fixture(scope="module")
def small():
    rng = np.random.default_rng(3)
    W = -np.log1p(-rng.uniform(0.1, 0.9, (4, 3)))
    return pf.BeliefNetwork.layered([W], [[0.2, 0.3, 0.1], [0.05] * 4], "noisy_or", list("abcwxyz"))


def log_odds(network, unit, evidence):
    states, P = joint(network)
    for name, state in evidence.items():
        P = P * (states[:, network.index(name)] == state)
    on = states[:, network.index(unit)] == 1
    return np.log(P[on].sum() / P[~on].sum())


def test_shifts_are_differences_of_log_odds(small):
    evidence = {"w": 1, "x": 0, "y": 1}
    found = pf.explain(small, evidence, "a", "exact")
    assert found.log_odds == pytest.approx(log_odds(small, "a", evidence))
    assert found.prior_log_odds == pytest.approx(log_odds(small, "a", {}))
    assert {each.unit: each.state for each in found.observations} == {"w": "on", "x": "off", "y": "on"}
    for each in found.observations:
        others = {name: state for name, state in evidence.items() if name != each.unit}
        assert each.shift == pytest.approx(found.log_odds - log_odds(small, "a", others))
    assert [(each.unit) for each in found.changes] == ["z", "z"]
    for each in found.changes:
        then = log_odds(small, "a", {**evidence, "z": int(each.state == "on")})
        assert each.shift == pytest.approx(then - found.log_odds)
        assert np.log(each.probability / (1 - each.probability)) == pytest.approx(then)
    assert sum(each.chance for each in found.changes) == pytest.approx(1)
    assert found.is_exact


def test_intervals_are_those_of_each_row():
    method = "smc[particles=64,seed=0]"
    found = pf.explain(NET, SEEN, "limescale", method, top=2)
    for interval, probability in [(found.interval, found.probability), (found.prior_interval, found.prior)]:
        assert interval[0] <= probability <= interval[1]
    unit = NET.index("limescale")
    for moved in found.observations:
        rest = {name: state for name, state in SEEN.items() if name != moved.unit}
        low, high = pf.infer(NET, rest, method).intervals()
        assert moved.interval == pytest.approx([low[unit], high[unit]])
    assert all(z.interval[0] <= z.probability <= z.interval[1] for z in found.changes)
    assert np.isnan(pf.explain(NET, SEEN, "limescale", "G12", top=1).interval).all()


def test_the_largest_shift_comes_first():
    found = pf.explain(NET, SEEN, "stale_beans", "exact")
    for moves in (found.observations, found.changes):
        sizes = [abs(each.shift) for each in moves]
        assert sizes == sorted(sizes, reverse=True)


def test_without_evidence_the_prior_is_the_answer():
    found = pf.explain(NET, None, "stale_beans", "exact")
    assert found.observations == ()
    assert found.log_odds == pytest.approx(found.prior_log_odds)


def test_soft_evidence_can_be_left_out_too():
    soft = {"thin_crema": pf.Likelihood(0.9, 0.2), "slow_flow": 1, "loud_hum": pf.Likelihood(0.1, 0.5)}
    found = pf.explain(NET, soft, "stale_beans", "exact")
    states = {each.unit: each.state for each in found.observations}
    assert states == {"thin_crema": "likely on", "slow_flow": "on", "loud_hum": "likely off"}
    without = pf.infer(NET, {"slow_flow": 1, "loud_hum": soft["loud_hum"]}, "exact").marginals()["stale_beans"]
    assert next(e.probability for e in found.observations if e.unit == "thin_crema") == pytest.approx(float(without))


def test_what_cannot_be_is_no_change():
    net = pf.BeliefNetwork([[0, 0, 0], [np.inf, 0, 0], [1, 0, 0]], [0.5, 0, 0.1], "noisy_or", ["a", "sure", "b"])
    found = pf.explain(net, {"b": 1}, "a", "exact")
    assert {(each.unit, each.state, each.probability) for each in found.changes} == {
        ("sure", "on", 1),
        ("sure", "off", 0),
    }
    certain = pf.explain(net, {"sure": 1}, "a", "exact")
    assert certain.probability == 1
    assert certain.changes == ()
    assert certain.observations[0].shift == np.inf


def test_explanations_print_and_become_frames():
    found = pf.explain(NET, SEEN, "stale_beans", "bethe", top=1)
    text = str(found)
    assert text.startswith(f"P(stale_beans on | evidence) = {found.probability:.6f}, log-odds {found.log_odds:+.3f}")
    assert "computed by bethe; numbers with ~ are estimates" in text
    assert repr(found).startswith("<Explanation of 'stale_beans' by bethe: probability 0.5")
    frame = found.to_frame()
    assert list(frame.columns) == ["kind", "unit", "state", "shift", "probability", "chance", "accuracy"]
    assert frame["kind"].tolist() == ["observed"] * 3 + ["possible"] * 2


def test_information_is_mutual_information(small):
    evidence = {"w": 1}
    states, P = joint(small)
    P = P * (states[:, small.index("w")] == 1)
    P = P / P.sum()

    def mutual(a, b):
        total = 0.0
        for x, y in itertools.product((0, 1), repeat=2):
            here, there = (states[:, small.index(a)] == x), (states[:, small.index(b)] == y)
            both = P[here & there].sum()
            total += both * np.log(both / (P[here].sum() * P[there].sum()))
        return total

    found = pf.ask(small, evidence, method="exact")
    assert found.targets == ("a", "b", "c")
    for each in found.candidates:
        assert each.information == pytest.approx(sum(mutual(each.unit, target) for target in "abc"))
        assert each.probability == pytest.approx(P[states[:, small.index(each.unit)] == 1].sum())
    assert [each.unit for each in found.candidates] == sorted("xyz", key=lambda u: -sum(mutual(u, t) for t in "abc"))
    one = pf.ask(small, evidence, ["y", "z"], ["b"], "exact")
    assert {each.unit: each.information for each in one.candidates} == pytest.approx(
        {unit: mutual(unit, "b") for unit in "yz"}
    )


def test_many_candidates_are_screened_first(monkeypatch):
    whole = pf.ask(NET, SEEN, method="bethe")
    monkeypatch.setattr("plefka.questions.ask.MOST_CANDIDATES", 2)
    some = pf.ask(NET, SEEN, method="bethe")
    assert [each.unit for each in some.candidates] == [each.unit for each in whole.candidates[:2]]
    assert some.candidates[0].information == pytest.approx(whole.candidates[0].information)


def test_a_unit_that_is_certain_says_nothing():
    net = pf.BeliefNetwork([[0, 0, 0], [np.inf, 0, 0], [1, 0, 0]], [0.5, 0.1, 0.1], "noisy_or", ["a", "sure", "b"])
    found = pf.ask(net, {"a": 1}, ["sure"], ["b"], "exact")
    assert (found.candidates[0].information, found.candidates[0].probability) == (0, 1)
    assert pf.ask(net, {}, ["sure", "b"], ["a"], "exact").unit == "sure"


def test_advice_prints_and_becomes_a_frame():
    found = pf.ask(NET, SEEN, method="bethe", top=3)
    assert len(found.candidates) == 3
    assert str(found).startswith(f"observe {found.unit} next: it is expected to give most information about 7 units\n")
    assert repr(found).startswith(f"<Advice by bethe: observe '{found.unit}', 0.1")
    assert list(found.to_frame().columns) == ["unit", "information", "probability", "accuracy"]
    assert "most information about stale_beans\n" in str(pf.ask(NET, SEEN, targets=["stale_beans"], method="bethe"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pf.explain(NET, SEEN, "slow_flow"), "explain needs a hidden unit; 'slow_flow' is observed"),
        (lambda: pf.explain(NET, SEEN, "stale_bean"), "there is no unit 'stale_bean'.*Did you mean 'stale_beans'"),
        (lambda: pf.explain(NET, [SEEN, SEEN], "stale_beans"), "explain takes one row of evidence; got 2"),
        (
            lambda: pf.explain(NET, SEEN, "limescale", candidates=["slow_flow"]),
            "candidates must be hidden .*'slow_flow'",
        ),
        (lambda: pf.explain(NET, SEEN, "limescale", candidates=["limescale"]), "candidates must be .*'limescale'"),
        (lambda: pf.ask(NET, SEEN, targets=["slow_flow"]), "targets must be hidden units; 'slow_flow' is observed"),
        (lambda: pf.ask(NET, SEEN, targets=[]), "ask needs at least one target; got none"),
        (lambda: pf.ask(NET, None, targets=NET.names), "ask needs a hidden unit that is not a target"),
        (lambda: pf.ask(NET, [SEEN] * 3), "ask takes one row of evidence; got 3"),
    ],
)
def test_bad_questions_about_evidence(call, message):
    with pytest.raises(InvalidEvidence, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pf.explain(NET, SEEN, "limescale", top=0), "top must be a whole number from 1 on"),
        (lambda: pf.ask(cast(Any, "espresso")), "ask takes one BeliefNetwork; got str"),
        (lambda: pf.ask(pf.ensembles.layered((2, 3), 0.0, 1.0, 2, seed=0)), "ask takes one BeliefNetwork; got a stack"),
    ],
)
def test_bad_questions(call, message):
    with pytest.raises(InvalidInput, match=message):
        call()


def test_evidence_without_an_answer_has_no_explanation():
    with pytest.raises(pf.InferenceFailed, match="ran out of steps"):
        pf.explain(NET, SEEN, "stale_beans", "G12[max_steps=1]")
    net = pf.BeliefNetwork([[0, 0], [1, 0]], [0.5, 0], "noisy_or", ["a", "b"])
    with pytest.raises(pf.InferenceFailed, match="the evidence is impossible"):
        pf.ask(pf.BeliefNetwork(np.pad(net.weights, (0, 1)), [0.0, 0.0, 0.1], "noisy_or"), {1: 1}, [2], [0])
