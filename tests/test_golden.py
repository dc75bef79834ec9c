"""The golden values: free energies at given means and exact answers, each once computed as a sum over all states."""

import json
from functools import cache
from pathlib import Path

import jax.scipy.stats as stats
import numpy as np
import pytest
import scipy.sparse as sp
from jax.scipy.special import log_ndtr

import plefka as pf

CASES = json.loads((Path(__file__).parent / "golden" / "free_energies.json").read_text())["cases"]
SCHEMES = ("G11", "G12", "G13", "G21", "G22", "G221")

PROBIT = pf.Custom(log_on=log_ndtr, log_off=lambda x: log_ndtr(-x), name="probit")
PROBIT_BY_F = pf.Custom(stats.norm.cdf, name="probit by f")
ACTIVATIONS = {"sigmoid": "sigmoid", "noisy_or": "noisy_or", "probit": PROBIT, "probit by f": PROBIT_BY_F}
STORED = {"dense": lambda weights: weights.toarray(), "sparse": lambda weights: weights}
GOLDEN_NAME = {"probit by f": "probit"}  # two ways to write the same activation


def cases_of(activation):
    return [case for case in CASES if case["activation"] == GOLDEN_NAME.get(activation, activation)]


def row_of(case):
    return np.array(case["evidence"], dtype=float)  # None becomes nan


def alone(case):
    return pf.BeliefNetwork(case["weights"], case["bias"], ACTIVATIONS[case["activation"]])


@cache
def side_by_side(activation, storage):
    """All cases of an activation as one network of unconnected parts, and the units of each part."""
    cases = cases_of(activation)
    weights = sp.block_diag([case["weights"] for case in cases], format="csr")
    ends = np.cumsum([0, *(len(case["bias"]) for case in cases)])
    bias = np.concatenate([case["bias"] for case in cases])
    network = pf.BeliefNetwork(STORED[storage](weights), bias, ACTIVATIONS[activation])
    return network, [slice(*ends[k : k + 2]) for k in range(len(cases))]


def one_part_each(activation, of_case):
    """Row k holds case k, and every other part is observed to be all off."""
    network, parts = side_by_side(activation, "sparse")
    rows = np.zeros((len(parts), network.size))
    for row, part, case in zip(rows, parts, cases_of(activation), strict=True):
        row[part] = of_case(case)
    return rows


@cache
def energy_of_the_others(activation):
    """-ln P(all off) of every part but the k-th: what a fully observed part adds, in every scheme."""
    networks = [alone(case) for case in cases_of(activation)]
    off = np.array([-network.log_joint(np.zeros(network.size)) for network in networks])
    return off.sum() - off


def test_every_activation_and_topology_is_there():
    kinds = {(case["activation"], case["topology"]) for case in CASES}
    assert kinds == {(f, t) for f in ("sigmoid", "noisy_or", "probit") for t in ("layered", "sparse", "dense")}
    assert all(set(SCHEMES) == {key for key in case["free_energy_at_u"] if len(key) > 2} for case in CASES)


@pytest.mark.parametrize(
    ("storage", "method"), [*(("sparse", method) for method in SCHEMES), ("dense", "G13"), ("dense", "G22")]
)
@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or", "probit"])
def test_free_energy_at_given_means(activation, storage, method):
    check_free_energies(activation, storage, method)


@pytest.mark.parametrize("method", ["G12", "G22"])
def test_probit_may_be_given_as_a_probability(method):
    check_free_energies("probit by f", "sparse", method)


def check_free_energies(activation, storage, method):
    network, _ = side_by_side(activation, storage)
    rows, means = one_part_each(activation, row_of), one_part_each(activation, lambda case: case["u"])
    G = pf.free_energy(network, rows, means, method, prune=False) - energy_of_the_others(activation)
    golden = [case["free_energy_at_u"][method] for case in cases_of(activation)]
    np.testing.assert_allclose(G, golden, rtol=1e-9)


@pytest.mark.parametrize("case", [case for case in CASES if case["topology"] == "dense"], ids=lambda c: c["seed"])
def test_free_energy_of_a_network_alone(case):
    G = pf.free_energy(alone(case), row_of(case), case["u"], "G22", prune=False)
    np.testing.assert_allclose(G, case["free_energy_at_u"]["G22"], rtol=1e-9)


@pytest.mark.parametrize(
    ("storage", "prune"), [("dense", True), ("dense", False), ("sparse", True)], ids=["dense", "whole", "sparse"]
)
@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or", "probit"])
def test_exact(activation, storage, prune):
    check_exact(activation, storage, prune)


def test_exact_with_probit_given_as_a_probability():
    check_exact("probit by f", "sparse", prune=True)


def check_exact(activation, storage, prune):
    network, parts = side_by_side(activation, storage)
    solution = pf.infer(network, one_part_each(activation, row_of), "exact", prune=prune)
    log_likelihood = solution.log_likelihood + energy_of_the_others(activation)
    for k, (part, case) in enumerate(zip(parts, cases_of(activation), strict=True)):
        assert log_likelihood[k] == pytest.approx(case["exact"]["log_likelihood"], abs=1e-10), case["seed"]
        np.testing.assert_allclose(solution.means[k, part], case["exact"]["means"], atol=1e-10)
