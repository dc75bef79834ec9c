"""`auto`: what it chooses, and that it says what it found."""

import numpy as np

import plefka as pf
from plefka import conditioning


def one_finding(causes=4):
    """Causes that share a single finding, the last unit."""
    rng = np.random.default_rng(1)
    W = np.zeros((causes + 1, causes + 1))
    W[causes, :causes] = rng.normal(0, 2, causes)
    return pf.BeliefNetwork(W, np.r_[rng.normal(size=causes), -1.0])


def test_conditioning_is_a_bound_only_where_every_part_is_one(monkeypatch):
    """Exact is affordable for the first row, where nothing else is hidden, but not for the second."""
    network = one_finding()
    rows = np.array([[np.nan, 0, 0, 0, 1], [np.nan] * 4 + [1]])
    monkeypatch.setattr(conditioning, "AT_ONCE", 2)  # each row by itself
    method = "conditioned[auto[budget=5e-7s],units=0]"
    first, second = (pf.infer(network, row, method) for row in rows)
    assert (first.is_bound, second.is_bound) == (True, False)
    both = pf.infer(network, rows, method)
    assert not both.is_bound
    assert [note.split(":")[0] for note in both.notes] == ["auto chose exact", "auto chose bethe"]
