"""What may be wrong with a network that someone brings: in every format, the library and the command say the same.

Each message has what must hold, what came, and where there is more to say than to correct it, what to do.
"""

import pytest
from tests.files.table_zoo import BIF, ERGO, UAI, XMLBIF, change

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput

CAUSES = "cause,prior\nflu,0.06\ncold,0.18\n"
FINDINGS = "finding,cause,probability,leak\nfever,flu,0.8,0.02\nfever,cold,0.26,\nrash,flu,0.5,0\n"
CPT = "<DEFINITION><FOR>flu</FOR><GIVEN>fever</GIVEN><TABLE>0.2 0.8 0.9 0.1</TABLE></DEFINITION>"


def bif(old, new):
    return {"net.bif": change(BIF, old, new)}


def xml(old, new):
    return {"net.xmlbif": change(XMLBIF, old, new)}


def uai(old, new):
    return {"net.uai": change(UAI, old, new)}


def erg(old, new):
    return {"net.erg": change(ERGO, old, new)}


def causes(old, new):
    return {"net.causes.csv": change(CAUSES, old, new), "net.findings.csv": FINDINGS}


def findings(old, new):
    return {"net.causes.csv": CAUSES, "net.findings.csv": change(FINDINGS, old, new)}


WRONG = {
    "sum, bif": (bif("0.1, 0.9", "0.1, 0.8"), "must add up to one; those of 'flu' add up to 0.9"),
    "sum, xmlbif": (xml("0.1 0.9<", "0.1 0.8<"), "must add up to one; those of 'flu' add up to 0.9"),
    "sum, uai": (uai("0.9 0.1", "0.9 0.2"), "must add up to one; those of '0' add up to 1.1"),
    "sum, erg": (erg("0.9 0.1", "0.9 0.2"), "must add up to one; those of '0' add up to 1.1"),
    "unknown parent, bif": (bif("| flu,", "| flue,"), "must be a variable .*got 'flue'. Did you mean 'flu'?"),
    "unknown parent, xmlbif": (xml("<GIVEN>flu", "<GIVEN>flue"), "must be a variable .*got 'flue'. Did you mean"),
    "unknown parent, uai": (uai("3 1 0 2", "3 1 7 2"), "index of a variable, a whole number from 0 to 2; got '7'"),
    "unknown parent, erg": (erg("2 1 0", "2 1 7"), "index of a variable, a whole number from 0 to 2; got '7'"),
    "unknown parent, csv": (
        findings("rash,flu", "rash,flue"),
        "findings, line 4: there is no cause 'flue'; add it to causes with its prior. Did you mean 'flu'?",
    ),
    "missing parent, bif": (bif("(no, absent)", "(no)"), "must have a state for each of the 2 parents of .*got 1"),
    "missing parent, xmlbif": (xml("<GIVEN>flu</GIVEN>", ""), "in the table of 'fever'"),
    "cycle, bif": (
        bif("( flu ) { table 0.1, 0.9; }", "( flu | flu ) { (no) 0.1, 0.9; (yes) 0.2, 0.8; }"),
        "must be acyclic; got the cycle flu -> flu",
    ),
    "cycle, xmlbif": (
        xml("<DEFINITION><FOR>flu</FOR><TABLE>0.1 0.9</TABLE></DEFINITION>", CPT),
        "must be acyclic; got the cycle (flu -> fever -> flu|fever -> flu -> fever)",
    ),
    "cycle, csv": (
        findings("rash,flu,0.5,0\n", "rash,flu,0.5,0\nrash,ill,0.5,\nill,rash,0.5,0.1\n"),
        "must be acyclic; got the cycle (rash -> ill -> rash|ill -> rash -> ill)",
    ),
    "outside, bif": (bif("0.1, 0.9", "-0.1, 1.1"), "must be between 0 and 1; got -0.1 in the table of 'flu'"),
    "outside, xmlbif": (xml("0.1 0.9<", "-0.1 1.1<"), "must be between 0 and 1; got -0.1 in the table of 'flu'"),
    "outside, uai": (uai("0.9 0.1", "1.9 -0.9"), "must be between 0 and 1; got 1.9 in the table of '0'"),
    "outside, erg": (erg("0.9 0.1", "1.9 -0.9"), "must be between 0 and 1; got 1.9 in the table of '0'"),
    "prior outside, csv": (causes("0.06", "1.2"), "causes, line 2: prior must be a probability of at least 0.*got 1.2"),
    "edge outside, csv": (findings("0.8", "8"), "findings, line 2: probability must be a probability .*got 8"),
    "leak outside, csv": (findings("0.02", "-1"), "findings, line 2: leak must be a probability of at least 0.*got -1"),
    "twice, bif": (bif("variable cold", "variable flu"), "must be unique; got 'flu' twice"),
    "twice, xmlbif": (xml("<NAME>fever", "<NAME>flu"), "must be unique; got 'flu' twice"),
    "cause twice, csv": (causes("cold", "flu"), "causes, line 3: every cause must have a single row.*'flu'"),
    "edge twice, csv": (
        findings("fever,cold,0.26,", "fever,flu,0.26,"),
        "findings, line 3: every edge must have a single row; got a second one from cause 'flu' to finding 'fever'",
    ),
    "three states, bif": (
        bif("[ 2 ] { yes, no }", "[ 3 ] { yes, no, maybe }"),
        "variables must have two states; 'flu' has 3: yes, no, maybe",
    ),
    "three states, xmlbif": (
        xml("<OUTCOME>no</OUTCOME>", "<OUTCOME>no</OUTCOME><OUTCOME>maybe</OUTCOME>"),
        "variables must have two states; 'flu' has 3: yes, no, maybe",
    ),
    "three states, uai": (uai("2 2 2", "2 3 2"), "variables must have two states; '1' has 3"),
    "three states, erg": (erg("2 2 2", "2 3 2"), "variables must have two states"),
    "cut off, bif": ({"net.bif": BIF[:-3]}, "got the end of the file. Was it cut off?"),
    "cut off, xmlbif": ({"net.xmlbif": XMLBIF[:300]}, "must be XML; got"),
    "cut off, uai": ({"net.uai": UAI[:-12]}, "cut off"),
    "cut off, erg": ({"net.erg": ERGO[:40]}, "cut off"),
    "cut off, csv": (
        {"net.causes.csv": CAUSES, "net.findings.csv": FINDINGS[:-7]},
        "findings, line 4: finding 'rash' must have a probability for its cause 'flu'; got none",
    ),
    "cut off, a quote in csv": (
        findings("rash,flu,0.5,0\n", '"rash'),
        "findings cannot be read as CSV: unexpected end of data",
    ),
}  # fmt: skip


