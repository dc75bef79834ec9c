"""What the page asks further: explanations, two causes together, costs, sets and outcomes, a tornado, and intervals."""

import json
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import plefka as pf
from tests.explorer.browser import CTRL, Visitor, case
from tests.explorer.browser_service import serving
from tests.explorer.test_fault_ranking import NOTHING_PRINTED, SMALL
from tests.explorer.test_page_access import TOO_WIDE, violations
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
NETWORK = pf.example("espresso")
SEEN = {"slow_flow": 1, "thin_crema": 1, "loud_hum": 1}
DRAWN = "findings[k=0,samples=256,seed=0]"
SINGLE = pf.BeliefNetwork([[0, 0, 0], [2, 0, 0], [1, 0, 0]], [0.1, 0.05, 0.0], "noisy_or", ["flu", "fever", "cough"])
EXPLANATIONS = """[...document.querySelectorAll('#panel-explanations li')].map(row =>
  [[...row.querySelectorAll('.unit-name')].map(name => name.textContent), row.querySelector('.number').textContent])"""
CELLS = "[...document.querySelectorAll('.two-by-two tbody td')].map(cell => cell.textContent)"
CANDIDATES = """[...document.querySelectorAll('.candidates .candidate')].map(row =>
  [row.querySelector('.unit-name').textContent, row.querySelector('.gain span').textContent])"""
TORNADO = """[...document.querySelectorAll('#panel-numbers li')].map(row => {
  const track = row.querySelector('.track').getBoundingClientRect();
  const ends = [...row.querySelectorAll('.fill')].flatMap(bar => {
    const box = bar.getBoundingClientRect();
    return [(box.left - track.left) / track.width, (box.right - track.left) / track.width];
  });
  const [name, text] = [row.firstElementChild, row.querySelector('.number')].map(each => each.textContent);
  return [name, text, Math.min(...ends), Math.max(...ends)];
})"""
FOCUSED = "document.activeElement.getAttribute('aria-label')"


@pytest.fixture
def visitor(chromium, service):
    found = Visitor(chromium)
    found.visit(service.address + case(SEEN))
    yield found
    assert found.complaints() == []


def with_fields(address: str, **fields: str) -> str:
    return address + "".join(f"&{name}={quote(value)}" for name, value in fields.items())


def together(visitor: Visitor) -> None:
    """The tab with all that it shows."""
    visitor.tab("together")
    for panel in ("#panel-explanations", "#panel-joint"):
        visitor.until(f"!!document.querySelector('{panel} .remarks, {panel} > .hint:not(.waits)')")


def choose(visitor: Visitor, selector: str, value: str) -> None:
    visitor.run(
        f"(s => {{ s.focus(); s.value = {json.dumps(value)}; s.dispatchEvent(new Event('change')); }})"
        f"(document.querySelector('{selector}'))"
    )


def until_priced(visitor: Visitor, evidence: dict, **options) -> Any:
    """Wait until candidates are those of `pf.ask` with these options, in order, with their gains per cost."""
    advice = pf.ask(NETWORK, evidence, top=8, **options)
    prices = [
        f" per unit of cost, and costs {each.cost:g}" if options.get("costs") else "" for each in advice.candidates
    ]
    expected = [
        [each.unit, f"resolves {percent(each.information_per_cost / advice.entropy)} of the uncertainty{price}"]
        for each, price in zip(advice.candidates, prices, strict=True)
    ]
    visitor.until(f"JSON.stringify({CANDIDATES}) === JSON.stringify({json.dumps(expected)})")
    return advice


def percent(share: float) -> str:
    return f"{100 * share:.{0 if share >= 0.1 else 1}f} %"


# ---- together --------------------------------------------------------------------------------------------------------


def test_the_most_probable_explanations(visitor):
    together(visitor)
    found = pf.most_probable(NETWORK, SEEN, "causes", 3)
    assert visitor.run(EXPLANATIONS) == [[found.on(k), f"{p:.3f}"] for k, p in enumerate(found.probability)]
    assert "It is proven that no other combination is more probable" in visitor.text("#panel-explanations")
    visitor.click("#panel-explanations .unit-name")
    visitor.until_text("#panel-why h3", f"Why {found.on(0)[0]}?")


