"""Which columns are units and which only name the rows, by their names and their values."""

import pandas as pd
import pytest

from plefka.errors import PlefkaWarning
from plefka.tables.columns import of_frame, roles_of

KNOWN = ("fever", "cough")
RECOGNISED = {
    "text": ("patient", ["p1", "p2", "p2"], "holds text"),
    "text with gaps": ("patient", ["p1", None, "p2"], "holds text"),
    "dates": ("seen", list(pd.date_range("2024-01-01", periods=3)), "holds text"),
    "numbers": ("patient", [4711, 4712, 4713], "has a different whole number in each row"),
    "numbers from 1": ("patient", [1, 2, 3], "has a different whole number in each row"),
    "numbers as text": ("patient", ["007", "008", "009"], "has a different whole number in each row"),
    "an index": ("", [0, 1, 2], "has no name"),
    "an index as pandas calls it": ("Unnamed: 0", [0, 1, 2], "has no name"),
}
REFUSED = {
    "states": ("fevr", [0, 1, 0], "'fevr'. Did you mean 'fever'?"),
    "states that all differ": ("smoker", [0, 1, None], "'smoker'"),
    "words for states": ("smoker", ["yes", "no", "no"], "'smoker'"),
    "a slip among states": ("smoker", ["yes", "no", "perhaps"], "'smoker'"),
    "numbers that repeat": ("age", [47, 52, 47], "'age'"),
    "measurements": ("temperature", [37.1, 38.2, 39.5], "'temperature'"),
    "spelled almost as a unit": ("Coughs", ["weak", "strong", "none at all"], "'Coughs'. Did you mean 'cough'?"),
    "an index that repeats": ("", [0, 1, 0], "every column must have a name"),
}


def table(name, values):
    return of_frame(pd.DataFrame({name: pd.Series(values), "fever": [1, 0, 1]}))


@pytest.mark.parametrize(("name", "values", "why"), RECOGNISED.values(), ids=RECOGNISED)
def test_what_names_the_rows_is_recognised_and_said(name, values, why):
    roles = roles_of(table(name, values), KNOWN)
    called = name if name == "patient" or name == "seen" else "index"
    assert (roles.units, roles.ids) == ([1], {called: 0})
    with pytest.warns(PlefkaWarning, match=f"is not a unit and {why}, so it is used to identify the rows"):
        roles.report()
    assert roles_of(table(name, values), None).units == [1]


@pytest.mark.parametrize(("name", "values", "message"), REFUSED.values(), ids=REFUSED)
def test_what_may_be_a_unit_is_refused(name, values, message):
    with pytest.raises(ValueError, match=r"columns must be units of the network|every column") as error:
        roles_of(table(name, values), KNOWN)
    assert message in str(error.value)


@pytest.mark.parametrize(("name", "values", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_given_is_believed(name, values, message):
    roles = roles_of(table(name, values), KNOWN, name)
    assert (roles.units, roles.ids, roles.notes) == ([1], {name: 0}, [])


def test_all_unknown_columns_are_named_with_their_neighbours():
    frame = pd.DataFrame({"fevr": [1, 0], "coug": [0, 1], "age": [4, 4]})
    with pytest.raises(ValueError, match=r"'fevr', 'coug', 'age'. Did you mean 'fever'\? Did you mean 'cough'\?"):
        roles_of(of_frame(frame), KNOWN)


def test_an_id_that_is_not_there():
    with pytest.raises(ValueError, match=r"there is no column 'patint' in the table. Did you mean 'patient'"):
        roles_of(table("patient", ["a", "b", "c"]), KNOWN, ["patint"])


def test_an_index_of_a_frame_is_kept_where_somebody_gave_it():
    frame = pd.DataFrame({"patient": ["p1", "p2"], "fever": [1, 0]})
    assert of_frame(frame).index == {}
    assert of_frame(frame[::-1]).index == {}
    assert of_frame(frame.set_index("patient")).index == {"patient": ["p1", "p2"]}
    named = frame.set_index("patient").rename_axis(None)
    assert of_frame(named).index == {"index": ["p1", "p2"]}
    roles = roles_of(of_frame(frame.set_index("patient")), KNOWN)
    assert roles.ids_in(of_frame(frame.set_index("patient"))) == {"patient": ["p1", "p2"]}
