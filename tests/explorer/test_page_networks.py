"""Networks that visitors open and edit on the page: whatever they bring, and whatever they type or paste."""

import csv
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from tests.explorer.browser import CTRL, Visitor, case
from tests.explorer.browser_service import serving
from tests.explorer.client import until
from tests.explorer.test_page_access import TOO_WIDE, violations
from tests.explorer.test_page_cases import DROP
from tests.explorer.test_page_share import NETWORK as HOSTILE
from tests.explorer.test_page_share import SCRIPT
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
READY = "document.body?.dataset.ready === 'true'"
SAID = "document.querySelector('#editor-said').textContent"
CELLS = """[...document.querySelectorAll('#editor-TABLE tbody tr')].map(row =>
  [...row.querySelectorAll('input')].map(field => field.value))"""
MARKED = "[...document.querySelectorAll('#editor .KIND')].map(row => row.querySelector('input').value)"
PASTE = """(() => { const data = new DataTransfer(); data.setData('text/plain', TEXT);
  const how = {clipboardData: data, bubbles: true, cancelable: true};
  document.activeElement.dispatchEvent(new ClipboardEvent('paste', how));
})()"""
CAUSES = [["flu", ".06"], ["cold", "18 %"]]
FINDINGS = [["fever", "flu", ".8", ".02"], ["fever", "cold", "1 in 5", ""], ["cough", "cold", ".6", ".1"]]


@pytest.fixture(scope="module")
def empty():
    with serving(None, "--no-warm") as started:
        yield started


@pytest.fixture
def visitor(chromium, empty):
    found = Visitor(chromium)
    show(found, empty.address)
    found.run("localStorage.clear(); sessionStorage.clear()")
    show(found, empty.address)
    yield found
    assert not any(event.get("method") == "Page.javascriptDialogOpening" for event in chromium.events)
    assert [each for each in found.complaints() if each["method"] == "Runtime.exceptionThrown"] == []


def show(visitor: Visitor, address: str, width: int = 1280, height: int = 900, scheme: str = "light") -> None:
    """The page, with or without a network."""
    visitor.browser.open("about:blank", width, height, scheme)
    visitor.browser.open(address, width, height, scheme)
    visitor.until(READY)


def drop(visitor: Visitor, name: str, content: str, target: str = "document.body") -> None:
    """A file of that name and text."""
    script = DROP.replace("TEXT", json.dumps(content)).replace("NAME", json.dumps(name)).replace("TARGET", target)
    visitor.run(script)


def until_open(visitor: Visitor, network: pf.BeliefNetwork, evidence: dict | None = None) -> None:
    """The ranking is that of the network."""
    visitor.until("!!location.search && document.querySelectorAll('#ranking li').length > 0")
    visitor.until_ranking([(name, f"{p:.3f}") for name, p in pf.infer(network, evidence).ranking()])


def begin(visitor: Visitor) -> None:
    """The editor, with the focus in its first cell."""
    visitor.click("#network-begin")
    visitor.until("document.activeElement.getAttribute('aria-label') === 'cause, line 1'")


def paste(visitor: Visitor, lines: list[list[str]]) -> None:
    visitor.run(PASTE.replace("TEXT", json.dumps("\r\n".join("\t".join(line) for line in lines) + "\r\n")))


def fill(visitor: Visitor) -> None:
    begin(visitor)
    paste(visitor, [["Cause", "prior"], *CAUSES])
    visitor.run("document.querySelector('#editor-findings input').focus()")
    paste(visitor, FINDINGS)


def cells(visitor: Visitor, table: str) -> list[list[str]]:
    return visitor.run(CELLS.replace("TABLE", table))


def marked(visitor: Visitor, kind: str = "is-wrong") -> list[str]:
    return visitor.run(MARKED.replace("KIND", kind))


def write(visitor: Visitor, label: str, text: str) -> None:
    visitor.write(f'#editor input[aria-label="{label}"]', text)


def diagnosis() -> pf.BeliefNetwork:
    causes = {"cause": ["flu", "cold"], "prior": [0.06, 0.18]}
    findings = {
        "finding": ["fever", "fever", "cough"], "cause": ["flu", "cold", "cold"],
        "probability": [0.8, 0.2, 0.6], "leak": [0.02, None, 0.1],
    }  # fmt: skip
    return pf.BeliefNetwork.diagnosis(causes, findings)


# ---- files -----------------------------------------------------------------------------------------------------------


