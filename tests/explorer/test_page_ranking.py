"""The ranking of the page: which state of a unit it speaks of, in which order, on which scale, and what is ranked."""

import json
from typing import Any
from urllib.parse import quote

import pytest

import plefka as pf
from tests.data import read_text
from tests.explorer.browser import CTRL, Visitor, case
from tests.explorer.browser_service import serving
from tests.explorer.test_fault_ranking import NOTHING_PRINTED, SMALL
from tests.explorer.test_page_access import FOCUS, TOO_WIDE, violations
from tests.paper.browser import PROGRAM

pytestmark = pytest.mark.skipif(PROGRAM is None, reason="chromium is not installed")
LABELS = "[...document.querySelectorAll('#ranking .cause')].map(cause => cause.firstElementChild.textContent)"
TIMES = "[...document.querySelectorAll('#ranking .times')].map(times => times.textContent)"
PRESSED = "document.querySelector('#orders [aria-pressed=true]').dataset.order"
LENGTHS = """[...document.querySelectorAll('#ranking .track')].map(track => {
  const whole = track.getBoundingClientRect();
  const tick = track.querySelector('.prior').getBoundingClientRect();
  return [track.querySelector('.fill').getBoundingClientRect().width / whole.width,
          (tick.x + tick.width / 2 - whole.x) / whole.width];
})"""
RARE = pf.BeliefNetwork.of_units(
    [
        *(
            pf.Unit(name, [], pf.Table(p), (), 0.0)
            for name, p in (("ague", 0.001), ("grippe", 0.002), ("catarrh", 0.0005))
        ),
        pf.Unit("fever", ["ague"], pf.Table([0.06, 0.9]), (), 0.0),
        pf.Unit("cough", ["grippe", "catarrh"], pf.Table([[0.1, 0.5], [0.5, 0.7]]), (), 0.0),
    ],
    states=[("no", "yes")] * 5,
)
ACTIONS = "#ranking .cause-actions:not([hidden]) button:nth-child({})"


def ranking_of(choice: dict[str, Any]) -> str:
    return f"&ranking={quote(json.dumps(choice))}"


def choose(visitor: Visitor, units: str) -> None:
    visitor.run(
        f"(s => {{ s.value = '{units}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('#targets'))"
    )


def until_labels(visitor: Visitor, expected: list[str]) -> None:
    visitor.until(f"JSON.stringify({LABELS}) === JSON.stringify({json.dumps(expected)})")


@pytest.fixture(scope="module")
def printer(tmp_path_factory):
    path = tmp_path_factory.mktemp("networks") / "printer.json"
    pf.save(SMALL, path)
    with serving(path) as started:
        yield started


@pytest.fixture
def visitor(chromium, printer):
    found = Visitor(chromium)
    found.visit(printer.address + case(NOTHING_PRINTED))
    yield found
    assert found.complaints() == []


def test_each_row_names_its_state_and_what_changed_comes_first(visitor):
    assert visitor.run(LABELS) == ["buffer Full", "script", "driver no", "supply Low"]
    assert visitor.text("#answer-title") == "Causes by change"
    assert visitor.run(PRESSED) == "change"
    alone, free = pf.infer(SMALL, NOTHING_PRINTED), pf.infer(SMALL)
    assert visitor.ranking == [
        (name, f"{p:.3f}")
        for name, p in [
            ("buffer", alone["buffer"]), ("script", alone["script"]), ("driver", 1 - alone["driver"]),
            ("supply", 1 - alone["supply"]),
        ]
    ]  # fmt: skip
    assert visitor.run(TIMES) == [f"× {alone['buffer'] / free['buffer']:.1f}", "", "", ""]
    visitor.until_text("#live", "1 observation. First by change: buffer Full 0.251, script 0.400, driver no 0.100.")
    visitor.click("#orders [data-order=probability]")
    until_labels(visitor, ["script", "buffer Full", "driver no", "supply Low"])
    assert visitor.text("#answer-title") == "Most probable causes"
    visitor.press("z", CTRL)
    until_labels(visitor, ["buffer Full", "script", "driver no", "supply Low"])


