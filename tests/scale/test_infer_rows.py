"""Posteriors from a file to a file: the numbers of one call, in blocks, and again after an interruption."""

import json
import os

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidFile, InvalidInput
from plefka.reduction.relevant import has_parts
from plefka.scale import row_questions

NET = pf.example("espresso")


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return np.where(rng.random((40, NET.size)) < 0.3, rng.integers(0, 2, (40, NET.size)), np.nan)


@pytest.fixture
def frame(rows):
    frame = pd.DataFrame(rows, columns=NET.names)
    frame.insert(3, "patient", [f"p{k}" for k in range(len(rows))])
    return frame


@pytest.fixture
def out(tmp_path):
    return tmp_path / "posteriors.parquet"


def as_file(frame, folder, suffix):
    path = folder / f"rows{suffix}"
    if suffix == ".csv":
        frame.to_csv(path, index=False)
    elif suffix == ".parquet":
        frame.to_parquet(path)
    else:
        lines = [json.dumps({k: v for k, v in row.items() if v == v}) for row in frame.to_dict("records")]
        path.write_text("\n".join(lines) + "\n\n")
    return path


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".jsonl"])
def test_files_answer_like_one_call(rows, frame, tmp_path, out, suffix):
    done = pf.infer_rows(NET, as_file(frame, tmp_path, suffix), out, "exact", id_columns="patient", block=16)
    whole, table = pf.infer(NET, rows, "exact"), pd.read_parquet(out)
    assert list(table.columns) == [
        "row",
        "patient",
        "status",
        "log_likelihood",
        "accuracy",
        "estimates",
        "fingerprint",
        *NET.names,
    ]
    assert table["row"].tolist() == list(range(40))
    assert table["patient"].tolist() == frame["patient"].tolist()
    assert set(table["status"]) == {"converged"}
    np.testing.assert_allclose(table["log_likelihood"], whole.log_likelihood, atol=1e-12)
    np.testing.assert_allclose(table[list(NET.names)], whole.means, atol=1e-12)
    assert (done.rows, done.converged, done.resumed) == (40, 40, 0)
    assert done.mean_log_likelihood == pytest.approx(whole.log_likelihood.mean())
    assert sorted(file.name for file in tmp_path.iterdir()) == sorted(["posteriors.parquet", f"rows{suffix}"])


def test_what_is_in_memory_answers_too(rows, frame, out):
    dictionaries = [{k: v for k, v in row.items() if v == v} for row in frame.to_dict("records")]
    tables = []
    for source, name in ((rows, None), (frame, "patient"), (dictionaries, "patient"), (iter(dictionaries), "patient")):
        pf.infer_rows(NET, source, out, "exact", id_columns=name, block=16, force=True)
        tables.append(pd.read_parquet(out)[["log_likelihood", *NET.names]])
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])


def test_only_the_most_probable_causes(rows, tmp_path):
    pf.infer_rows(NET, rows, tmp_path / "top.csv", "exact", top=2, units="causes")
    table = pd.read_csv(tmp_path / "top.csv")
    assert list(table.columns)[3:] == [
        "accuracy",
        "estimates",
        "fingerprint",
        "unit_1",
        "probability_1",
        "unit_2",
        "probability_2",
    ]
    roots = [name for name in NET.names if not NET.parents(name)]  # the same columns for all rows
    for row, ranking in zip(
        table.to_dict("records"), pf.infer(NET, rows, "exact").ranking(2, units=roots), strict=True
    ):
        assert [row["unit_1"], row["unit_2"]][: len(ranking)] == [name for name, _ in ranking]
        assert row["probability_1"] == pytest.approx(ranking[0][1])


def test_fewer_units_than_asked_for_leave_gaps(out):
    everything = dict.fromkeys(NET.names, 0) | {"limescale": 1}
    del everything["weak_pump"]
    pf.infer_rows(NET, [everything], out, "exact", top=2)
    table = pd.read_parquet(out)
    assert table["unit_1"].tolist() == ["weak_pump"]
    assert table[["unit_2", "probability_2"]].isna().to_numpy().all()


