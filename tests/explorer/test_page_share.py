"""Cases that travel by link and file, names that try to be more than names, and a service that wants a token."""

import json

import numpy as np
import pytest

import plefka as pf
from tests.explorer.browser import RANKING, Visitor, case
from tests.explorer.browser_service import serving
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
TOKEN = "a-token-of-the-tests-0123456789"
IMAGE = "<img src=x onerror=alert(1)>"
SCRIPT = '"><script>alert(2)</script>'
CAUSES = (IMAGE, "__proto__", "rust & 'dust' {{7*7}}")
FINDINGS = (SCRIPT, "constructor", "fumée ✓ كشف", "javascript:alert(3)//" + "long " * 20 + "end")
NAMES = (*CAUSES, *FINDINGS)


def hostile_network() -> pf.BeliefNetwork:
    """Names of every evil; "constructor" is on only where its one cause is, so that evidence can be impossible."""
    weights = np.zeros((7, 7))
    weights[3, [0, 1, 2]] = 1.0, 0.5, 0.2
    weights[4, 0] = 2.0
    weights[5, [1, 2]] = 0.7, 0.9
    weights[6, [0, 2]] = 0.3, 0.4
    bias = np.array([0.1, 0.2, 0.15, 0.05, 0.0, 0.1, 0.05])
    states = [("no", "yes")] * 5 + [("<b>absent</b>", "<i>there</i>"), ("no", "yes")]
    return pf.BeliefNetwork(weights, bias, "noisy_or", NAMES, states=states)


NETWORK = hostile_network()


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    path = tmp_path_factory.mktemp("networks") / "hostile.json"
    pf.save(NETWORK, path)
    with serving(path, token=TOKEN) as started:
        yield started


@pytest.fixture
def visitor(chromium, service):
    found = Visitor(chromium)
    found.visit(f"{service.address}#token={TOKEN}")
    yield found
    assert not any(event.get("method") == "Page.javascriptDialogOpening" for event in chromium.events)
    assert found.complaints() == []


def ranked(evidence) -> list[tuple[str, str]]:
    return [(name, f"{p:.3f}") for name, p in pf.infer(NETWORK, evidence).ranking()]


def test_the_token_leaves_the_address(visitor, service):
    assert visitor.run("location.href") == service.address
    assert visitor.run("sessionStorage.getItem('plefka-token')") == TOKEN


def test_a_missing_token_is_asked_for(chromium, service):
    visitor = Visitor(chromium)
    chromium.open(service.address, 1280, 900, "light")
    chromium.run("sessionStorage.clear()")
    chromium.open("about:blank", 1280, 900, "light")
    chromium.open(service.address, 1280, 900, "light")
    visitor.until_text("#token-dialog[open]", "This service needs a token")
    visitor.write("#token", "wrong")
    visitor.press("Enter")
    visitor.until_text("#token-dialog[open]", "The service refused this token.")
    visitor.write("#token", TOKEN)
    visitor.press("Enter")
    visitor.until(f"{RANKING}.length === 3")
    assert visitor.ranking == ranked({})


def test_names_are_text_everywhere(visitor):
    evidence = {SCRIPT: 1, FINDINGS[2]: 0, FINDINGS[3]: 1}
    for name, state in evidence.items():
        visitor.observe(name, "on" if state else "off")
    visitor.until_ranking(ranked(evidence))
    visitor.click("#ranking .cause")
    visitor.until_text("#panel-why h3", f"Why {visitor.ranking[0][0]}?")
    visitor.tab("graph")
    visitor.until("document.querySelectorAll('.graph .node').length > 0")
    visitor.tab("compare")
    visitor.click("#panel-compare .is-primary")
    visitor.until_text("#panel-compare", IMAGE)
    visitor.tab("next")
    visitor.until_text("#panel-next", "constructor")
    assert visitor.run("document.querySelectorAll('img, script:not([src]), .observe b, .observe i').length") == 0
    assert "<b>absent</b>" in visitor.text("#observed")
    assert visitor.run("({}).on === undefined && ({}).off === undefined")


