"""Rows that stay in Parquet files: the same learning as in memory, in an order that follows from seed and epoch."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import plefka as pf
from plefka.learning import by_free_energy as loop
from plefka.learning import stream as streams
from plefka.learning.patterns import as_patterns
from plefka.learning.stream import Stream
from plefka.tables.dataset import as_dataset
from tests.learning import pair

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


@pytest.fixture
def files(tmp_path) -> str:
    return pair.write_files(tmp_path / "files")


@pytest.fixture
def distinct(tmp_path) -> Path:
    """Every pattern once, in the order that it has in memory."""
    values = as_patterns(pair.network(), pair.rows()).values
    path = tmp_path / "distinct.parquet"
    names = list(pair.network().names[-4:])
    pd.DataFrame(np.where(values < 0, np.nan, values), columns=names).to_parquet(path, row_group_size=len(values))
    return path


def stream_of(source: Any) -> Stream:
    return Stream.of(pair.network(), as_dataset(source, pair.network()))


def order(source: Any, size: int = 6, seed: int = 0, epoch: int = 0, skip: int = 0, multiple: int = 1) -> list:
    """The numbers of the rows of each batch."""
    pieces = stream_of(source).pieces(size, seed, epoch, skip, multiple)
    return [piece.numbers[piece.counts > 0].tolist() for piece in pieces]


# ---- the order -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("window", [1, 50, 10**6])
def test_every_row_comes_once_in_an_epoch_whatever_the_window(files, monkeypatch, window):
    monkeypatch.setattr(streams, "WINDOW", window)
    found = order(files)
    assert sorted(number for batch in found for number in batch) == list(range(40))
    assert [len(batch) for batch in found] == [6] * 6 + [4]


@pytest.mark.parametrize("window", [1, 50, 10**6])
def test_values_belong_to_their_numbers(files, monkeypatch, window):
    monkeypatch.setattr(streams, "WINDOW", window)
    for piece in stream_of(files).pieces(6, 0, 0, 2, 4):
        rows = stream_of(files).evidence(piece.values)[:, -4:]
        np.testing.assert_array_equal(rows, pair.rows()[piece.numbers])
        assert len(piece.numbers) == 8  # a multiple of 4


def test_the_order_follows_from_seed_and_epoch_alone(files):
    assert order(files) == order(files) == order(files, multiple=3)
    assert order(files) != order(files, seed=1)
    assert order(files) != order(files, epoch=1)


@pytest.mark.parametrize("window", [1, 50, 10**6])
@pytest.mark.parametrize("skip", [1, 2, 5, 7])
def test_an_epoch_goes_on_after_any_batch(files, monkeypatch, window, skip):
    monkeypatch.setattr(streams, "WINDOW", window)
    assert order(files, skip=skip) == order(files)[skip:]


def test_only_a_window_is_in_memory(files, monkeypatch):
    monkeypatch.setattr(streams, "WINDOW", 50)  # values: two batches of six rows of four
    held = [len(numbers) for numbers, _ in stream_of(files)._windows(0, 0, 12, 0)]
    assert held == [12, 12, 12, 4]


# ---- learning --------------------------------------------------------------------------------------------------------


def test_streamed_rows_teach_what_rows_in_memory_do(distinct):
    """In the same batches of the same order, over 20 epochs."""
    streamed = pair.numbers(pair.learn(distinct, stream=True))
    in_memory = pair.numbers(pair.learn(distinct, stream=False))
    np.testing.assert_allclose(streamed, in_memory, atol=1e-12)


def test_one_batch_of_all_rows_is_the_same_with_equal_rows_merged(files):
    streamed, in_memory = (pair.learn(files, stream=stream, batch_size=100) for stream in (True, False))
    np.testing.assert_allclose(pair.numbers(streamed), pair.numbers(in_memory), atol=1e-10)


@pytest.mark.parametrize("batch", [2, 9])  # of six in an epoch
def test_a_stream_that_stopped_in_the_midst_of_an_epoch_goes_on_there(files, tmp_path, monkeypatch, batch):
    whole = pair.numbers(pair.learn(files, stream=True, epochs=3))
    original, calls = loop.step, []

    def step(*arguments, **options):
        calls.append(1)
        if len(calls) == batch:
            raise KeyboardInterrupt
        return original(*arguments, **options)

    run: dict[str, Any] = {"stream": True, "epochs": 3, "checkpoint": tmp_path / "run.npz"}
    with monkeypatch.context() as patch:
        patch.setattr(loop, "step", step)
        assert pair.learn(files, **run).stopped is pf.Stopped.INTERRUPTED
        calls.append(1)
        resumed = pair.learn(files, **run)
    assert len(calls) == 1 + 18 + 1  # each batch of three epochs of six once, and the one that was interrupted
    np.testing.assert_array_equal(pair.numbers(resumed), whole)


def test_files_may_be_one_a_folder_or_a_pattern_and_few_rows_are_kept_in_memory(files, tmp_path):
    first = pair.numbers(pair.learn(files, epochs=2))
    folder = Path(files).parent
    np.testing.assert_array_equal(pair.numbers(pair.learn(folder, epochs=2)), first)
    np.testing.assert_array_equal(pair.numbers(pair.learn(epochs=2)), first)
    start = pf.ensembles.to_learn((1, 3), files, 0)
    assert start.names == ("hidden0", "hidden1", "hidden2", "hidden3", *pair.network().names[-4:])


def test_many_values_are_streamed_unless_told_otherwise(files, monkeypatch):
    monkeypatch.setattr(streams, "MOST_IN_MEMORY", 159)
    streamed = pair.numbers(pair.learn(files, epochs=2))
    np.testing.assert_array_equal(streamed, pair.numbers(pair.learn(files, epochs=2, stream=True)))
    assert np.any(streamed != pair.numbers(pair.learn(files, epochs=2, stream=False)))


def test_columns_are_found_by_name_and_others_may_name_the_rows(files, tmp_path):
    path = tmp_path / "turned.parquet"
    frame = pd.read_parquet(Path(files).parent)
    frame.assign(patient=[f"p{k}" for k in range(40)])[["patient", *frame.columns[::-1]]].to_parquet(path)
    run: dict[str, Any] = {"batch_size": 100, "epochs": 2, "validation": None}
    turned = pair.learn(path, stream=True, id_columns="patient", **run)
    np.testing.assert_allclose(pair.numbers(turned), pair.numbers(pair.learn(**run)), atol=1e-10)


# ---- what is wrong with the files ------------------------------------------------------------------------------------


def test_a_bad_value_in_the_last_file_is_known_before_the_first_epoch(files):
    last = Path(files).parent / "c.parquet"
    frame = pd.read_parquet(Path(files).parent / "b.parquet").fillna(0)
    frame.iloc[3, 1] = 7
    frame.to_parquet(last, row_group_size=2)
    name = frame.columns[1]
    with pytest.raises(
        pf.errors.InvalidFile, match=rf"c.parquet: row 3: column '{name}' must be 0, 1 or missing; got 7"
    ):
        pair.learn(files, stream=True)


def test_all_files_must_have_the_columns(files):
    pd.DataFrame({"other": [0, 1]}).to_parquet(Path(files).parent / "c.parquet")
    with pytest.raises(pf.errors.InvalidFile, match=r"c.parquet: must have the columns of .*a.parquet; there is no "):
        pair.learn(files, stream=True)


def test_other_rows_or_groups_are_another_run(files, tmp_path):
    run: dict[str, Any] = {"stream": True, "epochs": 1, "checkpoint": tmp_path / "run.npz"}
    pair.learn(files, **run)
    path = Path(files).parent / "b.parquet"
    pd.read_parquet(path).to_parquet(path, row_group_size=3)
    with pytest.raises(pf.errors.InvalidFile, match="belongs to another run: rows must be"):
        pair.learn(files, **run)


def test_what_cannot_be_streamed_is_said(files, tmp_path):
    with pytest.raises(pf.errors.InvalidInput, match="stream is for rows in Parquet files"):
        pair.learn(stream=True)
    with pytest.raises(pf.errors.InvalidInput, match="weights are for rows in memory"):
        pair.learn(files, stream=True, weights=np.ones(40))
    with pytest.raises(pf.errors.InvalidFile, match=r"there is no Parquet file of this name\. Check the folder"):
        pair.learn(str(tmp_path / "none" / "*.parquet"))
    with pytest.raises(pf.errors.InvalidInput, match="40 rows in batches of 7 are shuffled by a seed"):
        pair.learn(files, stream=True, seed=None)
    frame = pd.read_parquet(Path(files).parent)
    frame.iloc[:, 2] = np.nan
    frame.to_parquet(tmp_path / "gaps.parquet")
    with pytest.raises(
        pf.errors.InvalidInput, match=r"gaps.parquet: every column must have a value somewhere; always m"
    ):
        pair.learn(tmp_path / "gaps.parquet", stream=True)
    frame[:0].to_parquet(tmp_path / "empty.parquet")
    with pytest.raises(
        pf.errors.InvalidFile, match=r"empty.parquet: a table must have at least one row and one column"
    ):
        pair.learn(tmp_path / "empty.parquet", stream=True)
