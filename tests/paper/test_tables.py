"""Tables 1 and 2 in a tiny configuration, and their rows against sums over all states."""

from pathlib import Path

import numpy as np
import pytest

import plefka as pf
from plefka.paper import compute, random_networks, tables_and_figures
from plefka.paper.experiment_settings import Ensemble, Study
from plefka.paper.store import StoredRows, code_digest, read_one
from tests import slow

COUNT, BLOCK = 5, 3
STUDIES = {
    name: Study(name, columns, COUNT, BLOCK, 300, 7)
    for name, columns in (("table1", tables_and_figures.TABLE1), ("table2", tables_and_figures.TABLE2))
}
ORDERS = {"G11": (1, 1, 1), "G12": (1, 2, 1), "G22": (2, 2, 2), "G221": (2, 2, 1)}


@pytest.fixture(scope="module")
def computed(tmp_path_factory) -> dict[str, StoredRows]:
    folder = tmp_path_factory.mktemp("tables")
    for study in STUDIES.values():
        compute.complete(study, folder)
    return {name: read_one(folder, study) for name, study in STUDIES.items()}


@pytest.mark.parametrize("name", STUDIES)
def test_there_is_a_row_for_every_network_and_method(computed, name):
    study, rows = STUDIES[name], computed[name]
    assert rows.complete
    assert len(rows.columns["error"]) == COUNT * sum(len(column.methods) for column in study.columns)
    for column in study.columns:
        for method in column.methods:
            part = rows.where(ensemble=column.ensemble.name, observed=column.observed, method=method)
            assert part["network"].tolist() == list(range(COUNT))
            assert set(part["status"]) == {"converged"} or method == "G22"


def test_the_provenance_says_how_and_on_what(computed):
    rows = computed["table1"]
    assert rows.settings["seed"] == 7
    assert rows.provenance["version"] == pf.__version__
    assert rows.provenance["sources"] == [code_digest()]
    assert set(rows.provenance["machine"]) == {"system", "processor", "cores", "python", "packages"}
    assert str(Path.home()) not in str(rows.provenance)


@pytest.mark.parametrize("number", range(len(tables_and_figures.TABLE2)))
def test_the_observed_state_and_ln_z_are_those_of_sums_over_all_states(computed, number):
    column = tables_and_figures.TABLE2[number]
    part = computed["table2"].where(ensemble=column.ensemble.name, observed=column.observed, method="G12")
    best = max if column.observed == "likeliest" else min
    for k in (0, COUNT - 1):
        log_z = [slow.exact(single(column.ensemble, k), row(state))[0] for state in range(64)]
        assert part["state"][k] == log_z.index(best(log_z))
        assert part["log_z"][k] == pytest.approx(best(log_z), rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", STUDIES)
def test_errors_are_those_of_the_free_energy_by_its_definition(computed, name):
    """At the means of a solve of that network alone, with all averages as sums over states."""
    for column in STUDIES[name].columns:
        for method in set(column.methods) & set(ORDERS):
            part = computed[name].where(ensemble=column.ensemble.name, observed=column.observed, method=method)
            k = COUNT - 1
            if part["status"][k] == "converged":
                net, evidence = single(column.ensemble, k), row(part["state"][k])
                means = pf.infer(net, evidence, method).means
                G = slow.free_energy(net, evidence, means, *ORDERS[method])
                log_z = slow.exact(net, evidence)[0]
                assert part["error"][k] == pytest.approx(-G / log_z - 1, abs=2e-6)


def test_a_bound_never_exceeds_the_truth(computed):
    assert np.all(computed["table1"].where(method="SJJ")["error"] >= 0)


def test_networks_do_not_depend_on_the_blocks():
    ensemble = Ensemble("noisy_or", 0.2, 0.8)
    whole = random_networks.draw(ensemble, 3, 0, 250)
    piece = random_networks.draw(ensemble, 3, 90, 120)
    assert np.array_equal(piece.bias, whole.bias[90:210])
    assert all(np.array_equal(a, b[90:210]) for a, b in zip(piece.weights, whole.weights, strict=True))
    assert not np.array_equal(random_networks.draw(ensemble, 4, 0, 1).bias, whole.bias[:1])


def test_biases_may_have_a_range_of_their_own():
    net = random_networks.draw(Ensemble("sigmoid", -5, 5, (0, 0)), 0, 0, 20)
    assert not net.bias.any()
    assert np.abs(net.weights[0]).max() > 3


def test_other_settings_have_other_rows(tmp_path):
    """Another seed and fewer networks go to folders of their own, and old rows are not touched."""
    columns = (tables_and_figures.TABLE1[0],)
    studies = [Study("table1", columns, count, 2, 300, seed) for count, seed in ((2, 0), (2, 1), (3, 0))]
    for study in studies:
        compute.complete(study, tmp_path)
    assert len(list((tmp_path / "rows").iterdir())) == 3
    counts = [len(read_one(tmp_path, study).columns["error"]) for study in studies]
    assert counts == [10, 10, 15]


def single(ensemble: Ensemble, k: int) -> pf.BeliefNetwork:
    """Network k as a network of its own."""
    stack = random_networks.draw(ensemble, 7, k, 1)
    layers = np.split(stack.bias[0], [2, 6])
    return pf.BeliefNetwork.layered([W[0] for W in stack.weights], layers, ensemble.activation)


def row(state: int) -> np.ndarray:
    return np.r_[np.full(6, np.nan), random_networks.STATES[state]]
