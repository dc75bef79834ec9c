"""Learning by weighted states: their gradient is that of ln P, up to sampling, whatever they are drawn from."""

from itertools import product

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import plefka as pf
from plefka.errors import InvalidInput, InvalidMethod, MethodDoesNotApply
from plefka.inference.library import parse_method
from plefka.learning.by_weighted_states import STEP_SIZES
from plefka.learning.gradient_step import Batch, solve_rows
from plefka.learning.of_beliefs import learner
from plefka.learning.parameters import parametrisation
from plefka.learning.patterns import as_patterns
from plefka.learning.recogniser import Recogniser
from plefka.learning.scoring import score
from plefka.learning.weighted_states import WHOLE
from plefka.networks.fields import log_joint
from plefka.runtime.precision import precision
from tests.learning.bars import BARS
from tests.learning.test_fit import ROWS, small
from tests.quick import quick_where

PROPOSALS = ("reweighted", "reweighted[SJJ]", "reweighted[G12]")
DRAWS = 20_000


def weighted(network, method: str, draws: int = DRAWS):
    """ln of the mean weight of every row, as a function of the parameters; and the rows."""
    patterns = as_patterns(network, ROWS)
    chosen, rules = parse_method(method), parametrisation(network, None, None, None)
    settings = learner(chosen).settings(network, patterns, chosen, rules, (0.0, 0.0), 1e-4)
    rows = patterns.rows()
    noise = np.random.default_rng(0).integers(WHOLE, size=(len(rows), draws, len(settings.drawn)), dtype=np.uint32)
    batch = Batch(rows, np.ones(len(rows)), 1.0, np.zeros((1, *rows.shape)), noise)
    return rows, lambda parameters: -solve_rows(settings, parameters, batch)[0]


@pytest.mark.parametrize("activation", ["sigmoid", "noisy_or"])
def test_value_and_gradient_approach_those_of_the_exact_sum(activation):
    network = small(activation)
    rows, estimate = weighted(network, "reweighted[G12]")

    states = np.array(list(product((0.0, 1.0), repeat=network.size)))
    fits = np.all(np.isnan(rows)[:, None] | (rows[:, None] == states), axis=2)

    def exact(parameters):
        every = log_joint(network.with_parameters(parameters), jnp.asarray(states))
        return jax.nn.logsumexp(jnp.where(fits, every, -np.inf), axis=1)

    def value_and_slope(parameters):
        value, pull_back = jax.vjp(estimate, parameters)
        return value, pull_back(jnp.ones_like(value))[0]

    with precision("float64"):
        found, slope = jax.jit(value_and_slope)(network.parameters)
        truth = jax.jit(jax.grad(lambda p: jnp.sum(exact(p))))(network.parameters)
    np.testing.assert_allclose(found, pf.infer(network, rows, "exact").log_likelihood, atol=0.03)
    for ours, theirs in zip(jax.tree.leaves(slope), jax.tree.leaves(truth), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=0.05)


def test_of_few_draws_the_estimate_is_a_lower_bound_on_average():
    network = small("sigmoid")
    rows, _ = weighted(network, "reweighted[G12]", 2)
    truth = pf.infer(network, rows, "exact").log_likelihood.mean()
    means, still = [], optax.sgd(0.0)
    for draws in (2, 20):
        fitted = [
            pf.fit(network, ROWS, f"reweighted[G12,draws={draws}]", epochs=1, seed=seed, optimizer=still).history[
                "objective"
            ][0]
            for seed in range(20)
        ]
        means.append(np.mean(fitted))
        assert means[-1] < truth + 3 * np.std(fitted) / np.sqrt(20)
    assert means[0] < means[1] < truth + 0.01


@pytest.mark.parametrize("method", quick_where(PROPOSALS[:1], PROPOSALS))
def test_bars_are_learned_whatever_states_are_drawn_from(method):
    start = pf.ensembles.to_learn((8,), BARS, 0)
    fitted = pf.fit(start, BARS, method, epochs=60, seed=0)
    exact = fitted.history["log_likelihood"]
    assert exact[-1] > exact[0] + 1
    assert exact[-1] > -5.8
    assert fitted.accuracy is pf.Accuracy.ESTIMATE  # a lower bound on average alone
    assert not fitted.warnings
    assert np.min(np.abs(fitted.optimizer_state.hyperparams["learning_rate"] - np.array(STEP_SIZES))) < 1e-6


