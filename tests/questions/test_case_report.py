"""The report of a case: all its parts, of the network that gave them, and sentences where something cannot be had."""

import re

import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput

NET = pf.example("espresso").with_version("2026-11")
CASE = {"slow_flow": 1, "thin_crema": 1, "loud_hum": 0}
LONG, HOSTILE = "a name of sixty letters, with a comma, and more words than o", "<script>alert(\"ü & ')</script>"


def sections(page):
    """{heading: the text below it}."""
    parts = re.split(r"<h2>(.*?)</h2>", page)
    return {heading: re.sub(r"<[^>]+>", " ", text) for heading, text in zip(parts[1::2], parts[2::2], strict=True)}


def test_every_part_says_what_the_library_says():
    page = pf.report(NET, CASE, title="Machine 7", costs={"sour_taste": 3.0}, count=3)
    found, solution = sections(page), pf.infer(NET, CASE)
    why = ["Why stale_beans", "Why limescale"]
    headings = ["What was seen", "What is probable", "Which together", *why, "What next", "What stale_beans depends on"]
    assert [*found] == [*headings, "How sure"]
    assert "slow_flow = 1, loud_hum = 0, thin_crema = 1" in found["What was seen"]
    assert f"{solution['stale_beans']:.4f}" in found["What is probable"]
    assert "4 more causes are not shown" in found["What is probable"]
    assert "limescale on, stale_beans on; all others off" in found["Which together"]
    moved = pf.explain(NET, CASE, "stale_beans").observations[0]
    assert re.search(rf"{moved.unit}\s+on\s+\{moved.shift:+.3f}", found["Why stale_beans"])
    assert pf.ask(NET, CASE, costs={"sour_taste": 3.0}).unit in found["What next"]
    assert "nats per cost" in found["What next"]
    assert "prior of stale_beans" in found["What stale_beans depends on"]
    assert f"= {solution.log_likelihood:.6f}  by auto (exact)" in found["How sure"]
    assert f"version 2026-11, fingerprint {NET.fingerprint}; 2" in page
    assert not re.findall(r'(?:src|href)="(?!data:,|#)', page)


def test_names_are_text_and_soft_and_implied_evidence_stand_apart():
    causes = {"cause": [HOSTILE, LONG], "prior": [0.1, 0.2]}
    findings = {
        "finding": ["f<1>", "f<1>", "g", "h"],
        "cause": [HOSTILE, LONG, LONG, HOSTILE],
        "probability": 4 * [0.7],
    }
    net = pf.BeliefNetwork.diagnosis(causes, findings, leak=0.01).with_implies([("f<1>", "g")])
    page = pf.report(net, {"f<1>": 1, "h": pf.Likelihood(0.9, 0.2)}, title=HOSTILE)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert LONG in page
    seen = sections(page)["What was seen"]
    for text in ("Observed: f&lt;1&gt; = 1.", "Implied by these: g = 1.", "Uncertain: h (0.9 if on, 0.2 if off)."):
        assert text in seen


def test_estimates_have_intervals_and_what_there_is_no_time_for_is_left_out():
    method = "smc[budget=0.05s]"
    found = sections(pf.report(NET, CASE, method, seconds=0.0))
    low, high = (end[NET.index("stale_beans")] for end in pf.infer(NET, CASE, method).intervals())
    assert low < high
    assert f"{low:.4f} to {high:.4f}" in found["What is probable"]
    late = [heading for heading, text in found.items() if "the time for this report was over" in text]
    assert len(late) == 5


@pytest.mark.parametrize(
    ("evidence", "words"),
    [({}, "Nothing was observed"), (dict.fromkeys(NET.names[7:], 1), "ask needs a hidden unit that is not a target")],
)
def test_what_cannot_be_had_is_left_out_with_a_sentence(evidence, words):
    page = pf.report(NET, evidence)
    assert words in page
    assert ("Why " in page) == bool(evidence)


def test_it_is_about_one_possible_case():
    with pytest.raises(InvalidInput, match="a report is about one case; got 2 rows"):
        pf.report(NET, [{}, CASE])
    leakless = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.5, 0.0], "noisy_or", ["cause", "effect"])
    with pytest.raises(InvalidEvidence, match="the evidence is impossible"):
        pf.report(leakless, {"cause": 0, "effect": 1})


def test_a_machine_has_the_parts_that_it_can_have():
    machine = pf.BoltzmannMachine([[0, 1.5], [1.5, 0]], [-1.0, 0.2], names=["rain", "wet"], values=(-1, 1))
    found = sections(pf.report(machine, {"wet": -1}))
    assert "wet = -1" in found["What was seen"]
    assert "Left out: ask takes one BeliefNetwork" in found["What next"]


def test_questions_about_many_causes_without_an_exact_answer_are_those_of_the_most_probable_ones():
    count = 20
    causes = {"cause": [f"c{k}" for k in range(count)], "prior": [0.01 + k / 100 for k in range(count)]}
    pairs = [(f"f{(k + more) % 4}", f"c{k}", 0.5) for k in range(count) for more in (0, 1)]
    findings = dict(zip(("finding", "cause", "probability"), zip(*pairs)))
    net, case = pf.BeliefNetwork.diagnosis(causes, findings, leak=0.01), {"f0": 1, "f1": 1, "f2": 1}
    found = sections(pf.report(net, case, "findings[k=0]"))
    assert "Among the 16 most probable causes, with all others off" in found["Which together"]
    assert "The most probable states of 16 hidden units" in found["Which together"]
    kept = sorted(net.names[:count], key=lambda name: pf.infer(net, case, "findings[k=0]")[name])[-16:]
    part = net.subnetwork([*kept, *net.names[count:]], hops=0)
    why, first = next((text, head.removeprefix("Why ")) for head, text in found.items() if head.startswith("Why"))
    assert f"= {pf.explain(part, case, first, 'exact').probability:.4f} (exact)" in why
    assert "with all others off" not in pf.report(net, case)


@pytest.mark.parametrize(
    ("costs", "message"), [({"sour_taste": -1}, "above 0; got -1"), ({"salt": 1}, "no unit 'salt'")]
)
def test_wrong_costs_are_refused_and_not_left_out(costs, message):
    with pytest.raises(InvalidInput, match=message):
        pf.report(NET, CASE, costs=costs)
