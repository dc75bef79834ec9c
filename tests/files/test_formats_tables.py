"""Causes and findings as a pair of CSV files and as an Excel file."""

import io
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput, MissingExtra

CAUSES = "cause,prior\nflu,0.06\ncold,0.18\nNA,0.1\n"
FINDINGS = "finding,cause,probability,leak\nfever,flu,0.8,0.02\nfever,cold,0.26,\ncough,cold,1,0.1\n\nrash,NA,0.5,0\n"


@pytest.fixture
def pair(tmp_path):
    (tmp_path / "clinic.causes.csv").write_text(CAUSES)
    (tmp_path / "clinic.findings.csv").write_text(FINDINGS)
    return tmp_path / "clinic.csv"


@pytest.fixture(params=[".csv", ".xlsx"])
def suffix(request):
    if request.param == ".xlsx":
        pytest.importorskip("openpyxl")
    return request.param


def assert_same(a: pf.BeliefNetwork, b: pf.BeliefNetwork) -> None:
    assert a.names == b.names
    assert np.allclose(a.bias, b.bias, rtol=1e-14, atol=0)
    assert np.allclose(a.weights.toarray(), b.weights.toarray(), rtol=1e-13, atol=0)


@pytest.mark.parametrize("name", ["clinic.csv", "clinic.causes.csv", "clinic.findings.csv"])
def test_a_pair_is_found_by_any_of_its_names(pair, name):
    net = pf.load(pair.with_name(name))
    assert net.names == ("flu", "cold", "NA", "fever", "cough", "rash")
    assert net.weights[4, 1] == np.inf
    assert net.bias[3] == -np.log1p(-0.02)


def test_a_folder_is_a_pair_too(pair, tmp_path):
    folder = tmp_path / "clinic"
    folder.mkdir()
    pf.save(pf.load(pair), folder)
    assert sorted(file.name for file in folder.iterdir()) == ["causes.csv", "findings.csv"]
    assert_same(pf.load(folder), pf.load(pair))
    assert_same(pf.load(folder / "causes.csv"), pf.load(pair))


def test_what_is_written_is_read_again(pair, tmp_path, suffix):
    net = pf.load(pair)
    pf.save(net, tmp_path / f"again{suffix}")
    assert_same(pf.load(tmp_path / f"again{suffix}"), net)


def test_every_network_of_positive_weights_can_be_written(tmp_path, suffix):
    rng = np.random.default_rng(0)
    weights = np.tril(rng.uniform(0, 3, (7, 7)) * (rng.random((7, 7)) < 0.5), -1)
    net = pf.BeliefNetwork(weights, rng.uniform(0.1, 2, 7), "noisy_or", list("abcdefg"))
    pf.save(net, tmp_path / f"net{suffix}")
    again = pf.load(tmp_path / f"net{suffix}")
    here, there = (pf.infer(each, {"g": 1, "f": 0}, "exact").marginals() for each in (net, again))
    assert np.allclose([there[name] for name in here], [*here.values()], rtol=1e-12)


def test_what_is_almost_certain_does_not_become_certain(tmp_path):
    pf.save(pf.BeliefNetwork([[0, 0], [50, 0]], [0.5, 0.1], "noisy_or"), tmp_path / "net.csv")
    assert 36 < pf.load(tmp_path / "net.csv").weights[1, 0] < 50