def test_a_fall_is_said(visitor, printer):
    visitor.visit(printer.address + case({"output": "Normal"}))
    assert visitor.run(LABELS)[0] == "buffer Full"
    alone, free = pf.infer(SMALL, {"output": "Normal"})["buffer"], pf.infer(SMALL)["buffer"]
    assert visitor.run(TIMES)[0] == f"÷ {free / alone:.2g}"
    spoken = visitor.run("document.querySelector('#ranking .cause').textContent")
    assert f"{free / alone:.2g} times less probable than beforehand" in spoken


def test_another_state_is_ranked_and_a_unit_left_out(visitor):
    visitor.click("#ranking li:nth-child(4) .cause")
    visitor.until_text("#panel-why h3", "Why supply Low?")
    visitor.until_text("#panel-why .now", "Its probability is 0.005, as before anything was observed.")
    assert visitor.text(ACTIONS.format(1)) == "Rank “Adequate” instead"
    visitor.click(ACTIONS.format(1))
    until_labels(visitor, ["buffer Full", "supply Adequate", "script", "driver no"])
    visitor.until_text("#panel-why h3", "Why supply Adequate?")
    visitor.click(ACTIONS.format(2))
    until_labels(visitor, ["buffer Full", "script", "driver no"])
    assert "1 unit is left out." in visitor.text("#left-out")
    visitor.click("#left-out-again")
    until_labels(visitor, ["buffer Full", "supply Adequate", "script", "driver no"])
    assert visitor.run("document.querySelector('#left-out').hidden")
    for _ in range(3):
        visitor.press("z", CTRL)
    until_labels(visitor, ["buffer Full", "script", "driver no", "supply Low"])


def test_why_speaks_of_the_state_that_is_ranked(visitor, printer):
    visitor.visit(printer.address + case(NOTHING_PRINTED) + ranking_of({"faults": {"buffer": 0}}))
    assert visitor.run(LABELS)[0] == "buffer Intact"
    visitor.click("#ranking .cause")
    why = pf.explain(SMALL, NOTHING_PRINTED, "buffer")
    visitor.until_text("#panel-why", f"fell from {1 - why.prior:.3f} to {1 - why.probability:.3f}")
    assert f"−{why.observations[0].shift:.2f}" in visitor.text(".shifts")


def test_all_units_or_chosen_ones_are_ranked(visitor, printer):
    visitor.visit(printer.address)
    choose(visitor, "all")
    until_labels(visitor, ["output Normal", "script", "buffer Full", "driver no", "supply Low"])
    assert visitor.text("#answer-title") == "What is most probable"
    choose(visitor, "chosen")
    visitor.until("document.querySelectorAll('#ranking li').length === 0")
    assert "No unit is chosen yet." in visitor.text("#none-chosen")
    for name in ("output", "supply"):
        visitor.run(f"[...document.querySelectorAll('.unit-name')].find(n => n.textContent === '{name}')?.click()")
        if name == "supply":
            visitor.click("[data-role=c]")
            visitor.until("document.querySelectorAll('.unit').length === 4")
            visitor.run("[...document.querySelectorAll('.unit-name')].find(n => n.textContent === 'supply').click()")
        visitor.until_text("#panel-why h3", name)
        visitor.click("#panel-why .choices .is-quiet:last-child")
    until_labels(visitor, ["output Normal", "supply Low"])
    assert visitor.text("#targets option:checked") == "Chosen (2)"
    visitor.click("#ranking .cause")
    visitor.click(ACTIONS.format(2))
    until_labels(visitor, ["supply Low"])


