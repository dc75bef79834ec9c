"""Networks that people made of real medicine: solved, and beside the published or enumerated truth."""

import numpy as np
import pytest

import plefka as pf
from plefka.exact.elimination import eliminated
from plefka.exact.factors import Factors, Structure
from plefka.exact.ordering import plan
from tests.data import names_in, read_json, read_text


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


def tables_of_internal_medicine(name):
    """The same as a table for each unit: P(off) and P(on) for all states of its parents, the first slowest."""
    lines = read_text(f"cpcs/{name}.erg.gz").split("/* Probabilities */")
    numbers = [line.split() for line in lines[0].splitlines()]
    count = int(numbers[0][0])
    parents = [[int(word) for word in line[1:]] for line in numbers[2 : 2 + count]]
    entries = iter(lines[1].split())
    tables = []
    for unit in range(count):
        size = int(next(entries))
        table = np.array([float(next(entries)) for _ in range(size)])
        tables.append(((*parents[unit], unit), table.reshape((2,) * (len(parents[unit]) + 1))))
    return tables


@pytest.mark.parametrize("name", ["BN_80", "BN_82", "BN_86", "BN_88"])
def test_internal_medicine_from_its_tables_is_eliminated(name):
    """ln P of the evidence and the means of the units that it speaks of, where tables are what they are."""
    reference = read_json(f"cpcs/{name}.reference.json")
    log_z, means = eliminated_tables(tables_of_internal_medicine(name), reference["evidence"])
    assert log_z == pytest.approx(reference["ln_p_evidence"], abs=1e-8)
    assert all(mean == pytest.approx(reference["p1"][unit], abs=1e-8) for unit, mean in means.items())


def eliminated_tables(tables, evidence):
    """By the elimination behind `exact`, without units that nothing observed depends on."""
    observed = {int(unit): state for unit, state in evidence.items()}
    needed, waiting = set(), list(observed)
    while waiting:
        unit = waiting.pop()
        if unit not in needed:
            needed.add(unit)
            waiting += tables[unit][0][:-1]
    sliced = []
    for unit in sorted(needed):
        units, table = tables[unit]
        index = tuple(observed.get(other, slice(None)) for other in units)
        free = tuple(other for other in units if other not in observed)
        with np.errstate(divide="ignore"):
            sliced.append((free, np.log(table[index])[..., None]))
    free = tuple(sorted(needed - set(observed)))
    structure = Structure(len(tables), free, (), (), tuple(units for units, _ in sliced), free)
    prior = {unit: np.zeros((2, 1)) for unit in free}
    logs = tuple(log for _, log in sliced)
    factors = Factors(np.zeros(1, int), structure, prior, {}, {}, logs, np.zeros(1), np.zeros((len(tables), 1)))
    found = eliminated(factors, plan(structure))
    return found.log_z[0], dict(zip(found.units, found.means[:, 0], strict=True))
