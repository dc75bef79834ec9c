"""Equations (76) and (77) as printed, sum by sum, and the studies beside the tables in a tiny configuration."""

from math import exp, log

import numpy as np
import pytest

import plefka as pf
from plefka.paper import compute, studies
from plefka.paper.as_printed import AsPrinted, ByPrintedFixedPoint, printed_target
from plefka.paper.experiment_settings import Study
from plefka.paper.store import read, read_one
from plefka.paper.summary import summaries
from tests import slow, zoo
from tests.paper import made_up
from tests.quick import quick_where

COLUMNS = {
    "misprints": studies.MISPRINT_COLUMNS,
    "policies": studies.POLICY_COLUMNS,
    "variants": studies.VARIANT_COLUMNS,
}
ENDS: dict[str, tuple[float, float]] = {"sigmoid": (-1, 1), "noisy_or": (0.2, 0.8)}


def sigma(x: float) -> float:
    return 1 / (1 + exp(-x))


def printed_76(w, M, u, N):
    """The three sums of (76), with q for its l and the brackets closed as stated in as_printed."""
    total = 0.0
    for i in range(N):
        for q in range(i):
            total += w[i, q] * u[q] * (1 - u[q]) * (M[q] * (u[i] - sigma(M[q])) + w[i, q] * u[i] * (1 - u[i]))
        for j in range(N):
            for k in range(min(i, j)):
                v = u[k] * (1 - u[k])
                total += w[j, k] * w[i, k] * v * (u[i] - sigma(M[i])) * (u[j] - sigma(M[j]))
        for j in range(i + 1, N):
            for q in range(i + 1, N):
                inner = w[q, i] * (u[q] - sigma(M[q])) + M[i]
                total -= inner * (u[j] - sigma(M[j])) * w[j, i] * u[i] * (1 - u[i])
    return total


def printed_77(w, M, u, N):
    """The three sums of (77)."""
    f = 1 - np.exp(-M)
    total = 0.0
    for i in range(N):
        for j in range(i):
            v = u[j] * (1 - u[j])
            total += w[i, j] ** 2 * v * (u[i] * (1 - u[i]) / f[i] ** 2 + (u[i] / f[i] - 1) * log(1 + exp(M[j])))
        for j in range(N):
            for k in range(min(i, j)):
                v = u[k] * (1 - u[k])
                total += w[i, k] * w[j, k] * v * (u[i] / f[i] - 1) * (u[j] / f[j] - 1)
        for j in range(i + 1, N):
            inner = sum(w[k, i] * (u[k] / f[k] - 1) for k in range(i + 1, N))
            total -= (inner + (u[j] / f[j] - 1) * log(1 + exp(M[i]))) * w[j, i] * u[i] * (1 - u[i])
    return total


@pytest.mark.parametrize("activation", ENDS)
def test_the_printed_terms_are_those_sums(activation):
    low, high = ENDS[activation]
    stack = pf.ensembles.layered((2, 4, 6), low, high, 1, 5, activation)
    net = pf.BeliefNetwork.layered([W[0] for W in stack.weights], np.split(stack.bias[0], [2, 6]), activation)
    row = np.r_[np.full(6, np.nan), [0, 1, 1, 0, 1, 0]]
    u = np.where(np.isnan(row), np.random.default_rng(0).uniform(0.1, 0.9, 12), row)
    w = slow.weights_of(net)
    M = w @ u + net.bias
    second = {"sigmoid": printed_76, "noisy_or": printed_77}[activation](w, M, u, 12)
    expected = pf.free_energy(net, row, u, "G12") - 0.5 * second
    assert pf.free_energy(net, row, u, AsPrinted(), prune=False) == pytest.approx(expected, rel=1e-10)


def test_it_is_no_method_of_the_library():
    assert "G22 as printed" not in pf.METHODS
    with pytest.raises(pf.errors.InvalidMethod):
        pf.parse_method("G22 as printed")


