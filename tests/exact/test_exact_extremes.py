"""Exact sums where numbers leave the range of floating point, beside the definition in many digits."""

from itertools import product

import numpy as np
import pytest
from mpmath import exp, expm1, log, mp, mpf

import plefka as pf
from plefka.errors import MethodDoesNotApply
from plefka.exact.exact_answer import answer as exact_answer
from plefka.exact.exact_method import Exact
from plefka.exact.ordering import greedy_plan, strip_plan
from plefka.exact.question_elimination import PairElimination
from plefka.exact.states import too_many_states
from plefka.networks.evidence import Evidence
from plefka.networks.fields import bits
from plefka.reduction.reduce import reduce
from tests.data import path_of
from tests.exact.preferred_way import prefer

mp.dps = 60
EXACT = Exact("exact")
WAYS = {"enumeration": 0.0, "elimination": np.inf}


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    """Either sum, whichever is quicker otherwise."""
    prefer(monkeypatch, WAYS[request.param])


def by_definition(network, row, tilt):
    """ln P(evidence) and the means of a noisy-or network: equation (4) over all states that fit the row."""
    W, h = np.asarray(network.weights), np.asarray(network.bias)
    total, on = mpf(0), [mpf(0)] * len(row)
    for state in product(*((0, 1) if np.isnan(value) else (int(value),) for value in row)):
        weight = mpf(1)
        for unit, value in enumerate(state):
            x = mpf(h[unit]) + sum(mpf(w) for w, parent in zip(W[unit], state, strict=True) if parent and w)
            weight *= (-expm1(-x) if value else exp(-x)) * (exp(mpf(tilt[unit])) if value else 1)
        total += weight
        on = [sofar + weight * value for sofar, value in zip(on, state, strict=True)]
    return log(total), [value / total for value in on]


def findings_off(k, p=0.999, prior=0.1, causes=1, on=1, w=None):
    """Causes that k findings which are off speak against, and findings without leak, which are on, speak for."""
    size = causes + on + k
    W, h = np.zeros((size, size)), np.zeros(size)
    h[:causes] = -np.log1p(-prior) * np.arange(1, causes + 1)
    W[causes : causes + on, :causes] = -np.log1p(-p) if w is None else w
    W[causes + on :, :causes] = -np.log1p(-p) * np.linspace(1.0, 1.3, causes)
    row = np.concatenate([np.full(causes, np.nan), np.ones(on), np.zeros(k)])
    return pf.BeliefNetwork(W, h, "noisy_or"), row, np.zeros(size)


def soft(log_odds, weights, leaks):
    """Causes of prior 1/2 with soft evidence, and findings that are on, of these weights and leaks."""
    weights, causes = np.asarray(weights, float), len(log_odds)
    size = causes + len(weights)
    W, h, tilt = np.zeros((size, size)), np.zeros(size), np.zeros(size)
    W[causes:, :causes], h[:causes], h[causes:] = weights, np.log(2), leaks
    tilt[:causes] = log_odds
    row = np.concatenate([np.full(causes, np.nan), np.ones(len(weights))])
    return pf.BeliefNetwork(W, h, "noisy_or"), row, tilt


def one_edge(bias, w):
    """A cause and a finding without leak, which is on."""
    return pf.BeliefNetwork([[0, 0], [w, 0]], [bias, 0], "noisy_or"), np.array([np.nan, 1.0]), np.zeros(2)


def decades(*powers):
    return np.log(10) * np.array(powers, float)


SHARED = [[2.0, 3.0, 0.0], [0.0, 1.0, 2.5], [1.5, 0.0, 1.0]]
CASES = {
    **{f"{k} findings off": findings_off(k) for k in (40, 80, 120, 150, 400)},
    **{f"{k} off, {c} causes, {on} on": findings_off(k, causes=c, on=on) for k, c, on in [(120, 2, 2), (150, 3, 2)]},
    "120 off at .9, weak edge": findings_off(120, p=0.9, causes=2, w=1e-20),
    "shared causes at 1e-300 and 1e-400": soft(decades(-300, -400, -350), SHARED, 0.0),
    "a cause of the usual kind beside these": soft(decades(-1, -400, -330), SHARED, 0.0),
    "as much for as against": soft(decades(300, -300, 250), SHARED, 1e-3),
    "for each": soft(decades(300, 300, 300), SHARED, 0.0),
    "a likelihood of 1e-110": soft(decades(-110, -110, -110), SHARED, 0.0),
    "bias 50 and w = 60": one_edge(50.0, 60.0),
    **{f"w = {w:g}": one_edge(2.3, w) for w in (1e-12, 1e-14, 1e-20, 1e-300)},
    "weak edges of rare causes": soft(decades(-200, -150, -180), np.full((3, 3), 1e-150), 0.0),
}


