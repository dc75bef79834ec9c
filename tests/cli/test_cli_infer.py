"""`plefka infer`: the same numbers as the library, in tables and in JSON."""

import re

import numpy as np
import pytest

import plefka as pf
from plefka.inference.solution import ABOVE_ZERO

NET = "example:espresso"
EVIDENCE = {"lukewarm_cup": 1, "slow_flow": 1, "puddle_below": 0}
SOME = ",".join(f"{unit}={state}" for unit, state in EVIDENCE.items())


def test_json_is_what_the_library_says(run):
    answer = run("infer", NET, "--evidence", SOME, "--method", "exact", "--method", "G12", "--json")
    assert (answer.code, answer.err) == (0, "")
    for content in answer.json["solutions"]:
        solution = pf.infer(pf.example("espresso"), EVIDENCE, content["method"])
        assert content["log_likelihood"] == solution.log_likelihood
        assert content["means"] == {unit: float(mean) for unit, mean in solution.marginals().items()}
        assert content["num_steps"] == solution.num_steps
        assert content["warnings"] == []
    assert [content["kind"] for content in answer.json["solutions"]] == ["exact", "estimate"]
    assert answer.json["evidence"] == EVIDENCE


def test_the_table_ranks_hidden_units(run):
    answer = run("infer", NET, "--evidence", SOME, "--method", "exact")
    solution = pf.infer(pf.example("espresso"), EVIDENCE, "exact")
    assert answer.out.split("\n\n", 1)[1].strip() == "\n".join(
        line for line in str(solution).splitlines() if not line.startswith("observed")
    )
    causes = solution.ranking(None, units="causes")
    shown = [line.split() for line in answer.out.splitlines()[-len(solution.ranking(None, units="all")) :]]
    assert {(unit, mean) for unit, mean, *_ in shown[: len(causes)]} == {(unit, f"{p:.6f}") for unit, p in causes}
    assert [mean for _, mean, _ in shown[len(causes) :]] == sorted(
        (m for _, m, _ in shown[len(causes) :]), reverse=True
    )
    changes = [abs(float(mean) - float(prior)) for _, mean, prior, _ in shown[: len(causes)]]
    assert changes == sorted(changes, reverse=True)


def test_units_and_top_choose_what_is_shown(run, rows):
    arguments = ("infer", NET, "-e", SOME, "-m", "exact")
    names = [line.split()[0] for line in run(*arguments, "--units", "causes", "--top", 2).out.splitlines()[-3:-1]]
    whole = [line.split()[0] for line in run(*arguments).out.splitlines()[7:9]]
    assert names == whole
    assert "... and 5 more" in run(*arguments, "--units", "causes", "--top", 2).out
    only = run(*arguments, "--units", "weak_pump,loud_hum", "--json").json["solutions"][0]
    assert {*only["means"]} == {*only["means_accuracy"]} == {"weak_pump", "loud_hum"}
    assert "Did you mean 'weak_pump'?" in run(*arguments, "--units", "weak_pumb").err
    line = next(line for line in run("infer", NET, "--rows", rows, "--top", 1).out.splitlines() if line[:2] == "0 ")
    assert re.fullmatch(r"0 .* converged +limescale 0\.\d{3}", line)


def test_states_have_their_words(run, tmp_path):
    units = [("supply", [], "sigmoid", [], -1.0), ("page", ["supply"], "sigmoid", [2.0], -1.0)]
    path = tmp_path / "printer.json"
    pf.save(pf.BeliefNetwork.of_units(units, states=[("Adequate", "Low"), ("Dark", "Faint")]), path)
    out = run("infer", path, "-e", "page=Faint").out
    assert out.startswith("observed: page=Faint\n")
    assert "P(state | evidence)" in out
    assert "supply Low " in out
    (tmp_path / "rows.csv").write_text("page\nFaint\n")
    assert "supply Low 0." in run("infer", path, "--rows", tmp_path / "rows.csv").out


def test_the_default_method_is_that_of_the_library(run):
    answer = run("infer", NET, "--json")
    assert [content["method"] for content in answer.json["solutions"]] == [str(pf.infer(pf.example("espresso")).method)]


def test_evidence_may_be_repeated(run):
    parts = [option for part in SOME.split(",") for option in ("-e", part)]
    assert run("infer", NET, *parts, "--json").json == run("infer", NET, "-e", SOME, "--json").json


