"""The explorer in a real browser: a whole diagnosis on the espresso machine, and a service that stops in between."""

import pytest

import plefka as pf
from tests.explorer.browser import CTRL, SHIFT, Visitor, case
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
NETWORK = pf.example("espresso")
ROWS = "[...document.querySelectorAll('{} li')].map(row => row.innerText)"


@pytest.fixture
def visitor(chromium, service):
    found = Visitor(chromium)
    found.visit(service.address)
    yield found
    assert found.complaints() == []


def ranked(evidence, method="auto") -> list[tuple[str, str]]:
    """The ranking as the page should show it, with a mark before estimates."""
    solution = pf.infer(NETWORK, evidence, method)
    marks = {True: "", False: "≈ "}
    exact = dict(zip(NETWORK.names, solution.accuracy == pf.Accuracy.EXACT, strict=True))
    return [(name, f"{marks[bool(exact[name])]}{p:.3f}") for name, p in solution.ranking()]


def test_at_first_sight(visitor):
    assert visitor.text("h1") == "espresso"
    assert visitor.text("#counts") == "7 causes · 8 findings · 24 links"
    assert "Tick what you see, and the causes are ranked here at once." in visitor.text("#welcome")
    assert visitor.text("#observed-hint") == "Nothing yet. Tick below what you see."
    assert visitor.ranking == ranked({})
    assert visitor.run("document.title") == "espresso · plefka"


def test_an_example_is_one_click(visitor):
    visitor.click("#examples button")
    visitor.until("document.querySelectorAll('.observation').length === 6")
    evidence = {"lukewarm_cup": 1, "slow_flow": 1, "loud_hum": 1, "thin_crema": 1, "puddle_below": 0, "bitter_taste": 0}
    visitor.until_ranking(ranked(evidence))
    assert visitor.run("document.querySelector('#welcome').hidden")


def test_ticking_moves_the_ranking(visitor):
    visitor.observe("slow_flow", "on")
    visitor.until_ranking(ranked({"slow_flow": 1}))
    visitor.observe("thin_crema", "off")
    visitor.until_ranking(ranked({"slow_flow": 1, "thin_crema": 0}))
    assert visitor.observed == {"slow_flow": "on", "thin_crema": "off"}
    value = pf.infer(NETWORK, {"slow_flow": 1, "thin_crema": 0}).log_likelihood
    assert f"ln P(evidence) = −{abs(value):.4f} · exact" in visitor.text("#verdict")
    text = visitor.text("#verdict")
    assert text.index("Exact: nothing was approximated.") < text.index("look like this.") < text.index("ln P")
    assert visitor.run("document.querySelector('#check')") is None  # there is nothing to check
    assert visitor.run("document.title").startswith("2 observed")
    visitor.observe("thin_crema", "off")  # pressed again: unknown
    visitor.until_ranking(ranked({"slow_flow": 1}))
    visitor.until_text("#live", "1 observation. Most probable: limescale")


def test_a_cause_can_be_observed(visitor):
    visitor.click("[data-role=c]")
    visitor.observe("limescale", "off")
    visitor.observe("stale_beans", "on")
    visitor.until_ranking(ranked({"limescale": 0, "stale_beans": 1}))


def test_how_sure_is_a_likelihood(visitor):
    visitor.observe("loud_hum", "sure")
    visitor.until_ranking(ranked({"loud_hum": pf.Likelihood(0.8, 0.2)}))
    assert visitor.text(".reading") == "probably yes, 4 to 1"
    assert visitor.run("document.activeElement.type") == "range"
    for _ in range(5):
        visitor.press("ArrowRight")
    visitor.until_ranking(ranked({"loud_hum": pf.Likelihood(0.85, 0.15)}))
    visitor.press("z", CTRL)  # movements of a slider are one change
    visitor.until("document.querySelector('.sure input').value === '80'")


