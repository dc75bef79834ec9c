"""The command with a file that has a Boltzmann machine."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import plefka as pf
from plefka.cli.app import app
from tests.boltzmann.machines import couplings, fields


@pytest.fixture
def path(tmp_path):
    machine = pf.BoltzmannMachine(couplings(4, 0.5, 0), fields(4, 0.5, 1), values=(-1, 1), names=["a", "b", "c", "d"])
    pf.save(machine, tmp_path / "machine.json")
    return str(tmp_path / "machine.json")


def run(*arguments: str, code: int = 0) -> str:
    found = CliRunner().invoke(app, list(arguments))
    assert found.exit_code == code, found.output
    return found.output


def test_show(path):
    text = run("show", path)
    assert "Boltzmann machine" in text
    assert "4, of -1 and 1" in text
    assert "coupled to" in text
    content = json.loads(run("show", path, "--json"))
    assert content["values"] == [-1, 1]
    assert len(content["couplings"]) == 6


def test_infer(path):
    machine = pf.load(path)
    content = json.loads(run("infer", path, "-e", "a=-1,c=1", "-m", "exact", "--json"))
    (solution,) = content["solutions"]
    wanted = pf.infer(machine, {"a": -1, "c": 1}, "exact")
    assert solution["log_partition"] == pytest.approx(wanted.log_partition)
    assert solution["means"]["b"] == pytest.approx(wanted["b"])
    assert "ln Z" in run("infer", path, "-e", "a=-1", "-m", "exact")
    refused = CliRunner().invoke(app, ["infer", path, "-e", "a=0"])
    assert refused.exit_code != 0
    assert "must be -1 or 1" in str(refused.output) + str(refused.exception)


def test_rows_of_another_convention_are_refused(path, tmp_path):
    (tmp_path / "rows.csv").write_text("a,b\n0,1\n")
    refused = CliRunner().invoke(app, ["infer", path, "--rows", str(tmp_path / "rows.csv")])
    assert refused.exit_code != 0
    assert "must be 0 and 1" in str(refused.output) + str(refused.exception)


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    rows = np.repeat([[1, 1, 0, 0], [0, 0, 1, 1]], 10, axis=0)
    pd.DataFrame(rows, columns=["a", "b", "c", "d"]).to_csv(tmp_path / "rows.csv", index=False)
    return str(tmp_path / "rows.csv")


def test_fit_a_full_machine_score_it_and_draw_from_it(table, tmp_path):
    out = str(tmp_path / "machine.json")
    text = run("fit", table, "--machine", "full", "--epochs", "50", "-o", out)
    assert "Boltzmann machine of 4 units" in text
    assert "(exact)" in text
    machine = pf.load(out)
    assert machine.names == ("a", "b", "c", "d")
    content = json.loads(run("score", out, table, "--json"))
    assert content["is_exact"]
    assert content["log_likelihood"] > -2.0  # independent units: 4 ln 2
    assert run("sample", out, "-n", "3", "-s", "0").count("\n") == 4


def test_fit_a_restricted_machine_and_go_on_with_it(table, tmp_path):
    out, again = str(tmp_path / "machine.npz"), str(tmp_path / "again.npz")
    content = json.loads(
        run("fit", table, "--machine", "restricted", "--hidden", "2", "--epochs", "3", "-o", out, "--json")
    )
    assert content["kind"] == "Boltzmann machine"
    assert content["layers"] == [4, 2]
    assert pf.load(out).names == ("a", "b", "c", "d", "hidden0", "hidden1")
    content = json.loads(run("fit", out, "--rows", table, "-m", "persistent", "--epochs", "2", "-o", again, "--json"))
    assert content["method"] == "persistent"


def test_impute_in_the_values_of_the_machine(path, tmp_path):
    (tmp_path / "gaps.csv").write_text("a,b,c,d\n-1,,1,1\n1,1,,-1\n")
    run("impute", path, str(tmp_path / "gaps.csv"), "-o", str(tmp_path / "filled.csv"))
    filled = pd.read_csv(tmp_path / "filled.csv")
    wanted = pf.infer(pf.load(path), {"a": -1, "c": 1, "d": 1}, "exact")["b"]
    assert filled["b"].tolist()[0] == (1 if float(np.mean(wanted)) > 0.5 else -1)
    assert filled["a"].tolist() == [-1, 1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--machine", "nonsense"], "--machine must be restricted or full; got 'nonsense'"),
        (["--hidden", "3"], "--hidden is for --machine"),
        (["--machine", "full", "--layers", "1x8"], "--layers and --activation are for belief networks"),
        (["--machine", "restricted", "--hidden", "0"], "--hidden must be 1 or more for a restricted machine"),
        (["--machine", "full", "-m", "G12"], "G12 does not apply"),
    ],
)
def test_options_that_do_not_fit_are_refused(table, tmp_path, options, message):
    found = CliRunner().invoke(app, ["fit", table, "-o", str(tmp_path / "x.json"), *options])
    assert found.exit_code != 0
    assert message in f"{found.output}{found.exception}"
    assert not (tmp_path / "x.json").exists()