def test_a_file_answers_like_the_network_in_it(run, tmp_path):
    path = tmp_path / "espresso.json"
    pf.save(pf.example("espresso"), path)
    from_file, bundled = (run("infer", net, "-e", SOME, "-m", "exact", "--json").json for net in (path, NET))
    assert from_file["solutions"] == bundled["solutions"]


def test_rounded_numbers_in_a_file_are_noted(run, tmp_path):
    path = tmp_path / "rounded.json"
    pf.save(pf.BeliefNetwork([[0, 0], [0.5, 0]], [0.5, 0.0], "noisy_or"), path)
    path.write_text(path.read_text().replace("0.0]", "-4e-7]", 1))
    answer = run("infer", path, "-e", "1=1")
    assert answer.code == 0
    assert answer.err.startswith("plefka: fields of 1 unit (1) were outside the domain (0, inf) of noisy_or by up to")


def test_what_did_not_converge_ends_with_one(run):
    answer = run("infer", NET, "-e", SOME, "-m", "G12[max_steps=1]", "-m", "exact", "--json")
    assert answer.code == 1
    assert [content["status"] for content in answer.json["solutions"]] == ["out of steps", "converged"]
    assert "G12[max_steps=1]: ran out of steps" in answer.err
    assert "raise max_steps" in answer.err


