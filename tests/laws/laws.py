"""Laws that every method obeys. Each says by a property of the methods to which of them it applies."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import pytest

import plefka as pf
from plefka.inference.library import METHODS
from plefka.methods.method import Method
from tests import zoo
from tests.compilations import compilations
from tests.laws import cases
from tests.laws.cases import OBSERVED, SIZE

ROUNDING = 1e-9  # what averages by quadrature may be off by


def law(where: Callable[[Method], bool], slow: Callable[[Method], bool] = cases.is_slow) -> Callable:
    """A test of all methods that have a property, left out of the quick tests for those that are slow."""

    def marked(test: Callable) -> Callable:
        test.__dict__.update(where=where, slow=slow)
        return test

    return marked


def agree(found: Any, right: Any, method: Method) -> None:
    """Two solutions are the same, as far as the method goes; one of them may have units more."""
    units = slice(min(found.means.shape[-1], right.means.shape[-1]))
    noise = cases.noise(method)
    np.testing.assert_allclose(found.log_likelihood, right.log_likelihood, atol=1e-9 + noise)
    np.testing.assert_allclose(found.means[..., units], right.means[..., units], atol=1e-6 + noise)


class Laws:
    """All laws, of networks with one activation, method by method: its programs are compiled once."""

    activation: str

    @cached_property
    def network(self) -> pf.BeliefNetwork:
        return cases.network_with(self.activation)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        about = metafunc.function.__dict__
        methods = [m for m in cases.every_method() if about["where"](m) and cases.applies(m, self.network)]
        marks = [(pytest.mark.slow,) if about["slow"](m) or cases.is_slow(m) else () for m in methods]
        params = [pytest.param(m, id=str(m), marks=mark) for m, mark in zip(methods, marks, strict=True)]
        metafunc.parametrize("method", params, scope="class")

    @pytest.fixture
    def solution(self, method: Method) -> pf.Solution:
        """The answer of the method, where nothing is changed."""
        return cases.solved(self.activation, method)

    @pytest.fixture
    def exact(self) -> pf.Solution:
        return cases.solved(self.activation, METHODS["exact"])

    # ---- what an answer is -------------------------------------------------------------------------------------------

    @law(cases.any_method)
    def test_an_answer_converges_to_probabilities(self, method, solution):
        assert solution.converged
        assert solution.residual <= getattr(method, "tol", 1.0)
        assert np.all((solution.means >= 0) & (solution.means <= 1))
        for unit, state in OBSERVED.items():
            assert solution.means[unit] == state
        np.testing.assert_array_equal(np.flatnonzero(solution.observed), sorted(OBSERVED))

    @law(cases.any_method)
    def test_an_answer_is_near_the_truth(self, method, solution, exact):
        """Weights are moderate here: no estimate is far off, and none is exact by accident."""
        assert abs(solution.log_likelihood - exact.log_likelihood) < 0.5
        assert np.abs(solution.means - exact.means).max() < 0.3

    @law(cases.is_stationary)
    def test_the_gradient_vanishes_at_a_solution(self, method, solution):
        """By differences; and the free energy there is the one that was found."""
        hidden = np.flatnonzero(~solution.observed)[:7]
        step = 1e-4 * np.minimum(solution.means, 1 - solution.means)
        shifts = np.eye(SIZE)[hidden] * step
        means = solution.means + np.concatenate([np.zeros((1, SIZE)), shifts, -shifts])
        G = pf.free_energy(self.network, OBSERVED, means, method)
        assert G[0] == pytest.approx(solution.free_energy, abs=ROUNDING)
        up, down = np.split(G[1:], 2)
        variance = (solution.means * (1 - solution.means))[hidden]
        np.testing.assert_allclose(variance * (up - down) / (2 * step[hidden]), 0, atol=1e-6)

    @law(cases.is_bound)
    def test_a_bound_never_exceeds_the_truth(self, method, solution, exact):
        assert solution.is_bound
        assert solution.log_likelihood <= exact.log_likelihood + ROUNDING

    @law(cases.any_method)
    def test_without_interaction_every_method_is_exact(self, method):
        """All weights are zero, and nothing is pruned: as many units are hidden as are elsewhere after pruning."""
        alone = pf.BeliefNetwork(np.zeros((SIZE, SIZE)), self.network.bias, self.network.activation)
        evidence = OBSERVED | {2: pf.Likelihood(0.9, 0.2), SIZE - 1: 1.0}
        found, right = (pf.infer(alone, evidence, m, prune=False) for m in (method, "exact"))
        agree(found, right, method)

    # ---- the same question, asked in another way ---------------------------------------------------------------------

    @law(cases.any_method)
    def test_relabelling_the_units_permutes_the_means(self, method, solution):
        order = np.random.default_rng(2).permutation(SIZE)
        row = cases.row_of(OBSERVED)
        there = pf.infer(zoo.relabelled(self.network, order), row[order], method)
        there.means[order] = there.means.copy()
        agree(there, solution, method)

    @law(cases.any_method)
    def test_evidence_of_another_form_is_the_same(self, method, solution):
        names, row = self.network.names, cases.row_of(OBSERVED)
        frame = pd.DataFrame([row], columns=list(names))
        for form in ({names[u]: bool(s) for u, s in OBSERVED.items()}, row.tolist(), np.ma.masked_invalid(row), frame):
            found = pf.infer(self.network, form, method)
            np.testing.assert_array_equal(np.ravel(found.means), solution.means)
            np.testing.assert_array_equal(found.log_likelihood, solution.log_likelihood)

    @law(cases.any_method)
    def test_saving_and_loading_is_the_identity(self, method, solution, tmp_path):
        for name in ("network.json", "network.npz"):
            pf.save(self.network, tmp_path / name)
            found = pf.infer(pf.load(tmp_path / name), OBSERVED, method)
            np.testing.assert_array_equal(found.means, solution.means)
            assert found.log_likelihood == solution.log_likelihood

    @law(cases.any_method)
    def test_a_dense_network_is_its_edges(self, method, solution):
        agree(pf.infer(zoo.as_edges(self.network), OBSERVED, method), solution, method)

    @law(cases.is_one_method)
    def test_other_numbers_compile_nothing(self, method, solution):
        other = cases.network_with(self.activation, seed=6)
        with compilations() as found:
            pf.infer(other, OBSERVED, method, throw=False)
        assert len(found) == 0

    # ---- a little more than the question -----------------------------------------------------------------------------

    @law(cases.any_method)
    def test_soft_evidence_that_favours_no_state_says_nothing(self, method, solution):
        """And where it is unlikely whatever the state is, that is a factor."""
        for chance in (1.0, 0.25):
            found = pf.infer(self.network, OBSERVED | {0: pf.Likelihood(chance, chance)}, method)
            agree(replace(found, log_partition=found.log_likelihood - np.log(chance)), solution, method)

    @law(cases.any_method)
    def test_a_barren_unit_more_changes_nothing(self, method, solution):
        """And where its parents are observed, it is what they make of it."""
        more = cases.with_unit(self.network, np.where(np.isin(np.arange(SIZE), (6, 8)), 0.4, 0.0), 0.3)
        found = pf.infer(more, OBSERVED, method)
        agree(found, solution, method)
        alone = pf.BeliefNetwork([[0.0]], [0.3 + 0.4], self.network.activation)
        assert found.means[-1] == pytest.approx(np.exp(alone.log_joint([1.0])), abs=max(1e-9, cases.noise(method)))

    @law(cases.predicts_by_field)
    def test_barren_units_are_predicted_forwards(self, method, solution):
        """As the paper would: by f at the mean field."""
        field = self.network.weights[-1] @ solution.means + self.network.bias[-1]
        alone = pf.BeliefNetwork([[0.0]], [field], self.network.activation)
        assert solution.means[-1] == pytest.approx(np.exp(alone.log_joint([1.0])), rel=1e-9)

    @law(cases.any_method)
    def test_an_unconnected_unit_multiplies_the_probability(self, method, solution):
        more = cases.with_unit(self.network, 0.0, 0.3)
        found = pf.infer(more, OBSERVED | {SIZE: 1.0}, method)
        alone = pf.BeliefNetwork([[0.0]], [0.3], self.network.activation).log_joint([1.0])
        assert found.log_likelihood - solution.log_likelihood == pytest.approx(alone, abs=ROUNDING)

    @law(cases.ignores_barren_units)
    def test_pruning_changes_nothing(self, method, solution):
        agree(pf.infer(self.network, OBSERVED, method, prune=False), solution, method)
