"""Learning: the likelihood rises, constraints hold, and runs stop, resume and refuse."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.learning.checkpoint import digest
from plefka.learning.fitted import ABOVE_ZERO
from plefka.learning.patterns import as_patterns
from plefka.progress import interruptible, uninterrupted
from tests.learning.bars import BARS, SOURCE_ENTROPY


def small(activation, seed=0):
    """2 x 3 x 4 units with moderate weights."""
    rng = np.random.default_rng(seed)
    low = 0.1 if activation == "noisy_or" else -0.8
    weights = [rng.uniform(low, 0.8, (below, above)) for above, below in ((2, 3), (3, 4))]
    return pf.BeliefNetwork.layered(weights, [rng.uniform(low, 0.8, n) for n in (2, 3, 4)], activation)


ROWS = np.array([[0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, np.nan, 1, 0]])


# ---- learning --------------------------------------------------------------------------------------------------------


def test_the_likelihood_rises_and_the_history_says_so():
    fitted = pf.fit(pf.ensembles.to_learn((1, 8), BARS, 0), BARS, "SJJ", epochs=60)
    history = fitted.history
    assert fitted.stopped is pf.Stopped.EPOCHS
    assert history["objective"][-1] > history["objective"][0] + 2
    assert np.all(history["objective"][1:] <= history["log_likelihood"][:-1] + 1e-9)  # SJJ is a bound
    assert np.all(history["log_likelihood"] < -SOURCE_ENTROPY + 0.01)
    np.testing.assert_array_equal(history["epoch"], np.arange(1, 61))
    assert np.all(np.diff(history["seconds"]) > 0)


def test_the_exact_likelihood_is_that_of_enumeration():
    network = small("sigmoid")
    fitted = pf.fit(network, ROWS, epochs=2)
    evidence = as_patterns(network, ROWS).rows()
    truth = pf.infer(fitted.network, evidence, "exact").log_likelihood.mean()
    np.testing.assert_allclose(fitted.history["log_likelihood"][-1], truth, rtol=1e-12)


def test_a_stack_learns_as_its_networks_do_alone():
    stack = pf.ensembles.to_learn((1, 4), BARS[:300], 0, count=3)
    together = pf.fit(stack, BARS[:300], epochs=5)
    for k in range(3):
        alone = pf.BeliefNetwork(stack.storage.take(k), stack.bias[k], layers=stack.layers)
        fitted = pf.fit(alone, BARS[:300], epochs=5)
        np.testing.assert_allclose(together.network.bias[k], fitted.network.bias, atol=1e-6)
        np.testing.assert_allclose(together.history["objective"][:, k], fitted.history["objective"], atol=1e-6)


def test_equal_rows_are_merged_and_weights_count():
    network = small("sigmoid")
    rows = np.array([[0, 1, 1, 0], [0, 1, 1, 0], [1, 1, 0, 0.0]])
    repeated = pf.fit(network, rows, epochs=3)
    weighted = pf.fit(network, rows[1:], weights=[2, 1], epochs=3)
    np.testing.assert_array_equal(repeated.network.bias, weighted.network.bias)
    assert len(as_patterns(network, rows)) == 2


def test_columns_may_be_all_units_names_or_the_bottom_layer():
    pd = pytest.importorskip("pandas")
    network = small("sigmoid")
    whole = np.hstack([np.full((4, 5), np.nan), ROWS])
    frame = pd.DataFrame(ROWS[:, ::-1], columns=["8", "7", "6", "5"])
    first = pf.fit(network, ROWS, epochs=2).network.bias
    for rows in (whole, frame):
        np.testing.assert_allclose(pf.fit(network, rows, epochs=2).network.bias, first, rtol=1e-12)


def test_batches_are_shuffled_by_the_seed():
    network = small("sigmoid")
    rows = np.random.default_rng(0).integers(0, 2, (50, 4)).astype(float)
    runs = [pf.fit(network, rows, epochs=3, batch_size=4, seed=seed).network.bias for seed in (0, 0, 1)]
    np.testing.assert_array_equal(runs[0], runs[1])
    assert np.any(runs[0] != runs[2])
    with pytest.raises(pf.errors.InvalidInput, match=r"shuffled by a seed; add one, as in fit\(\.\.\., seed=0\)"):
        pf.fit(network, rows, epochs=3, batch_size=4)


def test_missing_entries_count_for_nothing():
    """A row with holes is learned from as the marginal of its network: its hidden leaves change no gradient."""
    network = small("sigmoid")
    rows = np.array([[0, 1, 1, np.nan], [1, 1, 0, np.nan]])
    whole = np.hstack([np.full((2, 5), np.nan), rows])
    learned = pf.fit(network, whole, epochs=3).network
    np.testing.assert_array_equal(learned.weights[1][3], network.weights[1][3])
    assert np.all(learned.weights[1][:3] != network.weights[1][:3])


# ---- constraints -----------------------------------------------------------------------------------------------------


def test_noisy_or_stays_in_its_domain_at_every_step():
    """With steps of 3 plain numbers would be negative at once."""
    network, bold = small("noisy_or"), optax.adam(3.0)
    for epochs in range(1, 12):
        learned = pf.fit(network, ROWS, "G12", epochs=epochs, optimizer=bold).network
        assert min(W.min() for W in learned.weights) >= 0
        assert learned.bias.min() > 0
        pf.BeliefNetwork.layered(learned.weights, np.split(learned.bias, [2, 5]), "noisy_or")


def test_absent_edges_stay_absent():
    network = small("sigmoid")
    masks = [np.ones((3, 2)), np.eye(4, 3)]
    start = network.with_parameters(((network.weights[0], network.weights[1] * masks[1]), network.bias))
    learned = pf.fit(start, ROWS, masks=masks, epochs=5).network
    assert np.all(learned.weights[1][masks[1] == 0] == 0)
    assert np.all(learned.weights[1][masks[1] == 1] != start.weights[1][masks[1] == 1])


def test_masks_remove_edges_that_were_there():
    masks = [np.ones((3, 2)), np.eye(4, 3)]
    fitted = pf.fit(small("sigmoid"), ROWS, masks=masks, epochs=1)
    assert np.all(fitted.network.weights[1][masks[1] == 0] == 0)


@pytest.mark.parametrize("form", [np.stack, lambda stack: [sp.csr_array(W) for W in stack]])
def test_every_network_of_a_stack_keeps_its_own_graph(form):
    """All edges together would be a cycle."""
    stack = [np.array([[0, 0, 0], [1.0, 0, 0], [0, 0, 0]]), np.array([[0, 1.0, 0], [0, 0, 0], [1.0, 0, 0]])]
    rows = np.array([[np.nan, 1, 0], [np.nan, 0, 0], [np.nan, 1, 1]])
    learned = pf.fit(pf.BeliefNetwork(form(stack), np.zeros((2, 3))), rows, epochs=2).network
    for W, found in zip(stack, learned.storage.to_sparse(), strict=True):
        np.testing.assert_array_equal(found.toarray() != 0, W != 0)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_a_matrix_keeps_its_graph(form):
    W = np.array([[0, 0, 0], [0.5, 0, 0], [0.3, -0.4, 0]])
    rows = np.array([[np.nan, 1, 0], [np.nan, 0, 0], [np.nan, 1, 1]])
    learned = pf.fit(pf.BeliefNetwork(form(W), [0.1, 0.2, 0.3]), rows, epochs=5).network.weights
    learned = learned.toarray() if sp.issparse(learned) else learned
    np.testing.assert_array_equal(learned != 0, W != 0)
    assert np.all(learned[W != 0] != W[W != 0])


def test_frozen_parameters_keep_their_value_and_shared_ones_move_as_one():
    network = small("sigmoid")
    learned = pf.fit(network, ROWS, frozen="bias", epochs=3).network
    np.testing.assert_array_equal(learned.bias, network.bias)
    groups = ((np.zeros((3, 2), int), np.ones((4, 3), int)), np.r_[np.zeros(5, int), np.full(4, 2)])
    learned = pf.fit(network, ROWS, shared=groups, epochs=3).network
    assert np.ptp(learned.weights[1]) == 0
    assert np.ptp(learned.bias[5:]) == 0
    assert np.ptp(learned.weights[0]) > 0


def test_penalties_shrink_the_weights():
    def size(l1: float, l2: float) -> float:
        return np.abs(pf.fit(small("sigmoid"), ROWS, epochs=60, l1=l1, l2=l2).network.weights[1]).sum()

    assert size(0.1, 0.0) < size(0.0, 0.0)
    assert size(0.0, 0.5) < size(0.0, 0.0)


# ---- stopping --------------------------------------------------------------------------------------------------------


def test_validation_stops_and_the_best_network_is_returned():
    rng = np.random.default_rng(0)
    rows = rng.integers(0, 2, (6, 4)).astype(float)
    other = rng.integers(0, 2, (50, 4)).astype(float)
    fitted = pf.fit(small("sigmoid"), rows, validation=other, patience=5, epochs=500)
    assert fitted.stopped is pf.Stopped.VALIDATION
    best = np.argmax(fitted.history["validation"])
    assert fitted.epochs == best + 1 + 5
    again = pf.fit(small("sigmoid"), rows, epochs=int(best) + 1)
    np.testing.assert_allclose(fitted.network.bias, again.network.bias, rtol=1e-12)


def test_validation_rows_have_weights_and_may_lack_a_column():
    held_out = np.array([[0, 1, 1, np.nan], [1, 1, 0, np.nan]])
    run = {"network": small("sigmoid"), "rows": ROWS, "epochs": 1}
    weighted = pf.fit(**run, validation=held_out, validation_weights=[2, 1])
    repeated = pf.fit(**run, validation=held_out[[0, 0, 1]])
    np.testing.assert_allclose(weighted.history["validation"], repeated.history["validation"], rtol=1e-12)


def test_a_callback_sees_every_epoch_and_may_stop():
    seen = []

    def third(entry):
        seen.append(entry["objective"])
        return entry["epoch"] == 3

    fitted = pf.fit(small("sigmoid"), ROWS, epochs=10, callback=third)
    assert fitted.stopped is pf.Stopped.CALLBACK
    np.testing.assert_array_equal(fitted.history["objective"], seen)
    assert len(seen) == 3


def test_a_callback_has_the_settings_of_its_user():
    seen = []

    def look(entry):
        seen.append((jnp.ones(1).dtype, jax.jit(lambda x: x + 1)(1.0).dtype))

    pf.fit(small("sigmoid"), ROWS, epochs=1, callback=look)
    with jax.enable_x64(True):
        pf.fit(small("sigmoid"), ROWS, epochs=1, callback=look)
    assert seen == [(jnp.float32, jnp.float32), (jnp.float64, jnp.float64)]


def test_an_interruption_returns_what_was_learned():
    def stop(entry):
        if entry["epoch"] == 4:
            raise KeyboardInterrupt

    fitted = pf.fit(small("sigmoid"), ROWS, epochs=100, callback=stop)
    assert fitted.stopped is pf.Stopped.INTERRUPTED
    np.testing.assert_array_equal(fitted.network.bias, pf.fit(small("sigmoid"), ROWS, epochs=4).network.bias)


@pytest.fixture
def interruptible_process():
    """SIGINT as in the foreground: a process started by nohup or behind & inherits that it is ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible_process")
