"""What follows from what by definition: networks of findings that imply others, and evidence of them."""

import itertools
import warnings

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidNetwork, PlefkaWarning

CAUSES = {"cause": ["flu", "burn, 2°"], "prior": [0.1, 0.02]}
FINDINGS = {
    "finding": ["hand", "arm", "hand", "eye", "leg"],
    "cause": ["flu", "flu", "burn, 2°", "flu", "burn, 2°"],
    "probability": [0.4, 0.2, 0.5, 0.3, 1.0],
    "leak": [0.1, 0.01, None, 0.02, None],
}
IMPLIES = {"hand": "arm", "arm": ["limb"], "leg": ["limb"], "limb": "body", "eye": "body"}


@pytest.fixture(scope="module")
def net():
    return pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS, leak=0.03, implies=IMPLIES)


def p_of(network, cause, finding):
    return -np.expm1(-network.storage.to_sparse()[network.index(finding), network.index(cause)])


def posterior_of(network, states, unit):
    """P(unit on | states) by a sum over all states of the network."""
    total = np.zeros(2)
    for state in itertools.product((0, 1), repeat=network.size):
        if all(state[network.index(name)] == value for name, value in states.items()):
            total[state[network.index(unit)]] += np.exp(network.log_joint(np.array(state, float)))
    return total[1] / total.sum()


def test_a_cause_switches_on_what_is_more_general_at_least_as_often(net):
    assert net.names == ("flu", "burn, 2°", "hand", "arm", "eye", "leg", "limb", "body")
    found = {(cause, name): p_of(net, cause, name) for cause in net.names[:2] for name in net.names[2:]}
    assert [found["flu", name] for name in net.names[2:]] == pytest.approx([0.4, 0.4, 0.3, 0, 0.4, 0.4])
    assert [found["burn, 2°", name] for name in net.names[2:]] == pytest.approx([0.5, 0.5, 0, 1, 1, 1])
    assert -np.expm1(-net.bias) == pytest.approx([0.1, 0.02, 0.1, 0.1, 0.02, 0.03, 0.1, 0.1])  # and leaks


def test_a_hierarchy_is_a_mapping_a_table_or_a_column(net):
    table = {"finding": ["hand", "arm", "leg", "limb", "eye"], "parent": ["arm", "limb", "limb", "body", "body"]}
    column = pd.DataFrame(FINDINGS).assign(implies=["arm", "limb", None, "body", "limb"])
    column = pd.concat([column, pd.DataFrame({"finding": ["limb"], "implies": ["body"]})])
    for network in (
        pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS, leak=0.03, implies=pd.DataFrame(table)),
        pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS, leak=0.03, implies=table),
        pf.BeliefNetwork.diagnosis(CAUSES, column, leak=0.03),
    ):
        assert set(network.implies) == set(net.implies)
        for cause, name in itertools.product(net.names[:2], net.names[2:]):
            assert p_of(network, cause, name) == pytest.approx(p_of(net, cause, name))


def test_circles_and_tables_without_the_column_are_refused():
    with pytest.raises(InvalidNetwork, match="implies must have no circle; got"):
        pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS, implies={"hand": "arm", "arm": "hand"})
    with pytest.raises(InvalidNetwork, match="implies must have a column 'implies'"):
        pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS, implies={"finding": ["hand"], "above": ["arm"]})


@pytest.mark.parametrize(
    ("states", "counted", "follows"),
    [
        ({"hand": 1, "arm": 1, "body": 1}, {"hand": 1}, {"limb": 1}),
        ({"limb": 0, "hand": 0}, {"limb": 0}, {"arm": 0, "leg": 0, "hand": 0}),
        ({"arm": 1, "hand": 0, "leg": 0}, {"arm": 1, "hand": 0, "leg": 0}, {"limb": 1, "body": 1}),
        ({"eye": 1, "limb": 0}, {"eye": 1, "limb": 0}, {"body": 1, "hand": 0}),
        ({}, {}, {}),
    ],
)
def test_only_what_does_not_follow_enters_the_likelihood(net, states, counted, follows):
    row = np.full(net.size, np.nan)
    for name, value in states.items():
        row[net.index(name)] = value
    frame = pd.DataFrame([states or {"arm": None}])
    for evidence in (states, row, frame, [states, {}]):
        solution = pf.infer(net, evidence, "exact")
        solution = solution.row(0) if solution.is_batch else solution
        assert solution["flu"] == pytest.approx(posterior_of(net, counted, "flu"))
        for name, value in {**states, **follows}.items():
            assert solution[name] == value
            assert solution.accuracy[net.index(name)] is pf.Accuracy.OBSERVED
        assert not solution.observed[:2].any()