@pytest.mark.parametrize("case", CASES)
def test_sums_are_those_of_the_definition(case, way):
    network, row, tilt = CASES[case]
    evidence = Evidence(rows=row[None], tilt=tilt[None] if tilt.any() else None, batched=True)
    found = exact_answer(EXACT, network, evidence, prune=False, dtype="float64")
    log_p, means = by_definition(network, row, tilt)
    assert -found.free_energy[0] == pytest.approx(float(log_p), rel=1e-13, abs=1e-12)
    assert found.means[0] == pytest.approx(np.array(means, float), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("case", ["150 findings off", "w = 1e-20", "bias 50 and w = 60"])
def test_rows_of_a_batch_are_what_they_are_alone(case, way):
    """Those that plain numbers do not hold, and those that they do."""
    network, row, _ = CASES[case]
    rows = np.stack([row, np.where(row == 1, 0.0, row), np.where(row == 0, np.nan, row)])
    together = pf.infer(network, rows, "exact", prune=False)
    for place, each in enumerate(rows):
        alone = pf.infer(network, each, "exact", prune=False)
        assert together.log_likelihood[place] == pytest.approx(alone.log_likelihood, rel=1e-13)
        assert together.means[place] == pytest.approx(alone.means, rel=1e-9, abs=1e-13)


def copies(away=4, between=9, size=200.0):
    """A chain of copies of one unit, with soft evidence against it at both ends and more for it between.

    Either end alone makes the state that wins too small for a plain number.
    """
    n = 2 * away + between
    W, h, tilt = np.zeros((n, n)), np.zeros(n), np.full(n, size)
    W[np.arange(1, n), np.arange(n - 1)], h[0] = np.inf, np.log(2)
    tilt[:away] = tilt[-away:] = -size
    return pf.BeliefNetwork(W, h, "noisy_or"), np.full(n, np.nan), tilt


def test_what_is_lost_there_and_back_is_noticed(monkeypatch):
    prefer(monkeypatch, np.inf)
    network, row, tilt = copies()
    evidence = Evidence(rows=row[None], tilt=tilt[None], batched=True)
    found = exact_answer(EXACT, network, evidence, prune=False, dtype="float64")
    assert -found.free_energy[0] == pytest.approx(tilt.sum() - np.log(2), rel=1e-13)
    assert found.means[0] == pytest.approx(1.0)


@pytest.mark.parametrize("of", [greedy_plan, strip_plan])
@pytest.mark.parametrize("size", [10.0, 200.0, 900.0])
def test_chains_of_machines_are_right_in_any_range(of, size, monkeypatch):
    """Strong couplings between neighbours, fields against them at the ends: the sum over states, in logarithms."""
    n = 12
    W, h = np.zeros((n, n)), np.full(n, size)
    W[np.arange(1, n), np.arange(n - 1)] = 3 * size
    h[:4], h[-4:] = -5 * size, -5 * size
    machine = pf.BoltzmannMachine(W + W.T, h)
    (part,) = reduce(machine, Evidence(rows=np.full((1, n), np.nan), batched=True), prune=False).parts
    monkeypatch.setattr(PairElimination, "plan", lambda self, structure: of(structure))
    log_z, means, _ = PairElimination(part.question).sums()
    S = bits(np.arange(2**n), np.arange(n)).astype(float)
    logs = h @ S + (S * (W @ S)).sum(0)
    weights = np.exp(logs - logs.max())
    place = {int(unit): at for at, unit in enumerate(part.units.ravel()) if unit >= 0}
    found = np.array([means[place[unit], 0] for unit in range(n)])
    assert log_z[0] + part.constant[0] == pytest.approx(logs.max() + np.log(weights.sum()), rel=1e-13, abs=1e-10)
    assert found == pytest.approx(S @ weights / weights.sum(), abs=1e-10)


def wide_tables(n=60, parents=6):
    """A network of tables that is too wide for any sum."""
    rng = np.random.default_rng(0)
    units = []
    for unit in range(n):
        above = [f"u{k}" for k in sorted(rng.choice(unit, min(unit, parents), replace=False).tolist())]
        units.append(pf.Unit(f"u{unit}", above, pf.Table(rng.random((2,) * len(above)))))
    return pf.BeliefNetwork.of_units(units)


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("batch", [False, True])
def test_a_sum_that_is_too_wide_is_refused(prune, batch):
    network = wide_tables()
    row = np.full(network.size, np.nan)
    row[-3:] = 1.0
    with pytest.raises(MethodDoesNotApply, match="tables of at least 2\\^"):
        pf.infer(network, np.stack([row, row]) if batch else row, "exact", prune=prune)


def test_a_real_network_that_is_too_wide_as_a_whole_is_summed_over_in_groups():
    network = pf.load(path_of("uai06/BN_12.erg.gz"))
    whole, pruned = (pf.infer(network, {0: 1}, "exact", prune=prune) for prune in (False, True))
    np.testing.assert_allclose(whole.means, pruned.means, atol=1e-12)
    assert whole.log_likelihood == pytest.approx(pruned.log_likelihood, abs=1e-12)
    assert whole.is_exact
    drawn = np.asarray(network.sample(0, 40_000))
    drawn = drawn[drawn[:, 0] == 1]
    assert np.abs(whole.means - drawn.mean(axis=0)).max() < 5 * 0.5 / np.sqrt(len(drawn))


@pytest.mark.parametrize("bits", [25, 1023, 1024, 100_000])
def test_any_number_of_states_can_be_told(bits):
    assert f"2^{bits}" in too_many_states(bits)


def test_a_machine_of_a_thousand_coupled_units_is_refused():
    n = 1100
    W = np.full((n, n), 0.01) - 0.01 * np.eye(n)
    with pytest.raises(MethodDoesNotApply, match="2\\^"):
        pf.infer(pf.BoltzmannMachine(W, np.zeros(n)), {0: 1}, "exact")


def test_a_unit_with_a_thousand_parents_is_predicted():
    n = 1100
    W = np.zeros((n + 1, n + 1))
    W[n, :n] = 0.01
    network = pf.BeliefNetwork(W, np.full(n + 1, -0.1), "sigmoid")
    assert 0.9 < pf.infer(network, {0: 1}, "exact").means[n] < 1
