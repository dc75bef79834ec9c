"""The most probable units: some of them, among causes, and of a batch."""

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
    ranking = solution.ranking()
    assert {name for name, _ in ranking} == {*NET.names} - {"fever"}
    assert ranking == sorted(ranking, key=lambda item: -item[1])
    assert ranking == [(name, solution.marginals()[name]) for name, _ in ranking]
    assert solution.ranking(2) == solution.ranking(top=2) == ranking[:2]
    assert solution.ranking(top=100) == ranking


def test_among_causes_or_names():
    solution = pf.infer(NET, {"fever": 1, "cold": 0}, "exact")
    assert [name for name, _ in solution.ranking(among="causes")] == ["flu", "pollen"]
    assert [name for name, _ in solution.ranking(among=["cough", 0, "flu", "fever"])] == ["flu", "cough"]
    assert [name for name, _ in solution.ranking(top=1, among="causes")] == ["flu"]


def test_a_batch_has_one_for_each_row():
    rows = [{"fever": 1}, {"sneezing": 1}, {"flu": 1}]
    together = pf.infer(NET, rows, "exact").ranking(top=2, among="causes")
    assert [len(row) for row in together] == [2, 2, 2]
    for row, evidence in zip(together, rows, strict=True):
        alone = pf.infer(NET, evidence, "exact").ranking(top=2, among="causes")
        assert [name for name, _ in row] == [name for name, _ in alone]
        assert [mean for _, mean in row] == pytest.approx([mean for _, mean in alone])


def test_the_top_is_the_beginning_of_all_even_where_some_are_equal():
    rng = np.random.default_rng(0)
    net = pf.BeliefNetwork(np.zeros((200, 200)), -np.log1p(-rng.choice([0.1, 0.2, 0.3], 200)), "noisy_or")
    solution = pf.infer(net, None, "exact")
    for top in (1, 7, 70, 199):
        assert solution.ranking(top) == solution.ranking()[:top]


@pytest.mark.parametrize("top", [0, -1, 1.5, True, "ten"])
def test_top_is_a_whole_number(top):
    with pytest.raises(InvalidInput, match="top must be a whole number from 1 on, or None for all; got"):
        pf.infer(NET, None, "exact").ranking(top)


def test_among_is_known():
    solution = pf.infer(NET, None, "exact")
    with pytest.raises(InvalidInput, match=r"among must be 'all', 'causes' .* got 'findings'"):
        solution.ranking(among="findings")
    with pytest.raises(InvalidEvidence, match="there is no unit 'flue'"):
        solution.ranking(among=["flue"])
