"""What a value means, wherever it stands: in a dictionary, a DataFrame, a file, or on the command line."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence
from plefka.tables.values import NO_STATE, meaning, states_of

NAN = float("nan")
MEANS = {
    0.0: (0, 0.0, False, np.False_, Decimal(0), "0", "0.0", "0.00", "false", "False", "FALSE", "no", "No", " NO "),
    1.0: (1, 1.0, True, np.True_, Decimal(1), "1", "1.0", "1.", "true", "True", "TRUE", "yes", "Yes", " YES "),
    None: (None, NAN, np.float32("nan"), pd.NA, pd.NaT, "", " ", "NA", "na", "N/A", "nan", "None", "null", "<NA>"),
    "nothing": (2, -1, 0.5, "2", "maybe", "y", "inf", float("inf"), [1], {}, datetime.date(2024, 1, 1), "0 1"),
}  # fmt: skip
EVERY = [(value, state) for state, values in MEANS.items() for value in values]
NET = pf.BeliefNetwork([[0, 0], [1.5, 0]], [0.3, -0.4], names=["a", "b"])
WORDED = pf.BeliefNetwork([[0, 0], [1.5, 0]], [0.3, -0.4], names=["a", "b"], states=[("absent", "present")] * 2)


def same(found, state):
    return found == NO_STATE if state == "nothing" else np.isnan(found) if state is None else found == state


@pytest.mark.parametrize(("value", "state"), EVERY, ids=repr)
def test_a_value_has_one_meaning_alone_in_a_column_and_in_an_array_of_numbers(value, state):
    assert same(meaning(value), state)
    assert same(states_of([value, "1", value])[0], state)
    if isinstance(value, bool | int | float | np.generic):
        assert same(states_of(np.array([value, value]))[1], state)


@pytest.mark.parametrize(("value", "state"), EVERY, ids=repr)
def test_dictionaries_and_columns_agree(value, state):
    column = pd.DataFrame({"b": pd.Series([value, 1], dtype=object)})
    if state == "nothing":
        for evidence in ({"b": value}, column):
            with pytest.raises(InvalidEvidence, match=r"unit 'b' must be 0"):
                pf.infer(NET, evidence, "exact")
        return
    expected = pf.infer(NET, {} if state is None else {"b": state}, "exact")
    assert pf.infer(NET, {"b": value}, "exact").log_likelihood == expected.log_likelihood
    assert pf.infer(NET, column, "exact").log_likelihood[0] == pytest.approx(expected.log_likelihood, abs=1e-14)


def test_a_row_of_a_frame_is_evidence_in_every_form():
    frame = pd.DataFrame({"a": [1.0, NAN, 0.0], "b": [NAN, 1.0, 1.0]})
    batch = pf.infer(NET, frame, "exact")
    for k in range(3):
        for evidence in (frame.iloc[k].to_dict(), frame.iloc[k], frame.to_dict("records")[k]):
            np.testing.assert_allclose(pf.infer(NET, evidence, "exact").means, batch.means[k], atol=1e-14)
    np.testing.assert_array_equal(pf.infer(NET, frame.to_dict("records"), "exact").observed, frame.notna())


def test_the_words_of_a_unit_come_before_those_of_everybody():
    odd = pf.BeliefNetwork([[0]], [0.3], names=["a"], states=[("yes", "no")])
    assert pf.infer(odd, {"a": "yes"}, "exact").means[0] == 0
    assert pf.infer(odd, {"a": "NO"}, "exact").means[0] == 1
    assert pf.infer(odd, {"a": "true"}, "exact").means[0] == 1
    known = pf.BeliefNetwork([[0]], [0.3], names=["a"], states=[("none", "some")])
    assert pf.infer(known, {"a": "none"}, "exact").observed[0]


def test_words_in_any_case_beside_numbers_and_everybodys_words():
    column = pd.DataFrame({"b": ["present", "ABSENT", "yes", 0, None]})
    assert pf.infer(WORDED, column, "exact").observed[:, 1].tolist() == [True, True, True, True, False]
    np.testing.assert_array_equal(pf.infer(WORDED, column, "exact").means[:4, 1], [1, 0, 1, 0])
    with pytest.raises(InvalidEvidence, match=r"row 1: .*'absent' \(off\) or 'present' \(on\); got 'presnt'. Did you"):
        pf.infer(WORDED, pd.DataFrame({"b": ["present", "presnt"]}), "exact")


def test_soft_evidence_in_a_column_stays_soft():
    frame = pd.DataFrame({"b": [pf.Likelihood(0.9, 0.2), "yes"]})
    alone = pf.infer(NET, {"b": pf.Likelihood(0.9, 0.2)}, "exact")
    assert pf.infer(NET, frame, "exact").log_likelihood[0] == pytest.approx(alone.log_likelihood, abs=1e-14)
