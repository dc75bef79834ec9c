"""Which state of a unit the service ranks, and in which order."""

from typing import Any

import numpy as np
import pytest

import plefka as pf
from plefka.explorer.fault_ranking import FaultsAsked, _by_change
from plefka.explorer.worker_answers import Answers
from tests.data import read_text

SMALL = pf.BeliefNetwork.of_units(
    [
        pf.Unit("supply", [], pf.Table(0.995), (), 0.0),
        pf.Unit("buffer", [], pf.Table(0.15), (), 0.0),
        pf.Unit("driver", [], pf.Table(0.9), (), 0.0),
        pf.Unit("script", [], pf.Table(0.4), (), 0.0),
        pf.Unit("output", ["buffer"], pf.Table([0.5, 0.05]), (), 0.0),
    ],
    states=[("Low", "Adequate"), ("Intact", "Full"), ("no", "yes"), ("no", "yes"), ("None", "Normal")],
)
NOTHING_PRINTED = {"output": "None"}


def asked(network: pf.BeliefNetwork, evidence: dict[str, Any], **fields: Any) -> dict[str, Any]:
    question = {"evidence": evidence, "method": "auto", "check": False, "top": 40, "units": "causes"}
    (found,) = Answers(network).answer("infer", [question | fields])
    return found


def named(found: dict[str, Any]) -> list[str]:
    return [each["name"] for each in found["ranking"]]


def test_old_requests_rank_the_state_on_by_probability():
    found, alone = asked(SMALL, NOTHING_PRINTED), pf.infer(SMALL, NOTHING_PRINTED)
    assert [(each["name"], each["probability"]) for each in found["ranking"]] == alone.ranking()
    assert found["order"] == "probability"
    assert {each["state"] for each in found["ranking"]} == {1}