def test_names_of_javascript_itself_are_units(visitor):
    visitor.click("[data-role=a]")
    visitor.observe("__proto__", "on")
    visitor.until_ranking(ranked({"__proto__": 1}))
    visitor.observe("constructor", "off")
    visitor.until_ranking(ranked({"__proto__": 1, "constructor": 0}))
    visitor.until("location.hash.includes('__proto__') && location.hash.includes('constructor')")


def test_a_contradiction_is_named_and_can_be_taken_back(visitor):
    visitor.observe("constructor", "on")
    visitor.click("[data-role=c]")
    visitor.observe(IMAGE, "off")
    text = visitor.until_text("#failure", "contradict each other")
    assert f"{IMAGE}=no" in text
    assert "constructor=yes" in text
    assert visitor.ranking == []
    visitor.until_text("#panel-next", "Take one back first")
    assert visitor.run("document.querySelectorAll('#failure button').length") == 2
    visitor.click("#failure button")
    visitor.until_ranking(ranked({IMAGE: 0}))
    assert visitor.run("document.querySelector('#failure').hidden")


def test_a_link_opens_the_same_case(visitor, service):
    visitor.observe(SCRIPT, "on")
    visitor.observe(FINDINGS[2], "sure")
    expected = ranked({SCRIPT: 1, FINDINGS[2]: pf.Likelihood(0.8, 0.2)})
    visitor.until_ranking(expected)
    visitor.click("#share")
    shared = visitor.run("document.querySelector('#share-link').value")
    visitor.visit(shared)
    visitor.until_ranking(expected)
    assert visitor.observed == {SCRIPT: "on", FINDINGS[2]: "sure"}
    assert visitor.run("location.href") == shared
    assert visitor.run("document.querySelector('#undo').disabled")
    visitor.visit(service.address + case({SCRIPT: 0}))
    visitor.until_ranking(ranked({SCRIPT: 0}))


def test_a_link_with_wrong_names_says_which(visitor, service):
    visitor.visit(service.address + case({"constructr": 1, SCRIPT: 1, FINDINGS[2]: "perhaps"}))
    text = visitor.until_text("#share-problems", "do not fit this network")
    assert "2 observations in this link do not fit this network." in text
    assert "This network has no unit “constructr”. Did you mean “constructor”?" in text
    assert f"“{FINDINGS[2]}” must be 0, 1, <b>absent</b>, <i>there</i> or two likelihoods" in text
    assert 'got "perhaps"' in text
    visitor.click("#share-problems button")
    visitor.until_ranking(ranked({SCRIPT: 1}))
    visitor.visit(f"{service.address}#case=nonsense")
    visitor.until_text("#share-problems", "The link must hold a case as JSON")


def test_a_file_keeps_the_case(visitor, tmp_path):
    visitor.observe(SCRIPT, "on")
    visitor.observe("constructor", "off")
    visitor.until_ranking(ranked({SCRIPT: 1, "constructor": 0}))
    visitor.browser.call("Page.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    visitor.click("#share")
    visitor.click("#share-save")
    path = tmp_path / "hostile-case.json"
    visitor.until("new Promise(done => setTimeout(() => done(true), 300))")
    assert json.loads(path.read_text()) == {
        "format": "plefka-case", "version": 1, "network": "hostile", "method": "auto",
        "evidence": {SCRIPT: 1, "constructor": 0},
    }  # fmt: skip
    visitor.press("Escape")
    visitor.click("#clear")
    visitor.until_ranking(ranked({}))
    visitor.choose_file("#share-file", path)
    visitor.until_ranking(ranked({SCRIPT: 1, "constructor": 0}))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("no json", "The file must hold a case as JSON"),
        ("[1, 2]", "The file must hold observations by name"),
        ('{"format": "plefka-case", "version": 2}', "must be a case of version 1; it has version 2"),
        ('{"format": "plefka-case", "version": 1}', 'must have "evidence"'),
        ('{"nobody knows": 1}', "1 observation in this file does not fit this network."),
        ('{"constructor": {"on": -1, "off": 1}}', 'or two likelihoods such as {"on": 0.9, "off": 0.2}'),
    ],
)
def test_a_wrong_file_is_refused_in_words(visitor, tmp_path, content, sentence):
    path = tmp_path / "case.json"
    path.write_text(content)
    visitor.choose_file("#share-file", path)
    visitor.until_text("#share-problems", sentence)
    assert visitor.observed == {}
    visitor.press("Escape")
