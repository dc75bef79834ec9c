"""Questions that fail or take long: a panel, a check, and a slow question before a ranking harm nothing else."""

import json

import pytest

import plefka as pf
from tests.explorer.browser import Visitor, case
from tests.explorer.test_page import ranked
from tests.explorer.test_page_access import TOO_WIDE, violations
from tests.explorer.test_service_workers import ENDLESS
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
NETWORK = pf.example("espresso")
SOON = 60.0  # seconds: far less than the limit of a question, which would end what takes for ever
# Replaces what the page sends to the service: answer(path, body) gives a response, a changed body, or nothing.
INTERCEPT = """(() => {
  window.sent = [];
  const real = window.real ??= window.fetch;
  const answer = ANSWER;
  window.fetch = (address, options = {}) => {
    const [path, body] = [String(address).replace('api/v1/', ''), options.body ? JSON.parse(options.body) : null];
    window.sent.push(path);
    const found = answer(path, body);
    if (found instanceof Response || found instanceof Promise) return Promise.resolve(found);
    return real(address, found ? { ...options, body: JSON.stringify(found) } : options);
  };
})()"""
TOO_LONG = """Response.json({error: {code: 'too_long', message: 'this question took more than 30 s'}}, {status: 503})"""
REST = "new Promise(done => setTimeout(() => done(true), 1500))"  # longer than panels wait for a pause


@pytest.fixture
def visitor(chromium, service):
    found = Visitor(chromium)
    found.visit(service.address)
    found.until("!!document.querySelector('#panel-next .candidate')")
    return found


def intercept(visitor: Visitor, answer: str) -> None:
    visitor.run(INTERCEPT.replace("ANSWER", answer))


def sent(visitor: Visitor, path: str) -> int:
    return visitor.run(f"window.sent.filter(each => each === '{path}').length")


def use(visitor: Visitor, method: str) -> None:
    choice = "document.querySelector('#method')"
    visitor.run(f"{choice}.value = '{method}'; {choice}.dispatchEvent(new Event('change'))")


def test_a_panel_that_times_out_is_quiet_until_it_is_asked(visitor):
    intercept(visitor, f"(path) => path === 'ask' ? {TOO_LONG} : null")
    visitor.observe("slow_flow", "on")
    visitor.until_text("#panel-next .message", "This question took more than 30 s.")
    visitor.observe("thin_crema", "on")
    visitor.until_text("#panel-next .message", "it was not asked again by itself.")
    visitor.observe("loud_hum", "on")
    visitor.until_ranking(ranked(seen := {"slow_flow": 1, "thin_crema": 1, "loud_hum": 1}))
    visitor.run(REST)
    assert sent(visitor, "ask") == 1
    visitor.click("#panel-next .message button")
    visitor.until("window.sent.filter(each => each === 'ask').length === 2")
    visitor.until_text("#panel-next .message", "This question took more than 30 s.")
    intercept(visitor, "() => null")
    visitor.click("#panel-next .message button")
    visitor.until(f"document.querySelector('.candidate .unit-name')?.textContent === '{pf.ask(NETWORK, seen).unit}'")
    visitor.observe("puddle_below", "off")  # what has worked is asked by itself again
    visitor.until("window.sent.filter(each => each === 'ask').length === 2")


def test_another_method_is_another_attempt(visitor):
    intercept(visitor, f"(path, body) => path === 'ask' && body.method === 'auto' ? {TOO_LONG} : null")
    visitor.observe("slow_flow", "on")
    visitor.until_text("#panel-next .message", "This question took more than 30 s.")
    use(visitor, "bethe")
    visitor.until("!!document.querySelector('#panel-next .candidate')")


