"""Rows in many files, and answers in a folder of files: the same as from one file to one file."""

import json
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput, MissingExtra, PlefkaWarning
from plefka.scale import cluster, teams
from plefka.scale.evidence_rows import HIDDEN, EvidenceBlock, resized
from plefka.scale.infer_rows import as_bytes, block_size

NET = pf.example("espresso")


@pytest.fixture
def frame():
    rng = np.random.default_rng(0)
    values = np.where(rng.random((50, NET.size)) < 0.3, rng.integers(0, 2, (50, NET.size)), np.nan)
    frame = pd.DataFrame(values, columns=NET.names)
    frame.insert(3, "machine", [f"m{k}" for k in range(50)])
    return frame


@pytest.fixture
def whole(frame, tmp_path):
    pf.infer_rows(NET, frame, tmp_path / "whole.parquet", "exact", id_columns="machine", block=16)
    return pd.read_parquet(tmp_path / "whole.parquet")


def write(frame, folder, suffix):
    """In files of different sizes, the columns of the second in another order."""
    folder.mkdir()
    pieces = [frame[:7], frame[7:40][frame.columns[::-1]], frame[40:]]
    for k, piece in enumerate(pieces):
        if suffix == ".csv":
            piece.to_csv(folder / f"rows{k}.csv", index=False)
        elif suffix == ".parquet":
            piece.to_parquet(folder / f"rows{k}.parquet", row_group_size=5)
        else:
            lines = [json.dumps({k: v for k, v in row.items() if v == v}) for row in piece.to_dict("records")]
            (folder / f"rows{k}.jsonl").write_text("\n".join(lines))


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
@pytest.mark.parametrize("form", ["{}", "{}/rows*", "{}/**/*0*"])
def test_many_files_are_like_one(frame, whole, tmp_path, suffix, form):
    write(frame, tmp_path / "data", suffix)
    source, out = form.format(tmp_path / "data"), tmp_path / "posteriors"
    done = pf.infer_rows(NET, source, out, "exact", id_columns="machine", block=16)
    expected = whole if "0" not in form.replace("{}", "") else whole[:7]
    table = pd.read_parquet(out)
    assert done.rows == len(expected)
    if suffix == ".jsonl":  # a block observes the units that its rows name
        pd.testing.assert_frame_equal(table, expected, rtol=1e-9)
    else:
        assert table[:7].equals(expected[:7]) if len(expected) == 7 else table.equals(expected)


def test_the_folder_is_a_dataset_with_a_manifest(frame, whole, tmp_path):
    out = tmp_path / "posteriors"
    pf.infer_rows(NET, frame, out, "exact", id_columns="machine", block=16)
    manifest = json.loads((out / "_manifest.json").read_bytes())
    assert manifest["complete"]
    assert manifest["rows"] == 50
    assert [entry["rows"] for entry in manifest["blocks"]] == [16, 16, 16, 2]
    assert manifest["settings"]["method"] == "exact"
    parts = [f"0000000{k}.parquet" for k in range(4)]
    assert sorted(path.name for path in out.iterdir()) == [*parts, "_manifest.json"]
    assert pd.read_parquet(out).equals(whole)


def test_a_second_run_does_nothing(frame, tmp_path, monkeypatch):
    out = tmp_path / "posteriors"
    pf.infer_rows(NET, frame, out, "exact", id_columns="machine", block=16)
    monkeypatch.setattr("plefka.scale.row_questions.infer", lambda *_, **__: pytest.fail("it was computed again"))
    done = pf.infer_rows(NET, frame, out, "exact", id_columns="machine")  # with blocks as they were
    assert (done.rows, done.resumed) == (50, 50)


def test_fewer_rows_leave_no_part_behind(frame, tmp_path):
    out = tmp_path / "posteriors"
    pf.infer_rows(NET, frame, out, "exact", id_columns="machine", block=16)
    done = pf.infer_rows(NET, frame[:20], out, "exact", id_columns="machine", block=16)
    assert (done.rows, done.resumed) == (20, 16)
    assert len(pd.read_parquet(out)) == 20


def test_names_of_rows_of_different_kinds_become_text(tmp_path):
    rows = [{"slow_flow": 1, "machine": 7}, {"slow_flow": 0, "machine": "E61"}, {"slow_flow": 0, "machine": None}]
    out = tmp_path / "posteriors"
    pf.infer_rows(NET, rows, out, "exact", id_columns="machine", block=1)
    assert pd.read_parquet(out)["machine"].tolist()[:2] == ["7", "E61"]
    assert pf.infer_rows(NET, rows, out, "exact", id_columns="machine", block=1).resumed == 3


def test_other_settings_are_not_mixed_in(frame, tmp_path):
    out = tmp_path / "posteriors"
    pf.infer_rows(NET, frame, out, "exact", id_columns="machine", block=16)
    (out / "notes.txt").write_text("mine")
    with pytest.raises(InvalidFile, match=r"posteriors: has answers of another run, which differs in method. Remove"):
        pf.infer_rows(NET, frame, out, "bethe", id_columns="machine")
    pf.infer_rows(NET, frame[:20], out, "bethe", id_columns="machine", force=True)
    assert len(pd.concat(map(pd.read_parquet, out.glob("*.parquet")))) == 20
    assert (out / "notes.txt").read_text() == "mine"


def test_a_folder_of_something_else(frame, tmp_path):
    (tmp_path / "posteriors").mkdir()
    (tmp_path / "posteriors" / "thesis.tex").touch()
    with pytest.raises(InvalidFile, match=r"must be a new or an empty folder, .* it holds thesis.tex. Name another"):
        pf.infer_rows(NET, frame, tmp_path / "posteriors", "exact", id_columns="machine", force=True)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidFile, match=r"file: must be a folder, as its name has no suffix; got a file"):
        pf.infer_rows(NET, frame, tmp_path / "file", "exact", id_columns="machine")


