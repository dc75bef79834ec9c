"""Bad input: exit code 2, nothing on standard output, and one message that says what to do."""

import numpy as np
import pytest

NET = "example:espresso"
BAD = {
    "unknown unit": (("infer", NET, "-e", "lukewarm_cap=1"), "Did you mean 'lukewarm_cup'?"),
    "neither 0 nor 1": (("infer", NET, "-e", "slow_flow=2"), "unit 'slow_flow' must be 0 or 1, or ON:OFF"),
    "no state": (("infer", NET, "-e", "slow_flow"), "evidence is written UNIT=0 or UNIT=1"),
    "no unit": (("infer", NET, "-e", "=1"), "evidence is written UNIT=0 or UNIT=1"),
    "two states": (("compare", NET, "-e", "slow_flow=1,slow_flow=0"), "unit 'slow_flow' must have one state"),
    "unknown method": (("infer", NET, "-m", "G23"), "Did you mean 'G3'?"),
    "unknown option of a method": (("infer", NET, "-m", "G12[tool=1]"), "Did you mean 'tol'?"),
    "does not apply": (("infer", NET, "-m", "SJJ"), "SJJ does not apply: its bound is for sigmoid networks"),
    "unknown example": (("show", "example:expresso"), "Did you mean 'espresso'?"),
    "missing file": (("show", "nowhere.json"), "nowhere.json"),
    "foreign file": (("show", "network.docx"), "the name must end with"),
    "unknown command": (("infr", NET), "Did you mean 'infer'?"),
    "unknown flag": (("infer", NET, "--methods", "G12"), "--methods"),
    "no network": (("infer",), "Missing argument 'NET'"),
    "too few samples": (("sample", NET, "-n", "0", "-s", "1"), "--count"),
    "negative seed": (("sample", NET, "-n", "1", "-s", "-1"), "--seed"),
    "seed not a number": (("sample", NET, "-n", "1", "-s", "x"), "--seed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_message(run, name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    arguments, message = BAD[name]
    answer = run(*arguments)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.startswith("plefka: ")
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize("content", [b"", b'{"format": "plefka"', b"\x00\xff\xfe", b"[1, 2]"])
def test_a_corrupt_file_is_named(run, tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    answer = run("show", path)
    assert (answer.code, answer.out) == (2, "")
    assert "broken.json" in answer.err


BAD_ROWS = {
    "empty": ("", "at least one row and one column"),
    "header only": ("slow_flow\n", "at least one row"),
    "unknown unit": (
        "slow_flo\n1\n",
        "rows.csv: columns must be units of the network; there is no 'slow_flo'. Did you mean",
    ),
    "twice": ("slow_flow,slow_flow\n1,1\n", "columns must differ in their names; got 'slow_flow' more than once"),
    "ragged": ("slow_flow,thin_crema\n1\n", "line 2: must have 2 values; got 1"),
    "odd state": ("slow_flow\n1\nmaybe\n", "line 3: column 'slow_flow' must be 0, 1 or empty (missing); got 'maybe'"),
    "against --evidence": ("lukewarm_cup\n1\n0\n", "row 1: unit 'lukewarm_cup' is 0 here, but 1 in --evidence"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_name_the_file_and_the_line(run, tmp_path, name):
    content, message = BAD_ROWS[name]
    path = tmp_path / "rows.csv"
    path.write_text(content, encoding="utf-8")
    answer = run("infer", NET, "--rows", path, "-e", "lukewarm_cup=1")
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err


def test_rows_that_are_not_there(run, tmp_path):
    answer = run("infer", NET, "--rows", tmp_path / "none.csv")
    assert answer.code == 2
    assert "none.csv: cannot be read: No such file or directory" in answer.err


def test_rows_without_names_have_a_column_for_every_unit(run, tmp_path):
    np.save(tmp_path / "rows.npy", np.zeros((2, 14)))
    answer = run("infer", NET, "--rows", tmp_path / "rows.npy")
    assert (answer.code, answer.out) == (2, "")
    assert "there must be 8 columns, one for each unit of the bottom layer, or all 15 units; got 14." in answer.err


@pytest.mark.parametrize("command", [("demo",), ("reproduce", "table1", "--networks", "2")])
def test_a_folder_that_cannot_be_made_is_refused_before_the_work(run, tmp_path, command):
    (tmp_path / "file").write_text("")
    answer = run(*command, "--out", tmp_path / "file")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.endswith("file: cannot be a folder for the output: File exists. Name another.\n")