def test_none_of_the_causes_may_explain_it_best(visitor, service):
    nothing = dict.fromkeys(("slow_flow", "thin_crema", "loud_hum", "low_pressure"), 0)
    visitor.visit(service.address + case(nothing))
    together(visitor)
    assert pf.most_probable(NETWORK, nothing, "causes").on() == []
    assert visitor.text("#panel-explanations .names") == "none of the causes"


def test_explanations_name_the_faults_of_a_mixed_network(chromium, tmp_path):
    pf.save(SMALL, tmp_path / "printer.json")
    with serving(tmp_path / "printer.json", "--no-warm") as printer:
        visitor = Visitor(chromium)
        visitor.visit(printer.address + case(NOTHING_PRINTED))
        together(visitor)
        found = pf.most_probable(SMALL, NOTHING_PRINTED, "causes", 3)
        words = {"supply": "supply Low", "driver": "driver no", "buffer": "buffer Full", "script": "script"}
        usual = {"supply", "driver"}
        expected = [
            {words[name] for name in words if (name in found.on(k)) != (name in usual)}
            for k in range(len(found.states))
        ]
        assert [set(names) for names, _ in visitor.run(EXPLANATIONS)] == expected


def test_questions_with_methods_of_their_own_say_so(visitor, service):
    visitor.visit(with_fields(service.address + case(SEEN), method="bethe"))
    together(visitor)
    apart = "The method that is chosen for the ranking, bethe, has no part in this."
    assert apart in visitor.text("#panel-explanations")
    assert apart not in visitor.text("#panel-joint")
    assert "Computed by bethe" in visitor.text("#panel-joint")
    visitor.click("#ranking .cause")
    visitor.click("#panel-numbers .asks")
    visitor.until_text("#panel-numbers", f"Computed exactly (elimination). {apart}")


def test_two_causes_together(visitor):
    together(visitor)
    first, second = (name for name, _ in visitor.ranking[:2])

    def check(one: str, other: str) -> str:
        found = pf.joint(NETWORK, SEEN, [one, other])
        p = [[found.probability({one: x, other: y}) for y in (1, 0)] for x in (1, 0)]
        rows = [[*row, sum(row)] for row in p]
        expected = [f"{z:.3f}" for z in [*rows[0], *rows[1], p[0][0] + p[1][0], p[0][1] + p[1][1]]] + ["1"]
        visitor.until(f"JSON.stringify({CELLS}) === {json.dumps(json.dumps(expected, separators=(',', ':')))}")
        (both, without), (rest, _) = p
        product = (both + without) * (both + rest)
        text = visitor.text("#panel-joint")
        assert f"both have probability {both:.3f}, and would have {product:.3f} if they were independent" in text
        share = both / (both + without), rest / (1 - both - without)
        assert f"With {one}, {other} has {share[0]:.3f}; without it, {share[1]:.3f}." in text
        return "They make each other less probable" if both < product else "They make each other more probable"

    assert check(first, second) in visitor.text("#panel-joint")
    kinds = set()
    for name in ("limescale", "clogged_screen", "weak_pump"):
        if name != first:
            choose(visitor, "#pair-second", name)
            said = check(first, name)
            kinds.add(said)
            assert said in visitor.text("#panel-joint") or "next to nothing" in visitor.text("#panel-joint")
            assert visitor.run("document.activeElement.id") == "pair-second"
    assert "They make each other less probable" in kinds
    choose(visitor, "#pair-second", first)  # then they change places
    visitor.until(f"document.querySelector('#pair-second').value === '{first}'")
    assert visitor.run("document.querySelector('#pair-first').value") == "weak_pump"
    choose(visitor, "#pair-first", "bitter_taste")  # any unit that is hidden
    check("bitter_taste", first)


