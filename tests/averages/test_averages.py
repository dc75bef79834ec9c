"""Every way of averaging against the sum over all states of the parents."""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import plefka as pf
from plefka.averages import Average, Enumerated, Exponentials, Fourier, GaussHermite, Parents
from plefka.averages.average import map_columns
from plefka.averages.choice import Range
from plefka.networks.activations import Activation, NoisyOr, Sigmoid
from tests.averages import brute

POSITIONS, COLUMNS, ROWS = 7, 3, 2
LOG_RATIO: Any = np.array([[0.3, -2.0], [np.inf, -np.inf], [50.0, -0.5]])
SIGMOID, NOISY_OR = Sigmoid(), NoisyOr()


class Inputs(NamedTuple):
    w: Any
    u: Any
    h: Any


class Case(NamedTuple):
    average: Average
    inputs: Inputs
    logs: object
    slopes: object


def reach(inputs: Inputs) -> float:
    return float((np.abs(inputs.h) + np.abs(inputs.w).sum(0)).max())


def some_inputs(scale: float, low: float, high: float, seed: int) -> Inputs:
    """Weights of some scale, means from 0 to 1, and one edge that is not there."""
    rng = np.random.default_rng(seed)
    w = scale * rng.uniform(low, high, (POSITIONS, COLUMNS, 1))
    w[2, 1] = 0
    u = rng.random((POSITIONS, 1, ROWS))
    u[0, 0], u[1], u[3] = (0, 1), 1e-300, 0.5
    return Inputs(w, u, rng.uniform(0.5 * low, high, (COLUMNS, 1)))


def sigmoid_case(scale: float, largest: float = np.inf) -> Case:
    inputs = some_inputs(scale, -1, 1, 0)
    return Case(Fourier(reach(inputs), largest), inputs, brute.log_sigmoid, brute.sigmoid_slopes)


def noisy_or_case(leak: float) -> Case:
    inputs = some_inputs(1, 0, 1, 1)
    inputs = inputs._replace(h=leak * (1 + inputs.h))
    return Case(Exponentials(inputs.h.min()), inputs, brute.log_noisy_or, brute.noisy_or_slopes)


def enumerated_case(case: Case, activation: Activation) -> Case:
    return case._replace(average=Enumerated(activation))


CASES = {
    "sigmoid": sigmoid_case(15.0),
    "sigmoid, small weights": sigmoid_case(0.2, 0.2),
    "noisy-or": noisy_or_case(0.1),
    "noisy-or, small leak": noisy_or_case(1e-6),
    "sigmoid, enumerated": enumerated_case(sigmoid_case(2.0), SIGMOID),
    "noisy-or, enumerated": enumerated_case(noisy_or_case(1e-3), NOISY_OR),
}
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
WEIGHTS: Any = np.random.default_rng(9).normal(size=(2, COLUMNS, ROWS))
DIRECTION = np.random.default_rng(8).normal(size=(POSITIONS, 1, ROWS))


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def weighted(average, w, u, h):
    on, off = average.logs(w, u, h)
    return (WEIGHTS[0] * on + WEIGHTS[1] * off).sum()


@partial(jax.jit, static_argnums=0)
def chances(average: Average, w, u, h):
    return average.chances(w, Parents.of_means(jnp.asarray(u)), h)


@partial(jax.jit, static_argnums=0)
def messages(average: Average, w, u, h, log_ratio):
    return average.messages(w, Parents.of_means(jnp.asarray(u)), h, log_ratio)


@partial(jax.jit, static_argnums=0)
def answers(average: Average, w, u, h) -> dict:
    """All that an average says of a table of parents, compiled once."""

    def along(w, u, h):
        return jnp.vdot(jax.grad(weighted, 2)(average, w, u, h), DIRECTION)

    own = jnp.broadcast_to(u, (POSITIONS, COLUMNS, ROWS))
    return {
        "logs": average.logs(w, u, h),
        "gradient": jax.grad(weighted, (1, 2, 3))(average, w, u, h),
        "second": jax.grad(along, (0, 1, 2))(w, u, h),
        "chances": chances(average, w, u, h),
        "chance slopes": jax.grad(lambda u: chances(average, w, u, h)[0].sum())(u),
        "messages": messages(average, w, own, h, jnp.asarray(LOG_RATIO)),
        "curvatures": average.curvatures(w, own, h, jnp.asarray(WEIGHTS[0]), jnp.asarray(WEIGHTS[1]), False),
        "shared curvatures": average.curvatures(w, u, h, jnp.asarray(WEIGHTS[0]), jnp.asarray(WEIGHTS[1]), True),
        "slopes": average.slopes(w, u, h),
    }


