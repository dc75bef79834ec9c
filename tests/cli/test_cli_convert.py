"""`plefka convert`, and words of states on the command line."""

import numpy as np
import pytest

import plefka as pf

CLINIC = """network clinic { }
variable flu { type discrete [ 2 ] { yes, no }; }
variable cold { type discrete [ 2 ] { yes, no }; }
variable fever { type discrete [ 2 ] { low, high }; }
probability ( flu ) { table 0.1, 0.9; }
probability ( cold ) { table 0.2, 0.8; }
probability ( fever | flu, cold ) {
  (no, no) 0.9, 0.1; (yes, no) 0.27, 0.73; (no, yes) 0.36, 0.64; (yes, yes) JOINT;
}
"""
EXACT, CLOSE = CLINIC.replace("JOINT", "0.108, 0.892"), CLINIC.replace("JOINT", "0.112, 0.888")


@pytest.fixture
def clinic(tmp_path):
    (tmp_path / "clinic.bif").write_text(EXACT)
    (tmp_path / "close.bif").write_text(CLOSE)
    return tmp_path


def test_a_network_is_converted(run, clinic):
    ran = run("convert", clinic / "clinic.bif", clinic / "clinic.json")
    assert ran.code == 0
    assert f"saved to {clinic / 'clinic.json'}" in ran.out
    assert "noisy-or" in ran.out
    network = pf.load(clinic / "clinic.json")
    assert network.states == (("no", "yes"), ("no", "yes"), ("low", "high"))
    assert np.allclose(-np.expm1(-network.bias), [0.1, 0.2, 0.1])
    ran = run("convert", clinic / "clinic.json", clinic / "clinic.uai.gz", "--json")
    assert ran.json["units"] == []
    assert pf.load(clinic / "clinic.uai.gz").size == 3


def test_an_approximation_says_what_it_costs(run, clinic):
    ran = run("convert", clinic / "close.bif", clinic / "table.npz", "--json")
    assert [unit["kind"] for unit in ran.json["units"]] == ["noisy-or", "noisy-or", "table"]
    ran = run("convert", clinic / "close.bif", clinic / "close.npz", "--approximate", "0.02")
    assert ran.code == 0
    assert "largest error" in ran.out
    assert "fever 0.00" in ran.err
    ran = run("convert", clinic / "close.bif", clinic / "close.uai", "--approximate", "0.02", "--json")
    assert [unit["kind"] for unit in ran.json["units"]] == ["noisy-or"] * 3
    assert 0 < ran.json["units"][2]["error"] < 0.004
    assert pf.load(clinic / "close.uai").activation.name == "noisy_or"


def test_files_are_not_overwritten(run, clinic):
    arguments = ("convert", clinic / "clinic.bif", clinic / "close.bif")
    ran = run(*arguments)
    assert ran.code == 2
    assert "already exists. Pass --force" in ran.err
    assert run(*arguments, "--force").code == 0
    ran = run("convert", clinic / "clinic.bif", clinic / "clinic.bof")
    assert (ran.code, "the name must end with" in ran.err) == (2, True)
    assert run("convert", clinic / "no.bif", clinic / "new.bif").code == 2


def test_evidence_may_use_the_words_of_states(run, clinic):
    by_word = run("infer", clinic / "clinic.bif", "-e", "fever=high,flu=no", "-m", "exact", "--json").json
    by_number = run("infer", clinic / "clinic.bif", "-e", "fever=1,flu=0", "-m", "exact", "--json").json
    assert by_word["solutions"] == by_number["solutions"]
    ran = run("infer", clinic / "clinic.bif", "-e", "fever=hot")
    assert (ran.code, "'fever' must be 0 or 1 (low or high), or ON:OFF" in ran.err) == (2, True)


def test_show_says_which_state_is_on(run, clinic):
    assert "high (not low)" in run("show", clinic / "clinic.bif").out
    assert run("show", clinic / "clinic.bif", "--json").json["states"][2] == ["low", "high"]
