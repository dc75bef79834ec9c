"""Laws of the methods beyond the paper: untruncated averages, conditioning, reductions, soft evidence, covariances."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import plefka as pf
from plefka.errors import InvalidEvidence
from plefka.inference.conditioned import LEFT_OUT
from tests import slow, zoo
from tests.averages import brute
from tests.quick import quick_where

ROUNDING = 1e-9  # what averages by quadrature may be off by
NETWORKS = pytest.mark.parametrize("network", zoo.ZOO.values(), ids=zoo.ZOO.keys())
LOGS = {"sigmoid": brute.log_sigmoid, "noisy_or": brute.log_noisy_or}


# ---- G1 is the average itself, and a bound ---------------------------------------------------------------------------


@NETWORKS
def test_g1_is_a_bound_and_tighter_than_sjj(network):
    row = zoo.some_evidence(network)
    exact, g1 = slow.exact(network, row)[0], pf.infer(network, row, "G1")
    assert g1.is_bound
    assert g1.log_likelihood <= exact + ROUNDING
    if network.activation.name == "sigmoid":
        assert pf.infer(network, row, "SJJ").log_likelihood <= g1.log_likelihood + 1e-7


@pytest.mark.parametrize(
    ("activation", "reach", "leak"),
    [("sigmoid", 3, 0), ("sigmoid", 60, 0), ("noisy_or", 4, 0.1), ("noisy_or", 4, 1e-6), ("noisy_or", 60, 1e-3)],
)
@pytest.mark.parametrize("parents", [3, 12])
def test_g1_is_the_average_over_all_states_of_the_parents(activation, reach, leak, parents):
    """Roots above two units that are observed, one of them on and one of them off."""
    rng = np.random.default_rng(parents)
    w = rng.uniform(0 if leak else -1, 1, (2, parents))
    w *= (reach - leak) / np.abs(w).sum(1, keepdims=True)
    h = np.r_[rng.uniform(0.1, 1, parents), [leak, leak]]
    W = np.vstack([np.zeros((parents, parents)), w])
    network = pf.BeliefNetwork(np.hstack([W, np.zeros((parents + 2, 2))]), h, activation)
    u = rng.uniform(0.01, 0.99, parents)
    on, off = brute.average(LOGS[activation], w.T[:, :, None], u[:, None, None], h[-2:, None])[..., 0]
    prior = [log[0] for log in np.split(np.stack(LOGS[activation](h[:parents])), 2)]
    right = -(u * prior[0] + (1 - u) * prior[1]).sum() - on[0] - off[1]
    right += (u * np.log(u) + (1 - u) * np.log1p(-u)).sum()
    row = np.r_[np.full(parents, np.nan), 1, 0]
    found = pf.free_energy(network, row, np.r_[u, 1, 0], "G1", prune=False)
    assert found == pytest.approx(right, abs=ROUNDING, rel=ROUNDING)


# ---- conditioning ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inner", ["G1", "G2", "bethe"])
@pytest.mark.parametrize("name", ["sigmoid, layered", "noisy-or, sparse"])
def test_conditioned_on_all_hidden_units_is_exact(inner, name):
    network = zoo.ZOO[name]
    row = zoo.some_evidence(network)
    hidden = "+".join(network.names[unit] for unit in np.flatnonzero(np.isnan(row)))
    found, exact = (pf.infer(network, row, method) for method in (f"conditioned[{inner},units={hidden}]", "exact"))
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(found.means, exact.means, atol=1e-8)


def test_the_check_of_a_conditioned_solution_draws_from_its_mixture(monkeypatch):
    """Two causes that explain each other away: G1 sits in one of two modes, and its draws see the other rarely."""
    W = np.zeros((3, 3))
    W[2, :2] = 8.0
    network = pf.BeliefNetwork(W, np.array([-5.0, -5.0, -9.0]))
    single, mixed = (pf.infer(network, {2: 1}, method) for method in ("G1", "conditioned[G1,k=1]"))
    monkeypatch.setattr("plefka.sampling.proposals.ROUNDS", 0)
    one, both = single.check(seed=0), mixed.check(seed=0)
    assert both.effective_samples > 1.5 * one.effective_samples
    exact = pf.infer(network, {2: 1}, "exact")
    assert abs(both.log_likelihood - exact.log_likelihood) < 4 * both.standard_error + 1e-9
    ((_, _, log_weights, _),) = mixed.proposals
    assert log_weights.shape == (2, 1)


WITHOUT_LEAK = np.zeros((4, 4))
WITHOUT_LEAK[2, :2], WITHOUT_LEAK[3, :2] = (1.0, 0.7), (0.5, 1.2)


@pytest.mark.slow
def test_states_without_leak_are_left_out_of_bounds_only():
    network, row = pf.BeliefNetwork(WITHOUT_LEAK, [0.3, 0.4, 0.0, 0.0], "noisy_or"), {2: 1, 3: 1}
    exact = pf.infer(network, row, "exact")
    estimate, bound, whole = (
        pf.infer(network, row, method, throw=False)
        for method in ("conditioned[G2,k=1]", "conditioned[G1,k=1]", "conditioned[G2,k=2]")
    )
    assert estimate.status is pf.Status.WITHOUT_LEAK
    assert bound.converged
    assert bound.log_likelihood <= exact.log_likelihood
    assert LEFT_OUT in bound.notes
    assert whole.converged
    assert whole.log_likelihood == pytest.approx(exact.log_likelihood)


def test_states_without_a_number_are_said():
    """Unit 2 cannot be on without a cause, which G1 sees as an infinite energy unless one is on for certain."""
    linear = pf.Custom(log_on=jnp.log, log_off=lambda x: jnp.log1p(-x), domain=(0.0, 1.0))
    W = np.zeros((4, 4))
    W[2, :2], W[3, :2], W[1, 0] = (0.3, 0.4), (0.2, 0.3), 0.4
    network = pf.BeliefNetwork(W, [0.4, 0.3, 0.0, 0.3], linear)
    rows = np.array([[np.nan, np.nan, 0, 1], [np.nan, np.nan, 1, 1]])
    one, both = (pf.infer(network, rows, f"conditioned[G2,units={units}]") for units in ("0", "0+1"))
    assert [status.name for status in one.status] == ["CONVERGED", "NOT_FINITE"]
    np.testing.assert_array_equal(one.means[:, 2:], rows[:, 2:])
    assert both.converged.all()
    np.testing.assert_allclose(both.log_likelihood, pf.infer(network, rows, "exact").log_likelihood)


# ---- reductions ------------------------------------------------------------------------------------------------------

SIZE, MANY = 9, 136


def random_case(activation: str, seed: int, limits: bool = True) -> tuple[np.ndarray, np.ndarray, dict]:
    """Few edges, three units observed and one seen unclearly; of noisy-or, certain edges and units without leak."""
    rng = np.random.default_rng(seed)
    W = np.tril(rng.uniform(0, 2, (SIZE, SIZE)) * (rng.random((SIZE, SIZE)) < 0.25), -1)
    h = rng.uniform(0.05, 0.5, SIZE)
    if activation == "sigmoid":
        W *= rng.choice([-1, 1], W.shape)
    elif limits:
        W[(W > 0) & (rng.random(W.shape) < 0.15)] = np.inf
        h[rng.random(SIZE) < 0.3] = 0
    *observed, soft = (int(unit) for unit in rng.choice(SIZE, 4, replace=False))
    return W, h, {unit: int(rng.integers(2)) for unit in observed} | {soft: pf.Likelihood(0.9, 0.2)}


def random_cases(activation: str, limits: bool = True) -> tuple[pf.BeliefNetwork, list[dict]]:
    W, h, evidence = zip(*(random_case(activation, seed, limits) for seed in range(MANY)), strict=True)
    return pf.BeliefNetwork(np.stack(W), np.stack(h), activation), list(evidence)


@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or"])
def test_reductions_change_nothing_that_is_exact(activation):
    networks, evidence = random_cases(activation)
    found, right = (pf.infer(networks, evidence, "exact", prune=prune) for prune in (True, False))
    assert (found.status == right.status).all()
    possible = np.isfinite(right.log_likelihood)
    assert possible.mean() > 0.6
    np.testing.assert_allclose(found.log_likelihood[possible], right.log_likelihood[possible], atol=1e-12)
    np.testing.assert_allclose(found.means[possible], right.means[possible], atol=1e-12)


@pytest.mark.slow
def test_the_limits_of_noisy_or_have_answers_or_named_failures():
    """G1 needs a leak where a unit may be on without a cause; bethe does not."""
    networks, evidence = random_cases("noisy_or")
    exact = pf.infer(networks, evidence, "exact")
    possible = np.isfinite(exact.log_likelihood)
    for method, failures in (("G1", {pf.Status.WITHOUT_LEAK}), ("bethe", set())):
        found = pf.infer(networks, evidence, method)
        assert set(found.status[possible]) == {pf.Status.CONVERGED} | failures
        assert set(found.status[~possible]) == {pf.Status.IMPOSSIBLE}
        assert np.isfinite(found.means[found.converged]).all()
        if found.is_bound:
            assert (found.log_likelihood <= exact.log_likelihood + ROUNDING)[possible].all()


@pytest.mark.slow
def test_reductions_make_the_bound_of_g1_no_worse():
    """Away from the limits, where both find their best solution."""
    networks, evidence = random_cases("noisy_or", limits=False)
    exact, with_them, without = (
        pf.infer(networks, evidence, method, prune=prune).log_likelihood
        for method, prune in (("exact", True), ("G1", True), ("G1", False))
    )
    assert (with_them >= without - 1e-7).mean() > 0.97
    assert (exact - with_them).mean() < 0.6 * (exact - without).mean()


@pytest.mark.parametrize("method", ["G1", "G12", "bethe"])
def test_means_of_units_that_were_summed_out_are_right(method):
    """A tree whose units are all summed out, up to the finding: then every method is exact."""
    W, h = np.zeros((7, 7)), np.array([0.1, 0.3, 0.02, 0.2, 0.05, 0.01, 0.0])
    for child, parent, weight in [(3, 0, 1.0), (3, 1, 0.4), (4, 2, np.inf), (5, 3, 0.8), (5, 4, 1.2), (6, 4, 2.0)]:
        W[child, parent] = weight
    network, evidence = pf.BeliefNetwork(W, h, "noisy_or"), {5: 1, 6: 0, 1: pf.Likelihood(0.7, 0.3)}
    found, exact = pf.infer(network, evidence, method), pf.infer(network, evidence, "exact", prune=False)
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(found.means, exact.means, atol=1e-8)


# ---- soft evidence ---------------------------------------------------------------------------------------------------


def with_child(network: pf.BeliefNetwork, unit: int, likelihood: pf.Likelihood) -> pf.BeliefNetwork:
    """One unit more: when it is observed on, its parent has that likelihood."""
    W = np.zeros((network.size + 1,) * 2)
    W[:-1, :-1] = slow.weights_of(network)
    field_of = {"sigmoid": lambda p: np.log(p / (1 - p)), "noisy_or": lambda p: -np.log1p(-p)}
    on, off = (field_of[network.activation.name](p) for p in (likelihood.on, likelihood.off))
    W[-1, unit] = on - off
    return pf.BeliefNetwork(W, np.r_[network.bias, off], network.activation)


@pytest.mark.parametrize("method", ["exact", "G1", "bethe", "conditioned[G1,k=2]"])
@pytest.mark.parametrize("name", ["sigmoid, layered", "noisy-or, sparse"])
def test_soft_evidence_is_a_child_that_is_observed(method, name):
    network, seen = zoo.ZOO[name], pf.Likelihood(0.9, 0.2)
    row = zoo.some_evidence(network)
    hard = {unit: state for unit, state in enumerate(row) if state == state}
    found = pf.infer(network, hard | {1: seen}, method)
    child = pf.infer(with_child(network, 1, seen), hard | {network.size: 1}, method)
    assert found.log_likelihood == pytest.approx(child.log_likelihood, abs=1e-7)
    np.testing.assert_allclose(found.means, child.means[:-1], atol=1e-6)


RATIOS = [(1, 1e-3), (1e-3, 1), (1e6, 1), (1, 1e6), (1e-200, 1), (1, 1e-200)]


@pytest.mark.parametrize(
    "method", quick_where(["G1", "G12", "bethe"], ["G1", "G2", "G12", "bethe", "mixture[2]", "conditioned[G1,k=1]"])
)
def test_soft_evidence_of_any_strength_is_answered(method):
    """Three units in a loop, the first of them seen unclearly, and the last one on."""
    network = pf.BeliefNetwork([[0, 0, 0], [1.0, 0, 0], [-1.0, 0.5, 0]], np.zeros(3))
    evidence = [{0: pf.Likelihood(*ratio), 2: 1} for ratio in RATIOS]
    exact, found = (pf.infer(network, evidence, way) for way in ("exact", method))
    assert found.converged.all()
    np.testing.assert_allclose(found.log_likelihood, exact.log_likelihood, atol=0.01)
    np.testing.assert_allclose(found.means, exact.means, atol=0.01)
    if found.is_bound:
        assert np.all(found.log_likelihood <= exact.log_likelihood + ROUNDING)


@pytest.mark.parametrize("method", ["exact", "G1"])
def test_soft_evidence_means_the_same_in_every_form(method):
    network, seen = zoo.ZOO["sigmoid, layered"], pf.Likelihood(0.9, 0.2)
    names = network.names
    rows = [{names[1]: seen, names[7]: 1}, {names[2]: pf.Likelihood(0.1, 0.1), names[7]: 0}, {names[6]: 1}]
    frame = pd.DataFrame([{name: row.get(name) for name in names} for row in rows], dtype=object)
    batch = pf.infer(network, rows, method)
    np.testing.assert_array_equal(batch.log_likelihood, pf.infer(network, frame, method).log_likelihood)
    for k, row in enumerate(rows):
        single = pf.infer(network, row, method)
        assert batch.log_likelihood[k] == pytest.approx(single.log_likelihood, abs=1e-10)
        np.testing.assert_allclose(batch.means[k], single.means, atol=1e-7)
    says_nothing = pf.infer(network, {names[7]: 0}, method)
    assert batch.log_likelihood[1] == pytest.approx(says_nothing.log_likelihood + np.log(0.1), abs=1e-10)


def test_soft_evidence_counts_in_a_traced_free_energy_as_well():
    network, evidence = zoo.ZOO["sigmoid, layered"], {1: pf.Likelihood(0.9, 0.2), 7: 1}
    u = np.full(network.size, 0.4)
    with jax.enable_x64(True):
        traced = jax.jit(lambda u: pf.free_energy(network, evidence, u, "G1"))(u)
    assert float(traced) == pytest.approx(pf.free_energy(network, evidence, u, "G1"), rel=1e-12)


# ---- covariances -----------------------------------------------------------------------------------------------------


def exact_covariance(network: pf.BeliefNetwork, row: np.ndarray) -> np.ndarray:
    states = slow.all_states(row)
    log_p = slow.log_probabilities(network, states)
    p = np.exp(log_p - np.logaddexp.reduce(log_p))
    away = states - p @ states
    return (p[:, None] * away).T @ away


# The last unit but one of each network is barren, and the second has roots that are summed out.
RESPONDING = {
    "sigmoid": (zoo.dense(7, -1, 1, "sigmoid", 2), {4: 1, 6: 0}),
    "noisy_or": (zoo.dense(7, 0.2, 0.8, "noisy_or", 6, share=0.6), {3: 1, 5: 1}),  # summed out, free and barren units
    "barren": (zoo.dense(7, 0.2, 0.8, "noisy_or", 9, share=0.3), {4: 1, 6: 1}),
}


@pytest.mark.parametrize(
    ("kind", "method"),
    quick_where(
        [("sigmoid", "G12")],
        [("sigmoid", "G12"), ("sigmoid", "SJJ"), ("sigmoid", "G1"), ("noisy_or", "G1"), ("barren", "G1")],
    ),
)
def test_covariances_are_how_means_answer_to_soft_evidence(kind, method):
    network, evidence = RESPONDING[kind]
    exactly = f"{method}[tol=1e-13]"
    solution = pf.infer(network, evidence, exactly)
    C = solution.covariance()
    np.testing.assert_array_equal(C, C.T)
    z = np.random.default_rng(0).normal(size=network.size)
    np.testing.assert_allclose(solution.covariance_product(z), C @ z, atol=1e-7)
    step = 1e-4
    for unit in (0, 1):
        up, down = (
            pf.infer(network, evidence | {unit: pf.Likelihood(np.exp(t), 1.0)}, exactly).means for t in (step, -step)
        )
        np.testing.assert_allclose(C[unit], (up - down) / (2 * step), atol=2e-6)


@pytest.mark.parametrize("kind", quick_where(list(RESPONDING)[:1], RESPONDING))
def test_covariances_are_close_to_the_truth(kind):
    network, evidence = RESPONDING[kind]
    row = np.full(network.size, np.nan)
    row[list(evidence)] = list(evidence.values())
    C, right = pf.infer(network, evidence, "G1").covariance(), exact_covariance(network, row)
    assert not C[list(evidence)].any()
    assert np.abs(C - right).max() < 0.06
    off_diagonal = ~np.eye(network.size, dtype=bool)
    assert np.abs(C - right)[off_diagonal].sum() < 0.7 * np.abs(right)[off_diagonal].sum()


@pytest.mark.slow
def test_covariances_are_those_of_the_minimum_that_restarts_found():
    networks, row = pf.ensembles.layered((2, 4, 6), -5, 5, 256, 3), np.array([np.nan] * 6 + [0.0] * 6)
    method = "G1[restarts=4,seed=0,tol=1e-13]"
    far = np.abs(pf.infer(networks, row, "G1").means - pf.infer(networks, row, method).means).max(1)
    which = int(far.argmax())
    assert far[which] > 0.1
    network = pf.BeliefNetwork(networks.storage.take(which), networks.bias[which])
    C = pf.infer(network, row, method).covariance()
    known = dict.fromkeys(range(6, 12), 0)
    up, down = (pf.infer(network, known | {0: pf.Likelihood(np.exp(t), 1.0)}, method).means for t in (1e-4, -1e-4))
    np.testing.assert_allclose(C[0], (up - down) / 2e-4, atol=1e-4)


# ---- derivatives -----------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", RESPONDING)
@pytest.mark.parametrize("method", ["G1", "G2"])
def test_derivatives_by_the_weights_are_finite_differences(kind, method):
    network, evidence = RESPONDING[kind]
    edges = np.argwhere(network.weights != 0)[[0, -1]]

    def log_likelihood(W):
        changed = network.with_parameters(((W,), jnp.asarray(network.bias)))
        return pf.infer(changed, evidence, f"{method}[tol=1e-12]", throw=False).log_likelihood

    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(log_likelihood))(jnp.asarray(network.weights))
    for edge in edges:
        change = np.zeros_like(network.weights)
        change[tuple(edge)] = 1e-5
        up, down = (
            pf.infer(pf.BeliefNetwork(network.weights + sign * change, network.bias, network.activation), evidence,
                     f"{method}[tol=1e-12]").log_likelihood
            for sign in (1, -1)
        )  # fmt: skip
        assert slope[tuple(edge)] == pytest.approx((up - down) / 2e-5, abs=1e-6)


# ---- limits ----------------------------------------------------------------------------------------------------------

METHODS = ("G1", "G2", "bethe", "mixture[2]", "conditioned[G1,k=1]", "conditioned[G2,k=1]")
EVIDENCE = np.array([np.nan] * 7 + [1.0, 0.0])
LEAKS = st.sampled_from([0.0, 1e-12, 1e-3, 0.5, 1e3])
EDGES = {
    "sigmoid": st.sampled_from([0.0, 1.0, -1.0, 30.0, -1e3, 1e3]),
    "noisy_or": st.sampled_from([0.0, 1e-12, 1.0, 30.0, 1e3, np.inf]),
}


def extreme(activation: str):
    """Networks of fixed shape, with six parents for the last two units."""
    biases = LEAKS if activation == "noisy_or" else EDGES["sigmoid"]
    return st.tuples(
        st.just(activation),
        st.lists(EDGES[activation], min_size=14, max_size=14),
        st.lists(biases, min_size=9, max_size=9),
    )


def assert_a_number_or_a_named_failure(network, evidence, method, exact):
    found = pf.infer(network, evidence, method, throw=False)
    assert isinstance(found.status, pf.Status)
    certain = np.isinf(network.weights).any()  # edges that count as very large weights, so that bounds are not exact
    if np.isfinite(exact) and not certain:
        assert found.status is not pf.Status.IMPOSSIBLE
        if found.is_bound:
            assert found.log_likelihood <= exact + ROUNDING * (1 + abs(exact))
    if found.converged:
        assert not np.isnan(found.means).any()
        assert not np.isnan(found.log_likelihood)


def extreme_network(drawn) -> pf.BeliefNetwork:
    activation, edges, bias = drawn
    W = np.zeros((9, 9))
    W[7, :7], W[8, :7] = edges[:7], edges[7:]
    return pf.BeliefNetwork(W, np.array(bias), activation)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(extreme("sigmoid") | extreme("noisy_or"))
def test_extreme_networks_have_answers_or_named_failures(drawn):
    network = extreme_network(drawn)
    try:
        exact = pf.infer(network, EVIDENCE, "exact", throw=False).log_likelihood
    except InvalidEvidence:  # impossible, and seen to be
        return
    for method in METHODS:
        assert_a_number_or_a_named_failure(network, EVIDENCE, method, exact)


@pytest.mark.slow
@settings(max_examples=15, deadline=None)
@given(extreme("sigmoid") | extreme("noisy_or"))
def test_checks_of_extreme_networks_are_numbers(drawn):
    network = extreme_network(drawn)
    for method in ("G1", "G2", "bethe", "conditioned[G1,k=1]"):
        try:
            found = pf.infer(network, EVIDENCE, method, throw=False)
        except InvalidEvidence:
            return
        if found.converged:
            check = found.check(seed=0, num_samples=100)
            assert not np.isnan(check.log_likelihood)
            assert isinstance(check.verdict, str)


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or"])
@pytest.mark.parametrize("method", ["G1", "bethe"])
def test_a_unit_with_five_thousand_parents(activation, method):
    count, rng = 5000, np.random.default_rng(0)
    low = 0 if activation == "noisy_or" else -1
    w = rng.uniform(low, 1, count) * 3 / np.sqrt(count)
    W = sp.csr_array((w, (np.full(count, count), np.arange(count))), shape=(count + 1, count + 1))
    prior = rng.uniform(0.001, 0.01, count) if low == 0 else rng.normal(size=count)
    network = pf.BeliefNetwork(W, np.r_[prior, 0.01], activation)
    found = pf.infer(network, {count: 1}, method)
    assert np.isfinite(found.means).all()
    check = found.check(seed=0, num_samples=500)
    assert np.isfinite(check.log_likelihood)
    assert found.log_likelihood <= check.log_likelihood + 5 * check.standard_error + 1e-6


def test_a_solution_keeps_few_components_for_its_check():
    network = pf.ensembles.layered((8, 12), 0.1, 0.6, 1, 0, "noisy_or")
    rows = np.full((3, 20), np.nan)
    rows[:, 8:] = 1.0
    found = pf.infer(
        pf.BeliefNetwork(network.storage.take(0), network.bias[0], "noisy_or"), rows, "conditioned[G1,k=7]"
    )
    ((_, _, log_weights, means),) = found.proposals
    assert log_weights.shape == (64, 3)
    assert means.shape[0] == 64
