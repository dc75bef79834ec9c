"""What is no regular file is refused before it is opened: a pipe waits for a writer, and a device may have no end."""

import os
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import plefka as pf
from plefka.cli import main
from plefka.errors import InvalidFile
from plefka.files import FORMATS, TABLE_FORMATS, load_evidence
from plefka.learning.checkpoint import Checkpoint
from plefka.learning.devices import Devices
from plefka.tables.dataset import as_dataset
from plefka.tables.table import read_table
from plefka.tables.table_files import READERS, about_rows

NETWORK = pf.example("espresso")
PIPE = "it must be a regular file; got a named pipe. Save its content in a file and read that"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes and devices with a path")


@contextmanager
def pipe(path: Path):
    """A named pipe. Whoever reads it, in spite of all, finds nothing, and does not wait for ever."""
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: open(path, "wb").close(), daemon=True)
    writer.start()
    try:
        yield path
    finally:
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        writer.join()
        os.close(reader)


@pytest.mark.parametrize("suffix", [*FORMATS, *TABLE_FORMATS, ".json.gz"])
def test_a_network(suffix, tmp_path):
    name = "net.causes.csv" if suffix == ".csv" else f"net{suffix}"
    with pipe(tmp_path / name) as path, pytest.raises(InvalidFile, match=f"cannot be read: {PIPE}"):
        pf.load(path)


def test_evidence(tmp_path):
    with pipe(tmp_path / "net.uai.evid") as path, pytest.raises(InvalidFile, match=PIPE):
        load_evidence(path)


@pytest.mark.parametrize("suffix", READERS)
@pytest.mark.parametrize("read", [read_table, lambda path: pf.infer_rows(NETWORK, path, path.with_name("out.csv"))])
def test_a_table(suffix, read, tmp_path):
    with pipe(tmp_path / f"rows{suffix}") as path, pytest.raises(InvalidFile, match=PIPE):
        read(path)


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_a_table_whose_rows_are_counted(suffix, tmp_path):
    with pipe(tmp_path / f"rows{suffix}") as path, pytest.raises(InvalidFile, match=PIPE):
        about_rows(path)


def test_parquet_files_to_learn_from(tmp_path):
    with pipe(tmp_path / "rows.parquet") as path, pytest.raises(InvalidFile, match=PIPE):
        as_dataset(path)


def test_a_link_to_a_device(tmp_path, capsys):
    link = tmp_path / "net.json"
    link.symlink_to("/dev/null")
    assert main(["show", str(link)]) == 2
    assert "net.json: cannot be read: it must be a regular file; got a device." in capsys.readouterr().err


def test_a_checkpoint(tmp_path):
    with pipe(tmp_path / "checkpoint") as path, pytest.raises(InvalidFile, match=PIPE):
        Checkpoint(path, 60.0, Devices()).open(dict, None, ())