@pytest.fixture
def rows(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("slow_flow,thin_crema\n1,\n,0\n1,1\n", encoding="utf-8")
    return path


def test_an_answer_above_zero_is_warned_about(run):
    arguments = ("infer", NET, "-e", "slow_flow=1,low_pressure=1,sour_taste=0", "-m", "G13", "-m", "exact")
    odd, exact = run(*arguments, "--json").json["solutions"]
    assert (odd["status"], odd["warnings"]) == ("converged", [ABOVE_ZERO])
    assert odd["log_likelihood"] > 0
    assert exact["warnings"] == []
    assert [line for line in run(*arguments).out.splitlines() if "warning" in line] == [f"warning: G13: {ABOVE_ZERO}"]


def test_rows_above_zero_are_warned_about(run, tmp_path):
    path = tmp_path / "doubtful.csv"
    path.write_text("low_pressure,slow_flow\n1,1\n1,\n1,1\n", encoding="utf-8")
    arguments = ("infer", NET, "--rows", path, "-e", "sour_taste=0", "-m", "G13")
    rows = run(*arguments, "--json").json["solutions"][0]["rows"]
    above = [k for k, row in enumerate(rows) if row["log_likelihood"] > 0]
    assert [k for k, row in enumerate(rows) if row["warnings"] == [ABOVE_ZERO]] == above == [0, 2]
    assert rows[1]["warnings"] == []
    assert f"warning: G13: {ABOVE_ZERO} (rows 0, 2)" in run(*arguments).out


def test_rows_answer_like_one_call_each(run, rows):
    answer = run("infer", NET, "--rows", rows, "--evidence", "lukewarm_cup=1", "-m", "exact", "--json")
    network = pf.example("espresso")
    singles = [{"slow_flow": 1}, {"thin_crema": 0}, {"slow_flow": 1, "thin_crema": 1}]
    for content, single in zip(answer.json["solutions"][0]["rows"], singles, strict=True):
        expected = pf.infer(network, {**single, "lukewarm_cup": 1}, "exact")
        assert content["log_likelihood"] == pytest.approx(expected.log_likelihood, abs=1e-12)
        np.testing.assert_allclose(list(content["means"].values()), expected.means, atol=1e-12)


def test_rows_may_be_as_pandas_writes_them(run, rows, tmp_path):
    floats = tmp_path / "floats.csv"
    floats.write_text("slow_flow,thin_crema\n1.0,\nNaN,0.0\n1.0,1.0\n", encoding="utf-8")
    plain, from_pandas = (run("infer", NET, "--rows", path, "-m", "exact", "--json").json for path in (rows, floats))
    assert plain["solutions"] == from_pandas["solutions"]


def test_rows_for_a_stack_are_one_or_one_for_each_with_soft_evidence_too(run, tmp_path):
    net, rows = tmp_path / "stack.npz", tmp_path / "rows.csv"
    stack = pf.ensembles.layered((2, 3), -1, 1, 3, 0)
    pf.save(stack, net)
    rows.write_text("2,3\n1,0\n0,1\n", encoding="utf-8")
    for soft in ((), ("-e", "4=0.9:0.2")):
        answer = run("infer", net, "--rows", rows, *soft)
        assert answer.code == 2
        assert "a stack of 3 networks takes one row of evidence, or 3; got 2." in answer.err
    rows.write_text("2,3\n1,0\n", encoding="utf-8")
    found = run("infer", net, "--rows", rows, "-e", "4=0.9:0.2", "-m", "exact", "--json").json["solutions"][0]["rows"]
    right = pf.infer(stack, {2: 1, 3: 0, 4: pf.Likelihood(0.9, 0.2)}, "exact").log_likelihood
    np.testing.assert_allclose([row["log_likelihood"] for row in found], right, atol=1e-12)


def test_rows_that_did_not_converge_are_named(run, rows):
    """The first two are solved by the reductions alone."""
    answer = run("infer", NET, "--rows", rows, "-m", "G12[max_steps=1]")
    assert answer.code == 1
    assert answer.err.startswith("plefka: G12[max_steps=1] (rows: 2): ran out of steps")


def test_rows_in_a_table_name_the_most_probable_units(run, rows):
    answer = run("infer", NET, "--rows", rows, "-m", "exact")
    assert answer.out.splitlines()[0] == f"observed: the rows of {rows}"
    also = run("infer", NET, "--rows", rows, "-e", "loud_hum=0", "-m", "exact")
    assert also.out.splitlines()[0] == "observed: loud_hum=0 in every row"
    best, mean = pf.infer(pf.example("espresso"), {"slow_flow": 1}, "exact").ranking(1)[0]
    first = next(line for line in answer.out.splitlines() if line.startswith("0 "))
    assert f"{best} {mean:.3f}" in first


def test_a_long_ranking_says_what_it_left_out(run, tmp_path):
    path = tmp_path / "wide.json"
    pf.save(pf.BeliefNetwork(np.zeros((25, 25)), np.zeros(25)), path)
    answer = run("infer", path, "-m", "G11")
    assert "... and 5 more" in answer.out
    assert len(run("infer", path, "-m", "G11", "--json").json["solutions"][0]["means"]) == 25


def test_rows_are_written_to_a_file(run, tmp_path):
    path, out = tmp_path / "patients.csv", tmp_path / "posteriors.csv"
    path.write_text("patient,slow_flow,thin_crema\nanna,1,\nbob,,0\ncarl,1,1\n", encoding="utf-8")
    arguments = ("infer", NET, "--rows", path, "--out", out, "--id", "patient", "-e", "loud_hum=0", "-m", "exact")
    answer = run(*arguments, "--top", 1, "--units", "causes", "--json")
    assert (answer.code, answer.err) == (0, "")
    assert (answer.json["rows"], answer.json["statuses"]) == (3, {"converged": 3})
    lines = out.read_text().splitlines()
    assert (
        lines[0]
        == '"row","patient","status","log_likelihood","accuracy","estimates","fingerprint","unit_1","probability_1"'
    )
    (best, _), *_ = pf.infer(pf.example("espresso"), {"slow_flow": 1, "loud_hum": 0}, "exact").ranking(
        1, units="causes"
    )
    assert lines[1].startswith('0,"anna","converged",')
    assert f'"{best}"' in lines[1]
    again = run(*arguments)
    assert again.code == 2
    assert "already exists" in again.err
    assert run(*arguments, "--force").out.startswith("3 rows by exact in ")


def test_rows_without_an_answer_end_with_one(run, tmp_path, rows):
    answer = run("infer", NET, "--rows", rows, "--out", tmp_path / "out.csv", "-m", "G12[max_steps=1]")
    assert answer.code == 1
    assert "1 ended as out of steps: row 2" in answer.out
    assert answer.err == "plefka: 1 of 3 rows have no answer.\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--out", "out.csv"), "--out goes with --rows, a file of evidence in rows."),
        (("--workers", 2), "--workers goes with --rows and --out, which writes the answers to a file."),
        (("--rows", "data/*.csv"), "--rows data/*.csv: many files go with --out, which writes the answers to a file"),
        (("--rows", "r.csv", "--out", "out.csv", "-m", "G12", "-m", "exact"), "--out takes one method; got 2."),
        (("--rows", "r.csv", "--out", "out.csv", "--check"), "--check does not go with --out."),
    ],
)
def test_options_for_rows_go_together(run, arguments, message):
    answer = run("infer", NET, *arguments)
    assert answer.code == 2
    assert message in answer.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--do", "slow_flow"], "--do is written UNIT=0 or UNIT=1, with commas between; got 'slow_flow'"),
        (["--joint", ""], "--joint must name at least one unit; got none"),
    ],
)
def test_options_that_name_no_state_or_unit_are_refused(run, arguments, message):
    answer = run("infer", NET, *arguments)
    assert answer.code == 2
    assert message in " ".join(answer.err.split())