def test_a_network_with_hostile_names_is_opened_saved_and_taken_again(visitor, empty, tmp_path):
    pf.save(HOSTILE, tmp_path / "hostile.json")
    visitor.choose_file("#network-files", tmp_path / "hostile.json")
    until_open(visitor, HOSTILE)
    assert HOSTILE.fingerprint not in visitor.run("location.search")  # keys are secrets
    visitor.observe(SCRIPT, "on")
    until_open(visitor, HOSTILE, {SCRIPT: 1})
    drop(visitor, "case.json", json.dumps({"<b>": 1}))
    assert "no unit “<b>”" in visitor.until_text("#share-problems", "does not fit this network")
    visitor.press("Escape")
    visitor.until("location.hash.includes('case=')")
    visitor.click("#share")
    link = visitor.run("document.querySelector('#share-link').value")
    assert link == visitor.run("location.href")
    visitor.press("Escape")
    visitor.click("#network")
    assert "hostile" in visitor.text("#network-list")
    assert visitor.run("document.querySelectorAll('#network-dialog :is(img, b, script)').length") == 0
    visitor.browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path / "saved"))
    visitor.run("document.querySelector('#network-suffix').value = '.json'")
    visitor.click("#network-save")
    until_saved(tmp_path / "saved" / "hostile.json")
    assert pf.load(tmp_path / "saved" / "hostile.json").fingerprint == HOSTILE.fingerprint
    show(visitor, empty.address)
    visitor.click("#network-list button")
    until_open(visitor, HOSTILE)
    visitor.click("#network")
    visitor.click("#network-list [aria-label='Forget hostile']")
    assert visitor.run("document.querySelector('#network-kept').hidden")
    assert visitor.run("localStorage.getItem('plefka-networks')") == "[]"


def until_saved(*paths: Path) -> None:
    until(lambda: all(path.is_file() for path in paths))


def test_a_network_dropped_on_another_takes_its_place_and_an_edited_one_keeps_the_case(visitor):
    visitor.click("#network-example")
    until_open(visitor, pf.example("espresso"))
    assert visitor.text("#title") == "espresso"
    drop(visitor, "cases.json", json.dumps({"causes": []}))  # no network, and no case
    visitor.until_text("#share-problems", "does not fit")
    visitor.press("Escape")
    small = "network a {{ }}\nvariable b {{ type discrete [ 2 ] {{ no, yes }}; }}\nprobability ( b ) {{ table {}; }}\n"
    drop(visitor, "small.bif", small.format("0.9, 0.1"))
    visitor.until("document.querySelector('#title').textContent === 'small'")
    visitor.until(READY)
    visitor.click("[data-role=c]")
    visitor.observe("b", "on")
    visitor.until("location.hash.includes('case=')")
    before = visitor.run("location.search")
    drop(visitor, "small.bif", small.format("0.8, 0.2"))
    visitor.until(f"location.search !== '{before}' && {READY}")
    assert visitor.observed == {"b": "on"}


def test_what_is_no_network_is_refused_in_words(visitor, tmp_path):
    n = 1_000_000
    pf.save(pf.BeliefNetwork(sp.csr_array((n, n)), np.zeros(n), "sigmoid"), tmp_path / "many.npz")
    cycle = "network a { }\n" + "".join(
        f"variable {name} {{ type discrete [ 2 ] {{ no, yes }}; }}\n" for name in "ab"
    ) + "".join(
        f"probability ( {child} | {parent} ) {{ (no) 0.9, 0.1; (yes) 0.2, 0.8; }}\n" for child, parent in ("ab", "ba")
    )  # fmt: skip
    contents = {
        "photo.png": (b"\x89PNG\r\n", "the name must end with"),
        "case.json": (b'{"fever": 1}', "case.json"),
        "cycle.bif": (cycle.encode(), "cycle"),
        "bomb.json.gz": (gzip.compress(b" " * 2**25), "when unpacked"),
        "many.npz.gz": (gzip.compress((tmp_path / "many.npz").read_bytes()), "may have 200,000 units"),
        "large.json": (b" " * 25_000_000, "may have 24 MB; large.json has 25 MB. Start the explorer with it"),
        "one.causes.csv": (b"cause,prior\nflu,.1\n", "one.findings.csv"),
    }
    for name, (content, words) in contents.items():
        path = tmp_path / name
        path.write_bytes(content)
        visitor.choose_file("#network-files", path)
        text = visitor.until_text("#network-problems", words)
        assert "/tmp" not in text
    assert visitor.run("location.search") == ""
    drop(visitor, "<img src=x onerror=alert(1)>.json", "{}")
    visitor.until_text("#network-problems", "<img")
    assert visitor.run("document.querySelectorAll('img').length") == 0


