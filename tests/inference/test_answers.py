"""The forms of an answer: one unit, marginals, DataFrames, dictionaries and JSON all hold the same numbers."""

import json

import numpy as np
import pytest

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput
from plefka.networks.activations import as_activation
from plefka.networks.units import kinds_of
from tests import zoo
from tests.mixed_networks import random_units

NETWORKS = {**zoo.ZOO, "mixed": pf.BeliefNetwork.of_units(random_units(0, 8))}
LEAKLESS = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.5, 0.0], "noisy_or", ["cause", "effect"])

OF_ALL_ROWS = {"fingerprint", "network_version", "method", "kind", "is_bound", "notes"}


@pytest.fixture(params=NETWORKS)
def network(request) -> pf.BeliefNetwork:
    return NETWORKS[request.param]


def some_rows(network: pf.BeliefNetwork) -> np.ndarray:
    return np.stack([np.full(network.size, np.nan), zoo.some_evidence(network)])


# ---- one row ---------------------------------------------------------------------------------------------------------


def test_all_forms_of_one_row_hold_the_same_numbers(network):
    solution = pf.infer(network, zoo.some_evidence(network), "exact")
    frame = solution.to_frame()
    assert [*frame.columns] == ["name", "kind", "probability", "log_odds", "observed", "accuracy"]
    assert frame["name"].tolist() == [*network.names] == [*solution]
    for unit, name in enumerate(network.names):
        mean = float(solution.means[unit])
        assert (
            solution[name] == solution[unit] == solution.marginals()[name] == solution.to_dict()["means"][name] == mean
        )
        assert frame["probability"].tolist()[unit] == mean
    assert frame["observed"].tolist() == solution.observed.tolist()
    assert solution.to_dict()["observed"] == frame.loc[frame["observed"], "name"].tolist()
    assert solution.to_dict()["log_likelihood"] == solution.log_likelihood


def test_log_odds_are_those_of_the_probabilities(network):
    frame = pf.infer(network, zoo.some_evidence(network), "exact").to_frame()
    hidden = frame[~frame["observed"]]
    np.testing.assert_allclose(1 / (1 + np.exp(-hidden["log_odds"])), hidden["probability"], rtol=1e-12)
    assert np.isinf(frame.loc[frame["observed"], "log_odds"]).all()


def test_numbers_of_one_row_are_plain(network):
    solution = pf.infer(network, zoo.some_evidence(network), "exact")
    assert {type(mean) for mean in solution.marginals().values()} == {float} == {type(solution[0])}
    assert json.loads(json.dumps(solution.marginals())) == solution.marginals()


def test_float32_is_plain_too():
    solution = pf.infer(zoo.ZOO["sigmoid, layered"], None, "G12", dtype="float32")
    assert type(solution[0]) is float
    json.loads(solution.to_json())


def test_kinds_are_those_of_the_units(network):
    kinds = ["table" if isinstance(unit.kind, pf.Table) else as_activation(unit.kind).name for unit in network.units]
    assert kinds_of(network) == kinds == pf.infer(network).to_frame()["kind"].tolist()


def test_a_unit_that_is_not_there_names_the_nearest():
    solution = pf.infer(LEAKLESS)
    with pytest.raises(InvalidEvidence, match=r"there is no unit 'caus' in this network\. Did you mean 'cause'\?"):
        solution["caus"]
    assert "cause" in solution
    assert "caus" not in solution


# ---- batches ---------------------------------------------------------------------------------------------------------


def test_a_batch_is_its_rows(network):
    rows = some_rows(network)
    together, alone = pf.infer(network, rows, "exact"), [pf.infer(network, row, "exact") for row in rows]
    long, wide = together.to_frame(), together.to_frame(wide=True)
    assert together[0].shape == together.marginals()[network.names[0]].shape == (2,)
    assert [*wide.columns] == ["row", "status", "log_likelihood", "accuracy", "estimates", *network.names]
    for k, single in enumerate(alone):
        part = long[long["row"] == k].drop(columns="row").reset_index(drop=True)
        numbers = ["probability", "log_odds"]
        np.testing.assert_allclose(part[numbers], single.to_frame()[numbers], rtol=1e-9)
        assert part.drop(columns=numbers).to_dict() == single.to_frame().drop(columns=numbers).to_dict()
        np.testing.assert_allclose(wide.loc[k, [*network.names]].astype(float), single.means, rtol=1e-12)
        assert wide["log_likelihood"].tolist()[k] == pytest.approx(single.log_likelihood)
        assert together.to_dict()["rows"][k].keys() == single.to_dict().keys() - OF_ALL_ROWS


def test_one_row_has_a_wide_form_too():
    wide = pf.infer(LEAKLESS, {"effect": 1}, "exact").to_frame(wide=True)
    assert wide.to_dict("records") == [
        {"row": 0, "status": "converged", "log_likelihood": pytest.approx(np.log(0.3934693 * 0.6321206)),
         "accuracy": "exact", "estimates": "none", "cause": 1.0, "effect": 1.0}
    ]  # fmt: skip


def test_a_stack_is_a_batch():
    stack = pf.ensembles.layered((2, 3), -1, 1, 4, seed=0)
    frame = pf.infer(stack, None, "exact").to_frame()
    assert len(frame) == 4 * 5
    assert {*frame["row"]} == {0, 1, 2, 3}


def test_units_called_like_a_column_are_refused_in_the_wide_form_only():
    net = pf.BeliefNetwork([[0.0]], [0.0], names=["status"])
    with pytest.raises(InvalidInput, match=r"got a unit called 'status'\. Rename the unit, or use to_frame\(\)"):
        pf.infer(net).to_frame(wide=True)
    assert pf.infer(net).to_frame()["name"].tolist() == ["status"]


# ---- JSON ------------------------------------------------------------------------------------------------------------


def test_json_gives_the_dictionary_back(network):
    for evidence in (zoo.some_evidence(network), some_rows(network)):
        solution = pf.infer(network, evidence, "exact", check=True)
        content = solution.to_dict()
        rows = content.get("rows", [content])
        for row in rows:  # no tail of rare weights has an infinite shape
            row["check"]["pareto_k"] = row["check"]["pareto_k"] if np.isfinite(row["check"]["pareto_k"]) else None
        assert json.loads(solution.to_json()) == content
        assert all("verdict" in row["check"] for row in rows)


def test_what_is_not_finite_is_null_in_json():
    solution = pf.infer(LEAKLESS, [{"cause": 0, "effect": 1}, {"effect": 1}], "exact")
    first, second = solution.to_dict()["rows"]
    assert first["log_likelihood"] == -np.inf
    read = json.loads(solution.to_json(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))["rows"]
    assert (read[0]["log_likelihood"], read[0]["status"]) == (None, "impossible")
    assert read[1] == second