def test_contradicting_observations_are_named(run, tmp_path):
    units = [
        pf.Unit("flu", [], "noisy_or", [], 0.1),
        pf.Unit("fever", ["flu"], "noisy_or", [0.7], 0.0),
        pf.Unit("ward", ["fever"], pf.Table([0.0, 0.9])),
        pf.Unit("cough", ["flu"], "noisy_or", [0.4], 0.1),
    ]
    path = tmp_path / "clinic.json"
    pf.save(pf.BeliefNetwork.of_units(units, states=[("no", "yes")] * 4), path)
    ran = run("infer", path, "--evidence", "flu=no,fever=yes,cough=yes")
    assert ran.code != 0
    assert "The observations flu=no and fever=yes cannot both be true." in ran.err
    ran = run("infer", path, "--evidence", "fever=no,ward=yes,cough=yes", "--method", "bethe")
    assert ran.code != 0
    assert "the observations fever=no and ward=yes cannot both be true" in ran.out
    (tmp_path / "rows.csv").write_text("flu,ward\n0,1\n1,1\n")
    ran = run("infer", path, "--rows", tmp_path / "rows.csv")
    assert "impossible" in ran.out


def test_what_is_set_is_not_observed(run, rows, tmp_path):
    arguments = ("infer", NET, "-e", "slow_flow=1", "--do", "low_pressure=1", "-m", "exact")
    answer, expected = run(*arguments, "--json").json, pf.infer(pf.example("espresso"), {"slow_flow": 1}, "exact")
    assert answer["do"] == {"low_pressure": 1}
    assert answer["solutions"][0]["log_likelihood"] == pytest.approx(expected.log_likelihood, abs=1e-12)
    assert answer["solutions"][0]["means"]["weak_pump"] == pytest.approx(expected["weak_pump"], abs=1e-12)
    assert "do(low_pressure = 1)" in run(*arguments).out
    table = run(*arguments, "--joint", "weak_pump", "--json").json["joint"][0]["states"]
    assert max(state["probability"] for state in table) == pytest.approx(1 - expected["weak_pump"], abs=1e-12)
    assert "unit 'slow_flow' is set by do" in run("infer", NET, "-e", "slow_flow=1", "--do", "slow_flow=0").err
    out = tmp_path / "out.csv"
    assert run("infer", NET, "--rows", rows, "--out", out, "--do", "low_pressure=1", "-m", "exact").code == 0
    assert "unit 'slow_flow' is set by do" in run("infer", NET, "--rows", rows, "--do", "slow_flow=1").err


def test_one_cause_at_a_time(run, rows, tmp_path):
    arguments = ("infer", NET, "-e", "slow_flow=1", "-m", "exact")
    for option, group in (
        (("causes",), "causes"),
        (("weak_pump,limescale", "--or-none"), ["weak_pump", "limescale", None]),
    ):
        found = run(*arguments, "--exclusive", *option, "--json").json
        expected = pf.infer(pf.example("espresso"), {"slow_flow": 1}, "exact", exclusive=group)
        assert found["solutions"][0]["log_likelihood"] == expected.log_likelihood
        assert found["exclusive"] == (["causes"] if group == "causes" else group)
    assert "exactly one of" in run(*arguments, "--exclusive", "causes").out
    assert "--or-none goes with --exclusive" in run(*arguments, "--or-none").err
    assert "leave out --rows and --exclusive" in run(*arguments, "--exclusive", "causes", "--joint", "weak_pump").err
    out = tmp_path / "out.csv"
    assert run("infer", NET, "--rows", rows, "--out", out, "--exclusive", "causes", "-m", "exact").code == 0
    assert out.read_text().count("\n") == 4


def test_the_most_probable_states_after_an_intervention(run):
    found = run("most-probable", NET, "-e", "slow_flow=1", "--do", "low_pressure=1", "--units", "causes", "--json").json
    expected = pf.most_probable(pf.example("espresso"), {"slow_flow": 1}, "causes", 3, do={"low_pressure": 1})
    assert found["do"] == {"low_pressure": 1}
    assert found["states"] == expected.to_dict()["states"]
