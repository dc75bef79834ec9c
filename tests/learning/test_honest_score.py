"""What is validated, stopped by and chosen by is ln P; an objective that leaves it behind is said to."""

import numpy as np
import optax
import pytest

import plefka as pf
from plefka.learning.annealed import RowsScore
from plefka.learning.honest_score import HonestScore, _mean, sentence
from plefka.learning.likelihood import exact
from plefka.learning.patterns import as_patterns

RNG = np.random.default_rng(5)
CAUSES = RNG.random((600, 8)) < 0.2
LINKS = np.where(RNG.random((8, 12)) < 0.4, 0.9, 0.0)
ROWS = (RNG.random((600, 12)) < 1 - 0.98 * np.prod(1 - CAUSES[:, :, None] * LINKS, axis=1)).astype(float)
TRAINED, HELD = ROWS[:150], ROWS[400:]


def learned(method="G12", activation="noisy_or", layers=(6,), **options):
    start = pf.ensembles.to_learn(layers, TRAINED, seed=0, activation=activation)
    return pf.fit(start, TRAINED, method, seed=0, verbose=False, **options)


@pytest.fixture(scope="module")
def misled():
    """G12 of noisy-or units climbs by exploiting its error."""
    return learned(epochs=60, validation=HELD, patience=1000, optimizer=optax.adam(0.1))


def test_validation_is_exact_ln_p_where_that_is_affordable(misled):
    best = np.argmax(misled.history["validation"])
    assert misled.history["validation"][best] == pytest.approx(pf.score(misled.network, HELD).mean, rel=1e-12)
    assert not misled.history["validation_error"].any()


def test_the_epoch_that_is_kept_is_the_best_of_ln_p_and_not_of_the_objective(misled):
    assert np.argmax(misled.history["validation"]) < np.argmax(misled.history["objective"])
    assert pf.score(misled.network, HELD).mean > misled.history["validation"][-1] + 0.02


def test_an_objective_that_leaves_ln_p_behind_is_a_warning(misled):
    objective, truth = (misled.history[name][-1] for name in ("objective", "log_likelihood"))
    assert objective > truth + 0.5
    sentence = f"the objective says {objective:.4g} per row where ln P is {truth:.4g} (exact)"
    assert [sentence in warning for warning in misled.warnings] == [True]


def test_a_bound_is_no_reason_to_warn():
    fitted = learned("SJJ", "sigmoid", epochs=5)
    assert not any("objective" in warning for warning in fitted.warnings)
    assert not fitted.failed


@pytest.mark.parametrize("method", ["pseudolikelihood", "persistent[chains=20]", "exact"])
def test_learning_that_diverged_has_failed(method):
    start = pf.ensembles.machine_to_learn(0, TRAINED, seed=0)
    fitted = pf.fit(start, TRAINED, method, epochs=3, seed=0, optimizer=optax.sgd(1e4), verbose=False)
    assert fitted.failed
    assert any("that of its beginning" in warning for warning in fitted.warnings)
    assert any("learning diverged" in warning for warning in fitted.warnings)


def test_every_network_of_a_stack_has_a_verdict_of_its_own():
    stack = pf.ensembles.to_learn((6,), TRAINED, seed=0, activation="noisy_or", count=3)
    fitted = pf.fit(stack, TRAINED, "G12[max_steps=6]", epochs=4, seed=0, validation=HELD, verbose=False)
    assert fitted.history["validation"].shape == (4, 3)
    for k, best in enumerate(fitted.history["validation"].max(axis=0)):
        assert best == pytest.approx(pf.score(fitted.network.take(k), HELD).mean, rel=1e-12)
    assert np.shape(fitted.failed) == (3,)


# ---- where ln P is sampled -------------------------------------------------------------------------------------------


def wide(**options):
    """30 hidden units are too many to sum over."""
    return learned("SJJ[max_steps=6]", "sigmoid", (30,), epochs=4, validation=HELD, batch_size=400, **options)


def test_sampled_scores_have_errors_and_are_left_out_where_they_would_cost_too_much(monkeypatch):
    monkeypatch.setattr("plefka.learning.honest_score.FREE_WORK", 0)
    fitted = wide()
    scored = np.isfinite(fitted.history["validation"])
    assert scored[0]
    assert scored[-1]
    assert not scored.all()
    assert (fitted.history["validation_error"][scored] > 0).all()
    best = np.nanmax(fitted.history["validation"])
    assert pf.score(fitted.network, HELD, seed=1).mean == pytest.approx(best, abs=0.1)


def test_a_sampled_score_is_below_ln_p_but_for_its_error():
    network = pf.ensembles.to_learn((7,), TRAINED, seed=1, activation="sigmoid")
    patterns = as_patterns(network, HELD)
    truth = exact(network, patterns) @ patterns.counts / patterns.total
    sampled = pf.score(network, HELD, exact=False, seed=0, num_samples=100)
    assert sampled.mean == pytest.approx(truth, abs=0.02)
    assert _mean(network, patterns, 0) == pytest.approx((truth, 0.0))


def test_the_score_of_thinned_rows_is_that_of_all():
    network = pf.ensembles.to_learn((3,), TRAINED, seed=1, activation="sigmoid")
    patterns = as_patterns(network, np.repeat(HELD, 3, axis=0))
    some = patterns.thinned(60)
    assert some.total == 60
    assert _mean(network, some, 0)[0] == pytest.approx(_mean(network, patterns, 0)[0], abs=0.15)


def test_scores_are_a_fifth_of_the_work_at_most(monkeypatch):
    monkeypatch.setattr("plefka.learning.honest_score.FREE_WORK", 0)
    found = []
    monkeypatch.setattr(HonestScore, "of", lambda self, network: found.append(self) or RowsScore(np.array(-1.0), 0.0))
    wide()
    score = next(each for each in found if each is not None)
    assert score._work(score.rows) / score.every <= score.epoch_work / 5


def test_a_verdict_speaks_of_the_first_network_that_it_is_about():
    numbers = {"score": np.array([-1.0, -2.5]), "error": np.array([0, 0.25])}
    found = sentence("ln P is {score:.4g} {kind}", np.array([False, True]), numbers, {})
    assert found == "1 of 2 networks: ln P is -2.5 (by sampling, +- 0.25)"
