"""Rows that come as CSV, some at a time: answered as by the command, and validated as by `pf.validate`."""

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.explorer import row_tables, schemas
from plefka.explorer.worker_answers import Answers
from tests.explorer.browser_service import serving
from tests.explorer.client import Client
from tests.explorer.test_fault_ranking import NOTHING_PRINTED, SMALL

NETWORK = pf.example("espresso")
CAUSES, FINDINGS = list(NETWORK.names[:7]), list(NETWORK.names[7:])
MOST_LINES = 100
HOSTILE = '<img src=x onerror="alert(1)">\n☕'


@pytest.fixture(scope="module")
def client():
    with serving("example:espresso", "--no-warm", "--max-rows", str(MOST_LINES)) as started:
        yield Client(started.address)


def cases(count: int) -> Any:
    """Simulated cases with their true causes; names come again, and some hold what is dangerous."""
    rows = pd.DataFrame(NETWORK.sample(4, count), columns=list(NETWORK.names))
    found = rows[FINDINGS].mask(np.random.default_rng(1).random((count, len(FINDINGS))) < 0.3)
    found.insert(0, "serial", [HOSTILE if k % 4 == 0 else f"machine {k % 5}" for k in range(count)])
    truth = rows[CAUSES].apply(lambda row: "; ".join(row.index[row == 1]), axis="columns")
    return found.assign(diagnosis=truth.mask(truth == "", "no").mask(np.arange(count) == 2, ""))


def asked(rows: pd.DataFrame, size: int, **fields) -> list[dict]:
    """The questions about chunks of some rows."""
    ids = [name for name in rows if name not in NETWORK.names]
    return [
        {"csv": rows[at : at + size].to_csv(index=False), "row": at, "ids": ids, **fields}
        for at in range(0, len(rows), size)
    ]


def together(answers: list[dict]) -> dict:
    """Chunks that were compared with their truth, as one."""
    (head, *_), *_ = lines = [each["csv"].partition("\n") for each in answers]
    lists = {key: [one for each in answers for one in each[key]] for key in ("sums", "known", "ignored", "unknown")}
    return {"csv": "\n".join([head, "".join(rest for *_, rest in lines)]), **lists}


def frame(text: str) -> Any:
    return pd.read_csv(
        io.StringIO(text), keep_default_na=False, na_values={name: ["", "nan"] for name in NETWORK.names}
    )


def by_command(tmp_path: Path, rows: pd.DataFrame, **options) -> str:
    rows.to_csv(tmp_path / "rows.csv", index=False)
    ids = [name for name in rows if name not in NETWORK.names]
    pf.infer_rows(NETWORK, tmp_path / "rows.csv", tmp_path / "out.csv", id_columns=ids, **options)
    return (tmp_path / "out.csv").read_text()


@pytest.mark.parametrize("size", [1, 3, 20])
def test_answers_are_those_of_the_command_whatever_comes_at_once(client, tmp_path, size):
    rows = cases(20).drop(columns="diagnosis")
    visits = (rows.groupby("serial").cumcount() + 1).tolist()
    each = asked(rows, size, units="causes", exclusive="causes", method="exact")
    texts = [client.answer("table-rows", {**z, "visits": visits[z["row"] : z["row"] + size]})["csv"] for z in each]
    whole = by_command(tmp_path, rows, method="exact", units="causes", exclusive="causes")
    assert {text.partition("\n")[0] for text in texts} == {whole.partition("\n")[0]}
    found = pd.concat(map(frame, texts), ignore_index=True)
    pd.testing.assert_frame_equal(found, frame(whole), rtol=1e-12)


def test_one_chunk_is_the_file_of_the_command_byte_by_byte(client, tmp_path):
    rows = cases(12).drop(columns=["serial", "diagnosis"])
    (question,) = asked(rows, 12, top=3)
    assert client.answer("table-rows", question)["csv"] == by_command(tmp_path, rows, top=3)