@pytest.mark.parametrize("name", quick_where(["misprints"], [*COLUMNS]))
def test_a_study_in_a_tiny_configuration(name, tmp_path):
    study = Study(name, COLUMNS[name], 3, 3, 20, 1)
    compute.complete(study, tmp_path)
    rows = read_one(tmp_path, study)
    assert rows.complete
    expected = {(c.ensemble.name, c.observed, method) for c in study.columns for method in c.methods}
    assert set(summaries(rows)) == expected
    made_up.write(tmp_path / "tables", ("table1", "table2"))
    render = getattr(studies, f"render_{name}")
    assert render({**read(tmp_path / "tables"), study.name: rows}).parts


def test_all_schemes_solve_the_same_networks(tmp_path):
    study = Study("misprints", studies.MISPRINT_COLUMNS, 2, 2, 20, 1)
    compute.complete(study, tmp_path)
    rows = read_one(tmp_path, study)
    for column in study.columns:
        log_z = [
            rows.where(ensemble=column.ensemble.name, observed=column.observed, method=method)["log_z"].tolist()
            for method in column.methods
        ]
        assert all(values == log_z[0] for values in log_z)


@pytest.mark.parametrize("activation", ENDS)
def test_the_fixed_point_as_printed_is_not_that_of_its_free_energy_and_with_the_factor_it_is(activation):
    """At a solution of G11 the right side of (73) gives the means back, if it has w_li, and others as it is printed."""
    stack = pf.ensembles.layered((2, 4, 6), *ENDS[activation], 5, 7, activation)
    rows = np.tile([np.nan] * 6 + [0, 1, 1, 0, 1, 0], (5, 1))
    u = pf.infer(stack, rows, "G11[tol=1e-12]", prune=False).means
    for k in range(5):
        logit, heard, W = fields_of(stack, u, k)
        np.testing.assert_allclose(sigmoids(logit + W.T @ heard)[:6], u[k, :6], atol=1e-10)
    assert np.all(np.abs(sigmoids(printed_target(stack, u)) - u)[:, :6].max(axis=1) > 0.02)


def fields_of(stack: pf.BeliefNetwork, u: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """ln f/(1 - f), (u - f) f' / (f (1 - f)) and the weights of one network of a stack."""
    W = slow.weights_of(zoo.network_of(stack, k))
    x = W @ u[k] + stack.bias[k]
    if stack.activation.name == "sigmoid":
        f, df = sigmoids(x), sigmoids(x) * sigmoids(-x)
    else:
        f, df = 1 - np.exp(-x), np.exp(-x)
    return np.log(f / (1 - f)), (u[k] - f) * df / (f * (1 - f)), W


@pytest.mark.parametrize("activation", ENDS)
def test_the_printed_sum_is_over_all_later_units(activation):
    stack = pf.ensembles.layered((2, 4, 6), *ENDS[activation], 1, 7, activation)
    u = np.random.default_rng(0).uniform(0.1, 0.9, 12)
    logit, heard, _ = fields_of(stack, u[None], 0)
    by_hand = [logit[i] + sum(heard[i + 1 :]) for i in range(12)]
    np.testing.assert_allclose(printed_target(stack, u[None])[0], by_hand, rtol=1e-10)


def sigmoids(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def test_the_printed_fixed_point_is_solved_where_it_says_so():
    stack, rows = pf.ensembles.layered((2, 4, 6), -1, 1, 5, 7), np.tile([np.nan] * 6 + [0.0] * 6, (5, 1))
    found = pf.infer(stack, rows, ByPrintedFixedPoint())
    assert found.converged.all()
    np.testing.assert_allclose(sigmoids(printed_target(stack, found.means))[:, :6], found.means[:, :6], atol=1e-7)
    assert np.all(found.log_likelihood < pf.infer(stack, rows, "G11").log_likelihood)
