"""Named cases: kept by the browser, in files, two side by side, and on paper."""

import json
import re

import numpy as np
import pytest

import plefka as pf
from tests.explorer.browser import Visitor, case
from tests.explorer.browser_service import serving
from tests.explorer.test_page_access import TOO_WIDE, violations
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
NETWORK = pf.load("example:espresso")
KITCHEN = {"slow_flow": 1, "thin_crema": 1, "puddle_below": 0}
OFFICE = {"sour_taste": 1, "slow_flow": 0, "limescale": 1}
NAMES = "[...document.querySelectorAll('.case-title')].map(title => title.textContent)"
STORED = "Object.keys(localStorage).filter(key => key.startsWith('plefka-case/')).map(key => localStorage[key])"
SHOWN = "document.querySelector('#case-shown').textContent"
ROW = "[...document.querySelectorAll('.saved-case')].find(r => r.querySelector('.case-title')?.textContent === NAME)"
HOSTILE = '<img src=x onerror=alert(1)>"&\u202e ☕ ' + "long " * 60
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"
BLOCKED = """
for (const kind of ['localStorage', 'sessionStorage'])
  Object.defineProperty(window, kind, {get() { throw new DOMException('blocked', 'SecurityError'); }});
"""
DROP = """
(() => { const data = new DataTransfer(); data.items.add(new File([TEXT], NAME));
  TARGET.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true})); })()
"""


@pytest.fixture
def visitor(chromium, service):
    found = Visitor(chromium)
    found.visit(service.address)
    found.run("localStorage.clear(); sessionStorage.clear()")
    found.visit(service.address)
    yield found
    assert not any(event.get("method") == "Page.javascriptDialogOpening" for event in chromium.events)
    assert found.complaints() == []


def ranked(evidence) -> list[tuple[str, str]]:
    return [(name, f"{p:.3f}") for name, p in pf.infer(NETWORK, evidence).ranking()]


def parts(evidence) -> dict[str, str]:
    return {name: "on" if state else "off" for name, state in evidence.items()}


def show_cases(visitor) -> None:
    visitor.click("#cases")
    visitor.until("document.querySelector('#cases-dialog').open")


def save(visitor, name: str, note: str = "") -> None:
    show_cases(visitor)
    visitor.write("#case-name", name)
    if note:
        visitor.write("#case-note", note)
    visitor.click("#case-save")
    visitor.until(f"{NAMES}.length > 0 && document.querySelector('#case-save').hidden")
    visitor.click("#cases-close")


def act(visitor, name: str, word: str) -> None:
    """One of the buttons below a case of the list; "" opens it."""
    row = ROW.replace("NAME", json.dumps(name))
    visitor.run(f"""
      [...{row}.querySelectorAll('button')].find(b => b.textContent === {json.dumps(word or name)}).id = 'wanted-case'
    """)
    visitor.click("#wanted-case")
    visitor.run("document.querySelector('#wanted-case')?.removeAttribute('id')")


def stored(visitor) -> dict[str, dict]:
    """What the browser keeps, by name."""
    return {record["name"]: record for record in map(json.loads, visitor.run(STORED))}


def both_saved(visitor, service) -> None:
    visitor.visit(service.address + case(KITCHEN))
    save(visitor, "Kitchen", "hums when cold")
    visitor.click("#clear")
    for name, part in parts(OFFICE).items():
        visitor.click("[data-role=a]")
        visitor.observe(name, part)
    visitor.until_ranking(ranked(OFFICE))
    save(visitor, "Office")


def open_case(visitor, name: str, evidence: dict) -> None:
    show_cases(visitor)
    act(visitor, name, "")
    visitor.until_ranking(ranked(evidence))
    assert visitor.observed == parts(evidence)


