"""A new user's ten minutes, step by step: an empty page, a network of one's own, an interview, and all of it again."""

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import plefka as pf
from tests.explorer.browser import Visitor
from tests.explorer.browser_service import serving
from tests.explorer.client import until
from tests.paper.browser import PROGRAM, browser

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
READY = "document.body?.dataset.ready === 'true'"
ASKED = "document.querySelector('#panel-interview .question')?.textContent"
IS_ASKING = f"!!{ASKED} && !document.querySelector('#panel-interview[aria-busy]')"
CAUSES = [("flu", ".06"), ("cold", "18 %"), ("hay fever", "1 in 10")]
FINDINGS = [
    ("fever", "flu", ".8", ".02"), ("fever", "cold", "26%", ""), ("cough", "flu", "0.55", "10 %"),
    ("cough", "cold", "0.63", ""), ("sneezing", "cold", ".59", "1 in 10"), ("sneezing", "hay fever", ".75", ""),
    ("itching eyes", "hay fever", ".7", "2 in 100"),
]  # fmt: skip
NETWORK = pf.BeliefNetwork.diagnosis(
    {"cause": ["flu", "cold", "hay fever"], "prior": [0.06, 0.18, 0.1]},
    {
        "finding": [finding for finding, *_ in FINDINGS],
        "cause": [cause for _, cause, *_ in FINDINGS],
        "probability": [0.8, 0.26, 0.55, 0.63, 0.59, 0.75, 0.7],
        "leak": [0.02, None, 0.1, None, 0.1, None, 0.02],
    },
)
FILES = {"My_clinic-cases.json", "My_clinic.json", "My_clinic.causes.csv", "My_clinic.findings.csv"}
SICK = {"fever": 0, "cough": 1, "sneezing": 1, "itching eyes": 1}  # what this patient would say


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with serving(None, "--no-warm") as started:
        yield started.address


def come(visitor: Visitor, address: str) -> None:
    visitor.browser.open(address, 1280, 860, "light")
    visitor.until(READY)


def type_lines(visitor: Visitor, lines: list[tuple[str, ...]]) -> None:
    """From a cell at the left: Tab goes on to the right, Enter to the next line."""
    for *cells, last in lines:
        for cell in cells:
            visitor.browser.call("Input.insertText", text=cell)
            visitor.press("Tab")
        visitor.browser.call("Input.insertText", text=last)
        visitor.press("Enter")


def ranked(evidence: dict) -> list[tuple[str, str]]:
    return [(name, f"{p:.3f}") for name, p in pf.infer(NETWORK, evidence).ranking()]


def test_ten_minutes_of_a_new_user(address, tmp_path):
    (tmp_path / "saved").mkdir()
    with browser(str(tmp_path / "first")) as opened:
        visitor = Visitor(opened)
        opened.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "saved"))
        evidence = make_ask_and_save(visitor, address, tmp_path / "saved")
    with browser(str(tmp_path / "another")) as opened:
        take_up_again(Visitor(opened), address, tmp_path / "saved", evidence)


def make_ask_and_save(visitor: Visitor, address: str, saved: Path) -> dict:
    # 1. The page without a network says so, and what to do.
    come(visitor, address)
    assert "No network is open yet" in visitor.text("#start")
    visitor.click("#network-begin")

    # 2. Three causes and four findings, by the keyboard alone.
    type_lines(visitor, CAUSES)
    visitor.until_text("#editor-said", "Units have neither causes nor findings")
    visitor.press("Tab")
    visitor.press("Tab")
    assert visitor.run("document.activeElement.getAttribute('aria-label')") == "finding, line 1"
    type_lines(visitor, FINDINGS)
    visitor.until_text("#editor-said", "Complete: 7 units, 7 links.")
    visitor.write("#editor-name", "My clinic")

    # 3. Use it.
    visitor.click("#editor-use")
    visitor.until("document.querySelector('#title').textContent === 'My clinic'")
    visitor.until_ranking(ranked({}))

    # 4. An interview asks what the library would, and ranks as the library does.
    visitor.tab("interview")
    visitor.run("document.querySelector('#panel-interview').focus()")
    interview = pf.Interview(NETWORK)
    while (unit := interview.next.unit) is not None:
        visitor.until(f"{ASKED} === {json.dumps(unit + '?')} && {IS_ASKING}")
        visitor.press("y" if SICK[unit] else "n")
        interview = interview.answered(unit, SICK[unit])
    visitor.until_text("#panel-interview", "Time to stop")
    assert len(interview.answers) > 1
    evidence = dict(interview.observed)
    visitor.until_ranking(ranked(evidence))

    # 5. Save the case, and the network.
    visitor.click("#cases")
    visitor.write("#case-name", "My first patient")
    visitor.click("#case-save")
    visitor.click("#cases-export")
    visitor.click("#cases-close")
    visitor.click("#network")
    for suffix in (".json", ".csv"):
        visitor.run(f"document.querySelector('#network-suffix').value = '{suffix}'")
        visitor.click("#network-save")
    until(lambda: {path.name for path in saved.iterdir()} == FILES, lambda: str(list(saved.iterdir())))
    return evidence


def take_up_again(visitor: Visitor, address: str, saved: Path, evidence: dict) -> None:
    # 6. The files are those of the library.
    for name in ("My_clinic.json", "My_clinic.csv"):
        found = pf.load(saved / name)
        assert found.names == NETWORK.names
        np.testing.assert_allclose(found.bias, NETWORK.bias, rtol=1e-12)
        np.testing.assert_allclose(found.weights.toarray(), NETWORK.weights.toarray(), rtol=1e-12)

    # 7. In another browser both are opened again.
    come(visitor, address)
    visitor.choose_file("#network-files", saved / "My_clinic.json")
    visitor.until("document.querySelector('#title').textContent === 'My clinic'")
    visitor.until_ranking(ranked({}))
    visitor.click("#cases")
    visitor.choose_file("#cases-file", saved / "My_clinic-cases.json")
    visitor.until_text("#cases-list", "My first patient")
    visitor.click(".case-title")
    visitor.until_ranking(ranked(evidence))
    visitor.until_text("#case-shown", "Case: My first patient")

    # 8. Print.
    printed = visitor.browser.call("Page.printToPDF", printBackground=True)["data"]
    assert base64.b64decode(printed).startswith(b"%PDF")
    assert "My first patient" in visitor.run("document.querySelector('#paper').textContent")
