"""The most probable units: all of them, causes, or some by name; of one row and of a batch."""

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput

NET = pf.BeliefNetwork.layered(
    [[[1.6, 0.3, 0.0], [0.8, 1.0, 0.0], [0.0, 0.9, 1.4]]],
    [[0.06, 0.20, 0.12], [0.02, 0.10, 0.10]],
    "noisy_or",
    ["flu", "cold", "pollen", "fever", "cough", "sneezing"],
)
CAUSES = ["flu", "cold", "pollen"]


def test_hidden_units_most_probable_first():
    solution = pf.infer(NET, {"fever": 1}, "exact")
    ranking = solution.ranking(None, units="all")
    assert {name for name, _ in ranking} == {*NET.names} - {"fever"}
    assert ranking == sorted(ranking, key=lambda item: -item[1])
    assert ranking == [(name, solution.marginals()[name]) for name, _ in ranking]
    assert solution.ranking(2, units="all") == solution.ranking(top=2, units="all") == ranking[:2]
    assert solution.ranking(top=100, units="all") == ranking


def test_causes_or_names():
    solution = pf.infer(NET, {"fever": 1, "cold": 0}, "exact")
    assert [name for name, _ in solution.ranking(units="causes")] == ["flu", "pollen"]
    assert [name for name, _ in solution.ranking(units=["cough", 0, "flu", "fever"])] == ["flu", "cough"]
    assert [name for name, _ in solution.ranking(top=1, units="causes")] == ["flu"]


def test_unless_told_otherwise_it_is_the_ten_most_probable_causes():
    assert [name for name, _ in pf.infer(NET, {"fever": 1}, "exact").ranking()] == ["cold", "flu", "pollen"]
    many = pf.BeliefNetwork(np.zeros((30, 30)), np.linspace(-2, 2, 30))
    assert [name for name, _ in pf.infer(many, None, "exact").ranking()] == [str(unit) for unit in range(29, 19, -1)]


def test_a_cause_is_hidden_and_has_no_hidden_parent():
    """Of every row by itself: below observed causes a hidden finding has nothing hidden to depend on."""
    rows = [{}, {"flu": 1, "cold": 0}, {"flu": 1, "cold": 0, "pollen": 0}]
    expected = [{*CAUSES}, {"pollen", "fever", "cough"}, {"fever", "cough", "sneezing"}]
    found = pf.infer(NET, rows, "exact").ranking(units="causes")
    assert [{name for name, _ in row} for row in found] == expected
    hidden_parents = {name: {parent for parent in NET.parents(name) if parent not in rows[1]} for name in NET.names}
    assert expected[1] == {name for name in NET.names if name not in rows[1] and not hidden_parents[name]}


def test_a_batch_has_one_for_each_row():
    rows = [{"fever": 1}, {"sneezing": 1}, {"flu": 1}]
    together = pf.infer(NET, rows, "exact").ranking(top=2, units="causes")
    assert [len(row) for row in together] == [2, 2, 2]
    for row, evidence in zip(together, rows, strict=True):
        alone = pf.infer(NET, evidence, "exact").ranking(top=2, units="causes")
        assert [name for name, _ in row] == [name for name, _ in alone]
        assert [mean for _, mean in row] == pytest.approx([mean for _, mean in alone])


def test_the_top_is_the_beginning_of_all_even_where_some_are_equal():
    rng = np.random.default_rng(0)
    net = pf.BeliefNetwork(np.zeros((200, 200)), -np.log1p(-rng.choice([0.1, 0.2, 0.3], 200)), "noisy_or")
    solution = pf.infer(net, None, "exact")
    for top in (1, 7, 70, 199):
        assert solution.ranking(top) == solution.ranking(None)[:top]


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "ten"])
def test_top_is_a_whole_number(top):
    with pytest.raises(InvalidInput, match="top must be a whole number from 1 on, or None for all; got"):
        pf.infer(NET, None, "exact").ranking(top)


def test_units_are_known():
    solution = pf.infer(NET, None, "exact")
    with pytest.raises(InvalidInput, match=r"units must be 'all', 'causes' .* got 'findings'"):
        solution.ranking(units="findings")
    with pytest.raises(InvalidEvidence, match="there is no unit 'flue'"):
        solution.ranking(units=["flue"])
