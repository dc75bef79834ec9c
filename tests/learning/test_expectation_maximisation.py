"""Noisy-or networks by expectation maximisation: exact where sums are, a bound elsewhere, and planted ones are found."""

import itertools
from typing import Any

import numpy as np
import pytest

import plefka as pf
from plefka.learning.patterns import as_patterns
from plefka.learning.row_states import Families, RowStates, SharedStates, warm
from plefka.methods.posterior import Accuracy

NAN = np.nan


def network(seed: int = 0, layers: tuple[int, ...] = (3, 5)) -> pf.BeliefNetwork:
    rng = np.random.default_rng(seed)
    weights = [rng.uniform(0.1, 1.5, (below, above)) for above, below in itertools.pairwise(layers)]
    return pf.BeliefNetwork.layered(weights, [rng.uniform(0.05, 0.6, units) for units in layers], "noisy_or")


def some_rows(count: int, columns: int, missing: float, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 2, (count, columns)) * 1.0
    return np.where(rng.random(rows.shape) < missing, NAN, rows)


def all_units(net: pf.BeliefNetwork, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    patterns = as_patterns(net, rows)
    values = patterns.rows()
    return np.where(np.isnan(values), -1, values).astype(np.int8), patterns.counts


def enumerated(net: pf.BeliefNetwork, row: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """P(row), and how often every leak and link was thrown and on: over all states of units and of coins."""
    W, h = net.storage.to_sparse().toarray(), np.asarray(net.bias)
    n = len(h)
    total, on, thrown = 0.0, np.zeros((n, 1 + n)), np.zeros((n, 1 + n))
    free = np.flatnonzero(row < 0)
    for bits in itertools.product((0, 1), repeat=len(free)):
        S = row.copy()
        S[free] = bits
        acting = np.concatenate([np.ones((n, 1)), np.where(W > 0, S[None], 0)], axis=1)
        p = acting * -np.expm1(-np.concatenate([h[:, None], W], axis=1))
        p_on = 1 - np.prod(1 - p, axis=1)
        weight = np.prod(np.where(S == 1, p_on, 1 - p_on))
        total += weight
        thrown += weight * acting
        on += weight * np.where(S[:, None] == 1, p / p_on[:, None], 0.0)
    return total, on / total, thrown / total


# ---- expectations ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [(3, 5), (2, 3, 4)])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_exact_expectations_are_those_of_enumeration(layers, missing):
    net = network(layers=layers)
    rows, families = some_rows(6, layers[-1], missing), Families(net)
    values, counts = all_units(net, rows)
    fields, every = families.matrix(net.parameters), np.arange(len(values))
    ways: list[Any] = [RowStates(families, values, 2**8)]
    if SharedStates.applies(families, values):
        ways.append(SharedStates(families, values))
    found = [enumerated(net, row) for row in values]
    columns = np.append(0, 1 + families.parents)
    for states in ways:
        assert states.exact
        tally = states.step(fields, every, counts)
        np.testing.assert_allclose(tally.log_likelihood, np.log([each[0] for each in found]), rtol=1e-12)
        known = (values != -1) | (families.hidden(values) @ np.eye(net.size)[families.parents] > 0)
        for k, number in ((0, -np.expm1(-fields) * tally.share), (1, tally.acted)):
            truth = sum(
                count * each[1 + k] * seen[:, None] for count, each, seen in zip(counts, found, known, strict=True)
            )
            np.testing.assert_allclose(np.where(fields > 0, number, 0.0), truth[:, columns], rtol=1e-12, atol=1e-13)


def test_some_states_are_a_lower_bound_that_approaches_ln_p():
    net = network(3, (9, 20))
    values, counts = all_units(net, net.sample(seed=2, count=60)[:, 9:] * 1.0)
    families = Families(net)
    fields, every = families.matrix(net.parameters), np.arange(len(values))
    exact = SharedStates(families, values).step(fields, every, counts)
    gaps, errors = [], []
    for most in (4, 32, 256):
        states = RowStates(families, values, most)
        assert not states.exact
        rng = np.random.default_rng(0)
        warm(states, fields, every, counts, rng)
        for _ in range(150):
            found = states.step(fields, every, counts, rng)
        gap = exact.log_likelihood - found.log_likelihood
        assert gap.min() > -1e-12
        gaps.append(gap.mean())
        errors.append(abs(found.acted - exact.acted).max())
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.03
    assert errors[2] < 0.01 * counts.sum()


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [(3, 5), (2, 3, 5)])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_every_epoch_raises_the_exact_likelihood(layers, missing):
    rows = some_rows(40, 5, missing)
    fitted = pf.fit(network(layers=layers), rows, "em[starts=0,smoothing=0]", epochs=15, verbose=False)
    exact = fitted.history["log_likelihood"]
    assert fitted.accuracy is Accuracy.EXACT
    assert np.all(np.diff(exact) > -1e-12)
    np.testing.assert_allclose(fitted.history["objective"][1:], exact[:-1], rtol=1e-12)
    truth = pf.infer(fitted.network, as_patterns(fitted.network, rows).rows(), "exact").log_likelihood
    np.testing.assert_allclose(
        exact[-1], np.average(truth, weights=as_patterns(fitted.network, rows).counts), rtol=1e-10
    )
