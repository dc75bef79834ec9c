"""The picture of what hangs together in the explorer, the search for misspelt names, and long or joined words."""

import json

import numpy as np
import pytest

import plefka as pf
from tests.explorer.browser import Visitor, case
from tests.explorer.browser_service import serving
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
FINDINGS = 40  # of one cause: more than a picture shows at first
SHOWN = 24
LONG = "a_finding_with_a_name_that_goes_on_and_on_for_longer_than_two_lines_of_the_list_of_findings_have_room_for_it"
WORDS = ("Correctly_oriented", "Incorrectly_oriented_or_missing")
NAMES = ["flu", "cold", *(f"finding_{k}" for k in range(FINDINGS - 2)), "fever", LONG]
NODES = """Object.fromEntries([...document.querySelectorAll('.node')].map(each =>
  [each.querySelector('.node-name').textContent, each.querySelector('.node-state').textContent]))"""
LISTED = """Object.fromEntries([...document.querySelectorAll('.neighbours li')].map(each =>
  [each.querySelector('.link').textContent, each.querySelector('em').textContent]))"""
LEFT = "(name => document.querySelector(`.node[aria-label^='${name}:']`).getBoundingClientRect().left)"
FOCUS = "document.activeElement"
CUT = """[...document.querySelectorAll('.state, .node-name, .node-state')]
  .filter(each => each.scrollWidth > each.clientWidth + 1 || each.scrollHeight > each.clientHeight + 1)
  .map(each => each.textContent)"""


def network() -> pf.BeliefNetwork:
    """A cause of forty findings, of which two have another cause as well, with words of their own for the last one."""
    weights = np.zeros((len(NAMES), len(NAMES)))
    weights[2:, 0] = np.linspace(0.5, 2.0, FINDINGS)
    weights[[2, -2], 1] = 0.7
    bias = [0.05, 0.1, *[0.02] * FINDINGS]
    states = [WORDS if name == LONG else ("no", "yes") for name in NAMES]
    return pf.BeliefNetwork(weights, bias, "noisy_or", NAMES, states=states)


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    path = tmp_path_factory.mktemp("network") / "wide.json"
    pf.save(network(), path)
    with serving(path) as started:
        yield started


@pytest.fixture
def visitor(chromium):
    found = Visitor(chromium)
    yield found
    assert found.complaints() == []


def shown(p: float) -> str:
    return f"{p:.3f}"


def open_graph(visitor: Visitor, address: str, title: str) -> None:
    visitor.visit(address)
    visitor.tab("graph")
    visitor.until_text("#panel-graph h3", title)


def test_probabilities_and_states_stand_in_the_picture_and_in_the_list(visitor, service):
    evidence = {"slow_flow": 1, "puddle_below": 0}
    open_graph(visitor, service.address + case(evidence), "Around what was observed")
    net = pf.example("espresso")
    found = pf.infer(net, evidence)
    causes = {*net.parents("slow_flow"), *net.parents("puddle_below")}
    expected = {"slow_flow": "yes", "puddle_below": "no"} | {name: shown(found[name]) for name in causes}
    assert visitor.run(NODES) == expected
    assert visitor.run(LISTED) == expected
    assert all(visitor.run(f"{LEFT}('{cause}') < {LEFT}('slow_flow')") for cause in causes)


def test_the_graph_counts_what_it_does_not_show(visitor, wide):
    evidence = {"finding_3": 1}  # one of the weakest links of all
    open_graph(visitor, wide.address + case(evidence), "Around what was observed")
    visitor.click(".node[aria-label^='flu:']")
    visitor.until_text("#panel-graph h3", "Around flu")
    assert f"Depends on nothing, shows in {FINDINGS} units." in visitor.text("#panel-graph")
    assert f"{FINDINGS - SHOWN} of its {FINDINGS} neighbours are not shown." in visitor.text("#panel-graph")
    found = pf.infer(network(), evidence)
    nodes = visitor.run(NODES)
    assert len(nodes) == 1 + SHOWN
    assert nodes["finding_3"] == "yes"
    assert nodes["fever"] == shown(found["fever"])
    visitor.click("[data-key=more]")
    visitor.until(f"document.querySelectorAll('.node').length === {1 + FINDINGS}")
    assert "not shown" not in visitor.text("#panel-graph")


