"""One table in every form that it may come in: the same numbers from the library and from the command."""

import gzip
import json
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import plefka as pf
from plefka.cli import main
from plefka.errors import InvalidFile, InvalidInput, PlefkaWarning
from plefka.tables.table import read_table

NAN = float("nan")
NAMES = ["a", "b", "c", "d"]
ROWS = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, NAN, 0, 1], [1, 0, 1, NAN], [0, 1, 1, 0], [1, 1, 1, 1]])
IDS = ["anna", "bert", "carl", "dora", "emil", "fay"]
WEIGHTS = [[2.0, 0.1], [0.3, 1.5], [1.0, 0.2], [0.2, 2.5]]
NET = pf.BeliefNetwork.layered([WEIGHTS], [[0.4, 0.6], [0.1] * 4], "noisy_or", ["u", "v", *NAMES])
SUFFIXES = [".csv", ".csv.gz", ".parquet", ".jsonl"]
WRITTEN = {"numbers": None, "words": {0: "no", 1: "Yes"}, "truth": {0: "FALSE", 1: "True"}}


def frame(written: str = "numbers") -> Any:
    """Patients in a column before their findings, in an order that is not the network's."""
    words, table = WRITTEN[written], pd.DataFrame(ROWS[:, ::-1], columns=NAMES[::-1])
    if words is not None:
        table = table.astype(object).apply(lambda column: column.map(words))
    table.insert(0, "patient", IDS)
    return table


def write(folder, suffix, table):
    path = folder / f"patients{suffix}"
    if suffix == ".parquet":
        table.to_parquet(path)
    elif suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_dict("records")))
    else:
        text = table.to_csv(index=False, na_rep="NA").encode()
        path.write_bytes(gzip.compress(text) if suffix.endswith(".gz") else text)
    return path


@pytest.fixture
def model(tmp_path):
    pf.save(NET, tmp_path / "net.json")
    return str(tmp_path / "net.json")


def read(path):
    return pd.read_parquet(path) if path.suffix == ".parquet" else pd.read_csv(path)


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_hold_the_same_rows_whatever_their_form(tmp_path, suffix, written):
    table = read_table(write(tmp_path, suffix, frame(written)), NET, "patient")
    assert (table.names, table.ids) == (NAMES[::-1], {"patient": IDS})
    np.testing.assert_array_equal(table.values, ROWS[:, ::-1])


def in_memory():
    table = frame()
    yield table
    yield table.set_index("patient")
    yield frame("words")
    yield pa.Table.from_pandas(table)
    yield table.astype(dict.fromkeys(NAMES, "category"))
    yield table.astype(dict.fromkeys(NAMES, "boolean"))


@pytest.mark.parametrize("table", list(in_memory()), ids=["pandas", "index", "words", "arrow", "category", "boolean"])
def test_tables_in_memory_are_those_of_files(table, tmp_path):
    found = read_table(table, NET, "patient")
    assert found.ids == {"patient": IDS}
    np.testing.assert_array_equal(found.values, ROWS[:, ::-1])
    truth = pf.score(NET, ROWS).log_likelihood
    scored = pf.score(NET, table, id_columns="patient")
    np.testing.assert_array_equal(scored.log_likelihood, truth)
    assert scored.ids == {"patient": IDS}
    pf.infer_rows(NET, table, tmp_path / "out.parquet", "exact", id_columns="patient")
    done = pd.read_parquet(tmp_path / "out.parquet")
    assert done["patient"].tolist() == IDS
    np.testing.assert_allclose(done["log_likelihood"], truth, atol=1e-12)


def test_polars_is_read_as_pandas_is(tmp_path):
    polars = pytest.importorskip("polars")
    for table in (
        polars.DataFrame(frame().to_dict("list")),
        polars.DataFrame(frame("words").to_dict("list"), strict=False),
    ):
        found = read_table(table, NET, "patient")
        assert found.ids == {"patient": IDS}
        np.testing.assert_array_equal(found.values, ROWS[:, ::-1])
        assert pf.score(NET, table, id_columns="patient").mean == pf.score(NET, ROWS).mean
        findings = table.drop("patient")
        np.testing.assert_allclose(pf.infer(NET, findings, "exact").log_likelihood, pf.score(NET, ROWS).log_likelihood)
        fitted = pf.fit(pf.ensembles.to_learn((2,), findings, seed=0), findings, epochs=1)
        assert fitted.network.names == ("hidden0", "hidden1", *NAMES[::-1])