def test_what_is_on_counts_where_something_more_general_is_off(net):
    with pytest.warns(PlefkaWarning, match="'limb' is off, but something that implies it is on. What is on counts"):
        solution = pf.infer(net, {"hand": 1, "limb": 0, "leg": 0}, "exact")
    assert solution["flu"] == pytest.approx(posterior_of(net, {"hand": 1, "leg": 0}, "flu"))
    assert solution["limb"] == 1
    with pytest.warns(PlefkaWarning, match="'arm', 'body' are off, but something that implies them is on in 2 rows"):
        pf.infer(net, [{"hand": 1, "arm": 0}, {"eye": 1}, {"leg": 1, "body": 0}], "exact")


def test_a_likelihood_of_what_follows_changes_nothing(net):
    plain = pf.infer(net, {"hand": 1}, "exact")
    soft = pf.infer(net, {"hand": 1, "arm": pf.Likelihood(0.8, 0.1)}, "exact")
    assert soft["flu"] == pytest.approx(plain["flu"])
    assert soft.log_likelihood == pytest.approx(plain.log_likelihood + np.log(0.8))


def test_questions_see_what_follows_as_observed(net):
    asked = pf.ask(net, {"hand": 1, "eye": 0}, targets=["flu"]).candidates
    assert {entry.unit for entry in asked} <= {"leg", "burn, 2°"}
    with pytest.raises(InvalidEvidence, match="joint takes hidden units; 'arm' is observed"):
        pf.joint(net, {"hand": 1}, ["arm"])
    best = pf.most_probable(net, {"hand": 1})
    assert best.states[0, net.index("body")] == 1
    assert pf.infer(net, {"hand": 1}, "exact").check(seed=0).trusted
    assert "observed: hand=1 (3 more units follow from these)" in str(pf.infer(net, {"hand": 1}))
    with pytest.raises(InvalidEvidence, match="do must not set a unit that implies others or is implied; got 'arm'"):
        pf.infer(net, {}, do={"arm": 1})
    assert pf.infer(net, {"hand": 1}, "exact", do={"flu": 1})["body"] == 1


def test_copies_and_parts_keep_it(net):
    assert net.with_parameters(net.parameters).implies == net.implies
    part = net.subnetwork("burn, 2°", 1)
    assert ("hand", "limb") in part.implies  # through arm or not
    assert net.with_implies([]).implies == []
    assert net.with_implies([]).fingerprint != net.fingerprint == net.with_implies(net.implies[::-1]).fingerprint
    assert pf.infer(net.with_implies([]), {"hand": 1})["arm"] < 1


@pytest.mark.parametrize("name", ["net.json", "net.npz", "net.csv", "net.xlsx"])
def test_files_hold_it(net, tmp_path, name):
    pf.save(net, tmp_path / name)
    again = pf.load(tmp_path / name)
    assert set(again.implies) == set(net.implies)
    for evidence in ({"hand": 1, "limb": 1}, {"limb": 0}):
        found, wanted = (pf.infer(network, evidence, "exact") for network in (again, net))
        assert all(found[unit] == pytest.approx(wanted[unit]) for unit in net.names)


def test_files_of_tables_say_that_they_do_not(net, tmp_path):
    with pytest.warns(PlefkaWarning, match="`network.implies` is left out"):
        pf.save(net, tmp_path / "net.xmlbif")


def test_rows_in_files_are_answered_alike(net, tmp_path):
    rows = pd.DataFrame({"arm": [1, 0], "hand": [1, None], "eye": [None, 1]})
    done = pf.infer_rows(net, rows, tmp_path / "out.csv", method="exact")
    found = pd.read_csv(tmp_path / "out.csv")
    assert done.rows == 2
    assert found["flu"].tolist() == pytest.approx(pf.infer(net, rows, "exact")["flu"])
    assert found["hand"].tolist() == [1, 0]


def test_a_network_without_a_hierarchy_is_not_touched(monkeypatch):
    network = pf.example("espresso")
    monkeypatch.setattr("plefka.networks.hierarchy.Hierarchy.most_telling", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert pf.infer(network, {"slow_flow": 1}).observed.sum() == 1


def test_scores_and_samples_do_not_count_what_follows(net):
    told, plain = {"hand": 1, "arm": 1, "leg": 0, "body": 1}, net.with_implies([])
    rows = pd.DataFrame([told, {"arm": 0, "hand": 0}])
    few = [{"hand": 1, "leg": 0}, {"arm": 0}]
    assert pf.score(net, rows).log_likelihood == pytest.approx(pf.infer(plain, few, "exact").log_likelihood)
    drawn = net.sample(0, 50, {"hand": 1, "eye": 0})
    assert (drawn[:, [net.index(name) for name in ("hand", "arm", "limb", "body")]] == 1).all()
    assert (drawn[:, net.index("eye")] == 0).all()