def test_evidence_of_every_row(rows, out):
    some = rows.copy()
    some[:, [NET.index("loud_hum"), NET.index("sour_taste")]] = np.nan
    common = {"loud_hum": 1, "sour_taste": pf.Likelihood(0.9, 0.2)}
    pf.infer_rows(NET, some, out, "exact", evidence=common, block=16)
    expected = [
        pf.infer(NET, {**{n: v for n, v in zip(NET.names, row, strict=True) if v == v}, **common}, "exact")
        for row in some[:3]
    ]
    found = pd.read_parquet(out)["log_likelihood"].tolist()[:3]
    assert found == pytest.approx([solution.log_likelihood for solution in expected])


def large():
    """A network of which a row is about a small part."""
    rng = np.random.default_rng(1)
    causes, findings = 300, 900
    child = np.repeat(np.arange(causes, causes + findings), 8)
    parent = np.concatenate([rng.choice(causes, 8, replace=False) for _ in range(findings)])
    W = sp.csr_array((rng.uniform(0.2, 2, len(child)), (child, parent)), shape=(1200, 1200))
    rows = np.full((30, 1200), np.nan)
    for row in rows:
        seen = causes + rng.choice(findings, 6, replace=False)
        row[seen] = rng.random(6) < 0.4
    return pf.BeliefNetwork(W, rng.uniform(0.01, 0.1, 1200), "noisy_or"), rows


@pytest.mark.parametrize("method", ["bethe", "G12"])
def test_a_large_network_is_narrowed_to_what_matters(out, method):
    net, rows = large()
    assert has_parts(net)
    whole = pf.infer(net, rows, method)
    pf.infer_rows(net, rows, out, method, units="causes", block=10)
    table = pd.read_parquet(out)
    names = [net.names[unit] for unit in np.flatnonzero(net.roots)]
    np.testing.assert_allclose(table[names], whole.means[:, net.roots], atol=1e-7)
    np.testing.assert_allclose(table["log_likelihood"], whole.log_likelihood, atol=1e-7)
    pf.infer_rows(net, rows, out, method, units=["299", "700", "1199"], force=True)
    found, units = pd.read_parquet(out)[["299", "700", "1199"]].to_numpy(), [299, 700, 1199]
    assert whole.predicted is not None
    independent = whole.predicted[:, units]  # few findings of a small part are summed over where 900 are too many
    np.testing.assert_allclose(found[~independent], whole.means[:, units][~independent], atol=1e-7)
    np.testing.assert_allclose(found, whole.means[:, units], atol=0.01)


def test_rows_that_fail_are_summed_up(out):
    net = pf.BeliefNetwork([[0, 0], [1, 0]], [0.5, 0], "noisy_or", ["a", "b"])
    done = pf.infer_rows(net, [{"b": 1}, {"a": 0, "b": 1}, {}, {"a": 0, "b": 1}], out, "exact")
    assert done.statuses == {"converged": 2, "impossible": 2}
    assert done.failed == {"impossible": [1, 3]}
    assert "2 ended as impossible: rows 1, 3" in str(done)
    assert pd.read_parquet(out)["status"].tolist() == ["converged", "impossible"] * 2


def stop_after(monkeypatch, count):
    """The run is killed after so many blocks; how many were solved."""
    solved, answered = [], row_questions.RowQuestion.answered

    def answer(self, block, first):
        if len(solved) == count:
            raise KeyboardInterrupt
        solved.append(first)
        return answered(self, block, first)

    monkeypatch.setattr(row_questions.RowQuestion, "answered", answer)
    return solved


