"""The command with a file that has a Boltzmann machine."""

import json

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