def answers_of(case: Case) -> dict:
    return jax.tree.map(np.asarray, answers(case.average, *case.inputs))


@EVERY
def test_logs_are_sums_over_all_states(case):
    np.testing.assert_allclose(answers_of(case)["logs"], brute.average(case.logs, *case.inputs), atol=1e-9)


@EVERY
def test_gradients_are_those_of_the_sum(case):
    w, u, h = case.inputs
    by_w, by_u, by_h = answers_of(case)["gradient"]
    a = WEIGHTS[:, None]
    np.testing.assert_allclose(by_u, (a * brute.slopes(case.logs, w, u, h)).sum((0, 2))[:, None], rtol=1e-8, atol=2e-9)
    slope = (WEIGHTS * brute.average(case.slopes, w, u, h)).sum((0, 2))[:, None]
    np.testing.assert_allclose(by_h, slope, rtol=1e-8, atol=5e-9)
    on = np.stack([u[j] * brute.average(case.slopes, w, brute.at(u, (j, 1)), h) for j in range(POSITIONS)], axis=1)
    np.testing.assert_allclose(by_w, (a * on).sum((0, -1))[..., None], rtol=1e-8, atol=5e-9)


@EVERY
def test_second_derivatives_are_those_of_the_sum(case):
    w, u, h = case.inputs
    H = (WEIGHTS[:, None, None] * brute.curvatures(case.logs, w, u, h)).sum(0)
    np.testing.assert_allclose(answers_of(case)["curvatures"], H, rtol=1e-8, atol=2e-9)
    np.testing.assert_allclose(answers_of(case)["shared curvatures"], H.sum(2, keepdims=True), rtol=1e-8, atol=5e-9)
    by_w, by_u, by_h = answers_of(case)["second"]
    np.testing.assert_allclose(by_u[:, 0], np.einsum("jlcr,lr->jr", H, DIRECTION[:, 0]), rtol=1e-7, atol=1e-8)
    a, v = WEIGHTS[:, None], DIRECTION
    expected = (a * v * brute.slopes(case.slopes, w, u, h)).sum((0, 1, 3))[:, None]
    np.testing.assert_allclose(by_h, expected, rtol=1e-6, atol=1e-7)
    for j in range(POSITIONS):
        there = w, brute.at(u, (j, 1)), h
        slopes = u[j] * (np.delete(v, j, 0) * np.delete(brute.slopes(case.slopes, *there), j, 1)).sum(1)
        expected = (WEIGHTS * (slopes + v[j] * brute.average(case.slopes, *there))).sum((0, 2))[:, None]
        np.testing.assert_allclose(by_w[j], expected, rtol=1e-6, atol=1e-7)


@EVERY
def test_slopes_are_differences_of_slopes(case):
    on, off = brute.slopes(case.logs, *case.inputs)
    np.testing.assert_allclose(answers_of(case)["slopes"], on - off, rtol=1e-8, atol=2e-9)


@EVERY
def test_chances_are_sums_over_all_states(case):
    np.testing.assert_allclose(np.exp(answers_of(case)["chances"]), brute.chances(case.logs, *case.inputs), rtol=1e-9)
    w, u, h = case.inputs
    by_u = brute.slopes(lambda x: np.exp(case.logs(x)), w, u, h)[0] / brute.chances(case.logs, w, u, h)[0]
    np.testing.assert_allclose(answers_of(case)["chance slopes"][:, 0], by_u.sum(1), rtol=1e-7, atol=1e-9)