def test_the_link_keeps_what_is_ranked_and_how(visitor):
    choose(visitor, "all")
    visitor.click("#orders [data-order=probability]")
    until_labels(visitor, ["script", "buffer Full", "driver no", "supply Low"])
    visitor.click("#ranking .cause")
    visitor.click(ACTIONS.format(1))
    until_labels(visitor, ["script no", "buffer Full", "driver no", "supply Low"])
    visitor.click("#ranking li:nth-child(3) .cause")
    visitor.click(ACTIONS.format(2))
    expected = ["script no", "buffer Full", "supply Low"]
    until_labels(visitor, expected)
    visitor.click("#share")
    shared = visitor.run("document.querySelector('#share-link').value")
    visitor.visit(shared)
    assert visitor.run(LABELS) == expected
    assert visitor.run(PRESSED) == "probability"
    assert visitor.text("#targets option:checked") == "All units"
    assert "1 unit is left out." in visitor.text("#left-out")
    assert visitor.run("document.querySelector('#undo').disabled")
    assert visitor.observed == {"output": "off"}


def test_a_link_with_wrong_names_in_its_ranking_says_which(visitor, printer):
    wrong = {"faults": {"suply": 1, "driver": 3}, "left_out": "all", "order": "sideways", "units": 7}
    visitor.browser.open("about:blank", 1280, 900, "light")
    visitor.browser.open(printer.address + case(NOTHING_PRINTED) + ranking_of(wrong), 1280, 900, "light")
    text = visitor.until_text("#share-problems", "1 name in this link does not fit this network.")
    assert "This network has no unit “suply”. Did you mean “supply”?" in text
    visitor.click("#share-problems button")
    until_labels(visitor, ["buffer Full", "script", "driver no", "supply Low"])


def test_a_file_keeps_the_ranking_and_one_without_leaves_it(visitor, tmp_path):
    path = tmp_path / "case.json"
    evidence = {"format": "plefka-case", "version": 1, "evidence": NOTHING_PRINTED}
    path.write_text(json.dumps({**evidence, "ranking": {"order": "probability", "left_out": ["script"]}}))
    visitor.choose_file("#share-file", path)
    until_labels(visitor, ["buffer Full", "driver no", "supply Low"])
    path.write_text(json.dumps({"output": 1}))
    visitor.choose_file("#share-file", path)
    visitor.until("!!document.querySelector('.observation .is-on[aria-pressed=true]')")
    until_labels(visitor, ["driver no", "buffer Full", "supply Low"])


def test_the_ranking_without_a_mouse(visitor):
    visitor.run("document.querySelector('#orders [data-order=probability]').focus()")
    visitor.press("Enter")
    until_labels(visitor, ["script", "buffer Full", "driver no", "supply Low"])
    visitor.run("document.querySelector('#ranking button[tabindex=\"0\"]').focus()")
    visitor.press("End")
    assert visitor.run(FOCUS).startswith("supply Low 0.005, beforehand 0.005")
    visitor.press("Enter")
    visitor.until("!document.querySelector('#ranking li:last-child .cause-actions').hidden")
    visitor.press("Tab")
    assert visitor.run(FOCUS) == "Rank “Adequate” instead: supply"
    visitor.press("Enter")
    until_labels(visitor, ["supply Adequate", "script", "buffer Full", "driver no"])
    assert visitor.run(FOCUS) == "Rank “Low” instead: supply"
    visitor.press("Tab")
    assert visitor.run(FOCUS) == "Leave it out of the ranking: supply"
    visitor.press("ArrowDown")
    assert visitor.run(FOCUS).startswith("script 0.400")
    visitor.press("ArrowUp")
    visitor.press("Tab")
    visitor.press("Tab")
    visitor.press("Enter")
    until_labels(visitor, ["script", "buffer Full", "driver no"])
    visitor.until("!!document.activeElement.closest('#ranking')")  # and not at the start of the page


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_everyone_can_use_it(visitor, printer, width, scheme):
    choice = ranking_of({"left_out": ["driver"], "units": "all"})
    visitor.visit(printer.address + case(NOTHING_PRINTED) + choice, width, 900, scheme)
    visitor.click("#ranking .cause")
    visitor.until_text("#panel-why h3", "Why buffer Full?")
    assert violations(visitor) == []
    assert visitor.run(TOO_WIDE) == []
    visitor.browser.call("Emulation.setEmulatedMedia", media="print")
    shown = "document.querySelector('{}').checkVisibility()"
    assert [visitor.run(shown.format(part)) for part in ("#rank-tools", ".cause-actions", "#left-out-again")] == [
        False
    ] * 3
    assert [visitor.run(shown.format(part)) for part in (".cause-state", ".times", "#left-out-count")] == [True] * 3
    visitor.browser.call("Emulation.setEmulatedMedia", media="")