def test_a_run_that_was_killed_goes_on(rows, frame, tmp_path, out, monkeypatch):
    path = as_file(frame, tmp_path, ".csv")
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            pf.infer_rows(NET, path, out, "exact", id_columns="patient", block=8)
    assert not out.exists()
    (tmp_path / "posteriors.parquet.parts" / "00000001.parquet").write_bytes(b"damaged")
    solved = stop_after(monkeypatch, 99)
    done = pf.infer_rows(NET, path, out, "exact", id_columns="patient", block=8)
    assert solved == [8, 24, 32]
    assert (done.rows, done.resumed) == (40, 16)
    assert "40 rows (16 of them before) by exact" in str(done)
    assert pd.read_parquet(out)["row"].tolist() == list(range(40))
    np.testing.assert_allclose(pd.read_parquet(out)[list(NET.names)], pf.infer(NET, rows, "exact").means, atol=1e-12)
    assert sorted(os.listdir(tmp_path)) == ["posteriors.parquet", "rows.csv"]


def test_a_row_that_was_corrected_is_answered_again(rows, out, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            pf.infer_rows(NET, rows, out, "exact", block=8)
    corrected = rows.copy()
    corrected[9, 0] = 1 - np.nan_to_num(corrected[9, 0])
    solved = stop_after(monkeypatch, 99)
    pf.infer_rows(NET, corrected, out, "exact", block=8)
    assert solved == [8, 24, 32]


def test_parts_of_another_run_are_not_mixed_in(rows, out, monkeypatch):
    with monkeypatch.context() as patch:
        stop_after(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            pf.infer_rows(NET, rows, out, "exact", block=8)
    with pytest.raises(InvalidFile, match=r"parts: has answers of another run, which differs in method, top\. Remove"):
        pf.infer_rows(NET, rows, out, "bethe", block=8, top=3)
    done = pf.infer_rows(NET, rows, out, "bethe", block=8, top=3, force=True)
    assert done.resumed == 0


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"network": "espresso"}, InvalidInput, "infer_rows takes one BeliefNetwork; got str"),
        ({"network": pf.ensembles.layered((2, 3), 0.0, 1.0, 2, seed=0)}, InvalidInput, "got a stack"),
        ({"source": 3}, InvalidInput, "rows must be a file, a DataFrame, .* got int"),
        ({"source": []}, InvalidInput, "there must be at least one row of evidence; got none"),
        ({"source": "rows.xls"}, InvalidFile, "must end with .csv, .csv.gz, .xlsx, .parquet, .jsonl, .npy; got '.xls'"),
        ({"source": "none.csv"}, InvalidFile, "none.csv: cannot be read: No such file"),
        ({"source": [{"slow_flo": 1}]}, InvalidEvidence, "there is no unit 'slow_flo'.*Did you mean 'slow_flow'"),
        (
            {"source": [{}, {"slow_flow": 2}]},
            InvalidEvidence,
            "row 1: the state of unit 'slow_flow' must be 0 or 1; got 2",
        ),
        ({"source": [{}, 7]}, InvalidEvidence, "row 1: must be a dictionary {unit: 0 or 1}; got int"),
        ({"source": [{}], "id_columns": "patient"}, InvalidEvidence, "row 0: must have 'patient', the name of the row"),
        ({"source": np.zeros((2, 15)), "id_columns": "patient"}, InvalidInput, "an array has no column 'patient'"),
        (
            {"source": pd.DataFrame({"slow_flow": [1]}), "id_columns": "patient"},
            InvalidInput,
            "there is no column 'patient'",
        ),
        ({"evidence": {"slow_flow": 0}}, InvalidEvidence, "row 0: unit 'slow_flow' is 1 here, but 0 in evidence"),
        ({"evidence": {"slow_flow": pf.Likelihood(1, 2)}}, InvalidEvidence, "'slow_flow' must not have states"),
        ({"evidence": [{}, {}]}, InvalidEvidence, "the evidence that holds for all rows must be a single row; got 2"),
        ({"block": 0}, InvalidInput, "block must be a whole number of rows from 1 on; got 0"),
        ({"top": 0}, InvalidInput, "top must be a whole number from 1 on"),
        ({"units": "findings"}, InvalidInput, "units must be 'all', 'causes'"),
        (
            {"out": "out.txt"},
            InvalidFile,
            "out.txt: the name must end with .parquet, .csv, .xlsx, or have no suffix.*; got '.txt'",
        ),
        ({"out": "nowhere/out.csv"}, InvalidFile, "the folder 'nowhere' does not exist"),
    ],
)
def test_bad_input(tmp_path, monkeypatch, arguments, kind, message):
    monkeypatch.chdir(tmp_path)
    given = {"network": NET, "source": [{"slow_flow": 1}], "out": "out.parquet", "method": "exact", **arguments}
    with pytest.raises(kind, match=message):
        pf.infer_rows(**given)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("rows.csv", "slow_flow\n1\n2\n", "line 3: column 'slow_flow' must be 0, 1 or empty"),
        ("rows.csv", "slow_flow,loud_hum\n1\n", "line 2: must have 2 values; got 1"),
        ("rows.csv", "slow_flow,slow_flow\n1,1\n", "columns must differ in their names"),
        ("rows.csv", "", "a table must have at least one row and one column; got nothing"),
        ("rows.csv", "slow_flow\n", "there must be at least one row of evidence; got none"),
        ("rows.jsonl", '{"slow_flow": 1}\n{"slow_flow": 1\n', "rows.jsonl: line 2: must be a JSON object"),
        ("rows.jsonl", '{"slow_flow": 3}', "rows.jsonl: row 0: the state of unit 'slow_flow' must be 0 or 1; got 3"),
        ("rows.parquet", "no parquet", "rows.parquet: must be a Parquet file with columns of 0, 1 and missing"),
    ],
)
def test_bad_files(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidInput, match=message):
        pf.infer_rows(NET, tmp_path / name, tmp_path / "out.parquet", "exact")


