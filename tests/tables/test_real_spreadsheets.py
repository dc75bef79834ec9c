"""Spreadsheets as people have them: separators, decimal commas, encodings, percentages, matrices, visits, Excel."""

import datetime
import io

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidFile, InvalidInput, InvalidNetwork, PlefkaWarning
from plefka.scale.infer_rows import infer_rows
from plefka.tables.table import read_table
from plefka.tables.values import NO_STATE, meaning
from plefka.tables.workbooks import workbook

CAUSES = "Ursache,prior\ncause Ü,0.1\ncold,0.25\n".replace("Ursache", "cause")
FINDINGS = "finding,cause,probability,leak\nfever,cause Ü,0.8,0.02\nfever,cold,0.5,\ncough,cold,0.625,\n"
MATRIX = pd.DataFrame(
    [["cause Ü", 0.1, 0.8, None], ["cold", 0.25, 0.5, 0.625], ["leak", None, 0.02, None]],
    columns=["cause", "prior", "fever", "cough"],
)
EXPECTED = pf.BeliefNetwork.diagnosis(pd.read_csv(io.StringIO(CAUSES)), pd.read_csv(io.StringIO(FINDINGS)))
NET = pf.BeliefNetwork([[0, 0], [1.5, 0]], [0.3, -0.4], names=["a", "b"])


def european(text):
    return text.replace(",", ";").replace(".", ",").replace("\n", "\r\n")


def same(network):
    assert network.names == EXPECTED.names
    np.testing.assert_allclose(network.bias, EXPECTED.bias, rtol=1e-12)
    np.testing.assert_allclose(network.weights.toarray(), EXPECTED.weights.toarray(), rtol=1e-12)


FORMS = {
    "Excel in Europe": (european, "cp1252", r"Windows-1252 \(Latin-1\) text and has semicolons .* decimal commas"),
    "CSV UTF-8 of Excel": (
        european,
        "utf-8-sig",
        "the table has semicolons between its columns and has decimal commas",
    ),
    "Unicode text": (lambda text: text.replace(",", "\t"), "utf-16", "is read as UTF-16 text and has tabs between"),
    "big endian": (lambda text: "\ufeff" + european(text), "utf-16-be", "is read as UTF-16 text and has semicolons"),
    "no byte order mark": (european, "utf-16-le", "is read as UTF-16 text and has semicolons"),
    "a first line for Excel": (lambda text: "sep=;\r\n" + european(text), "utf-8", "semicolons"),
    "percentages": (
        lambda text: european(text).replace("0,1\r", "10 %\r").replace("0,02", "2%"),
        "utf-8",
        "semicolons",
    ),
    "shares": (
        lambda text: european(text).replace("0,1\r", "1 in 10\r").replace("0,02", " 2 in 100"),
        "utf-8",
        "semicolons",
    ),
    "empty lines and columns": (
        lambda text: european(text).replace("\r", ";;\r") + ";;;;;;\r\n",
        "utf-8",
        "semicolons",
    ),
}


