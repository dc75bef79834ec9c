"""Rows on the page: a table is read, answered some rows at a time as by the command, stopped, resumed and validated."""

import csv
import io
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from tests.data import read_text
from tests.explorer.browser import Visitor
from tests.explorer.browser_service import serving
from tests.explorer.client import until
from tests.explorer.test_page_access import TOO_WIDE, violations
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
NETWORK = pf.load("example:espresso")
CAUSES, FINDINGS = list(NETWORK.names[:7]), list(NETWORK.names[7:])
HOSTILE = '<img src=x onerror="alert(1)">;\n☕'
QUOTED = '"{}"'.format(HOSTILE.replace('"', '""'))
DROP = """
(() => { const data = new DataTransfer(); data.items.add(new File([new Uint8Array(BYTES)], 'cases.csv'));
  document.querySelector('#rows-dialog').dispatchEvent(
    new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); })()
"""
# Rows are answered slowly, and those of a machine take too long.
SLOWLY = """
(() => { const real = fetch; window.fetch = async (path, options) => {
  if (!path.endsWith('table-rows')) return real(path, options);
  await new Promise((resolve) => setTimeout(resolve, 50));
  const error = {code: 'too_long', message: 'This question took more than 30 s.'};
  const isSlow = options.body.includes('machine 3');
  return isSlow ? new Response(JSON.stringify({error}), {status: 503}) : real(path, options);
}; })()
"""
OVER = "document.querySelector('#rows-ends').textContent"
LIST = "[...document.querySelectorAll('#rows-list tr')].map(row => [...row.cells].map(cell => cell.textContent))"


@pytest.fixture
def visitor(chromium, service):
    found = Visitor(chromium)
    found.visit(service.address)
    found.click("#rows")
    yield found
    assert not any(event.get("method") == "Page.javascriptDialogOpening" for event in chromium.events)
    refusals = [each for each in found.complaints() if "the server responded with a status of" in json.dumps(each)]
    assert found.complaints() == refusals


def cases(count: int = 40) -> Any:
    """Simulated cases of machines that come again, with their true causes."""
    rows = pd.DataFrame(NETWORK.sample(4, count), columns=list(NETWORK.names))
    found = rows[FINDINGS].astype(object).mask(np.random.default_rng(1).random((count, len(FINDINGS))) < 0.3, "")
    found.insert(0, "serial", [HOSTILE if k % 7 == 0 else f"machine {k % 5}" for k in range(count)])
    truth = rows[CAUSES].apply(lambda row: "; ".join(row.index[row == 1]) or "no", axis="columns")
    return found.assign(diagnosis=truth)


def drop(visitor, text: str, encoding: str = "utf-8") -> None:
    visitor.run("document.querySelector('#rows-name').textContent = ''")
    visitor.run(DROP.replace("BYTES", json.dumps(list(text.encode(encoding)))))
    visitor.until("['#rows-name', '#rows-problems'].some(id => document.querySelector(id).textContent)")


def start(visitor, truth: int = 0) -> None:
    visitor.run(f"""(choice => {{ choice.selectedIndex = {truth}; choice.dispatchEvent(new Event('change')); }})(
      document.querySelector('#rows-truth'))""")
    visitor.click("#rows-start")


def saved(visitor, tmp_path: Path, selector: str, name: str) -> str:
    visitor.browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    visitor.click(selector)
    until(lambda: (tmp_path / name).exists() and (tmp_path / name).stat().st_size > 0)  # its name is there before it
    return (tmp_path / name).read_text()


def by_command(tmp_path: Path) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what was recognised
        pf.infer_rows(NETWORK, tmp_path / "cases.csv", tmp_path / "out.csv", id_columns="serial")
    return (tmp_path / "out.csv").read_text()


def frame(text: str) -> Any:
    return pd.read_csv(
        io.StringIO(text), keep_default_na=False, na_values={name: ["", "nan"] for name in NETWORK.names}
    )