@pytest.mark.parametrize("size", [1, 3, 50])
@pytest.mark.parametrize("truth", [["diagnosis"], ["limescale"]])
def test_a_validation_is_that_of_the_whole_file(client, tmp_path, size, truth):
    rows = cases(50)
    rows["limescale"] = rows["diagnosis"].str.contains("limescale").astype(int)
    rows.loc[7, "diagnosis"] = "Limescale"
    rows.to_csv(tmp_path / "rows.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ids = ["serial", "diagnosis"]
        expected = pf.validate(NETWORK, tmp_path / "rows.csv", truth[0], id_columns=ids)
    expected.page(tmp_path / "page.html")
    answers = [client.answer("table-rows", each) for each in asked(rows, size, truth=truth)]
    found = client.answer("table-validation", together(answers))
    assert found["measures"] == pytest.approx(expected.measures, rel=1e-12)
    assert found["notes"] == list(expected.notes)
    if size == 50:
        assert found["page"] == (tmp_path / "page.html").read_text()
    else:
        assert found["page"].count("<svg") == 2


def test_the_first_row_is_a_case_in_any_words(client):
    question = {"csv": "sep=;\nserial;slow_flow;thin_crema;loud_hum\n7;ja;0,0;\n", "ids": ["serial"]}
    assert client.answer("table-case", question)["evidence"] == {"slow_flow": 1, "thin_crema": 0}
    assert client.answer("table-case", {"csv": "slow_flow\n"})["evidence"] == {}


@pytest.mark.parametrize(
    ("csv", "sentence"),
    [
        ("serial,slow_flow\na,1\nb,maybe\n", "Line 103: column 'slow_flow' must be 0, 1 or empty"),
        ('serial,slow_flow\n"a\nb",1\nb,7\n', "Line 104: column 'slow_flow' must be 0, 1 or empty"),
        ("serial,slow_flow\na\n", "Line 102: must have 2 values; got 1."),
        ('serial,slow_flow\n"a,1\n', "Cannot be read as CSV"),
        ("serial,slow_flo\na,1\n", "Columns must be units of the network; there is no 'slow_flo'. Did you mean"),
        ("serial\na\n", "A table must have at least one row and one column; got nothing."),
        ("", "A table must have at least one row and one column; got nothing."),
        ("serial,slow_flow\n\ud800,1\n", "utf-8"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_said_by_its_line_in_the_file(client, csv, sentence):
    for path in ("table-rows", "table-case"):
        found = client.post(path, {"csv": csv, "line": 100, "ids": ["serial"] if "serial" in csv else []})
        assert found.status == 422
        assert sentence.casefold() in found.message.casefold()


def test_questions_and_parts_that_nobody_has_made_are_refused(client):
    many = {"csv": "slow_flow\n" + "1\n" * MOST_LINES}
    assert client.post("table-rows", many).error == (413, "too_many_rows")
    one = {"csv": "serial,slow_flow\na,1\n", "ids": ["serial"]}
    assert client.post("table-rows", {**one, "truth": ["serum"]}).error == (422, "invalid_evidence")
    assert client.post("table-rows", {**one, "truth": ["slow_flow"]}).error == (422, "invalid_input")  # is not ranked
    assert client.post("table-rows", {**one, "visits": [1, 2]}).error == (422, "invalid_input")
    assert client.post("table-rows", {**one, "units": ["nothing"]}).status == 422
    answer = client.answer("table-rows", {**one, "truth": ["serial"]})
    good = together([answer])
    for change in ({"sums": [[[1.0]]]}, {"sums": [[[1.0] * 5] * 3]}, {"csv": "case\n1\n"}, {"csv": ""}, {"known": []}):
        assert client.post("table-validation", {**good, **change}).error == (422, "invalid_input"), change
    assert client.answer("table-validation", good)["notes"][0].endswith("missed: a.")


def test_impossible_rows_are_answers(client):
    rows = pd.DataFrame({name: [1, 0] for name in ("slow_flow", "limescale")})
    (question,) = asked(rows, 2, exclusive=["limescale", "weak_pump"], units=["weak_pump"])
    assert frame(client.answer("table-rows", question)["csv"])["status"].tolist() == ["converged"] * 2
    rows["weak_pump"] = [1, 1]
    (question,) = asked(rows, 2, exclusive=["limescale", "weak_pump"], units=["weak_pump"])
    assert frame(client.answer("table-rows", question)["csv"])["status"].tolist() == ["impossible", "converged"]


@pytest.mark.parametrize("what", [{"units": "all"}, {"units": "causes"}, {"top": 2}, {"units": ["supply", "output"]}])
def test_what_a_ranking_puts_first_is_a_fault(what):
    question = schemas.TableRows(csv="output\nNone\n\nNormal\n", **what).model_dump()
    ranked = {"units": what.get("units", "causes")} if isinstance(what.get("units"), list) else {}
    asked = {"top": 1, "method": "auto", "check": False, "units": "causes", "faults": "rarer", "order": "auto"} | ranked
    found = row_tables.table_rows(Answers(SMALL), question)["first"]
    states = [NOTHING_PRINTED, {}, {"output": "Normal"}]
    expected = [each["ranking"] for each in Answers(SMALL).answer("infer", [asked | {"evidence": z} for z in states])]
    assert list(found) == [0, 1, 2]
    for each, (first,) in zip(found.values(), expected, strict=True):
        assert (each["name"], each["state"]) == (first["name"], first["state"])
        np.testing.assert_allclose(each["probability"], first["probability"], rtol=1e-9)
        assert each["prior"] <= 0.5


def test_only_the_first_rows_of_a_file_are_ranked():
    question = schemas.TableRows(csv="output\nNone\nNormal\n", row=row_tables.LISTED - 1).model_dump()
    assert list(row_tables.table_rows(Answers(SMALL), question)["first"]) == [0]


def test_a_table_of_answers_has_a_limit(monkeypatch):
    monkeypatch.setattr(row_tables, "MOST_CELLS", 20)
    question = schemas.TableRows(csv="slow_flow\n1\n0\n").model_dump()
    with pytest.raises(pf.errors.InvalidInput, match="may have 20 numbers; got more"):
        row_tables.table_rows(Answers(NETWORK), question)
    assert row_tables.table_rows(Answers(NETWORK), {**question, "top": 5})["csv"].startswith('"row",')