def test_two_cases_are_saved_opened_renamed_deleted_and_taken_back(visitor, service):
    both_saved(visitor, service)
    visitor.visit(service.address)
    show_cases(visitor)
    assert visitor.run(NAMES) == ["Office", "Kitchen"]
    text = visitor.text("#cases-list")
    assert "3 observations" in text
    assert f"first: {ranked(KITCHEN)[0][0]} {ranked(KITCHEN)[0][1]}" in text
    assert "hums when cold" in text
    act(visitor, "Kitchen", "")
    visitor.until_ranking(ranked(KITCHEN))
    open_case(visitor, "Office", OFFICE)
    assert visitor.run(SHOWN) == "Case: Office"
    show_cases(visitor)
    act(visitor, "Kitchen", "Rename")
    visitor.run("document.activeElement.select()")
    visitor.browser.call("Input.insertText", text="Cafeteria")
    visitor.press("Enter")
    visitor.until(f"{NAMES}.includes('Cafeteria')")
    act(visitor, "Office", "Copy")
    visitor.until(f"{NAMES}.includes('Office (copy)')")
    act(visitor, "Cafeteria", "Delete")
    visitor.until_text("#cases-said", "Cafeteria was deleted.")
    assert set(stored(visitor)) == {"Office", "Office (copy)"}
    visitor.press("Enter")  # the button has the focus
    visitor.until_text("#cases-said", "Cafeteria is back.")
    assert stored(visitor)["Cafeteria"]["content"]["evidence"] == KITCHEN


def test_a_saved_case_is_kept_in_step_and_others_are_not_overwritten(visitor, service):
    visitor.visit(service.address + case(KITCHEN))
    save(visitor, "Kitchen")
    visitor.observe("loud_hum", "on")
    visitor.until_ranking(ranked({**KITCHEN, "loud_hum": 1}))
    kept = {**KITCHEN, "loud_hum": 1}
    assert stored(visitor)["Kitchen"]["content"]["evidence"] == kept
    visitor.click("#clear")
    visitor.observe("sour_taste", "on")
    assert stored(visitor)["Kitchen"]["content"]["evidence"] == kept
    assert visitor.run("document.querySelector('#case-shown').hidden")
    for _ in range(2):  # back to the saved case, whose changes are kept again
        visitor.click("#undo")
    visitor.until(f"{SHOWN} === 'Case: Kitchen'")
    visitor.click("#undo")
    visitor.until_ranking(ranked(KITCHEN))
    assert stored(visitor)["Kitchen"]["content"]["evidence"] == KITCHEN
    visitor.until("!location.hash.includes('loud_hum')")
    visitor.visit(visitor.run("location.href"))
    visitor.until_text("#case-shown", "Case: Kitchen")
    visitor.observe("loud_hum", "off")
    visitor.visit(service.address + case(OFFICE))  # another case by a link
    assert visitor.run("document.querySelector('#case-shown').hidden")
    assert stored(visitor)["Kitchen"]["content"]["evidence"] == {**KITCHEN, "loud_hum": 0}


def test_many_cases_are_searched(visitor):
    records = {f"Case {k}": {"slow_flow": 1} for k in range(60)} | {"Odd one": {"sour_taste": 0}}
    cases = [{"name": name, "evidence": evidence} for name, evidence in records.items()]
    visitor.run(drop({"format": "plefka-cases", "version": 1, "cases": cases}))
    visitor.until_text("#cases-said", "61 cases were added.")
    assert len(visitor.run(NAMES)) == 61
    visitor.write("#cases-search", "sour")
    visitor.until(f"{NAMES}.length === 1")
    assert visitor.run(NAMES) == ["Odd one"]
    assert visitor.text("#cases-count") == "1 of 61"
    visitor.write("#cases-search", "nobody")
    visitor.until_text("#cases-none", "No case has all of these words.")


def drop(content, name: str = "case.json", target: str = "document.body") -> str:
    text = content if isinstance(content, str) else json.dumps(content)
    return DROP.replace("TEXT", json.dumps(text)).replace("NAME", json.dumps(name)).replace("TARGET", target)