def test_an_interruption_that_is_swallowed_still_stops():
    def swallow(entry):
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)

    fitted = pf.fit(small("sigmoid"), ROWS, epochs=100, callback=swallow)
    assert (fitted.stopped, fitted.epochs) == (pf.Stopped.INTERRUPTED, 1)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("interruptible_process")
def test_a_second_interruption_comes_at_once():
    with interruptible() as check:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            check()


# ---- what cannot be learned ------------------------------------------------------------------------------------------


def test_estimates_that_no_probability_allows_are_no_success():
    """G22 is unbounded below, and learning finds out."""
    run = {"network": small("sigmoid"), "rows": ROWS, "method": "G22", "optimizer": optax.adam(0.2)}
    early, late = pf.fit(**run, epochs=27), pf.fit(**run, epochs=100)
    assert early.history["objective"][-1] > 0
    assert early.warnings == [ABOVE_ZERO]
    assert late.stopped is pf.Stopped.NOT_FINITE
    assert late.failed
    assert np.all(np.isfinite(late.network.bias))
    assert np.nanmax(late.history["objective"]) < 1


def probit_with_an_impossible_row():
    """S = (1, 1) has probability 0, and the slope of ln 0 is no number."""
    log_on = jax.scipy.stats.norm.logcdf
    activation = pf.Custom(log_on=log_on, log_off=lambda x: log_on(-x), name="probit")
    return pf.BeliefNetwork([[0, 0], [-1e200, 0]], [0.0, 0.0], activation)