def test_the_folder_that_is_read_is_not_written(frame, tmp_path):
    write(frame, tmp_path / "data", ".csv")
    with pytest.raises(InvalidInput, match=r"data: holds rows that are read. Name another"):
        pf.infer_rows(NET, tmp_path / "data" / "*.csv", tmp_path / "data", "exact", force=True)


def test_bad_sources(frame, tmp_path):
    with pytest.raises(InvalidFile, match=r"none\*.csv: no file has a name of this form"):
        pf.infer_rows(NET, tmp_path / "none*.csv", tmp_path / "out")
    (tmp_path / "data").mkdir()
    with pytest.raises(InvalidFile, match=r"data: the folder has no table; there must be files that end with .csv, "):
        pf.infer_rows(NET, tmp_path / "data", tmp_path / "out")
    (tmp_path / "data" / "a.csv").write_text("slow_flow\n1\n")
    (tmp_path / "data" / "b.csv").write_text("slow_flow,loud_hum\n1,0\n")
    with pytest.raises(
        InvalidFile, match=r"b.csv: all files must have the columns of .*a.csv; 'loud_hum' is not there"
    ):
        pf.infer_rows(NET, tmp_path / "data", tmp_path / "out")
    (tmp_path / "data" / "b.csv").write_text("slow_flow\n2\n")
    with pytest.raises(InvalidFile, match=r"b.csv: line 2: column 'slow_flow' must be 0, 1 or empty"):
        pf.infer_rows(NET, tmp_path / "data", tmp_path / "out")
    (tmp_path / "data" / "b.jsonl").touch()
    with pytest.raises(InvalidFile, match=r"all files must be of one kind; got .csv and .jsonl. Name one: \*.csv"):
        pf.infer_rows(NET, tmp_path / "data", tmp_path / "out")


def test_bad_teams(frame, tmp_path, monkeypatch):
    def answer(**options):
        return pf.infer_rows(NET, frame, tmp_path / "out", "exact", id_columns="machine", **options)

    with pytest.raises(InvalidInput, match=r"give either a client .* or a number of workers .*, not both"):
        answer(client="tcp://127.0.0.1:1", workers=2)
    with pytest.raises(InvalidInput, match="workers must be a whole number of processes from 1 on, or 'auto'; got 0"):
        answer(workers=0)
    with pytest.raises(InvalidInput, match=r"client must be a dask.distributed.Client or the address .*; got int"):
        answer(client=3)
    monkeypatch.setattr(cluster, "SECONDS_WITHOUT_WORKERS", 0.2)
    with pytest.raises(InvalidInput, match=r"no Dask scheduler answers at 'tcp://127.0.0.1:1'. .* dask scheduler"):
        answer(client="tcp://127.0.0.1:1")
    with pytest.raises(InvalidInput, match=r"no Dask scheduler answers at 'nonsense'. Give its address as tcp://HOST"):
        answer(client="nonsense")
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(MissingExtra, match=r"work on a cluster needs distributed.* pip install 'plefka\[cluster\]'"):
        answer(client="tcp://127.0.0.1:1")
    assert not (tmp_path / "out").exists()


def test_what_cannot_travel_without_cloudpickle(monkeypatch):
    monkeypatch.setattr(teams, "find_spec", lambda name: None)
    with pytest.raises(InvalidInput, match=r"cannot be sent to worker processes: .* Install plefka\[cluster\]"):
        teams._pickled(lambda: None)


@pytest.mark.parametrize(("text", "size"), [("2GB", 2e9), ("1.5 GiB", 1.5 * 2**30), (3e9, 3e9), ("500mb", 5e8)])
def test_memory(text, size):
    assert as_bytes(text) == size


@pytest.mark.parametrize("text", ["", "much", "2 G", -1, 0, True, "1e999"])
def test_bad_memory(text):
    with pytest.raises(InvalidInput, match="memory must be a number of bytes, or a text such as '2GB'"):
        as_bytes(text)


def test_memory_decides_the_block():
    class Network:
        size = 100_000

    network: Any = Network()
    sizes = [block_size(network, None, each) for each in ("1GB", "2GB", "20GB")]
    assert sizes == sorted(set(sizes))
    assert block_size(network, 7, "1GB", 3) == 7
    assert block_size(network, None, None, 3) == 3
    with pytest.raises(InvalidInput, match=r"memory must be 0\.6 GB or more for each process and a network of 100,000"):
        block_size(network, None, "500MB")


def test_blocks_of_another_size_have_the_same_rows():
    units, states = np.arange(3), np.random.default_rng(0).integers(0, HIDDEN + 1, (23, 3)).astype(np.int8)
    ids = {"name": list(range(23))}
    cut = [EvidenceBlock(units, states[a:b], {"name": ids["name"][a:b]}) for a, b in ((0, 5), (5, 20), (20, 23))]
    found = list(resized(cut, 4))
    assert [block.num_rows for block in found] == [4] * 5 + [3]
    assert np.array_equal(np.concatenate([block.states for block in found]), states)
    assert [name for block in found for name in block.ids["name"]] == ids["name"]


def test_ids_are_recognised_in_many_files(frame, tmp_path):
    write(frame, tmp_path / "data", ".parquet")
    with pytest.warns(PlefkaWarning, match=r"rows0.parquet: the column 'machine' is not a unit and holds text"):
        pf.infer_rows(NET, tmp_path / "data", tmp_path / "out", "exact")
    assert pd.read_parquet(tmp_path / "out")["machine"].tolist() == frame["machine"].tolist()
