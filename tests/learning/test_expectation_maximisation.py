"""Noisy-or networks by expectation maximisation: exact where sums are, else a bound; planted ones are found."""

import itertools
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

import plefka as pf
from plefka.learning.factor_starts import dependence, factorised
from plefka.learning.patterns import as_patterns
from plefka.learning.row_states import RowStates, warm
from plefka.learning.shared_states import Families, SharedStates
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
    found: list[Any] = [enumerated(net, row) for row in values]
    columns = np.append(0, 1 + families.parents)
    for states in ways:
        assert states.exact
        tally = states.step(fields, every, counts)
        np.testing.assert_allclose(tally.log_likelihood, np.log([each[0] for each in found]), rtol=1e-12)
        known = (values != -1) | (families.hidden(values) @ np.eye(net.size)[families.parents] > 0)
        for k, number in ((0, -np.expm1(-fields) * tally.share), (1, tally.acted)):
            truth = np.einsum("r,ru,ruc->uc", counts, known, [each[1 + k] for each in found])
            np.testing.assert_allclose(np.where(fields > 0, number, 0.0), truth[:, columns], rtol=1e-12, atol=1e-13)


def test_some_states_are_a_lower_bound_that_approaches_ln_p():
    net = network(3, (9, 20))
    values, counts = all_units(net, net.sample(seed=2, count=30)[:, 9:] * 1.0)
    families = Families(net)
    fields, every = families.matrix(net.parameters), np.arange(len(values))
    exact = SharedStates(families, values).step(fields, every, counts)
    gaps, errors = [], []
    for most in (4, 32, 160):
        states = RowStates(families, values, most)
        assert not states.exact
        rng = np.random.default_rng(0)
        warm(states, fields, every, counts, rng)
        for _ in range(60):
            states.step(fields, every, counts, rng)
        found = states.step(fields, every, counts)
        gap = exact.log_likelihood - found.log_likelihood
        assert gap.min() > -1e-12
        gaps.append(gap.mean())
        errors.append(abs(found.acted - exact.acted).max())
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 0.2
    assert errors[2] < 0.05 * counts.sum()


def test_states_are_found_by_a_few_searches_where_half_is_missing():
    net = planted_network(12, 60)[0]
    rows = net.sample(seed=2, count=60)[:, 12:] * 1.0
    rows[np.random.default_rng(0).random(rows.shape) < 0.5] = NAN
    values, counts = all_units(net, rows)
    families = Families(net)
    fields, every = families.matrix(net.parameters), np.arange(len(values))
    states, rng = RowStates(families, values, 32), np.random.default_rng(0)
    warm(states, fields, every, counts, rng)
    found = [states.step(fields, every, counts, rng).log_likelihood for _ in range(10)][-1]
    gap = SharedStates(families, values).step(fields, every, counts).log_likelihood - found
    assert gap.min() > -1e-12
    assert gap.mean() < 0.2


# ---- learning --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layers", [(3, 5), (2, 3, 5)])
@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_every_epoch_raises_the_exact_likelihood(layers, missing):
    rows = some_rows(40, 5, missing)
    fitted = pf.fit(network(layers=layers), rows, "em[starts=0,smoothing=0]", epochs=8, verbose=False)
    exact = fitted.history["log_likelihood"]
    assert fitted.accuracy is Accuracy.EXACT
    assert np.all(np.diff(exact) > -1e-12)
    np.testing.assert_allclose(fitted.history["objective"][1:], exact[:-1], rtol=1e-12)
    truth = pf.infer(fitted.network, as_patterns(fitted.network, rows).rows(), "exact").log_likelihood
    np.testing.assert_allclose(
        exact[-1], np.average(truth, weights=as_patterns(fitted.network, rows).counts), rtol=1e-10
    )