def test_a_service_that_opens_none_has_no_button(chromium, service):
    visitor = Visitor(chromium)
    visitor.visit(service.address)
    assert visitor.run("document.querySelector('#network').hidden")
    drop(visitor, "net.bif", "network a { }")
    visitor.until_text("#share-problems", "start the explorer with it: plefka explore net.bif")


# ---- the editor ------------------------------------------------------------------------------------------------------


def test_cells_are_pasted_marked_undone_and_kept(visitor, empty):
    fill(visitor)
    assert cells(visitor, "causes") == [*CAUSES, ["", ""]]
    assert cells(visitor, "findings") == [*FINDINGS, [""] * 4]
    assert "Complete: 4 units, 3 links." in visitor.until(f"{SAID}.includes('Complete') && {SAID}")
    assert marked(visitor, "is-suspected") == []
    write(visitor, "cause, line 3", "Flu")
    visitor.until_text("#editor-said", "Cause 'Flu' must have a prior; got none.")
    write(visitor, "prior, line 3", "6 %")
    visitor.until_text("#editor-said", "Names differ only in case, spaces or punctuation: flu, Flu.")
    assert marked(visitor, "is-suspected") == ["flu", "Flu"]
    write(visitor, "cause, line 2", "flu")
    visitor.until_text("#editor-said", "Every cause must have a single row; got a second one for 'flu'.")
    assert marked(visitor) == ["flu"]
    visitor.click("#editor-said button")
    assert visitor.run("document.activeElement.getAttribute('aria-label')") == "cause, line 2"
    visitor.press("z", CTRL)
    assert visitor.run("document.activeElement.value") == "cold"
    for _ in range(2):
        visitor.press("z", CTRL)
    assert cells(visitor, "causes") == [*CAUSES, ["", ""]]
    visitor.press("y", CTRL)
    assert cells(visitor, "causes") == [*CAUSES, ["Flu", ""], ["", ""]]
    visitor.click('[aria-label="Remove line 3"]')
    write(visitor, "leak, line 2", "0.5")
    visitor.until_text("#editor-said", "must have one leak; got 0.02 and 0.5 for 'fever'")
    assert marked(visitor) == ["fever", "fever"]
    write(visitor, "cause, line 3", "cough")  # of the findings: the causes have two lines and an empty one
    show(visitor, empty.address)
    assert visitor.text("#network-begin") == "Go on with your draft"
    begin(visitor)
    assert visitor.text("#editor-kept") == "This is your draft, as you left it."
    assert cells(visitor, "findings")[1] == ["fever", "cold", "1 in 5", "0.5"]
    visitor.click("#editor-discard")
    assert cells(visitor, "causes") == [["", ""]]
    visitor.click("#editor-undo")
    assert cells(visitor, "causes")[0] == CAUSES[0]


def test_names_with_quotes_commas_and_markup_are_names_and_large_pastes_are_refused(visitor):
    begin(visitor)
    name = '<img src=x onerror=alert(1)>, "quoted"; ☕'
    paste(visitor, [[name, "0.1"], ["'b'", "0.2"]])
    visitor.run("document.querySelector('#editor-findings input').focus()")
    paste(visitor, [["=SUM(A1)", name, "0.3", "0.1"]])
    visitor.until_text("#editor-said", "Complete: 3 units, 1 link.")
    paste(visitor, [["x", "y", "0.1", "0"]] * 100_000)
    visitor.until_text("#editor-said", "A table may have 5,000 lines here; with what you pasted it would have 100,000.")
    assert len(cells(visitor, "findings")) == 2
    paste(visitor, [[f"finding {k}", name, "0.3", "0.1"] for k in range(4999)])
    visitor.until_text("#editor-said", "Complete: 5,001 units, 4,999 links.")
    visitor.click("#editor-use")
    visitor.until("!!location.search && document.querySelectorAll('#ranking li').length > 0")
    assert visitor.run("document.querySelectorAll('img').length") == 0
    assert visitor.ranking == [("'b'", "0.200"), (name, "0.100")]
    visitor.click("#network")
    visitor.click("#network-edit")
    visitor.until_text("#network-problems", "5,001 lines (more than 5,000)")


