"""Words of the command about tables and units: the same option for the same thing, and what the shell completes."""

import os

import pytest

import plefka as pf
from plefka.cli import main

NET = "example:espresso"
ODD = ["back pain, acute", "a=b", "plain", "x,y=z", "plain, too"]


@pytest.fixture
def odd(tmp_path):
    """Units with commas and equals signs in their names."""
    net = pf.BeliefNetwork([[0] * 5, [1, 0, 0, 0, 0], [1, 1, 0, 0, 0], [0] * 5, [2, 0, 0, 0, 0]], [0.1] * 5, names=ODD)
    states = [("no", "yes"), ("no", "yes"), ("<5", ">=5"), ("no", "yes"), ("no", "yes")]
    pf.save(pf.BeliefNetwork(net.storage, net.bias, names=ODD, states=states), tmp_path / "odd.json")
    return tmp_path / "odd.json"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["back pain, acute=1"], {"back pain, acute": 1}),
        (["a=b=1"], {"a=b": 1}),
        (["plain=1,back pain, acute=0,a=b=1"], {"plain": 1, "back pain, acute": 0, "a=b": 1}),
        (["x,y=z=no", "plain=0"], {"x,y=z": 0, "plain": 0}),
        (["plain, too=yes,plain=>=5"], {"plain, too": 1, "plain": 1}),
        (["plain=0.9:0.2,x,y=z=TRUE"], {"plain": {"on": 0.9, "off": 0.2}, "x,y=z": 1}),
        (["plain=NA,a=b=false"], {"a=b": 0}),
        (["plain=1,"], {"plain": 1}),
    ],
)
def test_names_with_commas_and_equals_signs_are_units(run, odd, options, expected):
    arguments = [word for option in options for word in ("-e", option)]
    assert run("infer", odd, *arguments, "-m", "exact", "--json").json["evidence"] == expected


def test_lists_of_units_know_such_names_too(run, odd, tmp_path):
    found = run("ask", odd, "--target", "back pain, acute", "--candidate", "a=b,plain, too,plain", "--json").json
    assert found["targets"] == ["back pain, acute"]
    assert {each["unit"] for each in found["candidates"]} == {"a=b", "plain, too", "plain"}
    (tmp_path / "rows.csv").write_text('"back pain, acute"\n1\n')
    arguments = ("--rows", tmp_path / "rows.csv", "--out", tmp_path / "out.csv", "--units", "x,y=z,plain, too")
    assert run("infer", odd, *arguments, "-m", "exact").code == 0
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header == '"row","status","log_likelihood","accuracy","estimates","fingerprint","x,y=z","plain, too"'


@pytest.mark.parametrize("option", ["back pain=1", "plain=1,acute=0", "plain", "=1"])
def test_what_is_no_such_name_is_refused(run, odd, option):
    answer = run("infer", odd, "-e", option)
    assert (answer.code, answer.out, answer.err.count("\n")) == (2, "", 1)


# ---- options ---------------------------------------------------------------------------------------------------------


def test_rows_that_were_an_output_once_are_explained(run, tmp_path):
    answer = run("score", NET, "data.csv", "--rows", "scores.csv")
    assert (answer.code, answer.out) == (2, "")
    assert "--rows names the table to read, as in every command; got data.csv as well." in answer.err
    assert "To write the results to scores.csv, pass --out scores.csv." in answer.err


@pytest.mark.parametrize("command", [("score", NET), ("impute", NET, "--out", "x.csv"), ("fit", "--out", "m.json")])
def test_a_table_must_be_named(run, command):
    answer = run(*command)
    assert (answer.code, answer.out) == (2, "")
    assert "there is no table to read; name one, as in --rows data.csv." in answer.err


def test_an_id_without_rows_is_refused(run):
    answer = run("infer", NET, "--id", "patient")
    assert answer.code == 2
    assert "--id names a column of --rows" in answer.err


@pytest.mark.parametrize("command", ["infer", "score", "impute", "fit"])
def test_all_commands_call_it_the_same(run, command):
    shown = run(command, "--help").out
    assert all(option in shown for option in ("--rows", "--id", "--out", "--json"))


# ---- completion ------------------------------------------------------------------------------------------------------


@pytest.fixture
def complete(monkeypatch, capsys):
    """What a shell offers after some words, the last of which is not finished."""

    def complete(*words):
        monkeypatch.setenv("_PLEFKA_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", " ".join(["plefka", *words]))
        monkeypatch.setenv("COMP_CWORD", str(len(words)))
        with pytest.raises(SystemExit):
            main([])
        return capsys.readouterr().out.split()

    return complete


def test_methods_examples_and_units_are_completed(complete, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "clinic.json").touch()
    (tmp_path / "folder").mkdir()
    assert "example:espresso" in complete("infer", "exa")
    assert complete("infer", "cl") == ["clinic.json"]
    assert complete("infer", "fo") == [f"folder{os.sep}"]
    assert complete("infer", NET, "-m", "G22") == ["G22", "G221"]
    assert "bethe" in complete("explain", NET, "slow_flow", "--method", "be")
    assert complete("explain", NET, "slow_f") == ["slow_flow"]
    assert complete("infer", NET, "-e", "slow_f") == ["slow_flow="]
    assert complete("infer", NET, "-e", "loud_hum=1,slow_flow=") == ["loud_hum=1,slow_flow=0", "loud_hum=1,slow_flow=1"]
    assert complete("ask", NET, "--target", "weak_p") == ["weak_pump"]
    assert complete("score", "clinic.json", "--rows", "c") == ["clinic.json"]


def test_a_network_that_cannot_be_read_completes_nothing(complete):
    assert complete("infer", "nowhere.json", "-e", "a") == []
    assert complete("infer", "nowhere/", "-e", "a") == []