@pytest.mark.parametrize(("form", "encoding", "said"), FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("matrix", [False, True])
def test_tables_of_all_countries_are_understood_and_what_was_recognised_is_said(tmp_path, form, encoding, said, matrix):
    files = (
        {"net.csv": MATRIX.to_csv(index=False)} if matrix else {"net.causes.csv": CAUSES, "net.findings.csv": FINDINGS}
    )
    for name, text in files.items():
        (tmp_path / name).write_bytes(form(text).encode(encoding))
    with pytest.warns(PlefkaWarning, match=said) as caught:
        same(pf.load(tmp_path / "net.csv"))
    assert {each.category for each in caught} == {PlefkaWarning}


WRONG = {
    "points and commas": ("cause;prior\na;0,1\nb;0.2\n", "line 3: write points or commas, not both; got '0,1' and"),
    "thousands": ("cause;prior\na;1,234\n", "line 2: prior must be .* got '1,234'. Write it as 0.1 or as 10%"),
    "a percentage without its sign": ("cause,prior\na,10\n", "got 10. Write it as 0.1 or as 10%"),
    "a share of nothing": ("cause,prior\na,1 in 0\n", "line 2: prior must be .* got '1 in 0'."),
    "two separators": ("cause;prior,x\n", "columns may be divided by commas or by semicolons here"),
    "decimal commas between commas": ("cause,prior\na,0,1\n", "got more in line 2. Write numbers with a decimal point"),
    "two encodings": ("cause,prior\nö\udcff,0.1\n", "begins as UTF-8, but 'utf-8' codec can't decode byte 0xff"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::plefka.errors.PlefkaWarning")
@pytest.mark.parametrize(("causes", "message"), WRONG.values(), ids=WRONG)
def test_what_is_ambiguous_is_refused(tmp_path, causes, message):
    (tmp_path / "net.causes.csv").write_bytes(causes.encode("utf-8", "surrogateescape"))
    (tmp_path / "net.findings.csv").write_text(FINDINGS)
    with pytest.raises(InvalidFile, match=message):
        pf.load(tmp_path / "net.csv")


def test_a_matrix_may_lie_either_way_beside_its_causes_or_alone(tmp_path):
    turned, causes = MATRIX.set_index("cause").T, pd.read_csv(io.StringIO(CAUSES))
    for matrix in (MATRIX, MATRIX.set_index("cause"), turned, turned.rename_axis("symptom").reset_index()):
        same(pf.BeliefNetwork.diagnosis(matrix))
    same(pf.BeliefNetwork.diagnosis(causes, MATRIX.drop(columns="prior")))
    same(pf.BeliefNetwork.diagnosis(causes, turned.drop(index="prior")))
    MATRIX.to_excel(tmp_path / "one.xlsx", sheet_name="Tabelle1", index=False)
    with pd.ExcelWriter(tmp_path / "two.xlsx") as book:
        causes.to_excel(book, sheet_name="causes", index=False)
        turned.drop(index="prior").to_excel(book, sheet_name="findings")
    same(pf.load(tmp_path / "one.xlsx"))
    same(pf.load(tmp_path / "two.xlsx"))


NOT_MATRICES = {
    "no priors": (MATRIX.drop(columns="prior"), None, "a column 'prior' and a row 'leak', or the other way round; got"),
    "priors on both sides": (MATRIX.replace("cold", "prior"), None, "or the other way round; got the rows"),
    "a leak of causes": (MATRIX.rename(columns={"cough": "leak"}), None, "or the other way round; got the rows"),
    "rows called findings": (MATRIX.rename(columns={"cause": "finding"}), None, "the other way round; got the rows"),
    "priors twice": (MATRIX, CAUSES, "a row 'leak', and no priors, or the other way round"),
    "a slip": (MATRIX.drop(columns="prior").replace("cold", "colt"), CAUSES, r"Did you mean 'cold'\?"),
    "a cause twice": (
        MATRIX.replace("cold", "cause Ü"),
        None,
        "a name of its own for every cause; got 'cause Ü' twice",
    ),
    "a column without a name": (MATRIX.rename(columns={"cough": ""}), None, "for every finding; got one without"),
    "no finding": (MATRIX[["cause", "prior"]], None, "for every finding; got one without, or none"),
    "one column": (MATRIX[["cause"]], None, "got one column"),
    "a number": (MATRIX.replace(0.625, 6.25), None, "matrix, row 1: cough must be a probability from 0 to 1; got 6.25"),
    "a certain cause": (MATRIX.replace(0.25, 1.0), None, "matrix, row 1: prior must be .* below 1; got 1.0"),
}


@pytest.mark.parametrize(("matrix", "causes", "message"), NOT_MATRICES.values(), ids=NOT_MATRICES)
def test_matrices_are_not_guessed(matrix, causes, message):
    given = [matrix] if causes is None else [pd.read_csv(io.StringIO(causes)), matrix]
    with pytest.raises(InvalidNetwork, match=message):
        pf.BeliefNetwork.diagnosis(*given)


def test_a_matrix_is_never_mixed_up_with_a_pair(tmp_path):
    MATRIX.to_csv(tmp_path / "net.csv", index=False)
    with pytest.raises(InvalidFile, match=r"net.csv: already exists and is a table by itself"):
        pf.save(EXPECTED, tmp_path / "net.csv")
    (tmp_path / "net.causes.csv").write_text(CAUSES)
    with pytest.raises(InvalidFile, match=r"must be in net.csv or in net.causes.csv and net.findings.csv; got both"):
        pf.load(tmp_path / "net.csv")


STATES = {
    0.0: "no off negative neg absent - − nein falsch negativ abwesend non faux négatif falso negativo ausente 0,0 0%",
    1.0: "yes on positive pos present + x ja wahr positiv vorhanden oui vrai présent sí si verdadero positivo 1,0 100%",
    None: "unknown ? n/a missing unbekannt k.a. inconnu desconocido",
}


@pytest.mark.parametrize(("state", "words"), STATES.items())
def test_words_mean_the_same_at_every_door(tmp_path, state, words):
    for word in (*words.split(), *words.upper().split()):
        assert meaning(word) == state or (state is None and np.isnan(meaning(word)))
    expected = pf.infer(NET, {} if state is None else {"b": state}, "exact").means[0]
    word = words.split()[3]
    assert pf.infer(NET, {"b": word}, "exact").means[0] == expected
    table = read_table(pd.DataFrame({"b": [word, "x"]}), NET).values
    (tmp_path / "rows.csv").write_text(f"a;b\n{word};{word}\n")
    with pytest.warns(PlefkaWarning, match="semicolons"):
        np.testing.assert_array_equal(read_table(tmp_path / "rows.csv", NET).values[0, 0], table[0, 0])
    infer_rows(NET, [{"b": word}], tmp_path / "out.csv", "exact")
    assert pd.read_csv(tmp_path / "out.csv")["a"].tolist() == pytest.approx([expected], abs=1e-14)


def test_words_that_are_none_name_the_nearest_and_machines_know_words_too():
    assert meaning("1,000") == meaning("presnt") == NO_STATE
    for evidence in ({"b": "presnt"}, pd.DataFrame({"b": ["presnt"]})):
        with pytest.raises(InvalidEvidence, match=r"got 'presnt'. Did you mean 'present'\?"):
            pf.infer(NET, evidence, "exact")
    machine = pf.BoltzmannMachine([[0, 0.5], [0.5, 0]], [0.1, -0.2], names=["a", "b"], values=(-1, 1))
    positive = pf.infer(machine, {"b": "positive"}, "exact")
    assert positive.means[0] == pf.infer(machine, {"b": 1}, "exact").means[0]
    with pytest.raises(InvalidEvidence, match="must be -1 or 1"):
        pf.infer(machine, {"b": "0"}, "exact")


VISITS = pd.DataFrame(
    {"patient": [7, 8, 9, 7, 8, 7], "day": [datetime.datetime(2024, 1, 1)] * 6, "b": ["x", "-", "?", 1, 0, None]}
)


@pytest.mark.filterwarnings("ignore:the column|.*the column:plefka.errors.PlefkaWarning")
@pytest.mark.parametrize("source", [".csv", ".xlsx", "frame", "dictionaries"])
@pytest.mark.parametrize("out", ["out.csv", "out.xlsx", "out.parquet", "out"])
def test_names_that_come_again_have_visits(tmp_path, source, out):
    rows = VISITS if source != "dictionaries" else VISITS.to_dict("records")
    if source in (".csv", ".xlsx"):
        rows = tmp_path / f"rows{source}"
        {".csv": VISITS.to_csv, ".xlsx": VISITS.to_excel}[source](rows, index=False)
    done = infer_rows(NET, rows, tmp_path / out, "exact", block=3)  # nobody comes again in the first block
    read = {".csv": pd.read_csv, ".xlsx": pd.read_excel}.get((tmp_path / out).suffix, pd.read_parquet)
    found = read(tmp_path / out)
    assert done.rows == 6
    assert found["patient"].astype(int).tolist() == [7, 8, 9, 7, 8, 7]
    assert found["visit"].tolist() == [1, 1, 1, 2, 2, 3]
    assert list(found.columns[:4]) == ["row", "patient", "day", "visit"]
    if out == "out":
        assert infer_rows(NET, rows, tmp_path / out, "exact", block=3).resumed == 6


def test_visits_may_be_numbered_in_the_file(tmp_path):
    (tmp_path / "rows.csv").write_text("patient,visit,a\nx,3,1\nx,4,0\n")
    infer_rows(NET, tmp_path / "rows.csv", tmp_path / "out.csv", "exact", id_columns=["patient", "visit"])
    assert pd.read_csv(tmp_path / "out.csv")["visit"].tolist() == [3, 4]


def test_a_table_in_memory_has_visits_too_unless_it_says_so_itself():
    assert read_table(VISITS.drop(columns="day"), NET, "patient").ids["visit"] == [1, 1, 1, 2, 2, 3]
    assert (
        read_table(VISITS.drop(columns="day").assign(visit=range(6)), NET, ["patient", "visit"]).ids["visit"][-1] == 5
    )
    assert "visit" not in read_table(VISITS.iloc[:3], NET, ["patient", "day"]).ids


def test_excel_keeps_text_as_text_and_names_its_first_sheet(tmp_path):
    rows = [["=1+1", 1, float("inf")], ["a\x00b", None, float("nan")], ["=cmd", 0, 1.5]]
    (tmp_path / "rows.xlsx").write_bytes(workbook({"rows": (["id", "b", "c"], rows), "notes": (["x"], [])}))
    content = pd.read_excel(tmp_path / "rows.xlsx")
    assert content["id"].tolist() == ["=1+1", "a\ufffdb", "=cmd"]
    assert str(content["c"][0]) == "inf"
    assert np.isnan(content["c"][1])
    (tmp_path / "rows.xlsx").write_bytes(
        workbook({"rows": (["id", "b"], [row[:2] for row in rows]), "notes": (["x"], [])})
    )
    with pytest.warns(PlefkaWarning, match="sheet 'rows' is read, the first of 2"):
        table = read_table(tmp_path / "rows.xlsx", NET, "id")
    np.testing.assert_array_equal(table.values[:, 0], [1, np.nan, 0])


def test_excel_files_of_rows_are_refused_in_words(tmp_path):
    (tmp_path / "rows.xlsx").write_bytes(b"PK")
    with pytest.raises(InvalidFile, match="cannot be read as an Excel file"):
        read_table(tmp_path / "rows.xlsx", NET)
    (tmp_path / "rows.xlsx").write_bytes(workbook({"rows": ([], [])}))
    with pytest.raises(InvalidInput, match="at least one row and one column"):
        read_table(tmp_path / "rows.xlsx", NET)