def test_a_single_cause_and_observed_ones(chromium, tmp_path):
    pf.save(SINGLE, tmp_path / "single.json")
    with serving(tmp_path / "single.json", "--no-warm") as single:
        visitor = Visitor(chromium)
        visitor.visit(single.address + case({"fever": 1}))
        together(visitor)
        assert "This takes two causes that are not observed" in visitor.text("#panel-joint")
        assert visitor.run("document.querySelector('#pair').hidden")
        p = pf.infer(SINGLE, {"fever": 1})["flu"]
        assert visitor.run(EXPLANATIONS) == [[["flu"], f"{p:.3f}"], [[], f"{1 - p:.3f}"]]
        visitor.click("#ranking .cause")
        visitor.click(".known button")
        visitor.tab("together")
        visitor.until_text("#panel-explanations", "All causes are observed.")
        visitor.run(f"location.hash = {json.dumps(case({'flu': 0, 'cough': 1}))}")
        for panel in ("explanations", "joint"):
            visitor.until_text(f"#panel-{panel}", "The observations contradict each other. Take one back first.")


def test_what_exactly_one_cause_means_there(visitor, service):
    visitor.visit(with_fields(service.address + case(SEEN), exclusive="causes"))
    together(visitor)
    assert visitor.text("#not-assumed") == "Why, Together and Methods do not assume that there is exactly one cause."
    found = pf.most_probable(NETWORK, SEEN, "causes", 3)
    assert visitor.run(EXPLANATIONS)[0] == [found.on(0), f"{found.probability[0]:.3f}"]


# ---- what next -------------------------------------------------------------------------------------------------------


def test_costs_order_what_is_next_and_belong_to_the_case(visitor, service):
    first = until_priced(visitor, SEEN).unit
    visitor.click(".options summary")
    visitor.write(f"[aria-label='Cost of {first}']", "50")
    visitor.press("Enter")
    until_priced(visitor, SEEN, costs={first: 50})
    assert "Order, bars and percentages are gains per unit of cost." in " ".join(visitor.text("#panel-next").split())
    assert visitor.run(FOCUSED) == f"Cost of {first}"  # and its field went with it
    assert visitor.text(".given") == f"Costs: {first} 50."
    visitor.write("#cost-of", "sour taste")
    visitor.write(".options form [type=number]", "0.5")
    visitor.press("Enter")
    costs = {first: 50, "sour_taste": 0.5}
    until_priced(visitor, SEEN, costs=costs)
    visitor.click("#share")
    shared = visitor.run("document.querySelector('#share-link').value")
    assert (
        with_fields("", costs=json.dumps(costs, separators=(",", ":"))).replace("%20", "+") in shared
        or "costs=" in shared
    )
    visitor.visit(shared)
    until_priced(visitor, SEEN, costs=costs)
    visitor.click(".options summary")
    visitor.click(".given + .link")
    until_priced(visitor, SEEN)
    visitor.press("z", CTRL)
    until_priced(visitor, SEEN, costs=costs)


def test_costs_that_cannot_be_are_said(visitor, service):
    wrong = {"nobody": 2, "sour_taste": -1, "bitter_taste": 3}
    visitor.visit(with_fields(service.address + case(SEEN), costs=json.dumps(wrong, separators=(",", ":"))))
    until_priced(visitor, SEEN, costs={"bitter_taste": 3})
    said = "Costs: bitter_taste 3. Not used, as it is no unit, or not above 0: nobody 2, sour_taste -1."
    assert visitor.text(".given") == said
    visitor.write("#cost-of", "bitter tast")
    visitor.write(".options form [type=number]", "2")
    visitor.press("Enter")
    visitor.until_text(".said", "This network has no unit “bitter tast”. Did you mean “bitter_taste”?")
    visitor.write(".candidate [type=number]", "-4")
    visitor.press("Enter")
    assert visitor.run("document.activeElement.validationMessage") != ""
    until_priced(visitor, SEEN, costs={"bitter_taste": 3})