def written(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    name = next(iter(files))
    return folder / ("net.csv" if name.endswith(".csv") else name)


@pytest.mark.parametrize("case", WRONG.values(), ids=WRONG)
def test_the_library_and_the_command_say_what_is_wrong(case, tmp_path, run):
    files, message = case
    path = written(tmp_path, files)
    with pytest.raises(InvalidFile, match=message) as error:
        pf.load(path)
    assert str(error.value).startswith(f"{path}: ")
    ran = run("infer", path)
    assert ran.code == 2
    assert " ".join(ran.err.split()) == f"plefka: {' '.join(str(error.value).split())}"


@pytest.mark.parametrize("name", [name for name in WRONG if name.endswith("csv") and "cut off" not in name])
def test_an_excel_file_says_the_same(name, tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    files, message = WRONG[name]
    book = openpyxl.Workbook()
    book.remove(book.active)
    for sheet, text in zip(("causes", "findings"), files.values(), strict=True):
        page = book.create_sheet(sheet)
        for line in text.splitlines():
            page.append([_cell(word) for word in line.split(",")])
    book.save(tmp_path / "net.xlsx")
    message = message.replace("causes, line", "sheet causes, row").replace("findings, line", "sheet findings, row")
    with pytest.raises(InvalidFile, match=message):
        pf.load(tmp_path / "net.xlsx")


def _cell(word):
    try:
        return float(word)
    except ValueError:
        return word or None


def test_a_finding_without_causes_and_without_leak_that_was_seen(tmp_path, run):
    path = written(tmp_path, findings("rash,flu,0.5,0\n", "rash,,0,\n"))
    message = "unit 'rash' is observed on, but has no leak and no cause that could be on. Give it a leak"
    with pytest.raises(InvalidInput, match=message):
        pf.infer(pf.load(path), {"rash": 1, "fever": 1})
    ran = run("infer", path, "--evidence", "rash=1,fever=1")
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert "The observation rash=1 cannot be true." in " ".join(ran.err.split())


def test_observations_that_contradict_each_other(tmp_path, run):
    path = written(tmp_path, findings("rash,flu,0.5,0", "rash,flu,1,0"))
    said = "The observations flu=1 and rash=0 cannot both be true."
    with pytest.raises(InvalidInput, match=said):
        pf.infer(pf.load(path), {"rash": 0, "flu": 1, "fever": 1})
    ran = run("infer", path, "--evidence", "rash=0,flu=1,fever=1")
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
