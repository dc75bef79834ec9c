"""`plefka compare`: every method that applies in one table, beside the truth."""

import numpy as np
import pytest

import plefka as pf
from plefka.inference.solution import ABOVE_ZERO

NET = "example:espresso"
SOME = "lukewarm_cup=1,slow_flow=1"
DOUBTFUL = "slow_flow=1,low_pressure=1,sour_taste=0"  # too much for an odd order

KINDS = {"exact": "exact", "auto": "exact", "findings": "exact", "G1": "lower bound", "mixture[5]": "lower bound"}


def test_every_method_that_applies_is_compared_with_the_truth(run):
    answer = run("compare", NET, "--evidence", SOME, "--json")
    assert answer.code == 0
    compared = {content["method"]: content for content in answer.json["methods"]}
    assert set(compared) == {str(pf.METHODS[name]) for name in set(pf.METHODS) - {"G10", "SJJ", "gibbs", "loops"}}
    assert {*answer.json["left_out"]} == {"SJJ", "loops"}
    exact = pf.infer(pf.example("espresso"), {"lukewarm_cup": 1, "slow_flow": 1}, "exact")
    for content in compared.values():
        solution = pf.infer(pf.example("espresso"), {"lukewarm_cup": 1, "slow_flow": 1}, content["method"])
        assert content["error"] == pytest.approx(solution.log_likelihood - exact.log_likelihood, abs=1e-12)
        assert content["largest_mean_error"] == pytest.approx(np.abs(solution.means - exact.means).max(), abs=1e-12)
        assert content["seconds"] > 0
        assert content["kind"] == str(solution.log_partition_accuracy)
        assert (content["kind"] == "exact") <= (abs(content["error"]) < 1e-10)
        if content["method"] in KINDS:
            assert content["kind"] in (KINDS[content["method"]], "exact")
    assert compared["exact"]["error"] == 0


def only(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(pf, "METHODS", {name: pf.METHODS[name] for name in names})


def test_the_table_says_what_is_a_bound_and_what_was_timed(run, monkeypatch, tmp_path):
    only(monkeypatch, "exact", "SJJ")
    path = tmp_path / "net.json"
    pf.save(pf.BeliefNetwork([[0, 0, 0], [1, 0, 0], [2, -1, 0]], [0.1, 0.2, 0.3], "sigmoid", ["a", "b", "c"]), path)
    answer = run("compare", path, "-e", "c=1")
    kinds = {words[0]: line for line in answer.out.splitlines() if (words := line.split())}
    assert "lower bound" in kinds["SJJ"]
    assert kinds["exact"].count("exact") == 2
    assert "time: of a second call" in answer.out


def test_an_answer_above_zero_is_doubted(run, monkeypatch):
    only(monkeypatch, "exact", "G13")
    answer = run("compare", NET, "-e", DOUBTFUL)
    assert "warning: G13: ln P(evidence) above 0 cannot be the logarithm of a probability" in answer.out
    assert "warning: exact" not in answer.out
    found = {
        content["method"]: content["warnings"]
        for content in run("compare", NET, "-e", DOUBTFUL, "--json").json["methods"]
    }
    assert found == {"exact": [], "G13": [ABOVE_ZERO]}


def test_without_the_truth_errors_are_left_out(run, monkeypatch, tmp_path):
    only(monkeypatch, "exact", "G11")
    path = tmp_path / "large.npz"
    count = 26
    weights, bias = [np.full((count, count), 0.1)], [np.full(count, 0.1)] * 2
    pf.save(pf.BeliefNetwork.layered(weights, bias, "noisy_or"), path)
    all_on = ",".join(f"{finding}=1" for finding in range(count, 2 * count))
    answer = run("compare", path, "-e", all_on, "--json")
    assert [content["error"] for content in answer.json["methods"]] == [None]
    assert "2^26" in answer.json["left_out"]["exact"]


def test_one_network_at_a_time(run, tmp_path):
    path = tmp_path / "stack.npz"
    pf.save(pf.ensembles.layered((1, 2), -1, 1, 3, 0), path)
    answer = run("compare", path)
    assert answer.code == 2
    assert "compare takes one network; got a stack of 3" in answer.err