def test_several_at_once_and_what_each_answer_would_say(visitor):
    first = until_priced(visitor, SEEN)
    visitor.click(".options summary")
    choose(visitor, "#at-once", "2")
    visitor.until("!!document.querySelector('.set')")
    best = pf.ask(NETWORK, SEEN, together=2).best_set
    assert best is not None
    assert visitor.run("[...document.querySelectorAll('.set .unit-name')].map(name => name.textContent)") == [
        *best.units
    ]
    text = visitor.text(".set")
    assert (
        f"This resolves {percent(best.information / first.entropy)} of the uncertainty. No other two are better."
        in text
    )
    visitor.click(".candidate details summary")
    told = visitor.run(
        "[...document.querySelector('.candidate details').querySelectorAll('p')].map(p => p.textContent)"
    )
    for outcome, words in zip(first.candidates[0].outcomes, told, strict=True):
        assert words.startswith(f"{'yes' if outcome.state == 'on' else 'no'} (chance {outcome.chance:.3f}): ")
        assert "; ".join(f"{name} {p:.3f}" for name, p in outcome.leading) in words
        name, now, then = outcome.changed
        assert f"{name} changes most, from {now:.3f} to {then:.3f}." in words


# ---- which numbers matter --------------------------------------------------------------------------------------------


def test_a_tornado(visitor):
    visitor.click("#ranking .cause")
    visitor.click("#panel-numbers .asks")
    visitor.until("!!document.querySelector('#panel-numbers li')")
    target = visitor.ranking[0][0]
    found = pf.sensitivity(NETWORK, SEEN, target)
    ends = [p for each in found.top() for p in (each.at_low, each.at_high)]
    low, high = min(ends), max(ends)
    for (name, text, left, right), number in zip(visitor.run(TORNADO), found.top(), strict=True):
        assert name == number.name.replace("->", "→")
        assert text == f"{number.at_low:.3f} to {number.at_high:.3f}"
        two = sorted((number.at_low, number.at_high))
        np.testing.assert_allclose([left, right], (np.array(two) - low) / (high - low), atol=0.01)
    said = visitor.text("#panel-numbers")
    assert f"now {found.probability:.3f}" in " ".join(said.split())
    assert visitor.text(".axis").split() == [f"{low:.3f}", f"{high:.3f}"]
    assert f"the 10 of {len(found.value)} numbers" in " ".join(said.split())


# ---- intervals -------------------------------------------------------------------------------------------------------


def test_where_estimates_lie(visitor, service):
    visitor.visit(with_fields(service.address + case(SEEN), method=DRAWN))
    solution = pf.infer(NETWORK, SEEN, DRAWN)
    ends = dict(zip(NETWORK.names, zip(*solution.intervals(), strict=True), strict=True))
    rows = visitor.run(
        "[...document.querySelectorAll('#ranking .cause')].map(e => [e.querySelector('.number').title, e.textContent])"
    )
    for (name, _), (title, spoken) in zip(solution.ranking(), rows, strict=True):
        between = "{:.3f} to {:.3f}".format(*ends[name])
        if ends[name][0] < ends[name][1]:
            assert title == f"An estimate: {between}"
            assert f", {between}, beforehand" in spoken
        else:
            assert title == "Exact"
    low, high = solution.log_likelihood_interval
    assert f"· estimate, {low:.4f} to {high:.4f}.".replace("-", "−") in visitor.text("#verdict")
    assert "The true ones lie in their ranges in 95 of 100 cases." in visitor.text("#estimates")
    name = visitor.ranking[0][0]
    visitor.click("#ranking .cause")
    why = pf.explain(NETWORK, SEEN, name, DRAWN)
    visitor.until_text("#panel-why .now", "to ≈ {:.3f} ({:.3f} to {:.3f}).".format(why.probability, *why.interval))
    together(visitor)
    pair = [name, visitor.ranking[1][0]]
    found = pf.joint(NETWORK, SEEN, pair, DRAWN)
    assert found.standard_error is not None
    error = found.standard_error[1, 1]
    assert visitor.run(CELLS)[0] == f"≈ {found.table[1, 1]:.3f}± {'<0.001' if error < 0.0005 else f'{error:.3f}'}"
    visitor.visit(with_fields(service.address + case(SEEN), method="bethe"))
    assert "No interval is known for any of them." in visitor.text("#estimates")
    assert visitor.run("document.querySelector('#ranking .number').title") == "An estimate"


