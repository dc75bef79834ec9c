"""`plefka fit` on many rows and in many processes: Parquet files that are streamed, and options that go together."""

import os
import sys

import numpy as np
import pytest
from tests.cli.test_cli_learn import NAMES, QUICK, ROWS, files, write_table

import plefka as pf
from plefka.cli.fit_start import joined

pytest.importorskip("pyarrow")


@pytest.fixture
def pattern(tmp_path) -> str:
    """Two files of the same rows."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("a", "b"):
        write_table(tmp_path, "parquet").rename(folder / f"{name}.parquet")
    return str(folder / "*.parquet")


def test_files_are_streamed_as_the_library_does(run, pattern, tmp_path):
    out = tmp_path / "model.json"
    answer = run("fit", "--rows", pattern, "--out", out, *QUICK, "--stream", "--batch-size", 5, "--seed", 3)
    assert answer.code == 0
    assert "12, streamed" in answer.out
    start = pf.ensembles.to_learn((2,), pattern, 3)
    expected = pf.fit(start, pattern, "G12", epochs=2, seed=3, batch_size=5, stream=True).network
    np.testing.assert_array_equal(pf.load(out).bias, expected.bias)
    assert pf.load(out).names == ("hidden0", "hidden1", *NAMES)


def test_a_few_files_are_read_as_one_table(run, pattern, tmp_path):
    content = run("fit", "--rows", pattern, "--out", tmp_path / "model.json", *QUICK, "--json").json
    assert (content["rows"], content["distinct_rows"]) == (12, 5)
    expected = pf.fit(pf.ensembles.to_learn((2,), np.vstack([ROWS, ROWS]), 0), np.vstack([ROWS, ROWS]), epochs=2)
    np.testing.assert_allclose(pf.load(tmp_path / "model.json").bias, expected.network.bias, rtol=1e-12)


def test_learning_starts_from_a_network(run, pattern, tmp_path):
    start = pf.ensembles.named(pf.ensembles.to_learn((3,), ROWS, 7, "noisy_or"), NAMES)
    pf.save(start, tmp_path / "start.json")
    out, options = tmp_path / "model.json", ("--epochs", 2, "--method", "G12")
    answer = run("fit", tmp_path / "start.json", "--rows", pattern, "--out", out, *options)
    assert answer.code == 0
    expected = pf.fit(start, pattern, "G12", epochs=2, seed=0).network
    np.testing.assert_allclose(pf.load(out).bias, expected.bias, rtol=1e-12)
    answer = run("fit", tmp_path / "start.json", "--rows", pattern, "-o", tmp_path / "m.json", "--layers", "3")
    assert answer.code == 2
    assert "--layers and --activation are for a new network" in answer.err


def test_validation_rows_have_a_file_of_their_own(run, pattern, tmp_path):
    held_out = write_table(tmp_path, "csv")
    options = ("--validation-rows", held_out, "--stream", "--batch-size", 5, "--json")
    content = run("fit", "--rows", pattern, "-o", tmp_path / "m.json", *QUICK, *options).json
    assert content["rows"] == 12
    assert content["validation"] == max(content["history"]["validation"])


BAD = {
    "validation of a stream": (("--stream", "--validation", 0.5), "--validation draws from a table in memory"),
    "two validations": (("--validation", 0.5, "--validation-rows", "v.csv"), "both hold rows out; leave one of them"),
    "coordinator alone": (("--coordinator", "host:1"), "belong together; add --processes and --process."),
    "process alone": (("--process", 0), "belong together; add --coordinator and --processes."),
    "no process": (("--coordinator", "host:1", "--processes", 2), "belong together; add --process."),
    "no such process": (
        ("--coordinator", "host:1", "--processes", 2, "--process", 2),
        "process must be the number of this process, from 0 to 1 where there are 2; got 2.",
    ),
    "no port": (
        ("--coordinator", "host", "--processes", 2, "--process", 0), "the coordinator must be HOST:PORT, the machine"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_what_does_not_go_together_is_one_message_and_no_file(run, pattern, tmp_path, name):
    options, message = BAD[name]
    answer = run("fit", "--rows", pattern, "-o", tmp_path / "model.json", *QUICK, *options)
    assert (answer.code, answer.out) == (2, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1
    assert files(tmp_path) == ["data"]


def test_only_parquet_is_streamed(run, tmp_path):
    answer = run("fit", write_table(tmp_path, "csv"), "-o", tmp_path / "model.json", *QUICK, "--stream")
    assert (answer.code, answer.out) == (2, "")
    assert "--stream is for Parquet files; got " in answer.err


def test_a_lost_process_is_an_exit_code_of_its_own(monkeypatch, capsys):
    monkeypatch.setattr(pf, "join_processes", lambda *_: None)
    monkeypatch.setattr(os, "_exit", sys.exit)
    with pytest.raises(SystemExit) as ended, joined("host:1", 2, 0):
        raise pf.errors.ProcessLost("process 0 of 2: another process has ended.")
    assert ended.value.code == 3
    assert capsys.readouterr().err == "plefka: process 0 of 2: another process has ended.\n"
