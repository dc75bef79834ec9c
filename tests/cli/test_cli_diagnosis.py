"""`plefka explain` and `plefka ask`: what the library says."""

import json
import os
from dataclasses import asdict

import pytest
from scipy.optimize import milp

import plefka as pf
from plefka.cli import main

NET = "example:espresso"
EVIDENCE = {"slow_flow": 1, "thin_crema": 1, "lukewarm_cup": 0}
SOME = ",".join(f"{unit}={state}" for unit, state in EVIDENCE.items())


def test_explain_is_what_the_library_says(run):
    found = pf.explain(pf.example("espresso"), EVIDENCE, "stale_beans", "exact", top=2)
    arguments = ("explain", NET, "-e", SOME, "stale_beans", "-m", "exact", "--top", 2)
    assert run(*arguments).out == f"observed: slow_flow=1, thin_crema=1, lukewarm_cup=0\n\n{found}\n"
    answer = run(*arguments, "--json")
    assert answer.code == 0
    assert answer.json["log_odds"] == found.log_odds
    assert answer.json["observations"] == [asdict(each) for each in found.observations]
    assert answer.json["changes"] == [asdict(each) for each in found.changes]


def test_ask_is_what_the_library_says(run):
    found = pf.ask(pf.example("espresso"), EVIDENCE, ["loud_hum", "low_pressure"], ["weak_pump"], "exact")
    arguments = ("ask", NET, "-e", SOME, "-c", "loud_hum, low_pressure", "-t", "weak_pump", "-m", "exact")
    assert run(*arguments).out == f"observed: slow_flow=1, thin_crema=1, lukewarm_cup=0\n\n{found}\n"
    assert run(*arguments, "--json").json["candidates"] == json.loads(json.dumps(asdict(found)))["candidates"]


def test_ask_takes_costs_sets_and_rules(run, tmp_path):
    costs = {"loud_hum": 2.0, "low_pressure": 0.5}
    found = pf.ask(pf.example("espresso"), EVIDENCE, costs=costs, together=2, stop_below=0.01, certain_above=0.99)
    arguments = ("ask", NET, "-e", SOME, "--together", 2, "--stop-below", 0.01, "--certain-above", 0.99, "--costs")
    said = f"observed: slow_flow=1, thin_crema=1, lukewarm_cup=0\n\n{found}\n"
    assert run(*arguments, "loud_hum=2, low_pressure=.5").out == said
    (tmp_path / "costs.csv").write_text("finding,cause,cost\nloud_hum,x,2\nloud_hum,y,\nlow_pressure,x,0.5\n")
    assert run(*arguments, tmp_path / "costs.csv").out == said
    assert "costs are written UNIT=COST" in run(*arguments, "loud_hum").err
    assert "number above 0; got '-1' for 'loud_hum'" in run(*arguments, "loud_hum=-1").err
    assert "cannot be read" in run(*arguments, tmp_path / "none.csv").err


def test_a_report_is_written_once(run, tmp_path):
    page = tmp_path / "case.html"
    arguments = ("report", NET, "-e", SOME, "--out", page, "--case", "Anna <A>", "--costs", "sour_taste=3", "-n", 3)
    assert run(*arguments).out == f"The report is in {page}.\n"
    text = page.read_text(encoding="utf-8")
    assert "<h1>Anna &lt;A&gt; (espresso)</h1>" in text
    assert pf.example("espresso").fingerprint in text
    again = run(*arguments)
    assert (again.code, "already exists. Pass --force" in again.err) == (2, True)
    assert run(*arguments, "--force").code == 0
    assert "does not exist" in run("report", NET, "--out", tmp_path / "nowhere" / "case.html").err
    refused = run("report", NET, "-e", "no_unit=1", "--out", tmp_path / "other.html")
    assert (refused.code, [path.name for path in tmp_path.iterdir()]) == (2, ["case.html"])


def test_joint_is_what_the_library_says(run):
    units = ["stale_beans", "limescale"]
    found = pf.joint(pf.example("espresso"), EVIDENCE, units, "exact")
    arguments = ("infer", NET, "-e", SOME, "-m", "exact", "--joint", "stale_beans, limescale")
    assert run(*arguments).out.endswith(f"\n\n{found}\n")
    assert run(*arguments, "--json").json["joint"] == [found.to_dict()]


def test_most_probable_is_what_the_library_says(run):
    found = pf.most_probable(pf.example("espresso"), EVIDENCE, "causes", 2)
    arguments = ("most-probable", NET, "-e", SOME, "--units", "causes", "--count", 2)
    assert run(*arguments).out == f"observed: slow_flow=1, thin_crema=1, lukewarm_cup=0\n\n{found}\n"
    assert run(*arguments, "--json").json["states"] == found.to_dict()["states"]
    some = run("most-probable", NET, "-e", SOME, "-u", "stale_beans,limescale", "--json").json
    assert some["units"] == ["limescale", "stale_beans"]