@pytest.mark.slow
def test_a_network_whose_sums_are_out_of_reach(chromium, tmp_path):
    """`auto` estimates, with intervals; explanations too have them where they are proven; and there is no tornado."""
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.2, 2, (30, 40)) * (rng.random((30, 40)) < 0.5)
    biases = [-np.log1p(-rng.uniform(0.02, 0.1, 40)), np.full(30, 0.02)]
    names = [*(f"cause {k}" for k in range(40)), *(f"finding {k}" for k in range(30))]
    network = pf.BeliefNetwork.layered([weights], biases, "noisy_or", names)
    pf.save(network, tmp_path / "wide.npz")
    evidence = {f"finding {k}": 1 for k in range(30)}
    solution = pf.infer(network, evidence)
    assert not solution.is_exact
    with serving(tmp_path / "wide.npz", "--no-warm") as wide:
        visitor = Visitor(chromium)
        visitor.visit(wide.address + case(evidence))
        low, high = (end[network.index(visitor.ranking[0][0])] for end in solution.intervals())
        assert (
            visitor.run("document.querySelector('#ranking .number').title") == f"An estimate: {low:.3f} to {high:.3f}"
        )
        together(visitor)
        for there, number in visitor.run(EXPLANATIONS):
            whole = {name: int(name in there) for name in names[:40]} | evidence
            p = np.exp(pf.infer(network, whole).log_likelihood - solution.log_likelihood)
            assert number.startswith("≈ 1 in ")
            assert 1 / float(number[len("≈ 1 in ") :].replace(",", "")) == pytest.approx(p, rel=0.3)
        is_proven = "It is proven" in visitor.text("#panel-explanations")
        assert is_proven <= (" to 1 in " in visitor.text("#panel-explanations"))
        assert visitor.run(TOO_WIDE) == []
        assert visitor.complaints() == []
        visitor.visit(with_fields(wide.address + case(evidence), method="bethe"))  # which explains sooner
        visitor.click("#ranking .cause")
        visitor.click("#panel-numbers .asks")
        visitor.until_text("#panel-numbers", "This takes exact inference, which is out of reach")


# ---- for everyone ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_everyone_can_use_it(visitor, service, width, scheme):
    visitor.visit(with_fields(service.address + case(SEEN), costs='{"bitter_taste":3}'), width, 900, scheme)
    together(visitor)
    visitor.until("!!document.querySelector('.two-by-two')")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []
    shown = (
        "(t => [t.left >= 0, t.right <= innerWidth])(document.querySelector('#tab-together').getBoundingClientRect())"
    )
    assert visitor.run(shown) == [True, True]
    visitor.tab("next")
    visitor.click(".options summary")
    choose(visitor, "#at-once", "3")
    visitor.until("!!document.querySelector('.set')")
    visitor.click(".candidate details summary")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []
    visitor.tab("why")
    visitor.click("#panel-numbers .asks")
    visitor.until("!!document.querySelector('#panel-numbers li')")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []


def test_it_all_goes_without_a_mouse(visitor):
    visitor.run("document.querySelector('#tab-next').focus()")
    for _ in range(3):
        visitor.press("ArrowRight")
    assert visitor.run("document.activeElement.id") == "tab-together"
    visitor.until("!!document.querySelector('.two-by-two')")
    visitor.run("document.querySelector('#pair-first').focus()")
    before = visitor.run("document.activeElement.value")
    visitor.press("ArrowDown")
    visitor.until(f"document.querySelector('#pair-first').value !== '{before}'")
    visitor.until("!document.querySelector('#panel-joint[aria-busy]')")
    assert visitor.run("document.activeElement.id") == "pair-first"
    visitor.run("document.querySelector('#tab-together').focus()")
    visitor.press("ArrowLeft")
    visitor.until("!!document.querySelector('#panel-numbers .asks')")
    visitor.run("document.querySelector('#panel-numbers .asks').focus()")
    visitor.press("Enter")
    visitor.until("!!document.querySelector('#panel-numbers li')")
    assert visitor.run("document.activeElement.id") == "panel-numbers"