def test_rare_causes_have_a_scale_of_their_own(chromium, tmp_path):
    pf.save(RARE, tmp_path / "rare.json")
    with serving(tmp_path / "rare.json") as service:
        visitor = Visitor(chromium)
        visitor.visit(service.address + case({"fever": 1}))
        alone, free = pf.infer(RARE, {"fever": 1}), pf.infer(RARE)
        assert visitor.run(LABELS) == ["ague", "grippe", "catarrh"]
        assert 0.01 < alone["ague"] < 0.02
        assert visitor.text("#scale") == "bars end at 0.02"
        visitor.until("document.getAnimations().every(each => each.playState === 'finished')")
        lengths = visitor.run(LENGTHS)
        for name, (bar, tick) in zip(visitor.run(LABELS), lengths, strict=True):
            assert bar == pytest.approx(alone[name] / 0.02, abs=0.005)
            assert tick == pytest.approx(free[name] / 0.02, abs=0.005)
        assert visitor.run(TIMES) == [f"× {alone['ague'] / free['ague']:.0f}", "", ""]
        visitor.visit(service.address + case({"fever": 1, "ague": 0, "cough": 1, "catarrh": {"on": 1, "off": 1e-9}}))
        assert visitor.run("document.querySelector('#scale').hidden")  # one is nearly certain


def test_a_printer_without_output(chromium, tmp_path):
    (tmp_path / "win95pts.bif").write_text(read_text("bif/win95pts.bif.gz"))
    with serving(tmp_path / "win95pts.bif") as service:
        visitor = Visitor(chromium)
        visitor.visit(service.address + case({"Problem1": "No_Output"}))
        assert visitor.run(LABELS)[:4] == [
            "FllCrrptdBffr Full_or_Corrupt", "PrtOn No", "PrtDriver No", "PrtTimeOut Too_Short",
        ]  # fmt: skip
        assert visitor.ranking[0] == ("FllCrrptdBffr", "0.278")
        assert visitor.run(TIMES)[0] == "× 1.9"
        assert "TnrSpply Low" in visitor.run(LABELS)
        visitor.click("#orders [data-order=probability]")
        visitor.until(f"{LABELS}[0].startsWith('PrtPScript')")
        by_probability = visitor.run(LABELS)[:10]
        assert compared(visitor)[0] == by_probability  # no unit comes first because it is usually as it is


def test_methods_side_by_side_go_by_the_faults(visitor, printer):
    by_fault = ["script", "buffer Full", "driver no", "supply Low"]
    assert compared(visitor)[0] == by_fault
    visitor.visit(printer.address + case(NOTHING_PRINTED) + ranking_of({"faults": {"supply": 1}}))
    names, numbers = compared(visitor)
    assert names == ["supply Adequate", *by_fault[:3]]
    assert numbers[:2] == [f"{pf.infer(SMALL, NOTHING_PRINTED)[name]:.3f}" for name in ("supply", "script")]


def compared(visitor: Visitor) -> tuple[list[str], list[str]]:
    """The units of the methods side by side with their states, and their numbers by the first method."""
    visitor.tab("compare")
    visitor.click("#panel-compare .is-primary")
    visitor.until_text("#panel-compare", "How probable the causes are")
    rows = "[...document.querySelectorAll('#panel-compare [role=region] tbody tr')]"
    names, numbers = (visitor.run(f"{rows}.map(row => row.cells[{k}].textContent)") for k in (0, 1))
    return names, numbers