def test_what_a_solver_prints_is_no_part_of_the_answer_and_the_library_leaves_the_terminal_alone(capfd, monkeypatch):
    monkeypatch.setenv("PLEFKA_CACHE_DIR", "")
    monkeypatch.setattr(
        "plefka.exact.state_programs.milp", lambda *a, **options: os.write(1, b"HiGHS\n") and milp(*a, **options)
    )
    assert main(["most-probable", NET, "-e", SOME, "-m", "branch-and-bound", "--json"]) == 0
    assert json.loads(capfd.readouterr().out)["states"]
    pf.most_probable(pf.example("espresso"), EVIDENCE, method="branch-and-bound")
    assert "HiGHS" in capfd.readouterr().out


@pytest.mark.parametrize("suffix", [".csv", ".xlsx"])
def test_tables_are_networks_like_others(run, tmp_path, suffix):
    if suffix == ".xlsx":
        pytest.importorskip("openpyxl")
    pf.save(pf.example("espresso"), tmp_path / f"net{suffix}")
    assert "15" in run("show", tmp_path / f"net{suffix}").out
    answer = run("infer", tmp_path / f"net{suffix}", "-e", SOME, "-m", "exact", "--json").json["solutions"][0]
    assert answer["log_likelihood"] == pytest.approx(pf.infer(pf.example("espresso"), EVIDENCE, "exact").log_likelihood)


def test_sensitivity_is_what_the_library_says(run):
    found = pf.sensitivity(pf.example("espresso"), EVIDENCE, "stale_beans", factor=3)
    arguments = ("sensitivity", NET, "-e", SOME, "stale_beans", "--factor", 3, "--top", 2)
    assert run(*arguments).out.endswith(f"\n\n{found.describe(2)}\n")
    answer = run(*arguments, "--json").json
    assert answer["numbers"] == [asdict(each) for each in found.top(2)]
    assert answer["numbers_total"] == len(found.value)
    assert found.change is not None
    assert answer["change"] == asdict(found.change)


def test_counterfactuals_are_what_the_library_says(run):
    found = pf.counterfactuals(pf.example("espresso"), EVIDENCE)
    arguments = ("counterfactuals", NET, "-e", SOME)
    assert run(*arguments).out.endswith(f"\n\n{found}\n")
    assert run(*arguments, "--json").json["causes"] == [asdict(each) for each in found.causes]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain", NET, "-e", SOME, "slow_flow"), "explain needs a hidden unit; 'slow_flow' is observed."),
        (("explain", NET, "-e", SOME), "Missing argument 'UNIT'."),
        (("ask", NET, "-e", SOME, "-t", "slow_flow"), "targets must be hidden units; 'slow_flow' is observed."),
        (("ask", NET, "-m", "best"), "'best'"),
        (("sensitivity", NET, "-e", SOME, "slow_flow"), "sensitivity needs a hidden target; 'slow_flow' is observed."),
        (("sensitivity", NET, "weak_pump", "--factor", "0.5"), "factor must be a number above 1"),
        (("counterfactuals", NET), "counterfactuals needs a finding that is on; got none."),
        (("most-probable", NET, "-e", SOME, "-u", "slow_flow"), "units must be hidden; 'slow_flow' is observed."),
        (("infer", NET, "-e", SOME, "--joint", "slow_flow"), "joint takes hidden units; 'slow_flow' is observed."),
        (("infer", NET, "--rows", "rows.csv", "--joint", "slow_flow"), "--joint is for one row of evidence"),
    ],
)
def test_bad_input(run, arguments, message):
    answer = run(*arguments)
    assert answer.code == 2
    assert message in answer.err


def test_rows_count_nothing_twice_and_a_contradiction_is_said_once(run, tmp_path):
    findings = {"finding": ["hand", "eye"], "cause": ["flu", "flu"], "probability": [0.4, 0.3]}
    net = pf.BeliefNetwork.diagnosis({"cause": ["flu"], "prior": [0.1]}, findings, leak=0.03, implies={"hand": "arm"})
    pf.save(net, tmp_path / "net.json")
    (tmp_path / "rows.csv").write_text("hand,arm,eye\n1,1,0\n0,0,\n")
    content = run("infer", tmp_path / "net.json", "--rows", tmp_path / "rows.csv", "--json").json
    means = pf.infer(net.with_implies([]), [{"hand": 1, "eye": 0}, {"arm": 0}], "exact").means
    assert [row["means"]["flu"] for row in content["solutions"][0]["rows"]] == pytest.approx(means[:, 0].tolist())
    assert run("infer", tmp_path / "net.json", "-e", "hand=1,arm=0").err.count("'arm' is off") == 1
    (tmp_path / "gaps.csv").write_text("flu,hand,arm,eye\n,1,1,0\n")
    assert (
        run(
            "impute", tmp_path / "net.json", tmp_path / "gaps.csv", "-o", tmp_path / "whole.csv", "--probabilities"
        ).code
        == 0
    )
    filled = (tmp_path / "whole.csv").read_text().splitlines()[1].split(",")
    assert float(filled[0]) == pytest.approx(means[0, 0])