# ---- the command beside the library ----------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("positional", [True, False], ids=["DATA", "--rows"])
def test_ids_are_carried_to_what_is_written(tmp_path, model, suffix, positional, capsys):
    path = str(write(tmp_path, suffix, frame()))
    source = [path] if positional else ["--rows", path]
    truth = pf.score(NET, ROWS).log_likelihood
    for name in ("scores.csv", "scores.parquet"):
        assert main(["score", model, *source, "--id", "patient", "--out", str(tmp_path / name)]) == 0
        scores = read(tmp_path / name)
        assert scores["patient"].tolist() == IDS
        np.testing.assert_allclose(scores["log_likelihood"], truth, atol=1e-12)
    assert main(["impute", model, *source, "--id", "patient", "--out", str(tmp_path / "filled.csv")]) == 0
    filled = read(tmp_path / "filled.csv")
    assert list(filled.columns) == ["patient", *NAMES[::-1]]
    assert filled["patient"].tolist() == IDS
    given = ~np.isnan(ROWS)
    np.testing.assert_array_equal(filled[NAMES].to_numpy()[given], ROWS[given])
    assert not filled.isna().to_numpy().any()
    fit = ["fit", *source, "--id", "patient", "--out", str(tmp_path / "m.json"), "--layers", "2", "--epochs", "1"]
    assert main(fit) == 0
    assert pf.load(tmp_path / "m.json").names == ("hidden0", "hidden1", *NAMES[::-1])
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_infer_shows_ids_beside_its_answers(tmp_path, model, suffix, capsys):
    path = str(write(tmp_path, suffix, frame()))
    assert main(["infer", model, "--rows", path, "--id", "patient", "-m", "exact", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["solutions"][0]["rows"]
    assert [row["id"] for row in rows] == [{"patient": name} for name in IDS]
    truth = pf.score(NET, ROWS).log_likelihood
    assert [row["log_likelihood"] for row in rows] == pytest.approx(truth.tolist(), abs=1e-12)
    assert main(["infer", model, "--rows", path, "--id", "patient", "-m", "exact"]) == 0
    shown = capsys.readouterr().out
    assert "patient" in shown
    assert all(name in shown for name in IDS)


def commands(path, folder):
    out = str(folder / "out.csv")
    yield ["infer", "net.json", "--rows", path, "-m", "exact"], lambda: pf.infer_rows(NET, path, out, "exact")
    yield (
        ["infer", "net.json", "--rows", path, "--out", out, "-m", "exact"],
        lambda: pf.infer_rows(NET, path, out, "exact"),
    )
    yield ["score", "net.json", "--rows", path], lambda: pf.score(NET, path)
    yield ["impute", "net.json", "--rows", path, "--out", out], lambda: pf.infer_rows(NET, path, out, "exact")
    fit = ["fit", "--rows", path, "--out", str(folder / "m.json"), "--epochs", "1"]
    yield fit, lambda: pf.ensembles.to_learn((2,), path, 0)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_ids_that_nobody_named_are_recognised_by_all_and_said(tmp_path, model, suffix, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = str(write(tmp_path, suffix, frame()))
    sentence = "the column 'patient' is not a unit and holds text, so it is used to identify the rows."
    for command, call in commands(path, tmp_path):
        for out in tmp_path.glob("out.csv"):
            out.unlink()
        assert main(command) == 0
        assert sentence in capsys.readouterr().err
        for out in tmp_path.glob("out.csv"):
            assert pd.read_csv(out)["patient"].tolist() == IDS
            out.unlink()
        with pytest.warns(PlefkaWarning) as caught:
            call()
        assert [str(each.message).removeprefix(f"{path}: ").startswith(sentence) for each in caught] == [True]


BAD = {
    "a column that is no unit": ("a,bb\n1,0\n0,1\n", "there is no 'bb'. Did you mean 'b'?", False),
    "a number": ("a,b\n1,0\n0,7\n", "line 3: column 'b' must be 0, 1 or empty (missing); got '7'.", True),
    "a word": ("a,b\n1,0\n0,ouais\n", "line 3: column 'b' must be 0, 1 or empty (missing); got 'ouais'", True),
    "too few values": ("a,b\n1,0\n0\n", "line 3: must have 2 values; got 1", True),
    "a name twice": ("a,a\n1,0\n", "columns must differ in their names; got 'a' more than once", True),
    "a column without a name": ("a,\n1,0\n", "every column must have a name in the header; column 2 has none", True),
    "no rows": ("a,b\n", "at least one row", True),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message", "for_fit"), BAD.values(), ids=BAD)
def test_bad_tables_are_refused_in_the_same_words(tmp_path, model, content, message, for_fit, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.csv").write_text(content)
    for command, call in commands("rows.csv", tmp_path):
        if command[0] == "fit" and not for_fit:
            continue  # every column becomes a unit there
        assert main(command) == 2
        assert message in capsys.readouterr().err
        with pytest.raises(InvalidInput) as error:
            call()
        assert message in str(error.value)


def test_a_damaged_gzip_file_is_named(tmp_path):
    for content, message in ((b"a\n1\n", "Not a gzipped file"), (gzip.compress(b"a\n1\n0\n")[:-9], "cannot be read")):
        (tmp_path / "rows.csv.gz").write_bytes(content)
        with pytest.raises(InvalidFile, match=message):
            read_table(tmp_path / "rows.csv.gz", NET)


def test_objects_in_lines_have_every_unit_once_and_may_begin_with_a_mark(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"a": 1}\n{"b": 0}\n')
    assert read_table(path, NET).values.shape == (2, 2)
    path.write_bytes(b'{"a": 1}\n{"a": 1, "b": 0, "a": 0}\n')
    with pytest.raises(InvalidFile, match=r"rows.jsonl: line 2: must be .*; every unit must come once, got 'a' twice"):
        read_table(path, NET)


# ---- corners ---------------------------------------------------------------------------------------------------------


def test_an_index_column_is_left_out_of_the_units(tmp_path):
    table = frame().drop(columns="patient")
    table.to_csv(tmp_path / "rows.csv")
    table.iloc[[1, 3, 4]].to_parquet(tmp_path / "rows.parquet")
    for path, kept in ((tmp_path / "rows.csv", slice(None)), (tmp_path / "rows.parquet", [1, 3, 4])):
        with pytest.warns(PlefkaWarning, match="is not a unit and has no name"):
            found = read_table(path, NET)
        assert [int(number) for number in found.ids["index"]] == np.arange(6)[kept].tolist()
        np.testing.assert_array_equal(found.values, ROWS[kept, ::-1])


def test_columns_are_recognised_whatever_the_size_of_blocks(tmp_path):
    table = frame().assign(patient=[1, 2, 3, 4, 5, 6])
    for size in (1, 2, 6):
        for source in (write(tmp_path, ".csv", table), table, table.to_dict("records")):
            with pytest.warns(PlefkaWarning, match="has a different whole number in each row"):
                pf.infer_rows(NET, source, tmp_path / "out.parquet", "exact", block=size, force=True)
            found = pd.read_parquet(tmp_path / "out.parquet")
            assert found["patient"].astype(int).tolist() == [1, 2, 3, 4, 5, 6]


def test_names_of_rows_may_be_of_different_kinds_in_different_blocks(tmp_path):
    rows = [{"a": 1, "patient": None}, {"a": 0, "patient": 7}, {"a": 0, "patient": "x"}, {"a": 1, "patient": "y"}]
    pf.infer_rows(NET, rows, tmp_path / "out.csv", "exact", id_columns="patient", block=1)
    assert pd.read_csv(tmp_path / "out.csv", keep_default_na=False)["patient"].tolist() == ["", "7", "x", "y"]


def test_several_columns_may_name_the_rows(tmp_path):
    table = frame().assign(ward=["n", "n", "s", "s", "s", "n"])
    pf.infer_rows(NET, table, tmp_path / "out.parquet", "exact", id_columns=["patient", "ward"])
    assert list(pd.read_parquet(tmp_path / "out.parquet").columns)[:4] == ["row", "patient", "ward", "status"]


def test_rows_without_names_are_those_of_the_bottom_layer_or_all(tmp_path):
    truth = pf.score(NET, ROWS).log_likelihood
    whole = np.hstack([np.full((6, 2), NAN), ROWS])
    for values in (ROWS, whole):
        np.save(tmp_path / "rows.npy", values)
        (tmp_path / "rows.csv").write_text(pd.DataFrame(values).to_csv(index=False, header=False))
        for path in (tmp_path / "rows.npy", tmp_path / "rows.csv"):
            pf.infer_rows(NET, path, tmp_path / "out.parquet", "exact", force=True)
            np.testing.assert_allclose(pd.read_parquet(tmp_path / "out.parquet")["log_likelihood"], truth, atol=1e-12)


def test_a_table_of_words_without_a_header_loses_no_row(tmp_path):
    (tmp_path / "rows.csv").write_text("yes,no\nno,no\n")
    np.testing.assert_array_equal(read_table(tmp_path / "rows.csv").values, [[1, 0], [0, 0]])


def test_a_network_is_learned_from_a_frame_by_name():
    table = frame().drop(columns="patient")
    fitted = pf.fit(pf.ensembles.to_learn((4,), table, seed=0), table, epochs=2)
    assert fitted.network.names == (*(f"hidden{k}" for k in range(4)), *NAMES[::-1])
    bare = pf.fit(pf.ensembles.to_learn((4,), ROWS[:, ::-1], seed=0), ROWS[:, ::-1], epochs=2)
    np.testing.assert_array_equal(fitted.network.bias, bare.network.bias)
    shuffled = pf.score(fitted.network, table[NAMES])
    assert shuffled.mean == pytest.approx(pf.score(fitted.network, table).mean, abs=1e-14)
    with pytest.raises(InvalidInput, match="hidden0 must not be names of columns"):
        pf.ensembles.to_learn((4,), table.rename(columns={"a": "hidden0"}), seed=0)


def test_ids_are_dropped_where_a_frame_is_evidence_or_learned_from():
    table = frame()
    for call in (
        lambda: pf.infer(NET, table, "exact").log_likelihood,
        lambda: pf.score(NET, table).log_likelihood,
        lambda: pf.infer(NET, table.iloc[0], "exact").log_likelihood,
    ):
        with pytest.warns(PlefkaWarning, match="the column 'patient' is not a unit and holds text"):
            found = call()
        np.testing.assert_allclose(found, pf.score(NET, ROWS).log_likelihood[: np.size(found)], atol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pf.infer(NET, table.set_index("patient"), "exact")
        with pytest.raises(InvalidInput, match="an array has no column 'patient' to identify"):
            pf.score(NET, ROWS, id_columns="patient")
