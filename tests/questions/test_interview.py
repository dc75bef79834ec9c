"""Interviews: the best question first, none twice, every answer can be undone, and an end with its reason."""

from typing import Any

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidInput
from plefka.questions.case_interview import LATER

NET = pf.example("espresso")
SEEN = {"slow_flow": 1}
TO_THE_END: dict[str, Any] = {"stop_below": 0.0, "certain_above": 1.1}


def asked_to_the_end(interview: pf.Interview, answer) -> tuple[list[str], pf.Interview]:
    """The questions in their order, and the interview at its end."""
    units = []
    while (unit := interview.next.unit) is not None:
        units.append(unit)
        interview = interview.answered(unit, answer(unit, len(units)))
    return units, interview


@pytest.mark.parametrize("seed", range(4))
def test_no_question_is_asked_twice_and_all_are_asked_in_the_end(seed):
    rng = np.random.default_rng(seed)
    answers = [0, 1, None, pf.Likelihood(0.7, 0.3)]
    units, done = asked_to_the_end(pf.Interview(NET, SEEN, **TO_THE_END), lambda *_: answers[rng.integers(4)])
    findings = {name for name, is_root in zip(NET.names, NET.roots, strict=True) if not is_root}
    assert len(units) == len(set(units))
    assert set(units) == findings - {"slow_flow"}
    assert done.next.why == "Nothing is left to ask."


def test_the_question_is_the_one_that_ask_finds_best():
    interview = pf.Interview(NET, SEEN)
    for state in (1, 0, 1):
        advice = pf.ask(NET, interview.observed, top=3)
        share = [each.information / advice.entropy for each in advice.candidates]
        assert [unit for unit, _ in interview.next.left] == [each.unit for each in advice.candidates]
        assert [p for _, p in interview.next.left] == pytest.approx(share)
        interview = interview.answered(advice.unit, state)
    assert interview.ranking == pf.infer(NET, interview.observed).ranking(None)


def test_undo_is_exact():
    interview = pf.Interview(NET, SEEN)
    before = [interview]
    for state in (1, None, LATER, pf.Likelihood(0.8, 0.2), 0):
        before.append(before[-1].answered(before[-1].next.unit or "", state))
    for earlier, later in zip(before[-2::-1], before[:0:-1], strict=True):
        undone = later.undone()
        assert undone.answers == earlier.answers
        assert undone.observed == earlier.observed
        assert undone.next == earlier.next
        assert undone.ranking == earlier.ranking
    assert interview.undone().answers == ()


def test_what_is_put_back_comes_once_more_at_the_end():
    units, done = asked_to_the_end(
        pf.Interview(NET, SEEN, **TO_THE_END), lambda unit, count: LATER if count in (1, 3) else 0
    )
    assert {units[0], units[2]} == set(units[-2:])
    assert len(units) == len(set(units)) + 2
    assert units[0] in done.observed
    never, _ = asked_to_the_end(pf.Interview(NET, SEEN, **TO_THE_END), lambda *_: LATER)
    assert sorted(never) == sorted(2 * list(set(never)))


def test_what_is_put_back_is_asked_where_all_else_tells_too_little():
    interview = pf.Interview(NET, SEEN, stop_below=0.1)
    (first, _), (second, _), _ = interview.next.left
    late = interview.answered(first, LATER)
    assert late.next.unit == second
    only = pf.Interview(NET, SEEN, {"candidates": [first]}, stop_below=0.1).answered(first, LATER)
    assert only.next.unit == first
    assert only.answered(first, LATER).next == (None, "Nothing is left to ask.", ())


def test_it_stops_where_no_question_tells_much():
    interview = pf.Interview(NET, SEEN)
    best = pf.ask(NET, SEEN, top=1).candidates[0].information
    assert pf.Interview(NET, SEEN, stop_below=best * 0.999).next.unit is not None
    unit, why, left = pf.Interview(NET, SEEN, stop_below=best * 1.001).next
    assert (unit, left) == (None, interview.next.left)
    assert why == f"No question left tells much: the best should resolve {left[0][1]:.1%} of what is uncertain."


def test_it_stops_where_a_cause_is_certain_but_not_for_one_that_always_was():
    names = ["broken", "power", "dark", "noise"]
    weights = np.array([[0, 0, 0, 0], [0, 0, 0, 0], [3.0, 0.01, 0, 0], [1.0, 0.5, 0, 0]])
    net = pf.BeliefNetwork(weights, -np.log1p(-np.array([0.2, 0.97, 0.001, 0.2])), "noisy_or", names)
    start = pf.Interview(net, certain_above=0.9)
    assert start.expected == {"power"}
    assert dict(start.ranking)["power"] > 0.9
    assert start.next.unit == "dark"
    certain = start.answered("dark", 1)
    p = dict(certain.ranking)["broken"]
    assert p > 0.9
    assert certain.next[:2] == (None, f"broken has probability {p:.3g}.")


def test_reasons_name_causes_and_states_in_the_words_of_the_network():
    weights, bias = np.array([[0, 0, 0], [0, 0, 0], [3.0, 0.05, 0]]), np.array([0.1, 0.4, 0.01])
    states = [("Adequate", "Low"), ("no", "yes"), ("None", "Some")]
    net = pf.BeliefNetwork(weights, bias, "noisy_or", ["toner", "jam", "stripes"], states=states)
    why = pf.Interview(net).next.why
    on, off = (pf.infer(net, {"stripes": state}) for state in (1, 0))
    assert on["toner"] > on["jam"]
    assert off["jam"] > off["toner"]
    assert why.startswith(
        f"It would separate toner Low ({on['toner']:.3g} if Some) from jam ({off['jam']:.3g} if None)."
    )


def test_options_are_those_of_ask():
    given = {
        "candidates": ["thin_crema", "loud_hum"],
        "targets": ["weak_pump", "stale_beans"],
        "costs": {"loud_hum": 0.01},
    }
    units, done = asked_to_the_end(pf.Interview(NET, SEEN, given, **TO_THE_END), lambda *_: 0)
    assert units[0] == pf.ask(NET, SEEN, **given).unit == "loud_hum"
    assert sorted(units) == ["loud_hum", "thin_crema"]
    assert {unit for unit, _ in done.ranking} == {"weak_pump", "stale_beans"}
    alone = pf.Interview(NET, SEEN, {"exclusive": "causes"})
    assert sum(p for _, p in alone.ranking) == pytest.approx(1)


def test_a_known_unit_has_no_second_answer():
    interview = pf.Interview(NET, SEEN).answered("thin_crema", None)
    for unit in ("slow_flow", "thin_crema"):
        with pytest.raises(InvalidInput, match=f"'{unit}' is known already, or has an answer. Undo that answer first."):
            interview.answered(unit, 1)


def test_ask_leaves_out_what_it_is_told_to():
    advice = pf.ask(NET, SEEN)
    rest = pf.ask(NET, SEEN, without=[advice.unit])
    assert [each.unit for each in rest.candidates] == [each.unit for each in advice.candidates[1:]]
    with pytest.raises(pf.errors.InvalidEvidence, match="all are observed, targets or left out"):
        pf.ask(NET, SEEN, ["loud_hum"], without=["loud_hum"])