def test_the_rarer_state_is_the_fault():
    found = asked(SMALL, NOTHING_PRINTED, faults="rarer")
    states = {each["name"]: each["state"] for each in found["ranking"]}
    assert states == {"supply": 0, "buffer": 1, "driver": 0, "script": 1}
    alone, free = pf.infer(SMALL, NOTHING_PRINTED), pf.infer(SMALL)
    for each in found["ranking"]:
        of = (lambda p: p) if each["state"] else (lambda p: 1 - p)
        assert each["probability"] == of(alone[each["name"]])
        assert each["prior"] == of(free[each["name"]])
    probabilities = [each["probability"] for each in found["ranking"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert named(found)[0] == "script"  # although nothing speaks for it


def test_the_fault_of_a_unit_is_chosen_and_others_are_the_rarer_ones():
    found = asked(SMALL, NOTHING_PRINTED, faults={"supply": 1, "script": 0})
    assert {each["name"]: each["state"] for each in found["ranking"]} == {
        "supply": 1, "buffer": 1, "driver": 0, "script": 0,
    }  # fmt: skip


def test_by_change_what_moved_comes_first_and_what_stands_comes_last():
    found = asked(SMALL, NOTHING_PRINTED, faults="rarer", order="change", units="all")
    assert named(found) == ["buffer", "script", "driver", "supply"]
    assert found["ranking"][0]["probability"] > 1.5 * found["ranking"][0]["prior"]
    fallen = asked(SMALL, {"output": "Normal"}, faults="rarer", order="change")
    assert named(fallen)[0] == "buffer"  # it fell; the others are as before
    assert asked(SMALL, NOTHING_PRINTED, order="change", top=1)["units_total"] == 4


@pytest.mark.parametrize(("first", "second"), [((0.15, 0.28), (0.4, 0.41)), ((0.1, 0.6), (1e-6, 1e-5))])
def test_neither_the_difference_nor_the_ratio_alone(first, second):
    """A difference that is small beside the prior says little, and so does a ratio of what stays improbable."""
    before, now = np.transpose([second, first, (0.3, 0.1), (0.7, 0.7)])
    assert _by_change(now, before).tolist() == [1, 0, 2, 3]


def test_rises_come_before_falls_and_both_before_what_hardly_moved():
    before, now = np.transpose([(0.9, 0.9 + 1e-12), (0.5, 0.1), (0.5, 0.6), (0.0, 0.0), (1.0, 1.0), (0.02, 0.0205)])
    assert _by_change(now, before).tolist() == [2, 1, 4, 0, 5, 3]


def test_the_order_is_chosen_by_the_priors_and_observations_do_not_turn_it_over():
    assert asked(SMALL, {}, faults="rarer", order="auto")["order"] == "change"
    assert asked(SMALL, {"script": 1}, faults="rarer", order="auto")["order"] == "change"
    assert asked(SMALL, {}, faults="rarer", order="auto", leave_out=["script"])["order"] == "probability"
    assert asked(pf.example("espresso"), {"slow_flow": 1}, faults="rarer", order="auto")["order"] == "probability"
    assert asked(SMALL, {}, order="auto")["order"] == "change"  # the state on of the supply


def test_what_is_left_out_is_not_counted():
    found = asked(SMALL, NOTHING_PRINTED, units="all", leave_out=["driver", "output"])
    assert set(named(found)) == {"supply", "buffer", "script"}
    assert found["units_total"] == 3


def test_where_each_fault_lies():
    """The intervals of the solution, turned over with the state; of an exact number it is that number."""
    method = "gibbs[seed=0]"
    alone = pf.infer(SMALL, NOTHING_PRINTED, method)
    low, high = alone.intervals()
    for each in asked(SMALL, NOTHING_PRINTED, method=method, faults="rarer")["ranking"]:
        unit = SMALL.index(each["name"])
        ends = [low[unit], high[unit]] if each["state"] else [1 - high[unit], 1 - low[unit]]
        np.testing.assert_array_equal(each["interval"], ends)
        assert each["interval"][0] <= each["probability"] <= each["interval"][1]
        assert each["prior_interval"] == [each["prior"]] * 2
    espresso, seen = pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1, "loud_hum": 1}
    assert np.isnan(asked(espresso, seen, method="bethe")["ranking"][0]["interval"]).all()


def test_other_answers_say_which_units_are_usually_on():
    (found,) = Answers(SMALL).answer(
        "most_probable", [{"evidence": {}, "units": "causes", "count": 1, "method": "auto"}]
    )
    free = pf.infer(SMALL)
    assert found["usually_on"] == [name for name in found["units"] if free[name] > 0.5]


@pytest.mark.parametrize("fields", [{"faults": {"suply": 0}}, {"leave_out": ["suply"]}, {"units": ["suply"]}])
def test_names_that_no_unit_has_are_refused(fields):
    question = {"evidence": {}, "method": "auto", "check": False, "top": 5, "units": "causes"}
    (refused,) = Answers(SMALL).answer("infer", [question | fields])
    assert refused.code == "unknown_unit"
    assert "supply" in refused.message
    assert FaultsAsked(**fields).names == ["suply"]


def test_a_printer_without_output(tmp_path):
    """What moved is at the head, and no unit stands there because its sound state is probable."""
    (tmp_path / "win95pts.bif").write_text(read_text("bif/win95pts.bif.gz"))
    network = pf.load(tmp_path / "win95pts.bif")
    found = asked(network, {"Problem1": "No_Output"}, faults="rarer", order="auto")
    assert found["order"] == "change"
    first = found["ranking"][0]
    assert (first["name"], network.states[network.index(first["name"])][first["state"]]) == (
        "FllCrrptdBffr", "Full_or_Corrupt",
    )  # fmt: skip
    np.testing.assert_allclose([first["prior"], first["probability"]], [0.15, 0.278], atol=5e-4)
    assert max(each["prior"] for each in found["ranking"]) <= 0.5


def test_methods_are_compared_by_their_faults():
    question = {"evidence": NOTHING_PRINTED, "method": "exact", "top": 3, "faults": {"supply": 1}}
    (found,) = Answers(SMALL).answer("compare", [question])
    assert [(each["name"], each["state"]) for each in found["ranking"]] == [("supply", 1), ("script", 1), ("buffer", 1)]