def planted_network(causes: int, findings: int) -> tuple[pf.BeliefNetwork, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    P = np.where(rng.random((findings, causes)) < 0.25, rng.uniform(0.5, 0.95, (findings, causes)), 0.0)
    priors, leaks = rng.uniform(0.1, 0.35, causes), np.full(findings, 0.02)
    return (
        pf.BeliefNetwork.layered([-np.log1p(-P)], [-np.log1p(-priors), -np.log1p(-leaks)], "noisy_or"), P, priors
    )  # fmt: skip


def test_pairs_of_findings_depend_on_each_other_as_their_causes_say():
    planted, P, priors = planted_network(6, 30)
    u = np.sqrt(priors * (1 - priors)) * P / (1 - priors * P)
    truth = np.log1p(u[:, None] * u).sum(axis=2)
    rows = planted.sample(seed=1, count=40_000)[:, 6:]
    part = np.where(np.random.default_rng(2).random(rows.shape) < 0.5, -1, rows)
    for values in (rows, part):
        found, certain = dependence(values, np.ones(len(rows)))
        pairs = certain > 0
        assert pairs.sum() == 30 * 29
        errors = (found - truth)[pairs] * np.sqrt(certain[pairs])
        assert abs(errors.mean()) < 0.2  # of a standard deviation: what is missing adds no bias
        assert 0.5 < errors.std() < 1.5
    squares, U = min((factorised(truth, certain, 6, np.random.default_rng(z)) for z in range(8)), key=lambda z: z[0])
    alike = np.corrcoef(u.T, U.T)[:6, 6:]
    assert squares < 0.02
    assert alike[linear_sum_assignment(-alike)].min() > 0.95


def test_the_least_squares_have_all_causes_where_half_is_missing():
    planted, P, _ = planted_network(14, 70)
    rows = planted.sample(seed=1, count=10_000)[:, 14:]
    rows[np.random.default_rng(2).random(rows.shape) < 0.5] = -1
    target, weights = dependence(rows, np.ones(len(rows)))
    found = (factorised(target, weights, 14, np.random.default_rng(z)) for z in range(6))
    alike = np.corrcoef(P.T, min(found, key=lambda z: z[0])[1].T)[:14, 14:]
    assert alike[linear_sum_assignment(-alike)].min() > 0.9


def test_a_planted_network_is_found():
    planted, P, _ = planted_network(6, 30)
    train, test = (planted.sample(seed=seed, count=1500)[:, 6:] * 1.0 for seed in (1, 2))
    train[np.random.default_rng(3).random(train.shape) < 0.3] = NAN
    fitted = pf.fit(pf.ensembles.to_learn((6,), train, 0, "noisy_or"), train, "em", verbose=False)
    assert fitted.stopped is pf.Stopped.SETTLED
    assert not fitted.warnings
    found = -np.expm1(-np.asarray(fitted.network.weights[0]))
    alike = np.corrcoef(P.T, found.T)[:6, 6:]
    assert alike[linear_sum_assignment(-alike)].min() > 0.9
    assert pf.score(fitted.network, test).mean > pf.score(planted, test).mean - 0.15


def test_a_bound_is_one_and_rises():
    net = network(3, (14, 16))
    rows = net.sample(seed=2, count=400)[:, 14:] * 1.0
    rows[np.random.default_rng(0).random(rows.shape) < 0.3] = NAN
    fitted = pf.fit(network(4, (14, 16)), rows, "em[starts=0,states=16]", epochs=4, verbose=False)
    assert fitted.accuracy is Accuracy.LOWER_BOUND
    assert np.all(np.diff(fitted.history["objective"]) > 0)
    patterns = as_patterns(net, rows)
    after = pf.fit(fitted.network, rows, "em[starts=0,states=16]", epochs=1, verbose=False)
    exact = pf.score(fitted.network, patterns.rows()[:, 14:], exact=True).log_likelihood @ patterns.counts / 400
    assert exact - 0.5 < after.history["objective"][0] < exact


def test_weights_are_repetitions_and_l1_is_cases_that_are_off():
    rows = some_rows(20, 5, 0.2)
    counts = np.random.default_rng(0).integers(1, 4, 20)
    one = pf.fit(network(), rows, "em[starts=0]", weights=counts, epochs=5, verbose=False).network
    other = pf.fit(network(), np.repeat(rows, counts, axis=0), "em[starts=0]", epochs=5, verbose=False).network
    np.testing.assert_allclose(one.weights[0], other.weights[0], rtol=1e-9)
    penalties: list[dict[str, Any]] = [{"l1": 0.05}, {"l2": 0.05}]
    for penalty in penalties:
        less = pf.fit(network(), rows, "em[starts=0,smoothing=0]", epochs=100, verbose=False, **penalty).network

        def value(w: np.ndarray, less=less, penalty=penalty) -> float:
            moved = less.with_parameters(([w], less.bias))
            cost = penalty.get("l1", 0.0) * w.sum() + penalty.get("l2", 0.0) * (w**2).sum() / 2
            return pf.score(moved, rows).mean - cost

        W = np.asarray(less.weights[0])
        for place in np.ndindex(W.shape):
            step = np.zeros(W.shape)
            step[place] = 1e-2
            assert value(W) > value(W + step) - 1e-4
            assert value(W) > value(np.maximum(W - step, 0.0)) - 1e-4


def test_masks_frozen_and_shared_numbers_stay_so():
    rows, net = some_rows(40, 5, 0.2), network()
    mask = np.ones((5, 3))
    mask[0, 1] = mask[3, 2] = 0
    frozen = ([np.zeros((5, 3), bool)], np.arange(8) < 2)
    shared = ([np.zeros((5, 3), int)], np.array([0, 0, 0, 1, 1, 0, 0, 0]))
    found = pf.fit(net, rows, "em", masks=[mask], frozen=frozen, shared=shared, epochs=5, verbose=False).network
    np.testing.assert_array_equal(np.asarray(found.weights[0]) == 0, mask == 0)
    np.testing.assert_array_equal(np.asarray(found.bias)[:2], np.asarray(net.bias)[:2])
    assert found.bias[3] == pytest.approx(found.bias[4], rel=1e-12)
    assert found.bias[3] != pytest.approx(net.bias[3], rel=1e-3)


def test_what_is_observed_above_others_and_what_has_no_edge():
    W = np.zeros((5, 5))
    W[2, 0], W[2, 1], W[3, 2], W[4, 2], W[4, 0] = 0.8, 1.2, 0.7, 1.0, 0.5
    net = pf.BeliefNetwork(W, [0.3, 0.4, 0.1, 0.1, 0.2], "noisy_or")
    rows = net.sample(seed=0, count=200) * 1.0
    rows[np.random.default_rng(0).random(rows.shape) < 0.3] = NAN
    ours = pf.fit(net, rows, "em[smoothing=0]", epochs=200, verbose=False)
    records = pf.fit(net, rows, prior=0, epochs=1000)  # the same steps, on cases of sets of coins
    assert ours.accuracy is Accuracy.EXACT
    assert ours.history["log_likelihood"][-1] == pytest.approx(records.history["log_likelihood"][-1], abs=1e-3)
    np.testing.assert_array_equal(np.asarray(ours.network.weights) == 0, W == 0)


@pytest.mark.parametrize("states", [4, 1024])
def test_killed_and_resumed_is_the_same_to_the_last_bit(states, tmp_path):
    rows, method = some_rows(60, 8, 0.3), f"em[states={states}]"
    start = pf.ensembles.to_learn((4,), rows, 0, "noisy_or")
    for size in (None, 20):
        options: dict = {"batch_size": size, "seed": 3, "verbose": False}
        whole = pf.fit(start, rows, method, epochs=4, **options)
        file = tmp_path / f"{size}.npz"
        pf.fit(start, rows, method, epochs=2, checkpoint=file, **options)
        resumed = pf.fit(start, rows, method, epochs=4, checkpoint=file, **options)
        np.testing.assert_array_equal(whole.network.weights[0], resumed.network.weights[0])
        np.testing.assert_array_equal(whole.history["objective"], resumed.history["objective"])


def test_held_rows_say_which_epoch_is_kept(tmp_path):
    rows, held = (network(5, (3, 8)).sample(seed=seed, count=80)[:, 3:] * 1.0 for seed in (0, 1))
    start, options = pf.ensembles.to_learn((6,), rows, 0, "noisy_or"), dict[str, Any](seed=0, verbose=False)
    found = pf.fit(start, rows, "em[smoothing=0]", validation=held, epochs=30, **options)
    scores = found.history["validation"]
    assert pf.score(found.network, held).mean == pytest.approx(np.max(scores), abs=1e-9)
    assert np.argmax(scores) < len(scores) - 1
    pf.fit(start, rows, "em[smoothing=0]", validation=held, epochs=3, checkpoint=tmp_path / "a.npz", **options)
    again = pf.fit(start, rows, "em[smoothing=0]", validation=held, epochs=30, checkpoint=tmp_path / "a.npz", **options)
    np.testing.assert_array_equal(found.network.weights[0], again.network.weights[0])


def test_batches_lead_near_to_where_all_rows_do():
    rows = network(5, (3, 8)).sample(seed=0, count=600)[:, 3:] * 1.0
    start = pf.ensembles.to_learn((3,), rows, 0, "noisy_or")
    whole, batches = (
        pf.fit(start, rows, "em", batch_size=size, epochs=epochs, seed=0, verbose=False).network
        for size, epochs in ((None, 15), (64, 60))
    )
    assert pf.score(batches, rows).mean > pf.score(whole, rows).mean - 0.02


# ---- extremes --------------------------------------------------------------------------------------------------------


def test_zeros_stay_zeros_and_ones_stay_ones():
    net = network()
    weights, bias = [np.array(net.weights[0])], np.array(net.bias)
    weights[0][1, 1], weights[0][2, 2], bias[4] = 0.0, np.inf, 0.0
    found = pf.fit(net.with_parameters((weights, bias)), some_rows(40, 5, 0.2), "em", epochs=5, verbose=False).network
    assert found.weights[0][1, 1] == found.bias[4] == 0
    assert found.weights[0][2, 2] == np.inf


@pytest.mark.parametrize("causes", [1, 7])
def test_constant_columns_a_row_without_values_and_any_number_of_causes(causes):
    rows = some_rows(50, 5, 0.2)
    rows[:, 0], rows[:, 4], rows[7] = 0, 1, NAN
    start = pf.ensembles.to_learn((causes,), rows, 0, "noisy_or")
    found = pf.fit(start, rows, "em", epochs=10, verbose=False)
    assert not np.any(found.failed)
    means = pf.infer(found.network, {}, "exact").means
    assert means[causes] < 0.1
    assert means[causes + 4] > 0.9
    whole = np.concatenate([np.full((50, causes), NAN), rows], axis=1)
    same = pf.fit(start, whole, "em", epochs=10, verbose=False).network
    np.testing.assert_allclose(same.weights[0], found.network.weights[0], rtol=1e-9)
    assert found.history["objective"][-1] > found.history["objective"][0]
    assert np.isfinite(np.asarray(found.network.weights[0])).all()


def test_what_does_not_apply_is_refused_in_words():
    rows = some_rows(10, 5, 0.0)
    zero = network().with_parameters(([np.zeros((5, 3))], np.array([0.1] * 3 + [0.0] * 5)))
    frozen = ([np.ones((5, 3), bool)], np.zeros(8, bool))
    with pytest.raises(pf.errors.InvalidInput, match=r"row 0 of rows .* probability zero"):
        pf.fit(zero, np.ones((1, 5)), "em", frozen=frozen, verbose=False)
    with pytest.raises(pf.errors.MethodDoesNotApply, match="all noisy-or; this one has sigmoid"):
        pf.fit(pf.ensembles.to_learn((2,), rows, 0), rows, "em")
    with pytest.raises(pf.errors.MethodDoesNotApply, match="learns one network"):
        pf.fit(pf.ensembles.to_learn((2,), rows, 0, "noisy_or", count=2), rows, "em")
    with pytest.raises(pf.errors.MethodDoesNotApply, match="learning a noisy-or network"):
        pf.infer(network(), None, "em")


def test_estimators_learn_noisy_or_networks_by_it():
    from plefka.sklearn import BeliefNetworkModel

    rows = network(5, (3, 8)).sample(seed=0, count=300)[:, 3:] * 1.0
    model = BeliefNetworkModel((3,), activation="noisy_or", epochs=5, batch_size=300, random_state=0).fit(rows)
    assert model.fitted_.method.name == "em"
    assert model.score(rows) == pytest.approx(pf.score(model.network_, rows).mean, abs=1e-9)
    assert model.transform(rows).shape == (300, 3)