def test_a_failed_check_leaves_the_answer(visitor):
    seen = {"slow_flow": 1, "thin_crema": 1, "loud_hum": 1}
    for name in seen:
        visitor.observe(name, "on")
    use(visitor, "G2")
    visitor.until_ranking(ranked(seen, "G2"))
    intercept(visitor, f"(path, body) => path === 'infer' && body.check ? {TOO_LONG} : null")
    before = visitor.text("#log-likelihood")
    visitor.click("#check")
    text = visitor.until_text("#check-failed", "The check failed; the answer is as it was.")
    assert "This question took more than 30 s." in text
    assert visitor.ranking == ranked(seen, "G2")
    assert visitor.text("#log-likelihood") == before
    assert visitor.run("document.querySelector('#failure').hidden")
    assert visitor.text("#check") == "Check this answer"
    intercept(visitor, "() => null")
    visitor.click("#check")
    visitor.until_text("#checked", "Checked: you can rely on it.")
    assert visitor.run("document.querySelector('#check-failed')") is None
    assert visitor.ranking == ranked(seen, "G2")


def test_a_check_takes_nothing_from_the_ranking(visitor):
    """A new observation comes while a check runs without end: the ranking does not wait for it."""
    for name in ("thin_crema", "loud_hum"):
        visitor.observe(name, "on")
    use(visitor, "G12")
    visitor.until_ranking(ranked({"thin_crema": 1, "loud_hum": 1}, "G12"))
    endless = f"{{...body, method: {json.dumps(ENDLESS['method'])}}}"
    intercept(visitor, f"(path, body) => path === 'infer' && body.check ? {endless} : null")
    visitor.click("#check")
    visitor.until_text("#check", "Checking …")
    visitor.observe("slow_flow", "on")
    seen = {"thin_crema": 1, "loud_hum": 1, "slow_flow": 1}
    visitor.until(f"document.querySelector('#ranking .number')?.textContent === '{ranked(seen, 'G12')[0][1]}'", SOON)
    visitor.until_ranking(ranked(seen, "G12"))
    assert visitor.text("#check") == "Check this answer"


def test_a_slow_panel_does_not_keep_the_only_worker_from_the_next_ranking(visitor):
    intercept(visitor, f"(path, body) => path === 'ask' ? {{...body, method: {json.dumps(ENDLESS['method'])}}} : null")
    visitor.observe("slow_flow", "on")
    visitor.until("window.sent.includes('ask')")
    visitor.run(REST)  # it is being computed, and would be for hours
    assert visitor.run("document.querySelector('#panel-next').getAttribute('aria-busy')") == "true"
    visitor.observe("thin_crema", "on")
    best = ranked({"slow_flow": 1, "thin_crema": 1})[0][1]
    visitor.until(f"document.querySelector('#ranking .number')?.textContent === '{best}'", SOON)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (360, "dark")])
def test_axe_finds_nothing_where_questions_fail(chromium, service, width, scheme):
    visitor = Visitor(chromium)
    visitor.visit(service.address + case({"slow_flow": 1, "loud_hum": 1}), width, 860, scheme)
    visitor.until("!!document.querySelector('#panel-next .candidate')")
    intercept(visitor, f"(path, body) => path === 'ask' || path === 'infer' && body.check ? {TOO_LONG} : null")
    use(visitor, "G2")
    visitor.until_text("#panel-next .message", "This question took more than 30 s.")
    visitor.observe("thin_crema", "on")
    visitor.until_text("#panel-next .message", "it was not asked again by itself.")
    visitor.click("#check")
    visitor.until_text("#check-failed", "The check failed")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []


def test_panels_wait_for_the_ranking(chromium, service):
    visitor = Visitor(chromium)
    visitor.visit(service.address + case({"slow_flow": 1}))
    visitor.until("!!document.querySelector('#panel-next .candidate')")
    intercept(visitor, "(path) => path === 'infer' ? new Promise(() => {}) : null")
    visitor.observe("thin_crema", "on")
    visitor.until("window.sent.includes('infer')")
    visitor.tab("why")
    visitor.until_text("#panel-why", "Waits for the ranking …")
    visitor.run(REST)
    assert visitor.run("window.sent") == ["infer"]
    intercept(visitor, "() => null")
    visitor.observe("loud_hum", "on")
    visitor.until("!!document.querySelector('.shifts')")