def test_cases_go_to_files_and_come_back(visitor, service, tmp_path):
    both_saved(visitor, service)
    visitor.browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    show_cases(visitor)
    act(visitor, "Kitchen", "Export")
    visitor.click("#cases-export")
    one, both = tmp_path / "espresso-Kitchen.json", tmp_path / "espresso-cases.json"
    visitor.until("new Promise(done => setTimeout(() => done(true), 500))")
    content = json.loads(one.read_text())
    assert content["format"] == "plefka-case"
    assert (content["version"], content["name"], content["note"]) == (1, "Kitchen", "hums when cold")
    assert content["evidence"] == KITCHEN
    assert content["fingerprint"] == NETWORK.fingerprint
    before = stored(visitor)
    visitor.choose_file("#cases-file", both)
    visitor.until_text("#cases-said", "0 cases were added. 2 cases were in the list already.")
    for name in ("Kitchen", "Office"):
        act(visitor, name, "Delete")
        visitor.until_text("#cases-said", f"{name} was deleted.")
    assert stored(visitor) == {}
    visitor.choose_file("#cases-file", both)
    visitor.until_text("#cases-said", "2 cases were added.")
    after = stored(visitor)
    for name, record in before.items():
        assert {**after[name], "first": None} == {**record, "first": None}
    visitor.click("#cases-close")
    visitor.click("#clear")
    visitor.run(drop(one.read_text()))  # on the page: it is opened, with its name and note
    visitor.until_ranking(ranked(KITCHEN))
    assert visitor.run(SHOWN) == "Case: Kitchen (not saved)"
    show_cases(visitor)
    assert visitor.run("document.querySelector('#case-note').value") == "hums when cold"


def test_what_does_not_fit_is_listed_and_kept(visitor):
    evidence = {"slow_flw": 1, "slow_flow": "yes", "thin_crema": 7}
    found = {"format": "plefka-cases", "version": 1, "cases": [{"name": "Old", "evidence": evidence}, {"name": "x"}, 3]}
    visitor.run(drop(found))
    text = visitor.until_text("#cases-problems", "Old: ")
    assert "2 cases in case.json had no observations" in text
    assert "This network has no unit “slow_flw”. Did you mean “slow_flow”?" in text
    assert "“thin_crema” must be 0, 1, no, yes" in text
    assert stored(visitor)["Old"]["content"]["evidence"] == evidence
    act(visitor, "Old", "")
    visitor.until_text("#share-problems", "2 observations in this case do not fit this network.")
    visitor.click("#share-problems button")
    visitor.until_ranking(ranked({"slow_flow": 1}))
    assert visitor.run(SHOWN) == "Case: Old (not saved)"
    visitor.observe("sour_taste", "on")
    assert stored(visitor)["Old"]["content"]["evidence"] == evidence


def test_of_many_unknown_names_only_the_first_are_guessed(visitor):
    """Among 20,000 names each guess takes a while."""
    cases = [{"name": f"Case {k}", "evidence": {f"slow_flow{k}{j}": 1 for j in range(10)}} for k in range(30)]
    visitor.run(drop({"format": "plefka-cases", "version": 1, "cases": cases}))
    text = visitor.until_text("#cases-problems", "and 100 more")
    assert text.count("This network has no unit") == 200
    assert text.count("Did you mean “slow_flow”?") == 20


def test_a_network_is_recognised(visitor, tmp_path):
    pf.save(NETWORK, tmp_path / "native.json")
    tables = {"causes": {"a": 0.1}, "findings": {"b": {"causes": {"a": 0.5}}}}
    files = {
        "native.json": (tmp_path / "native.json").read_text(),
        "my table.json": json.dumps(tables),
        "asia.bif": "network unknown {}",
    }
    for name, text in files.items():
        visitor.run(drop(text, name))
        said = visitor.until_text("#share-problems", name)
        assert f"{name} is a network, not a case" in said
        assert f'plefka explore "{name}"' in said or f"plefka explore {name}" in said
        assert visitor.observed == {}
        visitor.press("Escape")
        show_cases(visitor)
        visitor.run(drop(text, name, "document.querySelector('#cases-dialog')"))
        visitor.until_text("#cases-problems", f"{name} is a network")
        visitor.click("#cases-close")


