"""Boltzmann machines of the UAI competition of 2014 and of recorded neurons, whose ln Z and means are known."""

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from tests.data import path_of

QUICK = ["DBN_11", "Grids_11"]
SLOW = ["DBN_13", "DBN_15", "Grids_13", "Grids_15", "Grids_17", "Segmentation_11", "Segmentation_13", "Segmentation_15"]


def read(name: str) -> tuple[pf.BoltzmannMachine, dict[str, np.ndarray]]:
    with np.load(path_of(f"boltzmann/{name}.npz")) as archive:
        content = dict(archive)
    size = len(content["bias"])
    half = sp.csr_array((content["weights"], content["edges"].T), shape=(size, size))
    return pf.BoltzmannMachine(half + half.T, content["bias"], constant=float(content["const"])), content


def check(name: str) -> None:
    machine, wanted = read(name)
    found = pf.infer(machine, None, "exact")
    assert found.log_partition == pytest.approx(float(wanted["lnZ_exact"]), abs=1e-8)
    means, within = (wanted["p1_exact"], 1e-8) if "p1_exact" in wanted else (wanted["p1_reference"], 1e-6)
    np.testing.assert_allclose(found.means, means, atol=within)


@pytest.mark.parametrize("name", QUICK)
def test_exact_has_the_published_partition_functions(name):
    check(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_exact_has_the_published_partition_functions_of_larger_machines(name):
    check(name)


@pytest.mark.parametrize("size", [15, 20])
def test_exact_has_the_partition_functions_of_recorded_neurons(size):
    with np.load(path_of(f"ising/model_ising{size}.npz")) as archive:
        wanted = dict(archive)
    machine = pf.BoltzmannMachine(wanted["J"] + wanted["J"].T, wanted["bias"])
    found = pf.infer(machine, None, "exact")
    assert found.log_partition == pytest.approx(float(wanted["lnZ_exact"]), abs=1e-8)
    np.testing.assert_allclose(found.means, wanted["p1_exact"], atol=1e-8)