@pytest.mark.parametrize(("method", "optimizer"), [("reweighted", None), ("reweighted[SJJ]", optax.sgd(0.1))])
def test_a_run_that_was_killed_resumes_to_the_same_bits(method, optimizer, tmp_path):
    holes = np.where(np.random.default_rng(0).random(BARS[:40].shape) < 0.2, np.nan, BARS[:40])

    def run(**options):
        start = pf.ensembles.to_learn((2, 4), holes, 0)
        return pf.fit(start, holes, method, batch_size=16, seed=3, optimizer=optimizer, **options)

    class Killed(Exception):
        """As by the power cut."""

    def kill(entry):
        if entry["epoch"] == 2:
            raise Killed

    whole = run(epochs=4)
    with pytest.raises(Killed):
        run(epochs=4, checkpoint=tmp_path / "run.npz", checkpoint_every=0.0, callback=kill)
    resumed = run(epochs=4, checkpoint=tmp_path / "run.npz")
    for one, other in zip(
        jax.tree.leaves(whole.network.parameters), jax.tree.leaves(resumed.network.parameters), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(whole.history["objective"], resumed.history["objective"])


@pytest.mark.parametrize("method", quick_where(PROPOSALS[:1], PROPOSALS[:2]))
def test_a_stack_has_a_step_size_and_a_proposal_for_each_network(method):
    stack = pf.ensembles.to_learn((4,), BARS[:200], 0, count=3)
    fitted = pf.fit(stack, BARS[:200], method, epochs=10, batch_size=8, seed=0)
    assert fitted.history["objective"].shape == (10, 3)
    assert np.all(fitted.history["log_likelihood"][-1] > fitted.history["log_likelihood"][0])
    assert fitted.optimizer_state.hyperparams["learning_rate"].shape == (3,)


def test_missing_entries_are_summed_out():
    holes = np.where(np.random.default_rng(1).random((600, 16)) < 0.3, np.nan, BARS[:600])
    start = pf.ensembles.to_learn((6,), holes, 0)
    fitted = pf.fit(start, holes, "reweighted", epochs=10, batch_size=64, seed=0)
    before = score(start, BARS).mean
    assert score(fitted.network, BARS).mean > before + 1


def test_the_recognition_network_says_what_rows_have():
    """Each hidden unit switches two columns on: after learning its mean is near 0 or 1, as these are."""
    causes = np.random.default_rng(0).integers(0, 2, (400, 3))
    rows = np.repeat(causes, 2, axis=1).astype(float)
    network = pf.BeliefNetwork.layered([np.kron(np.eye(3), [[8.0], [8.0]])], [np.zeros(3), np.full(6, -4.0)], "sigmoid")
    found = {}

    class Watched(Recogniser):
        """Shows its memory."""

        def __init__(self, *given):
            super().__init__(*given)
            found["network"] = self

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("plefka.learning.by_weighted_states.Recogniser", Watched)
        pf.fit(network, rows, "reweighted", epochs=60, batch_size=8, seed=0, frozen="weights")
    weights, _ = found["network"].memory
    means = 1 / (1 + np.exp(-np.asarray(weights.logits(rows - found["network"].inputs.frequencies)))).T
    assert np.abs(means - causes).max() < 0.2


@pytest.mark.parametrize(
    ("method", "activation"),
    quick_where([("reweighted[G12]", "sigmoid")], list(product(PROPOSALS[::2], ("sigmoid", "noisy_or")))),
)
def test_extremes_give_finite_numbers(method, activation):
    """Weights of 1e3, an empty row, a batch of one row."""
    network = small(activation)
    network = network.with_parameters(jax.tree.map(lambda p: p * 1e3, network.parameters))
    rows = np.vstack([ROWS, np.full(4, np.nan)])
    fitted = pf.fit(network, rows, method, epochs=2, batch_size=1, seed=0)
    assert all(np.isfinite(p).all() for p in jax.tree.leaves(fitted.network.parameters))
    assert np.isfinite(fitted.history["solved"]).all()


def test_a_row_that_cannot_be_is_left_out():
    """The second column is on only if the cause is, which has no leak; the third never."""
    network = pf.BeliefNetwork.layered([[[1.0], [2.0], [0.0]]], [[0.5], [0.3, 0.0, 0.0]], "noisy_or")
    rows = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1.0]])
    fitted = pf.fit(network, rows, "reweighted[G12]", epochs=2, seed=0, optimizer=optax.sgd(0.1))
    np.testing.assert_allclose(fitted.history["solved"], 2 / 3)
    assert np.isfinite(fitted.history["objective"]).all()


@pytest.mark.parametrize("method", [*PROPOSALS, "reweighted[G12[tol=0.01],draws=5,seed=3]", "reweighted[draws=4]"])
def test_names_are_read_back(method):
    assert parse_method(str(parse_method(method))) == parse_method(method)


def test_what_cannot_be_is_refused_in_words():
    start = pf.ensembles.to_learn((2,), BARS, 0)
    with pytest.raises(InvalidInput, match="pass a seed"):
        pf.fit(start, BARS, "reweighted", epochs=1, batch_size=100)
    with pytest.raises(InvalidMethod, match="G12, or of recognition"):
        parse_method("reweighted[persistent]")
    with pytest.raises(InvalidMethod, match="draws must be 2 or more"):
        parse_method("reweighted[draws=1]")
    with pytest.raises(MethodDoesNotApply, match="Use reweighted"):
        pf.fit(start, BARS, "recognition", epochs=1, seed=0)
    with pytest.raises(MethodDoesNotApply, match=r"reweighted\[G12\]"):
        pf.fit(start, BARS, "reweighted[exact]", epochs=1, seed=0)
    with pytest.raises(MethodDoesNotApply, match="for learning a belief network"):
        pf.infer(start, {0: 1}, "reweighted")