def test_two_cases_side_by_side(visitor, service):
    both_saved(visitor, service)
    visitor.click("#clear")
    visitor.observe("thin_crema", "on")
    visitor.observe("slow_flow", "sure")
    evidence = {"thin_crema": 1, "slow_flow": pf.Likelihood(0.8, 0.2)}
    visitor.until_ranking(ranked(evidence))
    show_cases(visitor)
    act(visitor, "Kitchen", "Compare")
    visitor.until("document.querySelectorAll('#two-causes tr').length === 7")
    first, second = (dict(pf.infer(NETWORK, each).ranking()) for each in (evidence, KITCHEN))
    assert tables(visitor) == [
        [["slow_flow", "probably yes, 4 to 1", "yes"], ["puddle_below", "not observed", "no"]],
        compared(first, second),
    ]
    assert visitor.text("#two-same") == "The same in both: thin_crema yes."
    visitor.run("""(choice => { choice.value = [...choice.options].find(o => o.text === 'Office').value;
      choice.dispatchEvent(new Event('change')); })(document.querySelector('#two-other'))""")
    visitor.until_text("#two-causes-head", "Office")
    visitor.until("document.querySelectorAll('#two-causes tr').length === 7")
    second = dict(pf.infer(NETWORK, OFFICE).ranking())
    found = {row[0]: row[1:] for row in tables(visitor)[1]}
    assert found["limescale"][1] == "yes"  # it was observed
    assert found["stale_beans"][:2] == [f"{first['stale_beans']:.3f}", f"{second['stale_beans']:.3f}"]


def tables(visitor) -> list[list[list[str]]]:
    return visitor.run("""[...document.querySelectorAll('#two-dialog tbody')].map(body => [...body.rows].map(row =>
      [...row.cells].map(cell => cell.textContent)))""")


def compared(first: dict[str, float], second: dict[str, float]) -> list[list[str]]:
    """The rows of the table of causes, largest probability first."""
    order = sorted(first, key=lambda name: -max(first[name], second[name]))
    change = {name: second[name] - first[name] for name in first}
    signs = {
        name: f"{'−' if by < 0 else '+'}{abs(by):.3f}" if abs(by) >= 0.0005 else "0" for name, by in change.items()
    }
    return [[name, f"{first[name]:.3f}", f"{second[name]:.3f}", signs[name]] for name in order]


def test_causes_that_one_ranking_lacks_are_compared_too(chromium, tmp_path):
    """A hundred causes have a finding each; what is first in one case is far behind the first forty of the other."""
    size = 100
    weights = np.zeros((2 * size, 2 * size))
    weights[np.arange(size) + size, np.arange(size)] = 3.0
    bias = np.concatenate([np.linspace(0.5, 0.01, size), np.full(size, 0.01)])
    network = pf.BeliefNetwork(weights, bias, "noisy_or", [f"{kind}{k}" for kind in "cf" for k in range(size)])
    pf.save(network, tmp_path / "wide.json")
    visitor, last = Visitor(chromium), f"c{size - 1}"
    with serving(tmp_path / "wide.json") as service:
        visitor.visit(service.address)
        visitor.run("localStorage.clear()")
        cases = [{"name": name, "evidence": {f"f{k}": 1}} for name, k in (("First", 0), ("Last", size - 1))]
        visitor.run(drop({"format": "plefka-cases", "version": 1, "cases": cases}))
        visitor.until_text("#cases-said", "2 cases were added.")
        act(visitor, "First", "")
        visitor.until("document.querySelectorAll('.observation').length === 1")
        show_cases(visitor)
        act(visitor, "Last", "Compare")
        visitor.until("document.querySelectorAll('#two-causes tr').length > 0")
        found = {row[0]: row[1:] for row in tables(visitor)[1]}
        without, given = (pf.infer(network, {f"f{k}": 1})[last] for k in (0, size - 1))
        assert found[last][:2] == [f"{without:.3f}", f"{given:.3f}"]
    assert visitor.complaints() == []


