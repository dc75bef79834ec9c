"""Networks from tables of causes and findings: the right probabilities, and a message for whatever is wrong."""

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput, InvalidNetwork

CAUSES = pd.DataFrame({"cause": ["flu", "cold", "pollen"], "prior": [0.06, 0.18, 0.11]})
FINDINGS = pd.DataFrame(
    {
        "finding": ["fever", "fever", "cough", "cough", "sneezing", "sneezing"],
        "cause": ["flu", "cold", "flu", "cold", "cold", "pollen"],
        "probability": [0.8, 0.26, 0.55, 1.0, 0.59, 0.75],
        "leak": [0.02, None, 0.1, 0.1, 0.0, None],
    }
)


def edges(**columns):
    return {"finding": ["fever"], "cause": ["flu"], "probability": [0.8], **columns}


def test_probabilities_are_those_of_the_tables():
    net = pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS)
    assert net.names == ("flu", "cold", "pollen", "fever", "cough", "sneezing")
    prior = pf.infer(net, None, "exact").marginals()
    assert [prior[cause] for cause in CAUSES["cause"]] == pytest.approx(CAUSES["prior"].tolist())
    alone = pf.infer(net, {"flu": 1, "cold": 0, "pollen": 0}, "exact").marginals()
    assert alone["fever"] == pytest.approx(1 - (1 - 0.02) * (1 - 0.8))
    assert alone["cough"] == pytest.approx(1 - (1 - 0.1) * (1 - 0.55))
    assert alone["sneezing"] == 0
    assert pf.infer(net, {"cold": 1}, "exact").marginals()["cough"] == 1


@pytest.mark.parametrize(
    ("causes", "findings"),
    [
        (CAUSES.rename(columns={"cause": "Name", "prior": "P"}), FINDINGS),
        (CAUSES.rename(columns={"cause": " disease ", "prior": "probability"}), FINDINGS),
        (CAUSES, FINDINGS.rename(columns={"finding": "symptom", "cause": "Disease", "probability": "p"})),
        (CAUSES.assign(remark="seen in winter"), FINDINGS.assign(source="a textbook")),
        (CAUSES.to_dict("records"), FINDINGS.to_dict("list")),
        (CAUSES.astype(str), FINDINGS.astype(object)),
        (pd.concat([CAUSES, pd.DataFrame([{"cause": None}])]), pd.concat([FINDINGS, pd.DataFrame([{"cause": " "}])])),
    ],
)
def test_tables_may_look_different(causes, findings):
    net, same = pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS), pf.BeliefNetwork.diagnosis(causes, findings)
    assert same.names == net.names
    assert np.array_equal(same.bias, net.bias)
    assert (same.weights != net.weights).nnz == 0


def test_leaks_may_be_rows_without_a_cause():
    rows = [{"finding": "fever", "cause": None, "probability": 0.02}, {"finding": "cough", "probability": 0.1}]
    findings = pd.concat([FINDINGS.drop(columns="leak"), pd.DataFrame(rows)])
    net, same = pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS), pf.BeliefNetwork.diagnosis(CAUSES, findings)
    assert np.array_equal(same.bias, net.bias)


def test_findings_without_a_leak_take_the_one_that_is_given():
    net = pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS.drop(columns="leak"), leak=0.25)
    assert 1 - np.exp(-net.bias[3:]) == pytest.approx([0.25] * 3)


def test_a_finding_may_be_a_cause():
    more = pd.DataFrame({"finding": ["sweat"], "cause": ["fever"], "probability": [0.5]})
    net = pf.BeliefNetwork.diagnosis(CAUSES, pd.concat([FINDINGS, more]))
    assert pf.infer(net, {"fever": 1}, "exact").marginals()["sweat"] == pytest.approx(0.5)


def test_numbers_may_be_names():
    causes = pd.DataFrame({"cause": [401, 402], "prior": [0.1, 0.2]})
    findings = pd.DataFrame({"finding": [1, 1, 1], "cause": [401, 402, None], "probability": [0.5, 0.5, 0.1]})
    assert pf.BeliefNetwork.diagnosis(causes, findings).names == ("401", "402", "1")


def test_an_edge_of_probability_zero_is_none():
    assert pf.BeliefNetwork.diagnosis(CAUSES, edges(probability=[0.0])).num_edges == 0


