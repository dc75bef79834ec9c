"""No writer replaces anything unless told so, nor ever its input; what a run goes on from is as it was written."""

import errno
import random
import signal
import subprocess
import sys
import time
import weakref
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.cli import main
from plefka.errors import InvalidFile, NotWritten, PlefkaWarning
from plefka.learning import checkpoint
from plefka.paper import compute
from plefka.paper.store import Store, read_one
from plefka.runtime import whole_files
from tests.faults.disk import Disk, Full
from tests.faults.scenarios import NEW, OLD, ROWS, STUDY, tree

PATIENTS = [{"slow_flow": k % 2, "loud_hum": k // 2 % 2} for k in range(8)]


# ---- what is replaced ------------------------------------------------------------------------------------------------


@pytest.fixture
def pair(tmp_path):
    """A network in two files, with a column of one's own, which no format keeps."""
    pf.save(NEW, tmp_path / "k.csv")
    causes = tmp_path / "k.causes.csv"
    causes.write_text(causes.read_text().replace("\n", ",mine\n"))
    return tmp_path


@pytest.mark.parametrize("force", [[], ["--force"]])
@pytest.mark.parametrize("name", ["k.csv", "k.causes.csv", "k.findings.csv", "link.csv"])
def test_convert_never_overwrites_its_input(pair, name, force, capsys):
    for table in ("causes", "findings"):
        (pair / f"link.{table}.csv").symlink_to(pair / f"k.{table}.csv")
    before = tree(pair)
    assert main(["convert", str(pair / "k.csv"), str(pair / name), *force]) == 2
    assert "is one of the input files, which are not overwritten. Name another file." in capsys.readouterr().err
    assert tree(pair) == before
    with pytest.raises(InvalidFile, match="is one of the input files"):
        pf.convert(pair / "k.csv", pair / name)


@pytest.mark.parametrize("there", ["causes", "findings"])
def test_convert_replaces_a_pair_only_when_told_so(pair, there, capsys):
    pf.save(OLD, pair / "old.json")
    (pair / f"n.{there}.csv").write_text("mine")
    arguments = ["convert", str(pair / "old.json"), str(pair / "n.csv")]
    assert main(arguments) == 2
    assert f"n.{there}.csv: already exists. Pass --force to replace it" in capsys.readouterr().err
    assert (pair / f"n.{there}.csv").read_text() == "mine"
    assert main([*arguments, "--force"]) == 0
    assert pf.load(pair / "n.csv").names == OLD.names


def test_a_table_never_overwrites_a_file_of_the_network(pair, capsys):
    pf.save(NEW, pair / "n.csv")
    pd.DataFrame([{"slow_flow": 1.0, "loud_hum": np.nan}]).to_csv(pair / "rows.csv", index=False)
    target = pair / "n.findings.csv"
    before = target.read_bytes()
    for command in ("impute", "score"):
        arguments = [command, str(pair / "n.csv"), str(pair / "rows.csv"), "--out", str(target), "--force"]
        assert main(arguments) == 2
        assert "is one of the input files" in capsys.readouterr().err
    assert target.read_bytes() == before


def test_pictures_are_replaced_only_when_told_so(tmp_path, capsys):
    pd.DataFrame(ROWS).to_csv(tmp_path / "rows.csv", index=False)
    (tmp_path / "mine.png").write_text("mine")
    arguments = ["fit", str(tmp_path / "rows.csv"), "--out", str(tmp_path / "m.json")]
    assert main([*arguments, "--plot", str(tmp_path / "mine.png")]) == 2
    assert "mine.png: already exists. Pass --force" in capsys.readouterr().err
    (tmp_path / "espresso.svg").write_text("mine")
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "espresso.svg: already exists. Pass --force" in capsys.readouterr().err
    (tmp_path / "report.html").write_text("mine")
    assert main(["reproduce", "table1", "--quick", "--out", str(tmp_path)]) == 2
    assert "report.html: already exists, and" in capsys.readouterr().err


def test_of_two_files_both_are_old_or_both_are_new(tmp_path):
    """Also where the second cannot take its name."""
    pf.save(OLD, tmp_path / "n.csv")
    before = tree(tmp_path)
    (tmp_path / "n.findings.csv").unlink()
    (tmp_path / "n.findings.csv").mkdir()
    with pytest.raises(NotWritten, match=r"n.findings.csv: cannot be written: Is a directory"):
        pf.save(NEW, tmp_path / "n.csv")
    assert tree(tmp_path) == {"n.causes.csv": before["n.causes.csv"]}


# ---- what a run goes on from -----------------------------------------------------------------------------------------


def infer(out: Path, **options) -> pf.RowsDone:
    return pf.infer_rows(NEW, PATIENTS, out, "exact", block=2, **options)


def damaged(content: bytes, rng: random.Random) -> bytes:
    """A bit is another, the end is missing, or nothing is left."""
    how, at = rng.randrange(4), rng.randrange(len(content))
    if how < 2:
        return content[:at] + bytes([content[at] ^ 1 << rng.randrange(8)]) + content[at + 1 :]
    return content[:at] if how == 2 else b""


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_part_is_computed_again(tmp_path, seed):
    infer(tmp_path / "out")
    whole, part = tree(tmp_path), tmp_path / "out" / "00000002.parquet"
    part.write_bytes(damaged(part.read_bytes(), random.Random(seed)))
    done = infer(tmp_path / "out")
    assert (done.rows, done.resumed) == (8, 6)
    assert tree(tmp_path) == whole


def test_a_part_of_another_place_is_computed_again(tmp_path):
    infer(tmp_path / "out")
    whole, parts = tree(tmp_path), tmp_path / "out"
    (parts / "00000002.parquet").write_bytes((parts / "00000001.parquet").read_bytes())
    assert infer(tmp_path / "out").resumed == 6
    assert tree(tmp_path) == whole


@pytest.mark.parametrize("seed", range(4))
def test_damaged_rows_of_an_experiment_are_computed_again(tmp_path, seed):
    compute.complete(STUDY, tmp_path)
    columns, path = read_one(tmp_path, STUDY).columns, Store(tmp_path, STUDY).path("0-00002")
    content = path.read_bytes()
    at = random.Random(seed).randrange(len(content))
    path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
    with pytest.raises(InvalidFile, match="cannot be read as rows of an experiment"):
        read_one(tmp_path, STUDY)
    with pytest.warns(PlefkaWarning, match="table1: 1 of 2 blocks of rows are damaged; they are computed again"):
        compute.complete(STUDY, tmp_path)
    again = read_one(tmp_path, STUDY).columns
    assert all(np.array_equal(again[name], columns[name]) for name in columns)


def test_a_damaged_checkpoint_is_refused(tmp_path):
    """Or the damage is where it does not matter, in what a zip file says of itself."""
    state, history, path = (np.arange(5.0) / 3, np.array(3)), {"epoch": [1.0, 2.0]}, tmp_path / "run.npz"
    checkpoint.save(path, {"seed": 1}, state, history)
    content, refused = path.read_bytes(), 0
    for at in range(len(content)):
        bad = content[:at] + bytes([content[at] ^ 1 << at % 8]) + content[at + 1 :]
        try:
            found, past = checkpoint.load(path, bad, {"seed": 1}, state, ("epoch",))
        except InvalidFile:
            refused += 1
        else:
            assert all(np.array_equal(a, b) for a, b in zip(found, state, strict=True))
            assert past == history
    assert refused > len(content) / 2


# ---- one run at a time -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out", "out.parquet", "out.csv"])
def test_a_second_run_to_one_output_is_refused_at_its_start(tmp_path, name, monkeypatch):
    seen = []

    def while_it_runs(*arguments, **options):
        seen.append(len(seen))
        with pytest.raises(InvalidFile, match=rf"{name}: another run writes to it \(process \d+ on .*\). Wait until"):
            infer(tmp_path / name)
        return pf.infer(*arguments, **options)

    monkeypatch.setattr("plefka.scale.row_questions.infer", while_it_runs)
    assert infer(tmp_path / name).rows == 8
    assert seen == [0, 1, 2, 3]  # the second run has not solved anything
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_second_run_of_everything_else_is_refused(tmp_path):
    with (
        whole_files.only_run(tmp_path / "run.npz"),
        pytest.raises(InvalidFile, match=r"run.npz: another run writes to it"),
    ):
        pf.fit(pf.ensembles.to_learn((2,), ROWS, 0), ROWS, "SJJ", epochs=1, checkpoint=tmp_path / "run.npz")
    store = Store(tmp_path, STUDY)
    store.folder.mkdir(parents=True)
    claim = whole_files.only_run(store.folder, store.folder / whole_files.LOCK)
    with claim, pytest.raises(InvalidFile, match="another run writes to it"):
        compute.complete(STUDY, tmp_path)


@pytest.mark.parametrize("command", ["fit", "convert", "impute"])
def test_a_second_command_is_refused(tmp_path, command, capsys):
    pd.DataFrame(ROWS, columns=[*"abcd"]).to_csv(tmp_path / "rows.csv", index=False)
    pf.save(NEW, tmp_path / "net.json")
    source = ["net.json"] if command == "convert" else ["net.json", "rows.csv"] if command == "impute" else ["rows.csv"]
    out = tmp_path / "out.json" if command != "impute" else tmp_path / "out.csv"
    arguments = [command, *(str(tmp_path / name) for name in source), *(["--out"] if command != "convert" else [])]
    with whole_files.only_run(out):
        assert main([*arguments, str(out)]) == 2
    assert f"{out.name}: another run writes to it" in capsys.readouterr().err


HOLD = """
import sys, time, pathlib
from plefka.runtime import whole_files
with whole_files.only_run(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(100)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_the_lock_of_a_process_that_was_killed_is_free(tmp_path):
    out = tmp_path / "out"
    command = [sys.executable, "-c", HOLD, str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PYTHONPATH": ":".join(sys.path)}) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        with pytest.raises(InvalidFile, match=f"another run writes to it .process {process.pid} on"):
            whole_files.only_run(out).__enter__()
        process.kill()
        process.wait()
    with whole_files.only_run(out):
        assert [path.name for path in tmp_path.iterdir()] == [".out.lock"]
    assert not list(tmp_path.iterdir())


def test_a_file_system_without_locks(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.warns(PlefkaWarning, match=r"out: its file system has no locks \(No locks available\), so nothing"):
        assert infer(tmp_path / "out").rows == 8


# ---- disks and Ctrl-C ------------------------------------------------------------------------------------------------


def test_a_full_disk_is_a_sentence(tmp_path):
    with Disk(tmp_path, Full(20, random.Random(0))).watched(), pytest.raises(InvalidFile) as refused:
        infer(tmp_path / "out")
    assert str(refused.value).endswith(
        "cannot be written: No space left on device. If the file existed, it is unchanged. "
        f"Finished blocks of {tmp_path / 'out'} are kept; run the same again to resume."
    )
    assert isinstance(refused.value, OSError)
    assert refused.value.errno == errno.ENOSPC
    assert infer(tmp_path / "out").rows == 8


def test_a_folder_that_cannot_be_written_is_a_sentence(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr("os.mkdir", refuse)
    with pytest.raises(InvalidFile, match="out: cannot be written: Permission denied"):
        infer(tmp_path / "out")


class Collected:
    """Something that the garbage collector takes."""


def test_control_c_in_a_callback_is_not_lost(monkeypatch):
    """Python ignores what such a callback raises: `plefka explore` went on after one Ctrl-C in five at its start."""

    def interrupted(_: str) -> None:
        value = Collected()
        _kept = weakref.ref(value, lambda _: signal.default_int_handler(signal.SIGINT, None))
        del value
        time.sleep(60)

    monkeypatch.setattr("plefka.cli.source.read_network", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job ignores
    try:
        assert main(["show", "example:espresso"]) == 130
    finally:
        signal.signal(signal.SIGINT, before)
