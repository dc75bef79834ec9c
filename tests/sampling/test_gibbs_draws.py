"""The states that chains of gibbs visit: the posterior, in the layout of ArviZ, and no more memory than asked for."""

import sys

import numpy as np
import pytest
from arviz_stats.base.array import array_stats

import plefka as pf
from plefka.errors import InvalidInput, MissingExtra
from plefka.sampling import chain_draws as module
from tests import zoo

NETWORKS = {name: net for name, net in zoo.ZOO.items() if name in ("sigmoid, layered", "noisy-or, sparse")}
NET = pf.BeliefNetwork([[0, 0, 0], [2.0, 0, 0], [1.0, 0, 0]], [0.1, 0.5, 0.2], "noisy_or", ["flu", "fever", "cough"])


@pytest.mark.parametrize("name", NETWORKS)
def test_draws_have_the_means_and_correlations_of_the_posterior(name):
    """Units that are barren or were summed out are part of every state, and depend on the others as they should."""
    network, row = NETWORKS[name], zoo.some_evidence(NETWORKS[name])
    draws = pf.infer(network, row, "gibbs[seed=0]").draws()
    states = draws.states.reshape(-1, network.size)
    effective = float(np.min([array_stats.ess(draws[unit]) for unit in np.array(network.names)[np.isnan(row)]]))
    exact = pf.infer(network, row, "exact")
    np.testing.assert_allclose(states.mean(axis=0), exact.means, atol=4 * 0.5 / np.sqrt(effective))
    for unit in np.flatnonzero(np.isnan(row)):
        conditional = pf.infer(network, np.where(np.arange(network.size) == unit, 1.0, row), "exact").means
        together = (states * states[:, [unit]]).mean(axis=0)
        np.testing.assert_allclose(together, conditional * exact.means[unit], atol=4 * 0.5 / np.sqrt(effective))
    assert (states[:, ~np.isnan(row)] == row[~np.isnan(row)]).all()


def test_at_most_so_many_are_kept_and_they_are_evenly_spaced():
    solution = pf.infer(NET, {"fever": 1}, "gibbs[sweeps=300,chains=4,seed=1]")
    every, third = solution.draws(), solution.draws(most=100)
    assert every.states.shape == (4, 300, 3)
    assert (third.states.shape, third.thinning, third.states.dtype) == ((4, 100, 3), 3, np.int8)
    np.testing.assert_array_equal(third.states, solution.draws(most=100).states)


def test_a_unit_by_name():
    draws = pf.infer(NET, {"fever": 1}, "gibbs[sweeps=50,seed=0]").draws()
    np.testing.assert_array_equal(draws["cough"], draws.states[:, :, 2])
    with pytest.raises(InvalidInput, match=r"there is no unit 'coughs' in these draws. Did you mean 'cough'\?"):
        draws["coughs"]


def test_what_has_no_draws_says_so(monkeypatch):
    with pytest.raises(InvalidInput, match=r"draws are those of gibbs; got a solution by exact. Use method='gibbs"):
        pf.infer(NET, None, "exact").draws()
    with pytest.raises(InvalidInput, match="draws are for one row of evidence; got a batch"):
        pf.infer(NET, [{}, {"fever": 1}], "gibbs[sweeps=50,seed=0]").draws()
    solution = pf.infer(NET, {"fever": 1}, "gibbs[sweeps=50,seed=0]")
    for most in (0, 2.5, True):
        with pytest.raises(InvalidInput, match="most must be a whole number of draws from 1 on; got"):
            solution.draws(most)  # pyright: ignore[reportArgumentType]
    monkeypatch.setattr(module, "MOST_BYTES", 100)
    with pytest.raises(InvalidInput, match=r"a byte for each unit of each state.* Pass most=4 or less"):
        solution.draws(50)


def test_arviz_data():
    pytest.importorskip("arviz_base")
    draws = pf.infer(NET, {"fever": 1}, "gibbs[sweeps=50,seed=0]").draws()
    state = draws.to_arviz()["posterior"]["state"]
    assert state.dims == ("chain", "draw", "unit")
    np.testing.assert_array_equal(state.sel(unit="cough"), draws["cough"])


def test_without_arviz_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "arviz_base", None)
    draws = pf.infer(NET, {"fever": 1}, "gibbs[sweeps=50,seed=0]").draws()
    with pytest.raises(MissingExtra, match=r"needs arviz_base.*plefka\[sampling\]"):
        draws.to_arviz()
