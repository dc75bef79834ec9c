"""The exact solver of networks without loops, against the sum over all states."""

import numpy as np
import pytest

import plefka as pf
from tests.polytrees import LOG_OFF, LOG_ON, STEP, exact, polytree

KINDS = ("sigmoid", "noisy_or", "probit")


def enumerated(network, row, tilt: float | np.ndarray = 0.0):
    """ln P(evidence) and the means, by the definition."""
    S = (np.arange(2**row.size)[:, None] >> np.arange(row.size)) & 1
    S = S[((row == S) | np.isnan(row)).all(1)]
    W = network.storage.to_sparse().toarray()
    x = network.bias + np.where(S[:, None, :] == 1, W, 0.0).sum(-1)
    name = network.activation.name
    log_p = np.where(S == 1, LOG_ON[name](x), LOG_OFF[name](x)).sum(1) + (S * tilt).sum(1)
    total = np.logaddexp.reduce(log_p)
    return total, np.exp(log_p - total) @ S


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(12))
def test_messages_are_the_sum_over_all_states(kind, seed):
    certain = 0.3 if kind == "noisy_or" and seed % 2 else 0.0
    network, row = polytree(seed, 1 + seed % 5, 10, kind, certain=certain)
    log_p, means = exact(network, row)
    truth, true_means = enumerated(network, row)
    assert log_p == pytest.approx(truth, abs=1e-12)
    assert means == pytest.approx(true_means, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_has_hundreds_of_parents_and_obeys_bayes(kind):
    network, row = polytree(3, 300, 320, kind)
    parents = np.diff(network.storage.to_sparse().indptr)
    assert parents.max() >= 300
    log_p, means = exact(network, row)
    hub, cause = int(parents.argmax()), int(np.flatnonzero(np.isnan(row) & (parents == 0))[0])
    for unit in {hub, cause}:
        if np.isnan(row[unit]):
            off, on = (exact(network, np.where(np.arange(row.size) == unit, state, row))[0] for state in (0, 1))
            assert np.logaddexp(off, on) == pytest.approx(log_p, abs=1e-9)
            assert np.exp(on - log_p) == pytest.approx(means[unit], abs=1e-9)


def test_parts_that_are_not_connected_are_independent():
    network = pf.BeliefNetwork(STEP * np.array([[0, 0, 0], [64, 0, 0], [0, 0, 0]]), [0.5, -0.5, 1.0])
    log_p, means = exact(network, np.array([np.nan, 1, 0]))
    truth, true_means = enumerated(network, np.array([np.nan, 1, 0]))
    assert log_p == pytest.approx(truth, abs=1e-12)
    assert means == pytest.approx(true_means, abs=1e-12)


def test_loops_and_weights_off_the_lattice_are_refused():
    loop = pf.BeliefNetwork(np.tril(np.ones((3, 3)), -1), np.zeros(3))
    with pytest.raises(ValueError, match="loop"):
        exact(loop, np.full(3, np.nan))
    with pytest.raises(ValueError, match="multiples"):
        exact(pf.BeliefNetwork([[0, 0], [0.3, 0]], np.zeros(2)), np.full(2, np.nan))