def test_two_links_away(visitor, wide):
    open_graph(visitor, wide.address + case({"finding_3": 1}), "Around what was observed")
    assert set(visitor.run(NODES)) == {"finding_3", "flu"}
    visitor.click("[data-key=hops-2]")
    visitor.until("document.querySelectorAll('.node').length > 2")
    nodes = visitor.run(NODES)
    assert len(nodes) == 2 + SHOWN // 2
    assert f"{FINDINGS - 1 - SHOWN // 2} of the {FINDINGS} units within 2 links are not shown." in visitor.text(
        "#panel-graph"
    )
    visitor.click("[data-key=hops-3]")
    visitor.until("!!document.querySelector(\".node[aria-label^='cold:']\")")


def test_full_screen_and_back_without_a_mouse(visitor, service):
    open_graph(visitor, service.address + case({"slow_flow": 1}), "Around what was observed")
    visitor.run("document.querySelector('[data-key=full]').focus()")
    visitor.press("Enter")
    visitor.until("!!document.querySelector('dialog.full[open] .node')")
    assert visitor.run("(b => [b.width, b.height])(document.querySelector('.full[open]').getBoundingClientRect())") == (
        visitor.run("[innerWidth, innerHeight]")
    )
    visitor.run("document.querySelector('.node[tabindex=\"0\"]').focus()")
    first = visitor.run(f"{FOCUS}.ariaLabel")
    visitor.press("ArrowDown")
    second = visitor.run(f"{FOCUS}.ariaLabel")
    assert second != first
    visitor.press("ArrowRight")
    assert visitor.run(f"{FOCUS}.ariaLabel") == "slow_flow: yes"
    visitor.press("ArrowLeft")
    visitor.press("Enter")
    visitor.until("!document.querySelector('.full[open] h3').textContent.includes('what was observed')")
    assert visitor.run(f"{FOCUS}.matches('.node.is-centre')")
    visitor.press("Escape")
    visitor.until("!document.querySelector('dialog.full[open]')")
    visitor.until("!!document.querySelector('#panel-graph .node')")
    visitor.until(f"{FOCUS}.dataset.key === 'full'")


def test_contradictions_have_a_picture_without_probabilities(visitor, tmp_path):
    net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.5, 0.0], "noisy_or", ["flu", "fever"])
    pf.save(net, tmp_path / "contradiction.json")
    with serving(tmp_path / "contradiction.json") as started:
        open_graph(visitor, started.address + case({"fever": 1}), "Around what was observed")
        visitor.click(".node[aria-label^='flu:']")
        visitor.click("[data-role=c]")
        visitor.observe("flu", "off")
        visitor.until_text("#panel-graph", "The observations contradict each other")
        assert visitor.run(NODES) == {"flu": "no", "fever": "yes"}


@pytest.mark.parametrize(
    ("typed", "meant", "finds"),
    [
        ("feaver", "fever", "fever"),
        ("fnding 17", "finding 17", "finding_17"),
        ("finding17", "finding 17", "finding_17"),
    ],
)
def test_a_misspelt_search(visitor, wide, typed, meant, finds):
    visitor.visit(wide.address)
    visitor.write("#search", typed)
    text = visitor.until_text(".nothing", "Did you mean")
    assert f"Nothing has “{typed}” in its name. Did you mean" in text
    distance = "document.querySelector('.nothing').getBoundingClientRect().top - BOX.bottom"
    assert visitor.run(distance.replace("BOX", "document.querySelector('#search').getBoundingClientRect()")) < 60
    assert visitor.run("document.querySelector('.nothing button').textContent") == f"{meant}?"
    visitor.click(".nothing button")
    visitor.until(f"document.querySelector('.unit .unit-name')?.textContent === '{finds}'")
    assert visitor.text(".nothing") == ""
    assert visitor.run("document.activeElement.id") == "search"


