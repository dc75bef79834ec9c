"""`auto`: what it chooses, and that it says what it found."""

import re

import numpy as np
import pytest

import plefka as pf
from plefka import choosing, conditioning
from plefka.errors import MissingExtra
from tests import zoo


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


def two_findings():
    """Two causes behind two findings, one of them without a leak: belief propagation is off by 0.09 here."""
    W = np.zeros((4, 4))
    W[2, :2], W[3, :2] = 1.0, 0.7
    return pf.BeliefNetwork(W, np.array([0.5, 0.5, 0.0, 0.1]), "noisy_or")


@pytest.fixture
def no_findings(monkeypatch):
    """As if too few draws of theirs carried weight."""
    monkeypatch.setattr(choosing, "affordable", lambda *_, **__: None)


def test_findings_are_drawn_where_exact_is_forbidden():
    rows = np.array([[0, 0, 1, 1], [np.nan, np.nan, 1, 1]])
    found, exact = (pf.infer(two_findings(), rows, method) for method in ("auto[exact=no]", "exact"))
    assert found.notes[0] == "auto chose findings[k=0]: exact was forbidden"
    assert [status.name for status in found.status] == ["IMPOSSIBLE", "CONVERGED"]
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=0.02)
    assert not found.is_exact


def test_findings_that_take_too_long_are_not_drawn():
    rows = np.repeat([[np.nan, np.nan, 1, 1]], 30, axis=0)
    assert "auto chose findings" in pf.infer(two_findings(), rows, "auto[exact=no,budget=1s]").notes[0]
    assert "auto chose bethe" in pf.infer(two_findings(), rows, "auto[exact=no,budget=0.01s]").notes[0]


@pytest.mark.usefixtures("no_findings")
@pytest.mark.filterwarnings("error")
def test_impossible_rows_have_no_say():
    rows = np.array([[0, 0, 1, 1], [np.nan, np.nan, 1, 1]])
    both = pf.infer(two_findings(), rows, "auto[exact=no]")
    assert [status.name for status in both.status] == ["IMPOSSIBLE", "CONVERGED"]
    assert "reliable on 1 of 1 checked rows" in both.notes[0]
    assert pf.infer(two_findings(), rows[:1], "auto[exact=no]").notes[0] == "auto chose bethe: exact was forbidden"


@pytest.mark.usefixtures("no_findings")
def test_draws_that_contradict_are_not_hidden():
    network = two_findings()
    found, exact = (pf.infer(network, {2: 1, 3: 1}, method) for method in ("auto[exact=no]", "exact"))
    said = re.search(r"differ from it by ([0-9.]+) \(\+- [0-9.]+\), and nothing better was found", found.notes[0])
    assert said is not None
    assert float(said[1]) == pytest.approx(abs(found.log_likelihood - exact.log_likelihood), abs=0.03)


def test_units_are_conditioned_on_only_where_their_pairs_fit(monkeypatch):
    network = zoo.ZOO["sigmoid, layered"]
    row = zoo.some_evidence(network)
    assert "auto chose conditioned[bethe,k=" in pf.infer(network, row, "auto[exact=no]").notes[0]
    monkeypatch.setattr(choosing, "MOST_PAIRS", 0)
    assert "auto chose bethe: " in pf.infer(network, row, "auto[exact=no]").notes[0]


@pytest.mark.usefixtures("no_findings")
def test_without_arviz_the_missing_check_is_said(monkeypatch):
    def missing(*_, **__):
        raise MissingExtra("arviz-stats", "sampling", "judging samples")

    monkeypatch.setattr("plefka.sampling.checking.check_row", missing)
    assert "was not checked" in pf.infer(two_findings(), {2: 1, 3: 1}, "auto[exact=no]").notes[0]
