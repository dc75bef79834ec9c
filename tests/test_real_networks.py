"""Networks that people made of real medicine: solved, and beside the published or enumerated truth."""

from typing import Any

import numpy as np
import pytest

import plefka as pf
from tests.data import names_in, path_of, read_json
from tests.quick import quick_where


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


def test_diagnosis_is_exact_where_all_states_are_out_of_reach():
    for name in names_in("promedas"):
        network, evidence, log_z, posterior = diagnosis(name)
        solution = pf.infer(network, evidence)
        assert solution.is_exact
        assert solution.log_likelihood == pytest.approx(log_z, rel=1e-8)
        assert np.abs(errors(solution, posterior)).max() < 1e-7


def of_case(network, case):
    """The names of the states that evidence has, and P(on) of every unit from that of the second state of the file."""
    words = dict(zip(network.names, network.states, strict=True))
    return {unit: p if words[unit][1] == case["states"][unit][1] else 1 - p for unit, p in case["p"].items()}


@pytest.mark.parametrize("name", ["asia", "cancer", "earthquake", "andes", "win95pts"])
@pytest.mark.parametrize("method", ["exact", "auto"])
def test_all_references_of_a_file_of_tables_are_met(name, method):
    """ln P(evidence) and the marginals of all units, of every case."""
    network, reference = pf.load(path_of(f"bif/{name}.bif.gz")), read_json(f"bif/{name}.reference.json")
    for case in reference["cases"]:
        solution = pf.infer(network, case["evidence"], method)
        assert solution.is_exact
        assert solution.log_likelihood == pytest.approx(case["ln_p_evidence"], abs=1e-8)
        truth = of_case(network, {"states": reference["states"], "p": case["p_second_state"]})
        assert max(abs(solution.marginals()[unit] - p) for unit, p in truth.items()) < 1e-8


INTERNAL_MEDICINE = quick_where(["BN_80", "BN_82"], ["BN_80", "BN_82", "BN_86", "BN_88"])


@pytest.mark.parametrize("name", INTERNAL_MEDICINE)
def test_internal_medicine_from_its_tables_is_exact(name):
    """To all digits of the tables, which are rounded and which compact units match within 1e-6 only."""
    network, reference = pf.load(path_of(f"cpcs/{name}.erg.gz")), read_json(f"cpcs/{name}.reference.json")
    evidence: Any = pf.load_evidence(path_of(f"cpcs/{name}.erg.evid.gz"))
    assert {str(unit): int(state) for unit, state in evidence.items()} == reference["evidence"]
    for method in ("exact", "auto"):
        solution = pf.infer(network, evidence, method)
        assert solution.is_exact
        assert solution.log_likelihood == pytest.approx(reference["ln_p_evidence"], abs=1e-8)
        assert np.abs(solution.means - reference["p1"]).max() < 1e-8


def test_rows_of_tables_are_what_each_is_alone():
    network, reference = pf.load(path_of("bif/win95pts.bif.gz")), read_json("bif/win95pts.reference.json")
    rows = [case["evidence"] for case in reference["cases"]]
    soft = [{**row, network.names[0]: pf.Likelihood(0.3, 0.8)} for row in rows if network.names[0] not in row]
    together = pf.infer(network, rows + soft, "exact")
    for row, means, log_p in zip(rows + soft, together.means, together.log_likelihood, strict=True):
        alone = pf.infer(network, row, "exact")
        assert alone.log_likelihood == pytest.approx(log_p, abs=1e-12)
        assert alone.means == pytest.approx(means, abs=1e-12)


def test_tables_are_left_behind_when_parameters_change():
    network = pf.load(path_of("bif/cancer.bif.gz"))
    assert network.given_tables is not None
    weights, bias = network.parameters
    changed = network.with_parameters((weights, np.asarray(bias) * 1.0))
    assert changed.given_tables is None
    assert changed.names == network.names