def test_a_table_is_answered_as_by_the_command_and_its_rows_open_as_cases(visitor, tmp_path):
    rows = cases().drop(columns="diagnosis")
    text = rows.to_csv(index=False, sep=";", quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    (tmp_path / "cases.csv").write_text(text, newline="")
    visitor.choose_file("#rows-file", tmp_path / "cases.csv")
    visitor.until("!document.querySelector('#rows-form').hidden")
    assert visitor.text("#rows-name") == "cases.csv: 40 rows"
    assert visitor.text("#rows-observed") == f"8: {', '.join(FINDINGS)}"
    assert visitor.text("#rows-others") == "serial"
    assert violations(visitor) == []
    start(visitor)
    visitor.until_text("#rows-ends", "All rows are done: converged 40.")
    found = saved(visitor, tmp_path, "#rows-save", "cases.csv-answers.csv")
    expected = by_command(tmp_path)
    assert found.partition("\n")[0] == expected.partition("\n")[0]
    assert ',"visit",' in found.partition("\n")[0]
    pd.testing.assert_frame_equal(frame(found), frame(expected), rtol=1e-12)
    assert violations(visitor) == []
    row = frame(expected).loc[3]
    best = row[CAUSES].astype(float).idxmax()
    assert visitor.run(LIST)[3] == [
        "machine 3",
        f"{best} {row[best]:.3f}",
        f"{row['log_likelihood']:.3f}",
        "exact",
        "converged",
    ]
    visitor.click("#rows-list tr:nth-child(4) button")
    seen = {name: "on" if state else "off" for name, state in rows.loc[3, FINDINGS].items() if state != ""}
    visitor.until(f"document.querySelectorAll('.observation').length === {len(seen)}")
    assert visitor.observed == seen


@pytest.mark.parametrize("what", [0, 1, 2])
def test_where_units_are_usually_on_the_first_of_the_ranking_is_a_fault(chromium, tmp_path, what):
    (tmp_path / "win95pts.bif").write_text(read_text("bif/win95pts.bif.gz"))
    with serving(tmp_path / "win95pts.bif", "--no-warm") as started:
        found = Visitor(chromium)
        found.visit(started.address)
        found.click("#rows")
        drop(found, "printer,Problem1\na,No_Output\nb,Normal_Output\n")
        found.run(f"document.querySelector('#rows-what').selectedIndex = {what}")
        start(found)
        found.until_text("#rows-ends", "All rows are done: converged 2.")
        listed = found.run(LIST)
        assert listed[0][:2] == ["a", "FllCrrptdBffr Full_or_Corrupt 0.278"]
        assert "Adequate" not in listed[1][1]
        assert found.complaints() == []


def test_a_validation_has_the_measures_the_page_and_the_pictures_of_the_library(visitor, tmp_path):
    rows = cases()
    rows.loc[5, "slow_flow"] = "maybe"
    drop(visitor, rows.to_csv(index=False))
    visitor.until_text("#rows-problems", "column 'slow_flow' must be 0, 1 or empty (missing); got 'maybe'")
    start(visitor, truth=2)
    visitor.until(f"!document.querySelector('#rows-page').hidden && {OVER}.includes('no answer 1')")
    rows.drop(index=5).to_csv(tmp_path / "rows.csv", index=False)
    expected = pf.validate(NETWORK, tmp_path / "rows.csv", "diagnosis", id_columns="serial")
    shown = visitor.run("[...document.querySelectorAll('#rows-validation tr')].map(r => r.textContent)")
    texts = [
        f"{value:.3f}" if isinstance(value, float) and value % 1 else f"{value:.0f}"
        for value in expected.measures.values()
    ]
    assert shown == [f"{name}{text}" for name, text in zip(expected.measures, texts, strict=True)]
    assert "leave out 1 row" in visitor.text("#rows-validation")
    visitor.until("[...document.querySelectorAll('.drawing')].every(one => one.naturalWidth > 0)")
    assert visitor.run("document.querySelectorAll('.drawing').length") == 2
    assert violations(visitor) == []
    expected.page(tmp_path / "page.html")
    found = saved(visitor, tmp_path, "#rows-page", "cases.csv-validation.html")
    assert found.count("<svg") == 2
    assert found.partition("<svg")[0] == (tmp_path / "page.html").read_text().partition("<svg")[0]
    table = pd.read_csv(io.StringIO(saved(visitor, tmp_path, "#rows-save", "cases.csv-cases.csv")))
    assert str(table["accuracy"][5]).startswith("Line ")
    np.testing.assert_allclose(table["rank"].drop(index=5), expected.cases["rank"])
    visitor.click("#rows-list tr:nth-child(1) button")
    visitor.until("document.querySelectorAll('.observation').length > 0")
    assert not set(visitor.observed) & set(CAUSES)


def test_it_stops_goes_on_and_says_why_rows_have_no_answer(visitor, tmp_path):
    rows = cases().drop(columns="diagnosis")
    drop(visitor, rows.to_csv(index=False))
    visitor.run(SLOWLY)
    start(visitor)
    visitor.until("document.querySelector('#rows-progress').value >= 3")
    visitor.press("Enter")  # Stop has the focus
    visitor.until(f"{OVER}.startsWith('Stopped: ')")
    assert visitor.run("document.querySelector('#rows-progress').value") < 40
    assert visitor.text("#rows-stop") == "Go on"
    assert violations(visitor) == []
    visitor.click("#rows-stop")
    slow = int((rows["serial"] == "machine 3").sum())
    visitor.until_text("#rows-ends", f"All rows are done: converged {40 - slow}, no answer {slow}.")
    found = frame(saved(visitor, tmp_path, "#rows-save", "cases.csv-answers.csv"))
    rows.to_csv(tmp_path / "cases.csv", index=False)
    expected = frame(by_command(tmp_path))
    is_slow = found["serial"] == "machine 3"
    assert found["row"].tolist() == list(range(40))
    assert set(found["status"][is_slow]) == {"This question took more than 30 s."}
    other = [name for name in found if name != "log_likelihood"]
    pd.testing.assert_frame_equal(found[~is_slow][other], expected[~is_slow][other], rtol=1e-12)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "must name the columns, and some of them must be units of this network; got nothing."),
        ("name,flu\na,1\n", "some of them must be units of this network; got name, flu."),
        ("name,slow_flow\n", "has no row below its first line."),
        ("slow_flow\n" + "1\n" * 20_001, "A file may have 20,000 rows and 20 MB here; cases.csv has more."),
        (f"{QUOTED},slow_flow,slow_flow\na,1,1\n", "Columns must differ in their names"),
    ],
)
def test_what_is_no_table_of_cases_is_refused_in_words(visitor, text, sentence):
    drop(visitor, text)
    visitor.until_text("#rows-problems", sentence)
    assert visitor.run("document.querySelectorAll('#rows-dialog img').length") == 0