def test_why(visitor):
    evidence = {"slow_flow": 1, "thin_crema": 1}
    for name in evidence:
        visitor.observe(name, "on")
    visitor.until_ranking(ranked(evidence))
    visitor.click("#ranking .cause")
    why = pf.explain(NETWORK, evidence, "stale_beans", top=6)
    visitor.until_text("#panel-why", f"from {why.prior:.3f} to {why.probability:.3f}")
    for row, moved in zip(visitor.run(ROWS.format(".shifts")), why.observations, strict=True):
        assert moved.unit in row
        assert f"{'−' if moved.shift < 0 else '+'}{abs(moved.shift):.2f}" in row
        assert f"without it {moved.probability:.3f}" in row
    changes = visitor.run(ROWS.format(".changes"))
    assert len(changes) == 6
    for row, change in zip(changes, why.changes, strict=False):
        assert change.unit in row
        assert f"{change.probability:.3f}" in row
        assert f"chance of this {change.chance:.3f}" in row
    first = why.changes[0]
    visitor.click(".changes button")
    visitor.until_ranking(ranked({**evidence, first.unit: int(first.state == "on")}))


def test_what_next(visitor):
    visitor.observe("slow_flow", "on")
    advice = pf.ask(NETWORK, {"slow_flow": 1}, top=8)
    visitor.until(f"document.querySelector('.candidate .unit-name')?.textContent === '{advice.unit}'")
    rows = visitor.run(ROWS.format(".candidates"))
    share = 100 * advice.candidates[0].information / advice.entropy
    assert f"resolves {share:.1f} % of the uncertainty" in rows[0]
    assert f"chance of yes {advice.candidates[0].probability:.3f}" in rows[0]
    assert [each.unit for each in advice.candidates] == [row.split("\n")[0] for row in rows]
    visitor.click(f"[aria-label='Observe {advice.unit}: no']")
    visitor.until_ranking(ranked({"slow_flow": 1, advice.unit: 0}))


def test_exactly_one_cause(visitor):
    visitor.observe("slow_flow", "on")
    visitor.until_ranking(ranked({"slow_flow": 1}))
    visitor.click("#exclusive")
    one = pf.infer(NETWORK, {"slow_flow": 1}, exclusive="causes")
    visitor.until_ranking([(name, f"{p:.3f}") for name, p in one.ranking()])
    assert f"ln P(evidence) = −{abs(one.log_likelihood):.4f} · exact" in visitor.text("#verdict")
    assert "exactly one of" in visitor.run("document.querySelector('#verdict details').textContent.toLowerCase()")
    assert visitor.run("document.querySelector('#check')") is None
    assert "Why, Together and Methods do not assume that there is exactly one cause." in visitor.text("#not-assumed")
    visitor.tab("graph")
    visitor.until_text("#panel-graph .node[aria-label^='limescale:']", f"{one['limescale']:.3f}")
    visitor.tab("next")
    advice = pf.ask(NETWORK, {"slow_flow": 1}, top=8, exclusive="causes")
    visitor.until(f"document.querySelector('.candidate .unit-name')?.textContent === '{advice.unit}'")
    share = 100 * advice.candidates[0].information / advice.entropy
    visitor.until_text("#panel-next", f"resolves {share:.1f} % of the uncertainty")
    visitor.until("location.hash.includes('exclusive=causes')")
    visitor.press("z", CTRL)
    visitor.until_ranking(ranked({"slow_flow": 1}))
    assert not visitor.run("document.querySelector('#exclusive').checked")


def test_undo_and_redo(visitor):
    visitor.observe("slow_flow", "on")
    visitor.observe("loud_hum", "on")
    visitor.observe("slow_flow", "off")
    visitor.press("z", CTRL)
    visitor.until_ranking(ranked({"slow_flow": 1, "loud_hum": 1}))
    visitor.click("#undo")
    visitor.until_ranking(ranked({"slow_flow": 1}))
    visitor.press("Z", CTRL | SHIFT)
    visitor.click("#redo")
    visitor.until_ranking(ranked({"slow_flow": 0, "loud_hum": 1}))
    assert visitor.run("document.querySelector('#redo').disabled")
    visitor.click(".observation .remove")
    visitor.until_ranking(ranked({"loud_hum": 1}))
    visitor.click("#clear")
    visitor.until_ranking(ranked({}))
    visitor.click("#undo")
    visitor.until_ranking(ranked({"loud_hum": 1}))


