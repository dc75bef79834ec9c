"""Networks that people made of real medicine: solved, and beside the published or enumerated truth."""

import numpy as np
import pytest

import plefka as pf
from tests.data import read_json


def field(probabilities):
    """-ln(1 - p): what switches a noisy-or unit on with probability p."""
    with np.errstate(divide="ignore"):
        return -np.log1p(-np.asarray(probabilities, float))


def diagnosis(name):
    """A two-layer network of causes and findings, its evidence, ln P and the posterior of the causes."""
    content = read_json(f"promedas/{name}.json")
    causes, findings = content["roots"], content["findings"]
    column = {cause["id"]: k for k, cause in enumerate(causes)}
    strength = np.zeros((len(findings), len(causes)))
    for row, finding in zip(strength, findings, strict=True):
        row[[column[parent] for parent in finding["parents"]]] = finding["p"]
    bias = [field([cause["prior"] for cause in causes]), field([finding["leak"] for finding in findings])]
    names = [str(unit["id"]) for unit in causes + findings]
    network = pf.BeliefNetwork.layered([field(strength)], bias, "noisy_or", names)
    return network, content["evidence"], content["lnZ_exact"], content["posterior_exact"]


def internal_medicine(name):
    """A network of many levels with inhibitors, its evidence, ln P and the posterior of all units."""
    content, reference = read_json(f"cpcs/{name}.signed_noisyor.json"), read_json(f"cpcs/{name}.reference.json")
    weights = np.zeros((len(content["nodes"]),) * 2)
    for row, node in zip(weights, content["nodes"], strict=True):
        row[node["parents"]] = node["theta"]
    network = pf.BeliefNetwork(weights, [node["theta0"] for node in content["nodes"]], "noisy_or")
    return network, reference["evidence"], reference["ln_p_evidence"], dict(enumerate(reference["p1"]))


def errors(solution, posterior):
    return np.array([solution.marginals()[str(unit)] - truth for unit, truth in posterior.items()])


REAL = {
    "13 causes": (diagnosis, "or_chain_218"),
    "177 causes, some of them certain": (diagnosis, "or_chain_10"),
    "360 units with inhibitors": (internal_medicine, "BN_80"),
}


@pytest.mark.parametrize("kind", REAL)
def test_a_real_network_is_solved(kind):
    read, name = REAL[kind]
    network, evidence, _, posterior = read(name)
    solution = pf.infer(network, evidence, "G12")
    assert solution.converged
    assert solution.warnings == []
    assert np.isfinite(solution.log_likelihood)
    assert np.all((solution.means >= 0) & (solution.means <= 1))
    assert all(solution.marginals()[unit] == state for unit, state in evidence.items())
    assert np.abs(errors(solution, posterior)).mean() < 0.01


def test_enumeration_finds_the_published_truth():
    network, evidence, log_z, posterior = diagnosis("or_chain_218")
    exact, solution = (pf.infer(network, evidence, method) for method in ("exact", "G12"))
    assert exact.log_likelihood == pytest.approx(log_z, abs=1e-9)
    assert np.abs(errors(exact, posterior)).max() < 1e-9
    assert solution.log_likelihood == pytest.approx(log_z, abs=0.2)
    assert np.abs(errors(solution, posterior)).max() < 0.1


def test_many_levels_of_weak_links_are_what_mean_field_is_made_for():
    network, evidence, log_z, posterior = internal_medicine("BN_80")
    solution = pf.infer(network, evidence, "G12")
    assert solution.log_likelihood == pytest.approx(log_z, abs=0.01)
    assert np.abs(errors(solution, posterior)).max() < 0.05
