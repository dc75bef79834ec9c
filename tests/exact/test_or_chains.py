"""Chains of ORs are folded into findings, and the units of a chain have their exact means all the same."""

import numpy as np
import pytest

import plefka as pf
from plefka.exact.chain_units import WithoutChains
from plefka.exact.exact_answer import ReducedRows
from plefka.exact.exact_method import Exact
from plefka.networks.evidence import as_evidence
from plefka.reduction.or_chains import folded_chains

EXACT = Exact("exact")


def field(p):
    with np.errstate(divide="ignore"):
        return float(-np.log1p(-p))


def noisy_or(causes, weights, leak):
    return pf.Unit(None, [int(cause) for cause in causes], "noisy_or", weights, field(leak))


def a_leak(rng):
    return rng.choice([0.0, 0.3 * rng.random()])


def add_chain(units, rng, causes):
    """or_k = or_{k-1} or a link from the next cause, some of which are certain."""
    for k, cause in enumerate(causes):
        link = field(rng.choice([rng.random(), 1.0], p=[0.8, 0.2]))
        before = [len(units) - 1] if k else []
        units.append(noisy_or([cause, *before], [link, *[np.inf] * len(before)], a_leak(rng)))


def add_tree(units, rng, causes):
    """A unit for each link, and ORs of two of them until one is left."""
    waiting = []
    for cause in causes:
        units.append(noisy_or([cause], [field(rng.random())], a_leak(rng)))
        waiting.append(len(units) - 1)
    while len(waiting) > 1:
        pair = [waiting.pop(rng.integers(len(waiting))) for _ in range(2)]
        units.append(noisy_or(pair, [np.inf, np.inf], a_leak(rng)))
        waiting.append(len(units) - 1)


def drawn(seed):
    """A network of a few findings, each a chain or a tree of ORs, and evidence, some of it about causes, some soft."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 5))
    units = [noisy_or([], [], rng.choice([0.5 * rng.random(), 0.01])) for _ in range(count)]
    evidence = {}
    for _ in range(rng.integers(1, 4)):
        causes = rng.permutation(count)[: rng.integers(1, count + 1)]
        (add_chain, add_tree)[rng.integers(2)](units, rng, causes)
        if rng.random() < 0.3:  # a child of its own
            units.append(noisy_or([len(units) - 1], [field(0.9 * rng.random())], 0.05))
        kind = rng.random()
        if kind < 0.7:
            evidence[len(units) - 1] = int(kind < 0.6)
    if rng.random() < 0.3:
        evidence[0] = rng.choice([0, 1, 2])
        evidence[0] = pf.Likelihood(0.3, 0.9) if evidence[0] == 2 else int(evidence[0])
    return pf.BeliefNetwork.of_units(units), evidence


def without_chains(network, evidence):
    given = as_evidence(network, evidence)
    folded = folded_chains(network, given)
    if folded is None:
        return None
    inner = ReducedRows.of(EXACT, folded.network, folded.evidence, prune=True, keep_barren=True)
    found = WithoutChains(folded, inner).answer(EXACT, network, given, "float64")
    return found.means[0], -found.free_energy[0] + (0.0 if given.offset is None else given.offset[0])


def test_units_of_chains_have_their_exact_means():
    folded = 0
    for seed in range(150):
        network, evidence = drawn(seed)
        truth = pf.infer(network, evidence, "exact", throw=False) if network.size <= 16 else None
        found = None if truth is None or not truth.converged else without_chains(network, evidence)
        if found is not None:
            folded += 1
            assert truth is not None
            np.testing.assert_allclose(found[0], truth.means, atol=1e-11)
            assert found[1] == pytest.approx(truth.log_likelihood, abs=1e-11)
    assert folded > 60


def many_chains(seed, causes=60, findings=8, links=30):
    """Chains of shared causes that no order of elimination can do, and the same findings with all their causes."""
    rng = np.random.default_rng(seed)
    roots = [noisy_or([], [], p) for p in 0.05 * rng.random(causes)]
    chains, together, last = list(roots), list(roots), []
    for _ in range(findings):
        some, weights = rng.permutation(causes)[:links], [field(p) for p in rng.random(links)]
        together.append(noisy_or(some, weights, 0.01))
        for k, (cause, weight) in enumerate(zip(some, weights, strict=True)):
            before = [len(chains) - 1] if k else []
            chains.append(noisy_or([cause, *before], [weight, *[np.inf] * len(before)], 0.0 if k else 0.01))
        last.append(len(chains) - 1)
    return pf.BeliefNetwork.of_units(chains), pf.BeliefNetwork.of_units(together), last


def test_findings_of_many_causes_are_as_easy_in_chains():
    chains, together, last = many_chains(0)
    found = pf.infer(chains, dict.fromkeys(last, 1), "exact")
    truth = pf.infer(together, {60 + k: 1 for k in range(len(last))}, "exact")
    assert found.log_likelihood == pytest.approx(truth.log_likelihood, abs=1e-10)
    np.testing.assert_allclose(found.means[:60], truth.means[:60], atol=1e-12)
    assert found.is_exact
    assert (np.diff(found.means[60 : last[0] + 1]) >= 0).all()  # along a chain units can only be switched on


def test_a_batch_of_rows_is_answered_row_by_row():
    chains, _, last = many_chains(1)
    rows = [dict.fromkeys(last, 1), {**dict.fromkeys(last, 1), 3: 0}]
    found = pf.infer(chains, rows, "exact")
    np.testing.assert_allclose(found.means[1], pf.infer(chains, rows[1], "exact").means, atol=1e-12)


def test_very_improbable_findings_are_summed_with_logarithms():
    """Probabilities of about 1e-200 each, whose products no plain number holds."""
    roots = [noisy_or([], [], 1e-200), noisy_or([], [], 1e-220)]
    chains = [pf.Unit(None, [0], "noisy_or", [1.0], 1e-250), pf.Unit(None, [1, 2], "noisy_or", [2.0, np.inf], 0.0)]
    again = [pf.Unit(None, [0], "noisy_or", [0.5], 1e-240), pf.Unit(None, [1, 4], "noisy_or", [0.3, np.inf], 0.0)]
    network = pf.BeliefNetwork.of_units([*roots, *chains, *again])
    truth = pf.infer(network, {3: 1, 5: 1}, "exact")
    found = without_chains(network, {3: 1, 5: 1})
    assert found is not None
    np.testing.assert_allclose(found[0], truth.means, atol=1e-11)