def test_methods_and_checks(visitor):
    visitor.observe("slow_flow", "on")
    visitor.until_ranking(ranked({"slow_flow": 1}))
    seen = {"slow_flow": 1, "thin_crema": 1, "loud_hum": 1}  # with slow_flow alone nothing is left to approximate
    for name in ("thin_crema", "loud_hum"):
        visitor.observe(name, "on")
    visitor.run("(m => { m.value = 'G2'; m.dispatchEvent(new Event('change')); })(document.querySelector('#method'))")
    visitor.until_ranking(ranked(seen, "G2"))
    visitor.until_text("#estimates", "marked ≈")
    assert "The true probabilities may be higher or lower." in visitor.text("#estimates")
    assert visitor.text("#method-about") == "G1, corrected for how pairs of units depend on each other."
    visitor.click("#check")
    assert "Checked: you can rely on it." in visitor.until_text("#verdict", "Checked")
    visitor.tab("compare")
    visitor.click("#panel-compare .is-primary")
    visitor.until("!!document.querySelector('#panel-compare table')")
    shown = visitor.run(
        "[...document.querySelectorAll('#panel-compare table:first-of-type tbody tr')].map(r => r.innerText)"
    )
    (exact,) = [row for row in shown if row.startswith("exact")]
    assert shown[shown.index(exact) + 1].startswith("Sums over everything that may be the case.")
    assert f"−{abs(pf.infer(NETWORK, seen).log_likelihood):.4f}" in exact


def test_the_neighbourhood_is_a_picture_and_a_list(visitor):
    visitor.observe("slow_flow", "on")
    visitor.until_ranking(ranked({"slow_flow": 1}))
    visitor.tab("graph")
    visitor.until_text("#panel-graph", "Around what was observed")
    visitor.click(".node[aria-label^='limescale:']")
    visitor.until_text("#panel-graph", "Around limescale")
    assert "Depends on nothing, shows in 4 units" in visitor.text("#panel-graph")
    assert "slow_flow\nyes" in visitor.text("#panel-graph details")
    visitor.run(
        "[...document.querySelectorAll('.neighbours button')].find(b => b.textContent === 'lukewarm_cup').click()"
    )
    visitor.until_text("#panel-graph h3", "Around lukewarm_cup")
    visitor.click(".node:not(.is-centre)")
    visitor.until("!document.querySelector('#panel-graph h3').textContent.includes('lukewarm_cup')")


def test_an_observed_cause_needs_no_explanation(visitor):
    visitor.click("[data-role=c]")
    visitor.observe("limescale", "on")
    visitor.tab("why")
    visitor.run("document.querySelector('.observation .unit-name').click()")
    visitor.until_text("#panel-why", "It is observed: yes. Only what is not observed needs an explanation.")
    visitor.click("#ranking .cause")
    visitor.until_text("#panel-why", f"Why {visitor.ranking[0][0]}?")


def test_nothing_is_left_to_look_at(chromium, service):
    visitor = Visitor(chromium)
    visitor.visit(service.address + case(dict.fromkeys(NETWORK.names[7:], 0)))
    visitor.until_text("#panel-next", "Everything that could be observed is observed.")


def test_a_service_that_stops_and_comes_back(chromium, service):
    visitor = Visitor(chromium)
    visitor.visit(service.address)
    visitor.observe("slow_flow", "on")
    visitor.until_ranking(ranked({"slow_flow": 1}))
    service.stop()
    visitor.observe("loud_hum", "on")
    text = visitor.until_text("#connection:not([hidden])", "The service does not answer.")
    assert "Your case is kept on this page." in text
    visitor.until_text("#busy", "not up to date")
    visitor.observe("thin_crema", "off")
    assert visitor.observed == {"slow_flow": "on", "loud_hum": "on", "thin_crema": "off"}
    assert visitor.ranking == ranked({"slow_flow": 1})
    service.start()
    visitor.click("#connection-retry")
    visitor.until("document.querySelector('#connection').hidden")
    visitor.until_ranking(ranked({"slow_flow": 1, "loud_hum": 1, "thin_crema": 0}))
