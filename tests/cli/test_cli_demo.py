"""`plefka demo`: the ranking of causes by every method, and a picture. Its closing words must be true."""

import xml.etree.ElementTree as ElementTree
from itertools import product

import numpy as np
import pytest

import plefka as pf
from plefka.networks.examples import read_example

SOME = ("auto", "exact", "G11", "G12", "G14", "SJJ")  # test_cli_compare has all of them


def test_the_demo_prints_every_method_and_draws(run, tmp_path, monkeypatch):
    monkeypatch.setattr(pf, "METHODS", {name: pf.METHODS[name] for name in SOME})
    folder = tmp_path / "new" / "folder"
    answer = run("demo", "--out", folder)
    assert answer.code == 0
    assert sorted(path.name for path in folder.iterdir()) == ["espresso.png", "espresso.svg"]
    assert (folder / "espresso.png").read_bytes().startswith(b"\x89PNG")
    assert ElementTree.parse(folder / "espresso.svg").getroot().tag.endswith("svg")
    assert str(folder / "espresso.png") in answer.out
    example = read_example("espresso")
    for name in set(SOME) - {"SJJ"}:
        assert f"{pf.infer(example.network, example.evidence, name).log_likelihood:.4f}" in answer.out
    assert "1 limescale" in answer.out
    assert "left out: SJJ" in answer.out


def test_what_the_demo_says_is_true():
    example = read_example("espresso")
    found = {name: pf.infer(example.network, example.evidence, name) for name in ("exact", "G11", "G12", "G14")}
    error = {name: abs(s.log_likelihood - found["exact"].log_likelihood) for name, s in found.items()}
    assert error["G14"] < error["G12"] < error["G11"]
    exact, simplest = found["exact"].marginals(), found["G11"].marginals()
    assert exact["limescale"] > 0.75
    assert exact["faulty_thermostat"] < 0.15
    assert simplest["limescale"] < exact["limescale"] - 0.1


def test_many_findings_are_too_much_for_an_odd_order():
    network = pf.example("espresso")
    states = [row for row in product([np.nan, 0.0, 1.0], repeat=8) if 1 <= row.count(1.0) <= 4 and row.count(0.0) <= 3]
    rows = np.array([[np.nan] * 7 + list(row) for row in states[::65]])
    assert np.mean(pf.infer(network, rows, "G13").log_likelihood > 0) > 0.25


@pytest.mark.parametrize(("scheme", "twin"), [("G21", "G11"), ("G221", "G12")])
def test_schemes_that_the_demo_calls_the_same_are(scheme, twin):
    example = read_example("espresso")
    one, other = (pf.infer(example.network, example.evidence, name) for name in (scheme, twin))
    assert one.log_likelihood == pytest.approx(other.log_likelihood, abs=1e-9)


def test_a_folder_that_cannot_be_made_is_bad_input(run, tmp_path):
    (tmp_path / "file").write_text("in the way")
    answer = run("demo", "--out", tmp_path / "file" / "below")
    assert answer.code == 2
    assert answer.err.count("\n") == 1
    assert "Not a directory" in answer.err