@pytest.mark.parametrize(
    ("causes", "findings", "message"),
    [
        (
            CAUSES.assign(prior=[0.1, 1.5, 0.1]),
            FINDINGS,
            "causes, row 1: prior must be a probability of at least 0 and below 1; got 1.5.",
        ),
        (CAUSES.assign(prior=[0.1, 0.1, -0.1]), FINDINGS, "causes, row 2: prior must be .* got -0.1."),
        (CAUSES.assign(prior=[0.1, 0.1, 1]), FINDINGS, "causes, row 2: prior must be .* below 1; got 1.0."),
        (CAUSES.assign(prior=[0.1, None, 0.1]), FINDINGS, "causes, row 1: cause 'cold' must have a prior; got none."),
        (
            CAUSES.assign(cause=["flu", "", "pollen"]),
            FINDINGS,
            "causes, row 1: every cause must have a name; got none.",
        ),
        (
            CAUSES.assign(cause=["flu", "cold", "flu"]),
            FINDINGS,
            "causes, row 2: every cause must have a single row; got a second one for 'flu'.",
        ),
        (
            CAUSES,
            edges(probability=[1.01]),
            "findings, row 0: probability must be a probability from 0 to 1; got 1.01.",
        ),
        (CAUSES, edges(probability=["1,234"]), "row 0: probability must be .* got '1,234'. Write it as 0.1 or as 10%"),
        (
            CAUSES,
            edges(probability=[None]),
            "findings, row 0: finding 'fever' must have a probability for its cause 'flu'; got none.",
        ),
        (CAUSES, edges(leak=[1.0]), "findings, row 0: leak must be a probability of at least 0 and below 1; got 1.0."),
        (CAUSES, edges(finding=[None]), "findings, row 0: every row must name a finding; got none."),
        (
            CAUSES,
            edges(cause=["flue"]),
            "findings, row 0: there is no cause 'flue'; add it to causes with its prior. Did you mean 'flu'?",
        ),
        (CAUSES, edges(cause=["zzz"]), "there is no cause 'zzz'; add it to causes with its prior.$"),
        (
            CAUSES,
            pd.concat([FINDINGS, FINDINGS[1:2]]),
            "findings, row 6: every edge must have a single row; got a second one from cause 'cold'",
        ),
        (
            CAUSES,
            pd.DataFrame({"finding": ["a", "a"], "cause": ["flu", None], "p": [0.1, 0.2], "leak": [0.3, None]}),
            "a finding must have one leak; got 0.2 and 0.3 for 'a'.",
        ),
        (
            CAUSES,
            pd.DataFrame({"finding": ["a"], "cause": [None], "p": [1.0]}),
            "findings, row 0: a leak must be below 1; got 1.",
        ),
        (CAUSES[:0], FINDINGS[:0], "there must be at least one cause or finding; got empty tables."),
        (CAUSES, edges(finding=["cold"]), "a unit must be a cause with a prior or a finding; got both for 'cold'."),
        (
            CAUSES[["cause"]],
            FINDINGS,
            "causes must have a column 'prior' or 'probability' or 'p' .* got the columns 'cause'.",
        ),
        (
            CAUSES,
            FINDINGS[["cause", "finding"]],
            "findings must have a column 'probability' or 'p' .* got the columns 'cause', 'finding'.",
        ),
        (CAUSES, {}, "findings must have a column 'finding' or 'symptom' .* got the columns none."),
        (3, FINDINGS, "causes must be a DataFrame, or something that pandas can turn into one; got int"),
        (CAUSES, pd.DataFrame({"finding": ["a", "b"], "cause": ["b", "a"], "p": [0.5, 0.5]}), "acyclic"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(causes, findings, message):
    with pytest.raises(InvalidNetwork, match=message):
        pf.BeliefNetwork.diagnosis(causes, findings)


@pytest.mark.parametrize("leak", [-0.1, 1, "much"])
def test_the_default_leak_is_a_probability(leak):
    with pytest.raises(InvalidInput, match="leak must be a probability of at least 0 and below 1; got"):
        pf.BeliefNetwork.diagnosis(CAUSES, FINDINGS, leak=leak)


def test_a_finding_that_nothing_causes_cannot_have_been_seen():
    rash = pd.DataFrame({"finding": ["rash"], "cause": [None], "probability": [0.0]})
    net = pf.BeliefNetwork.diagnosis(CAUSES, pd.concat([FINDINGS, rash]))
    assert pf.infer(net, {"fever": 1}).marginals()["rash"] == 0
    with pytest.raises(InvalidEvidence, match="unit 'rash' is observed on, but has no leak and no cause"):
        pf.infer(net, {"rash": 1})
