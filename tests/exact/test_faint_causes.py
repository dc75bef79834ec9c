"""What is summed out by hand comes back to all digits: causes that are nearly excluded, edges that hardly act, chains.

Fields as small as 1e-360 and slopes as large as their inverse appear here; the truth is that of the definition.
"""

import re

import mpmath
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from tests.data import names_in, path_of, read_json, read_text

EXCLUDED = [(40, 0.999), (80, 0.95), (120, 0.9), (120, 0.999), (150, 0.999)]


def one_cause(count, chance, prior=0.1):
    """A cause of many findings, none of which has a leak; the first of them is on, all others are off."""
    findings = [f"finding {k}" for k in range(count)]
    network = pf.BeliefNetwork.diagnosis(
        {"cause": ["flu"], "prior": [prior]},
        {"finding": findings, "cause": ["flu"] * count, "probability": [chance] * count},
    )
    return network, dict.fromkeys(findings, 0) | {findings[0]: 1}


def log_likelihood(network, count, chance):
    """ln P of that: the cause is on, whatever it takes."""
    with mpmath.workdps(60):
        weight = mpmath.mpf(float(network.storage.edge_list()[2][0, 0]))
        prior = -mpmath.expm1(-mpmath.mpf(float(network.bias[0])))
        return float(mpmath.log(prior) + mpmath.log(-mpmath.expm1(-weight)) - (count - 1) * weight)


@pytest.mark.parametrize("method", ["exact", "auto", "findings", "conditioned[exact,k=1]"])
@pytest.mark.parametrize(("count", "chance"), EXCLUDED)
def test_the_only_cause_of_a_finding_is_on_however_unlikely(count, chance, method):
    network, evidence = one_cause(count, chance)
    solution = pf.infer(network, evidence, method)
    assert solution["flu"] == pytest.approx(1.0, abs=1e-12)
    assert solution.log_likelihood == pytest.approx(log_likelihood(network, count, chance), rel=1e-13)
    assert solution.is_exact


@pytest.mark.parametrize(("count", "chance"), EXCLUDED)
def test_so_it_is_in_batches_and_explanations(count, chance):
    network, evidence = one_cause(count, chance)
    together = pf.infer(network, [evidence, {}, {"finding 1": 0}])
    np.testing.assert_allclose(together["flu"][0], 1.0, atol=1e-12)
    assert together.is_exact
    assert pf.explain(network, evidence, "flu").probability == pytest.approx(1.0, abs=1e-12)
    assert pf.infer(network, evidence, "bethe")["flu"] == pytest.approx(1.0, abs=1e-9)


@pytest.mark.parametrize("odds", [1e-110, 1e-250, 1e-300])
def test_so_it_is_with_soft_evidence(odds):
    network, _ = one_cause(2, 0.9)
    evidence = {"flu": pf.Likelihood(on=odds, off=1.0), "finding 0": 1}
    for method in ("exact", "auto"):
        solution = pf.infer(network, evidence, method)
        assert solution["flu"] == pytest.approx(1.0, abs=1e-12)
        assert solution.log_likelihood == pytest.approx(np.log(0.1 * 0.9 * odds), rel=1e-13)


@pytest.mark.parametrize(
    ("bias", "weight"),
    [(2.3, 1e-12), (2.3, 1e-14), (2.3, 1e-20), (2.3, 1e-300), (50.0, 60.0), (800.0, 900.0), (1e-20, 3.0)],
)
def test_nothing_cancels_where_a_root_is_summed_out(bias, weight):
    network = pf.BeliefNetwork([[0, 0], [weight, 0]], [bias, 0], "noisy_or")
    with mpmath.workdps(600):
        wanted = mpmath.log(mpmath.expm1(-mpmath.mpf(bias)) * mpmath.expm1(-mpmath.mpf(weight)))
    solution = pf.infer(network, {1: 1}, "exact")
    assert solution.log_likelihood == pytest.approx(float(wanted), rel=1e-13, abs=1e-300)
    assert solution.means[0] == pytest.approx(1.0, abs=1e-14)


def test_a_faint_cause_counts_beside_an_inhibitor_that_takes_the_leak():
    """The leak and the inhibitor cancel to nothing, and what is left is a cause of 1e-20."""
    network = pf.BeliefNetwork([[0, 0, 0], [0, 0, 0], [2.0, -0.3, 0]], [1e-20, 5.0, 0.3], "noisy_or")
    solution = pf.infer(network, {2: 1, 1: 1}, "exact")
    with mpmath.workdps(60):
        wanted = mpmath.log(-mpmath.expm1(-5)) + mpmath.log(mpmath.mpf(1e-20)) + mpmath.log(-mpmath.expm1(-2))
    assert solution.log_likelihood == pytest.approx(float(wanted), rel=1e-12)
    assert solution.means[0] == pytest.approx(1.0, abs=1e-12)


# ---- long chains -----------------------------------------------------------------------------------------------------


def chain(length, weight=1.5, leak=0.01):
    ends = np.arange(1, length), np.arange(length - 1)
    weights = sp.csr_array((np.full(length - 1, weight), ends), shape=(length, length))
    return pf.BeliefNetwork(weights, np.full(length, leak), "noisy_or")


def priors(length, weight=1.5, leak=0.01):
    p = np.zeros(length)
    for unit in range(length):
        above = p[unit - 1] if unit else 0.0
        p[unit] = -np.expm1(-leak) if not unit else 1 - np.exp(-leak) * (1 + above * np.expm1(-weight))
    return p


@pytest.mark.parametrize("observed", ["nothing", "first", "middle", "last"])
def test_a_long_chain_is_exact(observed):
    """The square of its length would be 4e8 steps of Python."""
    length = 20_000
    unit = {"nothing": None, "first": 0, "middle": length // 2, "last": length - 1}[observed]
    solution, p = pf.infer(chain(length), {} if unit is None else {unit: 1}), priors(length)
    assert solution.is_exact
    assert solution.log_likelihood == pytest.approx(0.0 if unit is None else np.log(p[unit]), abs=1e-10)
    if unit is None:
        np.testing.assert_allclose(solution.means, p, atol=1e-12)
    elif unit:
        above = p[unit - 1] * (1 - np.exp(-0.01 - 1.5)) / p[unit]
        assert solution.means[unit - 1] == pytest.approx(above, abs=1e-12)


# ---- real networks of tables ---------------------------------------------------------------------------------------


def evidence_of(name):
    words = re.sub(r"/\*.*?\*/", "", read_text(f"uai06/{name}.erg.evid.gz"), flags=re.S).split()
    return {int(unit): int(state) for unit, state in zip(words[1::2], words[2::2], strict=True)}


def test_what_is_called_exact_below_the_evidence_of_real_networks_is_exact():
    """Every reference posterior to 1e-9, or it is called an estimate, as at most one in ten is."""
    total, estimates = 0, 0
    for name in (file.removesuffix(".reference") for file in names_in("uai06")):
        network, wanted = pf.load(path_of(f"uai06/{name}.erg.gz")), read_json(f"uai06/{name}.reference.json")
        solution = pf.infer(network, evidence_of(name))
        units = np.array([int(unit) for unit in wanted["posterior_of_state_1"]])
        posterior = np.array(list(wanted["posterior_of_state_1"].values()))
        exact = solution.accuracy[units] != "estimate"
        np.testing.assert_allclose(solution.means[units][exact], posterior[exact], atol=1e-9, err_msg=name)
        assert solution.log_likelihood == pytest.approx(wanted["ln_p_evidence"], abs=1e-9)
        total, estimates = total + len(units), estimates + int((~exact).sum())
    assert estimates <= total / 10