def test_what_does_not_fit_is_left_out_of_the_comparison(visitor):
    wrong = {"name": "No", "evidence": {"slow_flow": {"on": 0, "off": 0}}}
    visitor.run(drop({"format": "plefka-cases", "version": 1, "cases": [wrong]}))
    visitor.until_text("#cases-said", "1 case was added.")
    act(visitor, "No", "Compare")
    visitor.until_text("#two-notes", "Left out of No: “slow_flow” must be")
    visitor.until("document.querySelectorAll('#two-causes tr').length === 7")
    assert tables(visitor)[0] == []
    assert {row[3] for row in tables(visitor)[1]} == {"0"}


def test_the_printed_page_says_whose_case_it_is_and_when(visitor, service):
    visitor.visit(service.address + case({**KITCHEN, "loud_hum": {"on": 0.8, "off": 0.2}}))
    assert not visitor.run("document.querySelector('#paper').checkVisibility()")
    save(visitor, "Kitchen", "hums when cold\nsecond line")
    visitor.browser.call("Emulation.setEmulatedMedia", media="print")
    text = visitor.until(
        "document.querySelector('#paper').checkVisibility() && document.querySelector('#paper').innerText"
    )
    observed = visitor.text("#observed")
    visitor.browser.call("Emulation.setEmulatedMedia", media="")
    assert "Kitchen" in text
    assert "hums when cold\nsecond line" in text
    today = visitor.run("new Date().toLocaleDateString('en-GB', {dateStyle: 'medium'})")
    assert re.search(rf"Printed\s+{today}, \d\d:\d\d", text)
    assert f"fingerprint {NETWORK.fingerprint}" in text
    assert "4 observations" in text
    assert "Exact: nothing was approximated." in text
    assert all(name in observed for name in (*KITCHEN, "loud_hum"))


@pytest.mark.parametrize("broken", [FULL, BLOCKED])
def test_storage_that_throws_is_said_and_loses_nothing(visitor, service, broken, tmp_path):
    script = visitor.browser.call("Page.addScriptToEvaluateOnNewDocument", source=broken)["identifier"]
    try:
        visitor.visit(service.address + case(KITCHEN))
        visitor.click("#theme")
        save(visitor, "Kitchen")
        visitor.until_text("#case-shown", "Case: Kitchen (not stored)")
        visitor.observe("loud_hum", "on")
        visitor.until_ranking(ranked({**KITCHEN, "loud_hum": 1}))
        show_cases(visitor)
        assert "storage is full or blocked" in visitor.text("#case-kept")
        assert "only in this window: export it" in visitor.text("#cases-list")
        visitor.browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
        act(visitor, "Kitchen", "Export")
        visitor.until("new Promise(done => setTimeout(() => done(true), 300))")
        kept = json.loads((tmp_path / "espresso-Kitchen.json").read_text())
        assert kept["evidence"] == {**KITCHEN, "loud_hum": 1}
        act(visitor, "Kitchen", "Delete")  # so that the browser lets the page go without a question
        visitor.until_text("#cases-said", "was deleted")
    finally:
        visitor.browser.call("Page.removeScriptToEvaluateOnNewDocument", identifier=script)


def test_names_and_notes_are_text_everywhere(visitor, service):
    visitor.visit(service.address + case(KITCHEN))
    save(visitor, HOSTILE, HOSTILE)
    visitor.browser.call("Emulation.setEmulatedMedia", media="print")
    visitor.until("document.querySelector('#paper').textContent.includes('onerror')")
    visitor.browser.call("Emulation.setEmulatedMedia", media="")
    other = {"name": HOSTILE * 50, "note": 7, "changed": "never", "evidence": {HOSTILE: 1}, "__proto__": 1}
    visitor.run(drop({"format": "plefka-cases", "version": 1, "cases": [other]}))
    visitor.until_text("#cases-problems", "<img src=x")
    visitor.click(".saved-case:last-child .case-actions button:nth-child(3)")
    visitor.until_text("#two-notes", "<img src=x")
    assert visitor.run("document.querySelectorAll('body img').length") == 0
    for width in (390, 1280):
        visitor.browser.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=False
        )
        assert visitor.run(TOO_WIDE) == []