def test_a_parquet_file_of_other_numbers(tmp_path):
    pd.DataFrame({"slow_flow": [0.0, 0.5]}).to_parquet(tmp_path / "rows.parquet")
    with pytest.raises(InvalidFile, match=r"row 1: column 'slow_flow' must be 0, 1 or missing; got 0.5. Round or"):
        pf.infer_rows(NET, tmp_path / "rows.parquet", tmp_path / "out.parquet", "exact")
    pd.DataFrame({"slow_flow": ["yes", "maybe"]}).to_parquet(tmp_path / "words.parquet")
    with pytest.raises(
        InvalidFile, match=r"words.parquet: row 1: column 'slow_flow' must be 0, 1 or missing; got 'may"
    ):
        pf.infer_rows(NET, tmp_path / "words.parquet", tmp_path / "out.parquet", "exact")


def test_files_are_not_overwritten(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("slow_flow\n1\n")
    with pytest.raises(InvalidInput, match=r"rows.csv: is the file of rows, which is not overwritten"):
        pf.infer_rows(NET, path, path, "exact", force=True)
    (tmp_path / "out.csv").touch()
    with pytest.raises(InvalidFile, match=r"out.csv: already exists. Pass force"):
        pf.infer_rows(NET, path, tmp_path / "out.csv", "exact")


def test_columns_have_one_name_each(out):
    net = pf.BeliefNetwork([[0, 0], [1, 0]], [0.5, 0.1], "noisy_or", ["status", "b"])
    with pytest.raises(InvalidInput, match="two columns would be called 'status'"):
        pf.infer_rows(net, [{"b": 1}], out, "exact")
    with pytest.raises(InvalidInput, match="two columns would be called 'row'"):
        pf.infer_rows(net, [{"b": 1}], out, "exact", id_columns="row", top=1)
    assert pf.infer_rows(net, [{"b": 1}], out, "exact", top=1).rows == 1


def test_too_many_columns_are_refused(out, monkeypatch):
    monkeypatch.setattr(row_questions, "MOST_COLUMNS", 10)
    with pytest.raises(InvalidInput, match=r"at most 10 columns of units; got 15. Pass top=10"):
        pf.infer_rows(NET, [{}], out)
