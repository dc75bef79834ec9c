"""The interview on the page: answered by keyboard, with what is not known, undone, kept, and ended with its reason."""

import pytest

import plefka as pf
from plefka.questions.case_interview import LATER
from tests.explorer.browser import CTRL, Visitor, case
from tests.explorer.test_page_access import TOO_WIDE, violations
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
SEEN = {"slow_flow": 1}
ASKED = "document.querySelector('#panel-interview .question')?.textContent"
GIVEN = "[...document.querySelectorAll('.interview-list li')].map(each => [...each.children].map(z => z.textContent))"
ENDED = "document.querySelector('#panel-interview h3')?.textContent === 'Time to stop'"


@pytest.fixture
def visitor(chromium):
    return Visitor(chromium)


def begin(visitor, address: str, evidence: dict, *size: object) -> None:
    """A new visitor, with the interview in sight and the focus in it."""
    visitor.visit(address)
    visitor.run("sessionStorage.clear()")
    visitor.visit(address + case(evidence), *size)
    visitor.tab("interview")
    visitor.until("!!document.querySelector('#panel-interview h3')")
    visitor.run("document.querySelector('#panel-interview').focus()")


def until_asked(visitor, unit: str | None) -> None:
    visitor.until(f"{ASKED} === '{unit}?' && !document.querySelector('#panel-interview[aria-busy]')")


def test_it_asks_by_keyboard_what_the_library_asks(visitor, service):
    begin(visitor, service.address, SEEN)
    interview = pf.Interview(pf.example("espresso"), SEEN)
    for key, state in (("y", 1), ("d", None), ("l", LATER), ("n", 0)):
        until_asked(visitor, interview.next.unit)
        visitor.press(key)
        interview = interview.answered(interview.next.unit or "", state)
    until_asked(visitor, interview.next.unit)
    words = {1: "yes", 0: "no", None: "don’t know", LATER: "later"}
    assert visitor.run(GIVEN) == [[unit, words[state]] for unit, state in interview.answers]
    assert visitor.observed == {unit: "on" if state else "off" for unit, state in interview.observed.items()}
    assert visitor.text("#panel-interview .hint") == interview.next.why
    for _ in range(3):  # the last state, "later" and "don't know"
        visitor.press("u")
        interview = interview.undone()
        until_asked(visitor, interview.next.unit)
        assert visitor.run(GIVEN) == [[unit, words[state]] for unit, state in interview.answers]
    assert visitor.run("document.activeElement.id") == "panel-interview"
    visitor.press("z", CTRL)  # the page's own undo takes an answer back, too
    until_asked(visitor, pf.Interview(pf.example("espresso"), SEEN).next.unit)
    assert visitor.run(GIVEN) == []
    assert visitor.complaints() == []


def test_it_goes_on_after_a_reload_and_begins_anew_with_another_case(visitor, service):
    begin(visitor, service.address, SEEN)
    first, *_ = (unit for unit, _ in pf.Interview(pf.example("espresso"), SEEN).next.left)
    until_asked(visitor, first)
    visitor.press("d")
    visitor.until(f"{GIVEN}.length === 1")
    visitor.visit(service.address + case(SEEN))
    visitor.tab("interview")
    visitor.until(f"!!{ASKED}")
    assert visitor.run(GIVEN) == [[first, "don’t know"]]
    assert visitor.run(ASKED) != f"{first}?"
    visitor.visit(service.address + case({**SEEN, "loud_hum": 1}))  # nearly the same, and yet somebody else
    visitor.tab("interview")
    visitor.until(f"!!{ASKED}")
    assert visitor.run(GIVEN) == []
    visitor.press("d")
    visitor.click("#panel-interview .answers button:nth-child(3)")
    visitor.until(f"{GIVEN}.length === 1")
    visitor.click("#clear")
    visitor.until(f"{GIVEN}.length === 0 && {ASKED} !== undefined")


def test_it_stops_says_why_and_goes_on_if_one_wants(visitor, service):
    begin(visitor, service.address, SEEN)
    interview = pf.Interview(pf.example("espresso"), SEEN)
    first = interview.next.unit
    for key in "l" + 30 * "n":
        visitor.until(
            f"{ENDED} || (!!{ASKED} && !document.querySelector('#panel-interview .answers button[disabled]'))"
        )
        if visitor.run(ENDED):
            break
        asked = visitor.run(ASKED)
        visitor.press(key)
        interview = interview.answered(asked.removesuffix("?"), LATER if key == "l" else 0)
        visitor.until(f"{ENDED} || {ASKED} !== '{asked}'")
    assert [unit for unit, _ in interview.answers].count(first or "") == 2
    assert interview.next.unit is None
    assert visitor.text("#panel-interview .message") == interview.next.why
    assert visitor.run("!!document.querySelector('.interview-tools button')")


def test_one_certain_cause_ends_it(visitor, service):
    seen = dict.fromkeys(("slow_flow", "lukewarm_cup", "low_pressure", "loud_hum"), 1)
    certain = pf.Interview(pf.example("espresso"), {**seen, "limescale": pf.Likelihood(0.95, 0.05)})
    begin(visitor, service.address, {**seen, "limescale": {"on": 0.95, "off": 0.05}})
    visitor.until(f"{ENDED} || !!{ASKED}")
    assert visitor.run(ENDED) == (certain.next.unit is None)
    assert certain.ranking[0][1] > 0.95
    assert visitor.text("#panel-interview .message") == certain.next.why
    assert certain.next.left[0][0] in visitor.text("#panel-interview")
    visitor.click(".interview-tools .is-quiet")
    until_asked(visitor, certain.next.left[0][0])


@pytest.mark.parametrize(("width", "height", "scheme"), [(390, 800, "dark"), (1280, 860, "light")])
def test_everyone_can_use_it(visitor, service, width, height, scheme):
    begin(visitor, service.address, SEEN, width, height, scheme)
    visitor.until(f"!!{ASKED}")
    visitor.press("d")
    visitor.until(f"{GIVEN}.length === 1 && !document.querySelector('#panel-interview[aria-busy]')")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []
    visitor.press("Tab")
    visitor.until("document.activeElement.getAttribute('aria-keyshortcuts') === 'Y'")