def test_columns_that_are_no_units_are_named_before_anything_runs(visitor, service):
    visitor.visit(service.address, 390, 844, "dark")
    visitor.click("#rows")
    drop(visitor, f"slow_flo,thin_crema,{QUOTED}\n1,0,a\n")
    assert visitor.text("#rows-observed") == "1: thin_crema"
    assert "slow_flo (did you mean slow_flow?)" in visitor.text("#rows-others")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []


def test_tables_of_all_spreadsheets_are_recognised(visitor):
    tables = {
        "sep=;\n\n;slow_flow;thin_crema;\n1;0,0;;\n\n2;1;1;\n": ("utf-8", "2 rows", "index"),
        "Gerät\tslow_flow\nä\t1\n": ("utf-16", "1 row", "Gerät"),
        "Prüfer;slow_flow\nö;1\nü;0\n": ("cp1252", "2 rows", "Prüfer"),
        "slow_flow\n1\n\n0": ("utf-8-sig", "3 rows", "none"),
        'a,"slow_flow","b ""c"", d"\r"x\ry",0,"\n"\r': ("utf-8", "1 row", 'a, b "c", d'),
    }
    for text, (encoding, rows, others) in tables.items():
        drop(visitor, text, encoding)
        assert visitor.text("#rows-name") == f"cases.csv: {rows}", text
        assert visitor.text("#rows-others") == others
