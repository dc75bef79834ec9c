"""Counterfactual rankings, beside the twin network: the same switches in the actual world and in the other one."""

from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.exact.outside import ParameterElimination


def twin_expectations(prior, leak, link, findings, soft):
    """Expected disablement and sufficiency of every cause, by enumeration of causes and switches.

    `leak` (findings,), `link` (findings, causes): probabilities; `findings`: 1, 0 or nan; `soft`: what a cause's being
    on is multiplied by. A finding is on where its leak or the link of a cause that is on has switched. In the other
    world switches are the same, one cause is off (disablement), or it is as it is and all else is off (sufficiency).
    """
    causes = len(prior)
    total, sums = 0.0, np.zeros((2, causes))
    switches = np.array(list(product((0, 1), repeat=causes + 1)))
    chance = [np.prod(np.where(switches == 1, p, 1 - p), axis=1) for p in np.column_stack([leak, link])]
    for state in product((0, 1), repeat=causes):
        state = np.array(state)
        weight = np.prod(np.where(state == 1, prior * soft, 1 - prior))
        on = switches @ np.r_[1, state] > 0
        others = [switches @ np.r_[1, np.where(np.arange(causes) == k, 0, state)] > 0 for k in range(causes)]
        alone = [switches @ np.r_[0, np.where(np.arange(causes) == k, state, 0)] > 0 for k in range(causes)]
        seen = [
            p[on].sum() if z == 1 else p[~on].sum() if z == 0 else 1.0 for p, z in zip(chance, findings, strict=True)
        ]
        total += weight * np.prod(seen)
        for s in np.flatnonzero(np.array(findings) == 1):
            rest = weight * np.prod(np.delete(seen, s))
            for k in range(causes):
                sums[0, k] += rest * chance[s][on & ~others[k]].sum()
                sums[1, k] += rest * chance[s][on & alone[k]].sum()
    return sums / total


def drawn_case(rng, causes):
    """Probabilities with leaks of 0, links of 0 and of 1, and findings of a state that was drawn."""
    count = int(rng.integers(1, 5))
    prior, leak = rng.uniform(0.05, 0.6, causes), np.where(rng.random(count) < 0.4, 0.0, rng.uniform(0, 0.4, count))
    link = np.where(rng.random((count, causes)) < 0.3, 0.0, rng.random((count, causes)))
    link[rng.random(link.shape) < 0.1] = 1.0
    link[0, 0] = 0.5
    state = rng.random(causes) < prior
    state[0] = True
    off = (1 - leak) * np.prod(np.where(state, 1 - link, 1.0), axis=1)
    findings = np.where(rng.random(count) < off, 0.0, 1.0)
    findings[rng.random(count) < 0.15] = np.nan
    findings[0] = 1.0
    return prior, leak, link, findings


def network_of(prior, leak, link):
    causes, count = len(prior), len(leak)
    with np.errstate(divide="ignore"):
        weights = np.zeros((causes + count,) * 2)
        weights[causes:, :causes] = -np.log1p(-link)
        bias = -np.log1p(-np.r_[prior, leak])
    return pf.BeliefNetwork(weights, bias, "noisy_or")


@pytest.mark.parametrize("causes", [1, 2, 3, 5, 8])
def test_rankings_equal_the_enumeration_of_the_twin_network(causes):
    rng = np.random.default_rng(causes)
    for _ in range(3 if causes == 8 else 8):
        prior, leak, link, findings = drawn_case(rng, causes)
        network, soft = network_of(prior, leak, link), np.ones(causes)
        evidence: dict = {causes + s: int(z) for s, z in enumerate(findings) if z == z}
        if rng.random() < 0.5 and causes > 1:
            soft[1] = 3.0
            evidence[1] = pf.Likelihood(on=0.6, off=0.2)
        found = pf.counterfactuals(network, evidence)
        truth = twin_expectations(prior, leak, link, findings, soft)
        for each in found.causes:
            cause = network.index(each.cause)
            assert [each.disablement, each.sufficiency] == pytest.approx(truth[:, cause], abs=1e-10)
        listed = {network.index(each.cause) for each in found.causes}
        assert truth[:, [k for k in range(causes) if k not in listed]].sum() == pytest.approx(0, abs=1e-12)
        assert [each.disablement for each in found.causes] == sorted(
            (z.disablement for z in found.causes), reverse=True
        )


