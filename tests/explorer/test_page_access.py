"""The explorer for everyone: screen readers, keyboards, small and large windows, light and dark, paper."""

import base64
from pathlib import Path

import pytest

from tests.explorer.browser import STILL, Visitor, case
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
AXE = (Path(__file__).parent / "axe.min.js").read_text(encoding="utf-8")
CASE = case({"slow_flow": 1, "thin_crema": 1, "puddle_below": 0, "loud_hum": {"on": 0.8, "off": 0.2}})
SIZES = {360: 740, 768: 1024, 1280: 860, 1920: 1080}
VIOLATIONS = """
axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']})
  .then(found => found.violations.map(v => [v.id, v.help, v.nodes.map(n => n.html + ' ' + n.failureSummary)]))
"""
TOO_WIDE = """
[...document.querySelectorAll('body *')]
  .filter(element => !element.closest('.wide, .unseen, .skip, .tabs, svg, .graph'))
  .filter(element => element.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .map(element => [element.tagName, element.className, element.textContent.slice(0, 40)])
"""
FOCUS = "(e => e.getAttribute('aria-label') ?? e.textContent.trim())(document.activeElement)"


@pytest.fixture
def visitor(chromium):
    return Visitor(chromium)


def show(visitor, tab: str) -> None:
    """One of the panels with its answer."""
    visitor.tab(tab)
    if tab == "compare":
        visitor.until("!!document.querySelector('#panel-compare h3')")
        if visitor.run("!!document.querySelector('#panel-compare .is-primary')"):
            visitor.click("#panel-compare .is-primary")
    visitor.until(f"!!document.querySelector('#panel-{tab} h3') && !document.querySelector('#panel-{tab}[aria-busy]')")


def violations(visitor) -> list:
    """What axe-core finds wrong once nothing moves."""
    visitor.until(STILL)
    if not visitor.run("typeof axe === 'object'"):
        visitor.run(f"{AXE}; 0")
    return visitor.run(VIOLATIONS)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing(visitor, service, scheme):
    visitor.visit(service.address, 1280, 860, scheme)
    assert violations(visitor) == []
    visitor.visit(service.address + CASE, 1280, 860, scheme)
    for tab in ("next", "why", "graph", "compare"):
        show(visitor, tab)
        assert violations(visitor) == []
    show(visitor, "graph")
    visitor.click("[data-key=full]")
    assert violations(visitor) == []
    visitor.press("Escape")
    visitor.until("!document.querySelector('.full[open]')")
    visitor.write("#search", "slwo")
    visitor.until("!!document.querySelector('.nothing button')")
    assert violations(visitor) == []
    visitor.click("#share")
    assert violations(visitor) == []
    visitor.visit(service.address + CASE, 360, 740, scheme)
    assert violations(visitor) == []


def test_axe_finds_what_is_wrong(visitor, service):
    """So that the test above means something."""
    visitor.visit(service.address)
    visitor.run("document.querySelector('#search').removeAttribute('aria-label')")
    visitor.run("document.querySelector('#search').removeAttribute('placeholder')")
    visitor.run("document.querySelector('#counts').style.color = '#ccc'")
    assert {found[0] for found in violations(visitor)} >= {"label", "color-contrast"}


@pytest.mark.parametrize("width", SIZES)
def test_nothing_is_cut_off(visitor, service, width):
    visitor.visit(service.address + CASE, width, SIZES[width])
    for tab in ("next", "why", "graph", "compare"):
        show(visitor, tab)
        assert visitor.run("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
        assert visitor.run(TOO_WIDE) == []


def test_the_reader_chooses_the_colours(visitor, service):
    ground = "getComputedStyle(document.body).backgroundColor"
    visitor.visit(service.address)
    assert visitor.run(ground) == "rgb(245, 244, 240)"
    for name, colour in (("Light", "rgb(245, 244, 240)"), ("Dark", "rgb(19, 24, 27)")):
        visitor.click("#theme")
        visitor.until(f"document.querySelector('#theme').getAttribute('aria-label') === 'Colours: {name}'")
        assert visitor.run(ground) == colour
    visitor.visit(service.address)  # it is remembered
    assert visitor.run(ground) == "rgb(19, 24, 27)"
    visitor.click("#theme")
    visitor.until("document.querySelector('#theme').getAttribute('aria-label') === 'Colours: System'")


def test_a_diagnosis_without_a_mouse(visitor, service):
    visitor.visit(service.address)
    visitor.press("/")
    visitor.browser.call("Input.insertText", text="slow")
    visitor.until("document.querySelectorAll('.unit').length === 1")
    visitor.press("ArrowDown")
    assert visitor.run(FOCUS) == "slow_flow: yes"
    visitor.press("y")
    visitor.until("document.querySelectorAll('.observation').length === 1")
    visitor.until_text("#live", "1 observation. Most probable: limescale 0.460")
    visitor.press("n")
    visitor.until("!!document.querySelector('.observation .is-off[aria-pressed=true]')")
    visitor.press("Delete")
    visitor.until_text("#live", "0 observations")
    visitor.run("document.querySelector('#ranking button[tabindex=\"0\"]').focus()")
    visitor.press("ArrowDown")
    assert visitor.run(FOCUS).startswith("limescale 0.200, beforehand 0.200")
    visitor.press("Enter")
    visitor.until_text("#panel-why", "Why limescale?")
    visitor.run("document.querySelector('#tab-why').focus()")
    visitor.press("ArrowRight")
    assert visitor.run(FOCUS) == "Together"
    visitor.press("ArrowRight")
    assert visitor.run(FOCUS) == "Around"
    visitor.until_text("#panel-graph", "Around limescale")


def test_the_list_is_one_stop_of_the_tab_key(visitor, service):
    visitor.visit(service.address)
    visitor.until("document.querySelectorAll('#units button[tabindex=\"0\"]').length === 1")
    assert visitor.run("document.querySelectorAll('#ranking button[tabindex=\"0\"]').length") == 1
    visitor.run("document.querySelector('#units button[tabindex=\"0\"]').focus()")
    for key, expected in (("End", "thin_crema"), ("ArrowRight", "thin_crema: yes"), ("Home", "lukewarm_cup: yes")):
        visitor.press(key)
        assert visitor.run(FOCUS) == expected


def test_without_motion_nothing_moves(visitor, service):
    visitor.visit(service.address)
    features = [{"name": "prefers-reduced-motion", "value": "reduce"}]
    visitor.browser.call("Emulation.setEmulatedMedia", features=features)
    visitor.observe("thin_crema", "on")
    visitor.observe("slow_flow", "on")
    visitor.until_text("#live", "2 observations")
    assert visitor.run("document.getAnimations().length") == 0
    visitor.browser.call("Emulation.setEmulatedMedia", features=[])


def test_it_prints(visitor, service):
    visitor.visit(service.address + CASE, 1280, 860, "dark")
    show(visitor, "why")
    printed = base64.b64decode(visitor.browser.call("Page.printToPDF", printBackground=True)["data"])
    assert printed.startswith(b"%PDF")
    visitor.browser.call("Emulation.setEmulatedMedia", media="print")
    assert visitor.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    shown = "document.querySelector('{}').checkVisibility()"
    assert [visitor.run(shown.format(part)) for part in ("#search", "#share", "#method")] == [False] * 3
    assert [visitor.run(shown.format(part)) for part in ("#ranking", "#observed", ".shifts")] == [True] * 3
    state = visitor.run("getComputedStyle(document.querySelector('.observation'), '::after').content")
    visitor.browser.call("Emulation.setEmulatedMedia", media="")
    assert "yes" in state or "attr(" in state