@EVERY
def test_messages_are_sums_over_all_states_of_the_others(case):
    w, u, h = case.inputs
    found, *own_chances = answers_of(case)["messages"]
    np.testing.assert_allclose(found, brute.messages(case.logs, w, u, h, LOG_RATIO), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(own_chances, answers_of(case)["chances"], rtol=1e-9, atol=1e-12)


def test_twelve_parents_and_fields_up_to_sixty():
    rng = np.random.default_rng(3)
    inputs = Inputs(rng.uniform(-9, 9, (12, 2, 1)), rng.random((12, 1, 1)), np.array([[5.0], [-5.0]]))
    average = Fourier(reach(inputs))
    assert average.reach > 40
    np.testing.assert_allclose(jax.jit(average.logs)(*inputs), brute.average(brute.log_sigmoid, *inputs), atol=1e-9)


def deep(h: float) -> Inputs:
    """A child that is hardly ever on, with six parents that do little, and one that does much but is hardly ever on."""
    w = np.r_[np.linspace(-1, 1, 6), -h][:, None, None] * np.ones((1, 2, 1))
    u = np.r_[np.linspace(0.1, 0.9, 6), 1e-13][:, None, None]
    return Inputs(w * np.array([1, -1])[:, None], u, np.array([[h], [-h]]))


@pytest.mark.parametrize("h", [-20.0, -28.0, -40.0])
def test_tiny_chances_keep_their_digits(h):
    inputs = deep(h)
    average = Fourier(60.0)
    expected = np.log(brute.chances(brute.log_sigmoid, *inputs))
    np.testing.assert_allclose(chances(average, *inputs), expected, atol=1e-9)
    assert expected.min() < -18
    own = np.broadcast_to(inputs.u, (7, 2, 1))
    ratio = np.array([[np.inf], [-np.inf]])
    found = messages(average, inputs.w, own, inputs.h, ratio)[0]
    np.testing.assert_allclose(found, brute.messages(brute.log_sigmoid, *inputs, ratio), atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("h", [0.0, 3.0, -15.0, 45.0])
def test_many_small_weights_need_no_product_over_the_parents(h):
    """Seven parents that count and forty that are certain, which are part of the bias."""
    rng = np.random.default_rng(11)
    inputs = some_inputs(0.2, -1, 1, 10)._replace(h=h + np.array([[0.1], [-0.2], [0.0]]))
    known, value = rng.uniform(-0.1, 0.1, (40, COLUMNS, 1)), rng.integers(0, 2, (40, 1, ROWS)).astype(float)
    rows = [inputs._replace(u=inputs.u[..., [r]], h=inputs.h + (known * value[..., [r]]).sum(0)) for r in range(ROWS)]
    whole = Inputs(np.concatenate([inputs.w, known]), np.concatenate([inputs.u, value]), inputs.h)
    average = Fourier(reach(whole), 0.2)
    assert average.message_terms(len(whole.w)) is not None
    expected = np.concatenate([np.log(brute.chances(brute.log_sigmoid, *row)) for row in rows], axis=2)
    np.testing.assert_allclose(chances(average, *whole), expected, rtol=1e-12, atol=1e-12)
    own = np.broadcast_to(whole.u, (len(whole.w), COLUMNS, ROWS))
    found, on, off = messages(average, whole.w, own, whole.h, LOG_RATIO)
    right = [brute.messages(brute.log_sigmoid, *row, LOG_RATIO[:, [r]]) for r, row in enumerate(rows)]
    np.testing.assert_allclose(found[:POSITIONS], np.concatenate(right, axis=2), rtol=1e-10, atol=1e-12)
    free = np.isfinite(LOG_RATIO)
    np.testing.assert_allclose([on[free], off[free]], expected[:, free], rtol=1e-12, atol=1e-12)
    by_nodes = messages(Fourier(average.reach), whole.w, own, whole.h, LOG_RATIO)[0]
    np.testing.assert_allclose(found, by_nodes, rtol=1e-10, atol=1e-12)


HALF = [(8.0, [6.4]), (8.0, [2.56]), (9.6, [4.8, -4.8]), (9.6, [2.24, 2.24]), (9.6, [1.6])]


@pytest.mark.slow
@pytest.mark.parametrize(("reach", "weights"), HALF)
def test_derivatives_where_a_factor_of_the_product_vanishes(reach, weights):
    """1 - u + u exp(i t w) is zero, up to rounding, at u = 1/2 and at a node with t w = pi."""
    rest, means = [0.3, -0.4, 0.2, 0.5, 0.1], [0.3, 0.6, 0.2, 0.7, 0.4]
    w = jnp.array(weights + rest)[:, None, None]
    u = jnp.array([0.5] * len(weights) + means)[:, None, None]
    h, one, v = jnp.array([[0.1]]), jnp.ones((1, 1)), jnp.linspace(-1, 1, len(w))[:, None, None]

    @partial(jax.jit, static_argnums=0)
    def asked(average):
        def slopes(w, u):
            return jax.grad(lambda w, u: average.logs(w, u, h)[0].sum(), (0, 1))(w, u)

        second = jax.grad(lambda w, u: jnp.vdot(slopes(w, u)[1], v), (0, 1))(w, u)
        found = messages(average, w, u, h, jnp.ones((1, 1)))
        return average.logs(w, u, h), slopes(w, u), average.curvatures(w, u, h, one, one, False), found, second

    found, right = (jax.tree.leaves(asked(average)) for average in (Fourier(reach), Enumerated(SIGMOID)))
    for mine, expected in zip(found, right, strict=True):
        np.testing.assert_allclose(mine, expected, atol=1e-9)


@pytest.mark.parametrize("theta", [30.0, 60.0, 2000.0])
@pytest.mark.parametrize("sign", [-1, 1])
def test_parents_next_to_certainty_keep_both_probabilities(theta, sign):
    """One parent decides all: ln <f> is ln of one of its two probabilities, to all digits."""
    w, h = jnp.array([sign * -5000.0, 1.0, -2.0])[:, None, None], jnp.array([[1.0]])
    parents = Parents.of_log_odds(jnp.array([sign * theta, 0.3, -0.2])[:, None, None])
    others = Enumerated(SIGMOID).chances(w[1:], parents[1:], h)[0]
    log_off = -np.logaddexp(0, theta)
    shift = 0.0 if sign > 0 else -5000.0  # where the parent must be on, its weight is part of the bias
    found = [average.chances(w, parents, h + shift)[0] for average in (Enumerated(SIGMOID), Fourier(5010.0))]
    np.testing.assert_allclose(found, [others + log_off] * 2, rtol=1e-11)


def test_fields_are_covered_up_to_the_reach():
    w = jnp.array([[[6.0], [6.0]], [[-6.0], [6.0]]])
    np.testing.assert_array_equal(Fourier(8.0).covers(w, jnp.ones((2, 1))), [[True], [False]])
    leaks = jnp.array([[0.2], [0.05]])
    np.testing.assert_array_equal(Exponentials(0.1).covers(jnp.abs(w), leaks), [[True], [False]])
    assert not Exponentials(0.1).covers(w, leaks)[0]  # with an inhibitor that outweighs it
    assert Enumerated(SIGMOID).covers(w, jnp.ones((2, 1))).all()


def test_certain_edges_are_certain():
    inputs = Inputs(np.array([[[np.inf]], [[1.0]], [[0.0]]]), np.array([[[0.25]], [[1.0]], [[0.5]]]), np.array([[0.1]]))
    for average in (Exponentials(0.1), Enumerated(NOISY_OR)):
        on, off = chances(average, *inputs)
        assert np.exp(off) == pytest.approx(0.75 * np.exp(-1.1))
        assert np.exp(on) == pytest.approx(1 - 0.75 * np.exp(-1.1))
        message_off, *_ = messages(average, *inputs, np.array([[-np.inf]]))
        np.testing.assert_allclose(message_off[:, 0, 0], [-np.inf, -1, 0], atol=1e-12)
        message_on, *_ = messages(average, *inputs, np.array([[np.inf]]))
        np.testing.assert_allclose(message_on[0, 0, 0], -np.log1p(-np.exp(-1.1)))
        assert message_on[2, 0, 0] == 0


def test_impossible_evidence_says_nothing_about_the_parents():
    inputs = Inputs(np.array([[[0.7]], [[0.0]]]), np.array([[[0.0]], [[0.5]]]), np.array([[0.0]]))
    for average in (Exponentials(0.1), Enumerated(NOISY_OR)):
        found, on, off = messages(average, *inputs, np.array([[np.inf]]))
        np.testing.assert_array_equal(found[:, 0, 0], [np.inf, 0])
        assert (on, off) == (-np.inf, 0)


@pytest.mark.parametrize("average", [Fourier(8.0), Exponentials(0.1), Enumerated(SIGMOID)], ids=type)
def test_positions_without_an_edge_change_nothing(average):
    w, u, h = some_inputs(1, 0, 1, 5)
    h = h + 0.1
    wider = np.concatenate([w, np.zeros_like(w[:2])]), np.concatenate([u, [[[0.3, 1.0]], [[0.0, 0.5]]]]), h
    for asked in (jax.jit(average.logs), partial(chances, average)):
        here, there = (asked(*inputs) for inputs in ((w, u, h), wider))
        np.testing.assert_allclose(here, there, rtol=1e-13)


def test_blocks_of_columns_change_nothing(monkeypatch):
    inputs = CASES["sigmoid"].inputs
    average = CASES["sigmoid"].average
    whole = answers_of(CASES["sigmoid"])
    monkeypatch.setattr("plefka.averages.average.NUMBERS_PER_BLOCK", 40)
    np.testing.assert_allclose(jax.jit(average.logs)(*inputs), whole["logs"], rtol=1e-13, atol=1e-14)
    parts = jax.jit(partial(average.curvatures, shared=True))(*inputs, *WEIGHTS)
    np.testing.assert_allclose(parts, whole["shared curvatures"], atol=1e-13)
    doubled = map_columns(lambda w, u: w[0] * u[0], 14, inputs.w, inputs.u)
    np.testing.assert_allclose(doubled, inputs.w[0] * inputs.u[0])


def test_the_normal_law_is_near_for_many_small_weights():
    rng = np.random.default_rng(6)
    inputs = Inputs(
        *map(jnp.asarray, (rng.normal(0, 0.3, (13, 2, 1)), rng.random((13, 1, 1)), rng.normal(size=(2, 1))))
    )
    normal, exact = GaussHermite(SIGMOID), Fourier(10.0)
    assert not normal.is_exact
    assert exact.is_exact
    own = jnp.broadcast_to(inputs.u, (13, 2, 1))
    both = [messages(average, inputs.w, own, inputs.h, np.array([[1.0], [-np.inf]])) for average in (normal, exact)]
    for near, right in zip(*both, strict=True):
        np.testing.assert_allclose(near, right, atol=5e-3)
    slopes = [
        jax.jit(jax.grad(lambda u, a=a: a.logs(inputs.w, u, inputs.h)[0].sum()))(inputs.u) for a in (normal, exact)
    ]
    np.testing.assert_allclose(*slopes, atol=2e-2)


@partial(jax.jit, static_argnums=0)
def anything(average, w, u, h):
    own = jnp.broadcast_to(u, (*w.shape[:2], u.shape[2]))
    slopes = jax.grad(lambda u: sum(x.sum() for x in average.logs(w, u, h)))(u)
    return average.logs(w, u, h), slopes, chances(average, w, u, h), messages(average, w, own, h, jnp.full_like(h, 0.5))


CORNERS = st.sampled_from([0.0, 1.0, 0.5, 1e-300]) | st.floats(0, 1)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(
    arrays(float, (6, 2, 1), elements=st.floats(-1000, 1000, allow_subnormal=False)),
    arrays(float, (6, 1, 1), elements=CORNERS),
    arrays(float, (2, 1), elements=st.floats(-50, 50)),
)
def test_nothing_drawn_is_not_a_number(w, u, h):
    with jax.enable_x64(True):
        positive = np.abs(w), u, np.abs(h) + 1e-3
        within = Inputs(w / 100, u, h / 5)  # six weights up to 10 and a bias up to 10: fields up to 70
        for average, inputs in (
            (Fourier(70.0), within),
            (Exponentials(1e-3), positive),
            (Enumerated(SIGMOID), (w, u, h)),
        ):
            for leaf in jax.tree.leaves(anything(average, *inputs)):
                assert not np.isnan(leaf).any()
        logs, _, log_chances, _ = anything(Fourier(70.0), *within)
        np.testing.assert_allclose(logs, brute.average(brute.log_sigmoid, *within), atol=1e-8)
        np.testing.assert_allclose(log_chances, np.log(brute.chances(brute.log_sigmoid, *within)), atol=1e-8)


def test_single_precision_is_finite():
    for name in ("sigmoid, small weights", "noisy-or", "sigmoid, enumerated"):
        with jax.enable_x64(False):
            inputs = (np.asarray(x, np.float32) for x in CASES[name].inputs)
            logs = jax.jit(CASES[name].average.logs)(*inputs)
        np.testing.assert_allclose(logs, answers_of(CASES[name])["logs"], atol=1e-4)


def test_the_choice_follows_the_activation_and_the_number_of_parents():
    probit = pf.Custom(lambda x: 0.5 + jnp.arctan(x) / np.pi)
    kinds = [(SIGMOID, 3), (SIGMOID, 30), (NOISY_OR, 30), (probit, 12), (probit, 13)]
    chosen = [type(Range(5.0, 0.1).average(activation, positions)) for activation, positions in kinds]
    assert chosen == [Enumerated, Fourier, Exponentials, Enumerated, GaussHermite]