@pytest.mark.parametrize(
    ("network", "message"),
    [
        (pf.BeliefNetwork([[0, 0], [1, 0]], [0, 0]), "store a single noisy-or network; got sigmoid"),
        (
            pf.BeliefNetwork(np.zeros((3, 2, 2)), np.ones(2), "noisy_or"),
            "store a single noisy-or network; got a stack of 3",
        ),
        (pf.BeliefNetwork([[0, 0], [-1, 0]], [0.5, 2], "noisy_or"), "a negative weight is not one"),
        (pf.BeliefNetwork([[0, 0], [1, 0]], [1, 1], "noisy_or", ["a ", "b"]), "must not begin or end with a space"),
    ],
)
def test_what_tables_cannot_hold_is_refused(tmp_path, network, message):
    with pytest.raises(InvalidInput, match=message):
        pf.save(network, tmp_path / "net.csv")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("findings", "0.26", "2.6", r"clinic.csv: findings, line 3: probability must be .* got 2.6"),
        ("findings", "0.26", "much", r"findings, line 3: probability must be .* got 'much'"),
        ("findings", "rash,NA", "rash,N", r"findings, line 6: there is no cause 'N'; .* Did you mean 'NA'\?"),
        ("findings", "0.26,", "0.26,,,,x", r"findings must have a value for each of the columns .* got more in line 3"),
        (
            "causes",
            "0.06\n",
            "0,06\n",
            r"causes must have a value for each of the columns 'cause', 'prior'; got more in line 2",
        ),
        ("causes", "prior", "chance", r"causes must have a column 'prior' or .* got the columns 'cause', 'chance'"),
        ("causes", CAUSES, "", r"causes must have a column 'cause' .* got the columns none"),
        (
            "causes",
            "cold",
            "ö fl\udcffu",
            r"causes must be text in one encoding; it begins as UTF-8, but 'utf-8' codec",
        ),
        ("causes", "cold", '"cold', r"causes cannot be read as CSV: unexpected end of data"),
    ],
)
def test_what_is_wrong_in_a_file_is_said_with_its_line(pair, file, old, new, message):
    path = pair.with_name(f"clinic.{file}.csv")
    path.write_bytes(path.read_text().replace(old, new).encode(errors="surrogateescape"))
    with pytest.raises(InvalidFile, match=message):
        pf.load(pair)


def test_a_pair_needs_both_files(pair):
    pair.with_name("clinic.findings.csv").unlink()
    message = (
        "the network consists of clinic.causes.csv and clinic.findings.csv; "
        "clinic.findings.csv cannot be read: No such file"
    )
    with pytest.raises(InvalidFile, match=message):
        pf.load(pair)


def test_tables_have_one_activation_only(pair):
    assert pf.load(pair, activation="noisy_or").size == 6
    with pytest.raises(InvalidFile, match="Load them without `activation`"):
        pf.load(pair, activation="sigmoid")


def excel(tmp_path, **sheets):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(tmp_path / "clinic.xlsx")
    return tmp_path / "clinic.xlsx"


def test_an_excel_file_of_a_person(tmp_path):
    causes = [["Disease", "Prior", "remark"], ["flu", 0.1, "winter"], [None, None, None]]
    findings = [["Symptom", "Disease", "P"], ["fever", "flu", 0.8], ["fever", None, 0.02], []]
    net = pf.load(excel(tmp_path, Causes=causes, Findings=findings, Notes=[["draft"]]))
    assert net.names == ("flu", "fever")
    assert 1 - np.exp(-net.bias) == pytest.approx([0.1, 0.02])


def test_what_is_wrong_in_an_excel_file(tmp_path):
    causes, findings = [["cause", "prior"], ["flu", 0.1]], [["finding", "cause", "p"], ["fever", "flu", 8]]
    with pytest.raises(InvalidFile, match=r"clinic.xlsx: sheet findings, row 2: p must be a probability .* got 8"):
        pf.load(excel(tmp_path, causes=causes, findings=findings))
    with pytest.raises(InvalidFile, match=r"clinic.xlsx: there must be a sheet 'findings'; got 'causes', 'edges'"):
        pf.load(excel(tmp_path, causes=causes, edges=findings))
    with pytest.raises(InvalidFile, match="sheet causes must have a column 'cause'"):
        pf.load(excel(tmp_path, causes=[], findings=findings))