def test_tables_are_saved_in_every_format_before_they_are_used(visitor, tmp_path):
    suffixes = "[...document.querySelectorAll('#WHERE-suffix option')].map(each => each.value)"
    offered = visitor.run(suffixes.replace("WHERE", "editor"))
    assert set(offered) == set(visitor.run(suffixes.replace("WHERE", "network")))
    visitor.browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    fill(visitor)
    visitor.write("#editor-name", "My clinic")
    for suffix in offered:
        visitor.run(f"document.querySelector('#editor-suffix').value = '{suffix}'")
        visitor.click("#editor-save")
        tables = ("causes.csv", "findings.csv")
        until_saved(*(tmp_path / f"My_clinic.{end}" for end in (tables if suffix == ".csv" else [suffix[1:]])))
        found = pf.load(tmp_path / f"My_clinic{suffix}")
        seen = {found.index("fever") if suffix != ".uai" else 2: 1}
        expected = pf.infer(diagnosis(), {"fever": 1}).log_likelihood
        assert pf.infer(found, seen).log_likelihood == pytest.approx(expected, rel=1e-9)
    assert visitor.run("location.search") == ""
    assert visitor.run("localStorage.getItem('plefka-networks')") is None
    write(visitor, "cause, line 3", 'a "third" one')
    write(visitor, "prior, line 3", "often")
    visitor.click("#editor-save")  # in the format that was chosen last
    visitor.until("document.activeElement.getAttribute('aria-label') === 'prior, line 3'")
    assert "Prior must be" in visitor.run(SAID)
    visitor.write("#editor-name", "Draft")
    visitor.run("document.querySelector('#editor-suffix').value = '.csv'")
    visitor.click("#editor-save")
    until_saved(tmp_path / "Draft.causes.csv")
    with (tmp_path / "Draft.causes.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["cause", "prior"], *CAUSES, ['a "third" one', "often"]]


def test_an_edited_network_keeps_what_still_fits_of_the_case(visitor):
    fill(visitor)
    visitor.write("#editor-name", "My clinic")
    visitor.click("#editor-use")
    until_open(visitor, diagnosis())
    assert visitor.text("#title") == "My clinic"
    for name in ("fever", "cough"):
        visitor.observe(name, "on")
    until_open(visitor, diagnosis(), {"fever": 1, "cough": 1})
    visitor.until("location.hash.includes('cough')")
    visitor.click("#network")
    assert visitor.run("document.querySelector('#network-list button').textContent") == "My_clinic"
    assert " 20" in visitor.text("#network-list span:not(.gap)")  # when it was opened
    visitor.click("#network-edit")
    visitor.until("document.querySelector('#editor').open")
    assert visitor.run("document.querySelector('#editor-name').value") == "My clinic"
    assert cells(visitor, "causes")[:2] == [["flu", "0.06"], ["cold", "0.18"]]
    write(visitor, "finding, line 3", "sneezing")
    before = visitor.run("location.search")
    visitor.click("#editor-use")
    visitor.until(f"location.search !== '{before}' && {READY}")
    edited = pf.BeliefNetwork(diagnosis().weights, diagnosis().bias, "noisy_or", ["flu", "cold", "fever", "sneezing"])
    until_open(visitor, edited, {"fever": 1})
    assert visitor.observed == {"fever": "on"}
    assert visitor.run("Object.keys(localStorage).filter(key => key.startsWith('plefka-draft/'))") == []


# ---- everyone --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_everyone_can_use_it(visitor, empty, width, scheme):
    show(visitor, empty.address, width, 844, scheme)
    assert violations(visitor) == []
    fill(visitor)
    write(visitor, "cause, line 2", "flu")
    visitor.run("document.querySelector('#editor-name').focus()")
    visitor.until("!!document.querySelector('#editor .is-wrong')")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []
    visitor.browser.call("Emulation.setEmulatedMedia", media="print")
    assert visitor.run("document.querySelector('#editor-causes').checkVisibility()")
    assert not visitor.run("document.querySelector('.bar').checkVisibility()")
    visitor.browser.call("Emulation.setEmulatedMedia", media="", features=[])
    write(visitor, "cause, line 2", "cold")
    visitor.click("#editor-use")
    until_open(visitor, diagnosis())
    visitor.click("#network")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []


def test_a_network_that_is_not_open_any_more_is_opened_again_with_the_same_case(visitor, empty):
    fill(visitor)
    visitor.click("#editor-use")
    until_open(visitor, diagnosis())
    visitor.observe("fever", "on")
    until_open(visitor, diagnosis(), {"fever": 1})
    visitor.until("location.hash.includes('fever')")
    empty.stop()
    visitor.observe("cough", "on")
    visitor.until("!document.querySelector('#connection').hidden")
    empty.start()
    visitor.until("document.querySelector('#start-lost')?.checkVisibility()")
    assert violations(visitor) == []
    visitor.click("#start-again")
    until_open(visitor, diagnosis(), {"fever": 1, "cough": 1})
    show(visitor, f"{empty.address}?network=abc{case({'fever': 1})}")
    assert "This network is not open any more" in visitor.text("#start")
    assert not visitor.run("document.querySelector('#start-again').checkVisibility()")