def test_a_row_that_cannot_be_solved_leaves_the_others_alone():
    rows = np.array([[1, 1], [0, 1], [0, 0.0]])
    fitted = pf.fit(probit_with_an_impossible_row(), rows, "G11", epochs=3)
    others = pf.fit(probit_with_an_impossible_row(), rows[1:], "G11", epochs=3)
    assert fitted.stopped is pf.Stopped.EPOCHS
    np.testing.assert_allclose(fitted.history["solved"], 2 / 3)
    np.testing.assert_allclose(fitted.history["objective"], others.history["objective"], atol=0.01)


def test_a_validation_row_that_fails_does_not_help():
    rows, network = np.array([[0, 1], [0, 0.0]]), probit_with_an_impossible_row()
    good, failing = (
        pf.fit(network, rows, "G11", epochs=1, validation=np.vstack([rows, row])).history["validation"][0]
        for row in ([0.0, 1.0], [1.0, 1.0])
    )
    assert failing <= good
    alone = pf.fit(network, rows, "G11", epochs=1, validation=[[1.0, 1.0]])
    assert alone.history["validation"][0] == -np.inf


def test_a_bad_start_does_not_stop_the_others():
    good = small("sigmoid")
    weights = [np.stack([W, W * 1e200]) for W in good.weights]
    stack = pf.BeliefNetwork.layered(weights, [np.stack([h, h]) for h in np.split(good.bias, [2, 5])])
    fitted = pf.fit(stack, ROWS, epochs=5)
    assert fitted.stopped is pf.Stopped.EPOCHS
    np.testing.assert_array_equal(fitted.failed, [False, True])
    np.testing.assert_allclose(fitted.network.bias[0], pf.fit(good, ROWS, epochs=5).network.bias, rtol=1e-9)
    np.testing.assert_array_equal(fitted.network.bias[1], good.bias)
    assert all(warning.startswith("1 of 2 networks: ") for warning in fitted.warnings)