@pytest.mark.parametrize("content", [b"", b"PK", b"cause,prior\n", b"PK\3\4" + bytes(100)])
def test_a_damaged_excel_file(tmp_path, content):
    pytest.importorskip("openpyxl")
    (tmp_path / "clinic.xlsx").write_bytes(content)
    with pytest.raises(InvalidFile, match=r"clinic.xlsx: cannot be read as an Excel file: "):
        pf.load(tmp_path / "clinic.xlsx")


def with_part(path, name, content):
    """The same file with other content in one of its parts."""
    file = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as new:
        for part in old.namelist():
            if part != name:
                new.writestr(part, old.read(part))
        new.writestr(name, content)
    path.write_bytes(file.getvalue())
    return path


SHEET = (
    b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
    b"%b<sheetData>%b</sheetData></worksheet>"
)
LAST = b'<dimension ref="A1:XFD1048576"/>'
HEADER = b'<row r="1"><c r="A1" t="inlineStr"><is><t>cause</t></is></c></row>'
BOMBS = {
    "many bytes": ("xl/bomb.xml", bytes(2**28 + 1), "must have at most 268,435,456 bytes unpacked, and"),
    "much text": ("xl/sharedStrings.xml", b" " * (2**26 + 1), "'xl/sharedStrings.xml' must have at most 67,108,864"),
    "a picture": ("xl/media/image.png", bytes(2**22 + 1), "pictures and the like must have at most 4,194,304 bytes"),
    "a long row": (
        "xl/worksheets/sheet1.xml", SHEET % (b"", b"<row>" + b"<c/>" * (2**20 + 1) + b"</row>"),
        "a row must have at most 100,000 cells; got more in 'xl/worksheets/sheet1.xml'",
    ),
    "a far row": (
        "xl/worksheets/sheet1.xml", SHEET % (b"", HEADER + b'<row r="99999999999"><c/></row>'),
        "sheet 'causes' must have at most 1,048,575 rows, 16,384 columns and 16,777,216 cells; got more",
    ),
    "a far column": (
        "xl/worksheets/sheet1.xml", SHEET % (b"", HEADER.replace(b"A1", b"XFE1")),
        "sheet 'causes' must have at most 1,048,575 rows, 16,384 columns and 16,777,216 cells; got more",
    ),
    "a promise": ("xl/worksheets/sheet1.xml", SHEET % (LAST, HEADER), "must have a column 'prior'"),
}  # fmt: skip


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_excel_files_that_unpack_to_too_much_are_refused(tmp_path, bomb):
    part, content, message = bomb
    path = with_part(excel(tmp_path, causes=[["cause", "prior"], ["flu", 0.1]], findings=[]), part, content)
    assert path.stat().st_size < 2**20
    if b"99999999999" not in content:  # a million rows take long where every allocation is counted
        tracemalloc.start()
    with pytest.raises(InvalidFile, match=message):
        pf.load(path)
    assert tracemalloc.get_traced_memory()[1] < 2**28
    tracemalloc.stop()


def test_too_many_edges_for_a_sheet(pair, tmp_path, monkeypatch):
    monkeypatch.setattr("plefka.tables.workbooks.EXCEL_ROWS", 3)
    with pytest.raises(InvalidInput, match=r"has at most 3 rows and 16,384 columns; got more. Save it as .csv or .npz"):
        pf.save(pf.load(pair), tmp_path / "clinic.xlsx")


def test_without_openpyxl_the_extra_is_named(pair, tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"an Excel file needs openpyxl.*plefka\[networks\]"):
        pf.save(pf.load(pair), tmp_path / "clinic.xlsx")


def test_saving_a_pair_replaces_both_files_or_none(pair, tmp_path):
    net = pf.load(pair)
    (tmp_path / "new.findings.csv").mkdir()
    with pytest.raises(InvalidFile, match="cannot be written"):
        pf.save(net, tmp_path / "new.csv")
    assert not list(tmp_path.glob(".plefka-*"))
    pf.save(net, pair)
    assert pd.read_csv(pair.with_name("clinic.causes.csv"), keep_default_na=False)["cause"].tolist()[2] == "NA"