def test_a_misspelt_cause_is_offered_among_findings(visitor, wide):
    visitor.visit(wide.address)
    visitor.write("#search", "colld")
    visitor.until_text(".nothing", "cold?")
    visitor.click(".nothing button")
    visitor.until("document.querySelector('.unit .unit-name')?.textContent === 'cold'")
    assert visitor.run("document.querySelector('[data-role=c]').getAttribute('aria-pressed')") == "true"


def test_underscores_are_seen_as_spaces_and_both_are_found(visitor, service):
    visitor.visit(service.address)
    for typed in ("slow_flow", "slow flow"):
        visitor.write("#search", typed)
        visitor.until("document.querySelectorAll('.unit').length === 1")
    name = "document.querySelector('.unit .unit-name')"
    assert visitor.run(f"getComputedStyle({name}.querySelector('.gap')).color") == "rgba(0, 0, 0, 0)"
    assert visitor.run(f"[{name}.textContent, {name}.title]") == ["slow_flow", "slow flow"]
    gaps = "[...document.querySelectorAll('.gap')].every(gap => gap.textContent === '_')"
    assert visitor.run(gaps)
    visitor.observe("slow_flow", "on")
    assert visitor.observed == {"slow_flow": "on"}
    visitor.until("location.hash.includes('slow_flow')")


@pytest.mark.parametrize("width", [390, 1280])
def test_long_words_and_names_are_not_cut(visitor, wide, width):
    visitor.visit(wide.address + case({LONG: WORDS[1]}), width, 900)
    visitor.write("#search", LONG)
    visitor.until("document.querySelectorAll('.unit').length === 1")
    assert visitor.run(CUT) == []
    for word in WORDS:
        state = f"[...document.querySelectorAll('.unit .state')].find(each => each.textContent === {json.dumps(word)})"
        row = "document.querySelector('.unit').getBoundingClientRect()"
        box = f"{state}.getBoundingClientRect()"
        assert visitor.run(f"{box}.bottom <= {row}.bottom && {box}.right <= {row}.right")
    visitor.run("document.querySelector('.unit .unit-name').focus({focusVisible: true})")
    assert visitor.run("(name => name.scrollHeight <= name.clientHeight + 1)(document.querySelector('.unit-name'))")
    visitor.tab("graph")
    visitor.until("!!document.querySelector('.node')")
    assert visitor.run("(n => [n.ariaLabel, n.title])(document.querySelector('.node.is-on'))") == [
        f"{LONG}: {WORDS[1]}",
        f"{LONG}: {WORDS[1]}".replace("_", " "),
    ]
    visitor.run("document.querySelector('.node.is-on').focus({focusVisible: true})")
    assert LONG not in visitor.run(CUT)


def test_rows_of_two_heights_scroll_and_move(visitor, wide):
    visitor.visit(wide.address)
    visitor.run("document.querySelector('#units button[tabindex=\"0\"]').focus()")
    visitor.press("End")
    assert visitor.run(f"{FOCUS}.textContent") == LONG
    inside = "(e => e.bottom <= document.querySelector('#units-scroll').getBoundingClientRect().bottom + 1)"
    assert visitor.run(f"{inside}({FOCUS}.closest('.unit').getBoundingClientRect())")
    visitor.press("ArrowUp")
    assert visitor.run(f"{FOCUS}.textContent") == "fever"
    gap = "document.querySelector('[aria-posinset=\"40\"]').getBoundingClientRect().top - BOX.bottom"
    assert abs(visitor.run(gap.replace("BOX", f"{FOCUS}.closest('.unit').getBoundingClientRect()"))) < 1