def test_a_cause_that_is_observed_has_a_place_in_the_ranking():
    network = network_of(np.array([0.3, 0.2]), np.array([0.1]), np.array([[0.7, 0.6]]))
    found = pf.counterfactuals(network, {0: 1, 2: 1})
    given = twin_expectations(np.array([1.0, 0.2]), np.array([0.1]), np.array([[0.7, 0.6]]), [1.0], np.ones(2))
    for each in found.causes:
        truth = given[:, int(each.cause)]
        assert [each.disablement, each.sufficiency] == pytest.approx(truth, abs=1e-12)
    assert found.causes[0].probability == 1
    alone = pf.counterfactuals(network, {0: 1, 1: 0, 2: 1}).causes  # nothing is hidden
    assert [z.disablement for z in alone if z.cause == "0"] == pytest.approx([0.7 * 0.9 / (1 - 0.9 * 0.3)])


def test_a_thousand_causes_take_one_sum(monkeypatch):
    sums, outside = [], ParameterElimination.outside
    monkeypatch.setattr(ParameterElimination, "outside", lambda self: sums.append(self.num_rows) or outside(self))
    rng = np.random.default_rng(0)
    link = np.where(rng.random((12, 1000)) < 0.1, rng.random((12, 1000)), 0.0)
    network = network_of(rng.uniform(0.001, 0.02, 1000), np.full(12, 0.01), link)
    found = pf.counterfactuals(network, {1000 + s: int(s < 8) for s in range(12)})
    assert sums == [1]
    assert len(found.causes) > 500
    assert all(0 <= each.disablement <= 8 * each.probability + 1e-12 for each in found.causes)
    assert all(each.disablement <= each.sufficiency + 1e-12 for each in found.causes)


def test_print_html_and_frame():
    found = pf.counterfactuals(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1})
    assert "findings that are on: slow_flow, thin_crema" in str(found)
    assert "<table" in found._repr_html_()
    assert list(found.to_frame()) == ["cause", "probability", "disablement", "sufficiency"]
    assert found.findings == ("slow_flow", "thin_crema")
    assert "2 findings" in repr(found)


def test_other_networks_and_evidence_are_refused():
    refused = pf.errors.InvalidInput
    with pytest.raises(refused, match="needs a network of noisy-or units"):
        pf.counterfactuals(pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.0], "sigmoid"), {1: 1})
    with pytest.raises(refused, match="needs weights of at least 0"):
        pf.counterfactuals(pf.BeliefNetwork([[0, 0], [-1.0, 0]], [0.1, 2.0], "noisy_or"), {1: 1})
    chain = pf.BeliefNetwork([[0, 0, 0], [1.0, 0, 0], [0, 1.0, 0]], [0.1, 0.1, 0.1], "noisy_or", names=["a", "b", "c"])
    with pytest.raises(refused, match="'b' has"):
        pf.counterfactuals(chain, {"c": 1})
    for evidence in ({}, {"slow_flow": 0}):
        with pytest.raises(refused, match="needs a finding that is on"):
            pf.counterfactuals(pf.example("espresso"), evidence)
    without_leak = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.0], "noisy_or", names=["a", "b"])
    with pytest.raises(refused, match="a=0 and b=1 cannot both be true"):
        pf.counterfactuals(without_leak, {"a": 0, "b": 1})


def test_units_of_a_large_network_are_told_apart():
    """Edges are looked up by child and parent together, a number that does not fit 32 bits above 46,340 units."""

    def ranked(size):
        child, parent = size - np.array([1, 1, 1, 2, 2]), size - np.array([5, 4, 3, 4, 3])
        weights = sp.csr_array(([1.0, 0.5, 2.0, 0.7, 0.2], (child, parent)), shape=(size, size))
        network = pf.BeliefNetwork(weights, np.full(size, 0.1), "noisy_or")
        found = pf.counterfactuals(network, {size - 1: 1, size - 2: 1})
        return [(each.disablement, each.sufficiency, each.probability) for each in found.causes]

    np.testing.assert_allclose(ranked(60_000), ranked(5), rtol=1e-10)