def test_what_a_page_does_not_know_of_links_and_files_is_kept(visitor, service, tmp_path):
    link = f"{service.address}{case(KITCHEN)}&order=change&targets=%5B%22limescale%22%5D&count=1e2"
    visitor.visit(link)
    visitor.observe("loud_hum", "on")
    visitor.until("location.hash.includes('loud_hum')")
    assert visitor.run("location.hash").endswith("&order=change&targets=%5B%22limescale%22%5D&count=1e2")
    save(visitor, "Kitchen")
    found = stored(visitor)["Kitchen"]["content"]
    assert (found["order"], found["targets"], found["count"]) == ("change", ["limescale"], "1e2")
    later = {"format": "plefka-case", "version": 1, "evidence": KITCHEN, "order": "12", "new": {"a": [1]}, "token": "x"}
    visitor.run(drop(later))
    visitor.until("location.hash.includes('new=')")
    assert "token" not in visitor.run("location.hash")
    visitor.visit(visitor.run("location.href"))
    save(visitor, "Later")
    found = stored(visitor)["Later"]["content"]
    assert (found["order"], found["new"]) == ("12", {"a": [1]})
    assert "token" not in found


def test_another_window_is_followed(visitor, service):
    """A case that is changed elsewhere changes here, and one that is deleted elsewhere is not saved again."""
    visitor.visit(service.address + case(KITCHEN))
    save(visitor, "Kitchen")
    visitor.until_text("#case-shown", "Case: Kitchen")
    change = """(key => { const record = JSON.parse(localStorage[key]); record.content.evidence = EVIDENCE;
      const newValue = JSON.stringify(record); localStorage.setItem(key, newValue);
      dispatchEvent(new StorageEvent('storage', {key, newValue})); })(KEY)"""
    key = "Object.keys(localStorage).find(key => key.startsWith('plefka-case/'))"
    visitor.run(change.replace("EVIDENCE", json.dumps(OFFICE)).replace("KEY", key))
    visitor.until_ranking(ranked(OFFICE))
    visitor.run(
        f"(key => {{ localStorage.removeItem(key); dispatchEvent(new StorageEvent('storage', {{key}})); }})({key})"
    )
    visitor.observe("loud_hum", "on")
    assert stored(visitor) == {}


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390)])
def test_axe_finds_nothing_in_the_dialogs(visitor, service, scheme, width):
    visitor.visit(service.address + case(KITCHEN), width, 860, scheme)
    save(visitor, "Kitchen", "hums when cold")
    show_cases(visitor)
    act(visitor, "Kitchen", "Copy")
    visitor.until(f"{NAMES}.length === 2")
    act(visitor, "Kitchen (copy)", "Delete")
    visitor.until_text("#cases-said", "was deleted")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []
    visitor.press("Enter")
    visitor.until(f"{NAMES}.length === 2")
    act(visitor, "Kitchen (copy)", "Rename")
    assert violations(visitor) == []
    visitor.press("Escape")
    assert visitor.run("document.querySelector('#cases-dialog').open")
    act(visitor, "Kitchen (copy)", "Compare")
    visitor.until("document.querySelectorAll('#two-causes tr').length === 7")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []


def test_a_case_without_a_mouse(visitor, service):
    visitor.visit(service.address + case(KITCHEN))
    visitor.run("document.querySelector('#cases').focus()")
    visitor.press("Enter")
    visitor.until("document.querySelector('#cases-dialog').open")
    visitor.run("document.querySelector('#case-note').focus()")
    for key in "a/b":  # "/" is a letter here
        visitor.press(key)
    assert visitor.run("document.querySelector('#case-note').value") == "a/b"
    visitor.run("document.querySelector('#case-name').focus()")
    visitor.browser.call("Input.insertText", text="Kitchen")
    visitor.press("Enter")
    visitor.until(f"{NAMES}.length === 1")
    visitor.run("document.querySelector('.case-title').focus()")
    visitor.press("Enter")
    visitor.until("!document.querySelector('#cases-dialog').open")
    assert stored(visitor)["Kitchen"]["note"] == "a/b"