# ---- checkpoints -----------------------------------------------------------------------------------------------------

RUN = """
import sys
import numpy as np
import plefka as pf
from tests.learning.test_fit import small
rows = np.random.default_rng(0).integers(0, 2, (60, 4)).astype(float)
fitted = pf.fit(small("sigmoid"), rows, epochs=int(sys.argv[2]), batch_size=7, seed=3, checkpoint=sys.argv[1],
                checkpoint_every=0.0, validation=rows[:9], patience=10**6,
                callback=lambda entry: print(entry["epoch"], flush=True))
np.savez(sys.argv[1] + ".result", bias=fitted.network.bias, *fitted.network.weights,
         **{k: v for k, v in fitted.history.items() if k != "seconds"})
"""


def command(path, epochs):
    return [sys.executable, "-c", RUN, str(path), str(epochs)]


def cached(folder) -> dict[str, str]:
    """An environment in which programs that are the same are compiled once."""
    cache = {"JAX_COMPILATION_CACHE_DIR": str(folder), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    return os.environ | cache | {"JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1"}


@pytest.mark.slow
def test_a_killed_run_goes_on_to_the_very_same_result(tmp_path):
    options: Any = {"cwd": os.getcwd(), "env": cached(tmp_path / "cache"), "text": True}
    subprocess.run(command(tmp_path / "whole.npz", 120), check=True, stdout=subprocess.DEVNULL, **options)
    killed = subprocess.Popen(command(tmp_path / "killed.npz", 120), stdout=subprocess.PIPE, **options)
    assert killed.stdout is not None
    for line in killed.stdout:
        if int(line) >= 40:
            killed.send_signal(signal.SIGKILL)
            break
    killed.stdout.close()
    assert killed.wait() == -signal.SIGKILL
    again = subprocess.run(command(tmp_path / "killed.npz", 120), check=True, stdout=subprocess.PIPE, **options)
    assert 30 < int(again.stdout.split()[0]) < 120  # it did not begin anew
    whole, resumed = (np.load(tmp_path / f"{name}.npz.result.npz") for name in ("whole", "killed"))
    for name in whole.files:
        np.testing.assert_array_equal(whole[name], resumed[name], err_msg=name)


def test_a_finished_run_is_only_read(tmp_path):
    path = tmp_path / "run.npz"
    first = pf.fit(small("sigmoid"), ROWS, epochs=5, checkpoint=path)
    again = pf.fit(small("sigmoid"), ROWS, epochs=5, checkpoint=path)
    np.testing.assert_array_equal(first.network.bias, again.network.bias)
    longer = pf.fit(small("sigmoid"), ROWS, epochs=9, checkpoint=path)
    np.testing.assert_array_equal(longer.network.bias, pf.fit(small("sigmoid"), ROWS, epochs=9).network.bias)


@pytest.mark.parametrize(
    ("other", "reason"),
    [
        ({"network": small("sigmoid", seed=1)}, "start must be"),
        ({"network": small("noisy_or")}, "network must be"),
        ({"rows": ROWS[:2]}, "rows must be"),
        ({"method": "G11"}, "method must be 'G11'; got 'G12'"),
        ({"optimizer": optax.sgd(0.1)}, "optimizer must be"),
        ({"optimizer": optax.adam(0.07)}, "optimizer's steps must be"),
        ({"l1": 0.1}, "l1 must be 0.1; got 0.0"),
        ({"l2": 0.1}, "l2 must be 0.1; got 0.0"),
        ({"tol": 1e-3}, "tol must be 0.001; got 0.0001"),
        ({"frozen": "bias"}, "masks or frozen must be"),
    ],
)
def test_a_checkpoint_of_another_run_is_refused_and_kept(tmp_path, other, reason):
    path = tmp_path / "run.npz"
    pf.fit(small("sigmoid"), ROWS, epochs=2, checkpoint=path)
    before = path.read_bytes()
    run = {"network": small("sigmoid"), "rows": ROWS, "method": "G12", "epochs": 2, **other}
    with pytest.raises(pf.errors.InvalidFile, match=f"run.npz.*belongs to another run: {reason}.*Nothing was changed"):
        pf.fit(checkpoint=path, **run)
    assert path.read_bytes() == before


def customised(log_on, domain=(-np.inf, np.inf)):
    """The weights of `small` with an activation of one name for all."""
    activation = pf.Custom(log_on=log_on, log_off=lambda x: jnp.log1p(-jnp.exp(log_on(x))), domain=domain)
    start = small("noisy_or")
    return pf.BeliefNetwork.layered(start.weights, np.split(start.bias, [2, 5]), activation)


@pytest.mark.parametrize(
    "other", [customised(jax.scipy.stats.norm.logcdf), customised(jax.nn.log_sigmoid, (0, np.inf))]
)
def test_a_checkpoint_of_another_activation_is_refused(tmp_path, other):
    path = tmp_path / "run.npz"
    pf.fit(customised(lambda x: jax.nn.log_sigmoid(x)), ROWS, epochs=1, checkpoint=path)
    pf.fit(customised(jax.nn.log_sigmoid), ROWS, epochs=1, checkpoint=path)  # the same function written twice
    with pytest.raises(pf.errors.InvalidFile, match=r"activation must be 'custom on .*; got 'custom on \(-inf, inf\)"):
        pf.fit(other, ROWS, epochs=1, checkpoint=path)


def test_a_checkpoint_of_another_graph_is_refused(tmp_path):
    """One edge of the same weight, between other units."""
    run: Any = {"rows": np.array([[0, 1, 1], [0, 1, 0], [0, 0, 0.0]]), "epochs": 1, "checkpoint": tmp_path / "run.npz"}
    first, other = (pf.BeliefNetwork(sp.csr_array(([0.5], ([2], [j])), (3, 3)), np.zeros(3)) for j in (0, 1))
    pf.fit(first, **run)
    with pytest.raises(pf.errors.InvalidFile, match="start must be"):
        pf.fit(other, **run)


def test_a_digest_tells_shapes_and_types_apart():
    arrays = (np.zeros((2, 3)), np.zeros((3, 2)), np.zeros(6), np.zeros(12, np.float32), [np.zeros(2), np.zeros(4)])
    assert len({digest(tree) for tree in arrays}) == len(arrays)
    assert digest(np.arange(6).reshape(2, 3).T) == digest(np.array([[0, 3], [1, 4], [2, 5]]))


def test_epochs_count_those_of_the_checkpoint(tmp_path):
    path = tmp_path / "run.npz"
    pf.fit(small("sigmoid"), ROWS, epochs=3, checkpoint=path)
    with pytest.raises(pf.errors.InvalidInput, match=r"run\.npz', so it must be at least 3 to resume training; got 2"):
        pf.fit(small("sigmoid"), ROWS, epochs=2, checkpoint=path)


def test_what_a_checkpoint_cannot_do_is_known_before_the_first_epoch(tmp_path):
    seen = []
    with pytest.raises(pf.errors.InvalidFile, match=r"the folder '.*nowhere' does not exist"):
        pf.fit(small("sigmoid"), ROWS, epochs=2, checkpoint=tmp_path / "nowhere" / "run.npz", callback=seen.append)
    assert not seen

    def is_written(entry):
        assert (tmp_path / "run.npz").exists()

    seed: Any = np.int64(3)
    pf.fit(small("sigmoid"), ROWS, epochs=1, seed=seed, checkpoint=tmp_path / "run.npz", callback=is_written)


MOVES = ((True, False), True)  # of the weights in two blocks, and the bias
OPTIMIZERS = {
    "masked": optax.masked(optax.adam(0.1), MOVES),
    "bool": optax.apply_if_finite(optax.sgd(0.1), 3),
    "key": optax.chain(optax.add_noise(0.1, 0.5, key=jax.random.key(0)), optax.sgd(0.1)),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_any_state_of_an_optimiser_learns_and_resumes(tmp_path, name):
    arguments = {"network": small("sigmoid"), "rows": ROWS, "optimizer": OPTIMIZERS[name]}
    for epochs in (1, 3):
        resumed = pf.fit(**arguments, epochs=epochs, checkpoint=tmp_path / "run.npz")
    np.testing.assert_array_equal(resumed.network.bias, pf.fit(**arguments, epochs=3).network.bias)


@pytest.mark.parametrize("damage", [lambda b: b[: len(b) // 2], lambda b: b"no archive", lambda b: b""])
def test_a_damaged_checkpoint_is_refused_and_kept(tmp_path, damage):
    path = tmp_path / "run.npz"
    pf.fit(small("sigmoid"), ROWS, epochs=2, checkpoint=path)
    path.write_bytes(damage(path.read_bytes()))
    before = path.read_bytes()
    with pytest.raises(pf.errors.InvalidFile, match="Nothing was changed"):
        pf.fit(small("sigmoid"), ROWS, epochs=2, checkpoint=path)
    assert path.read_bytes() == before


# ---- bad input -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([[0, 1, 2, 0]], r"rows must be 0, 1 or nan \(missing\); got 2 in row 0, unit '7'"),
        (np.zeros((0, 4)), "rows must not be empty"),
        ([[0, 1, np.nan, 0], [1, 1, np.nan, 1]], "always missing: 7"),
        (np.full((2, 9), np.nan), "every entry is nan"),
        (np.zeros((3, 5)), r"rows must have 4 columns \(the bottom layer\) or 9.*got shape \(3, 5\)"),
        (np.zeros(4), r"got shape \(4,\)"),
        ([["a", "b", "c", "d"]], "rows must be numbers"),
    ],
)
def test_bad_rows_are_refused(rows, message):
    with pytest.raises(pf.errors.InvalidInput, match=message):
        pf.fit(small("sigmoid"), rows, epochs=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "exact"}, "exact has no free energy to learn by"),
        ({"epochs": 0}, "epochs must be a whole number of 1 or more; got 0"),
        ({"batch_size": 2.5}, "batch_size must be"),
        ({"l1": -1}, "l1 must be"),
        ({"weights": [1, 2]}, "weights must be 4 numbers"),
        ({"frozen": "everything"}, "frozen must be 'weights', 'bias' or a pair"),
        ({"masks": [np.ones((3, 2))]}, r"masks must be arrays of the shapes \(3, 2\), \(4, 3\)"),
        ({"frozen": ((np.ones((3, 2)), np.ones((4, 3))), np.ones(9))}, "nothing to learn"),
        ({"validation": [[0, 1, 0.5, 1]]}, "validation must be 0, 1 or nan"),
        ({"validation": ROWS, "validation_weights": [1, 2]}, "validation_weights must be 4 numbers"),
        ({"validation_weights": [1, 2]}, "validation_weights are for the rows in validation"),
        ({"optimizer": "adam"}, "optimizer must have the functions init and update.*got 'adam'"),
        ({"seed": 2**64}, r"seed must be a whole number from 0 to 2\^63 - 1; got"),
        ({"seed": 0.5}, "seed must be a whole number"),
        ({"checkpoint_every": -1}, "checkpoint_every must be a number of 0 or more; got -1"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(pf.errors.InvalidInput, match=message):
        pf.fit(**{"network": small("sigmoid"), "rows": ROWS, **options})


def test_a_negative_noisy_or_weight_must_be_frozen():
    W = np.array([[0, 0, 0], [0, 0, 0], [0.5, -0.3, 0]])
    network = pf.BeliefNetwork(W, [0.2, 0.2, 0.4], "noisy_or")
    rows = np.array([[np.nan, np.nan, 1], [np.nan, 1, 0]])
    with pytest.raises(pf.errors.InvalidNetwork, match="freeze inhibiting edges"):
        pf.fit(network, rows, epochs=1)
    learned = pf.fit(network, rows, epochs=2, frozen=(W < 0, None)).network
    assert learned.weights[2, 1] == -0.3


@pytest.mark.usefixtures("interruptible_process")
def test_an_interruption_waits_for_the_end_of_a_change():
    seen = []

    def change():
        with uninterrupted():
            signal.raise_signal(signal.SIGINT)
            seen.append("the rest")
        seen.append("not this")

    with pytest.raises(KeyboardInterrupt):
        change()
    assert seen == ["the rest"]
