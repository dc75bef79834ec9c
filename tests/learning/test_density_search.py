"""Machines whose hidden units are summed out, their penalty path and polish, and the search that uses them."""

import itertools

import jax
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.learning.density_search import search
from plefka.learning.penalty_path import penalty_path, strongest
from plefka.learning.semi_restricted import (
    CompleteRows,
    FreeChains,
    Penalties,
    SemiRestricted,
    averages,
    log_neighbours,
    polished,
)
from plefka.methods.posterior import Accuracy
from plefka.runtime.precision import precision

STATES = np.array(list(itertools.product([0, 1], repeat=4)), float)


def semi_restricted(columns: int = 4, hidden: int = 2, seed: int = 0) -> SemiRestricted:
    rng = np.random.default_rng(seed)
    L = np.tril(rng.normal(size=(columns, columns)), -1)
    return SemiRestricted(
        L + L.T, rng.normal(size=columns), rng.normal(size=(columns, hidden)), rng.normal(size=hidden)
    )


def log_joint(machine: SemiRestricted) -> np.ndarray:
    """ln P of all states of the columns."""
    weight = machine.log_weight(STATES)
    return weight - np.logaddexp.reduce(weight)


def pairs_of_rows(seed: int, count: int = 400) -> np.ndarray:
    """Six columns: two that go together, two that exclude each other, and two on their own."""
    rng = np.random.default_rng(seed)
    a, b, c, d = rng.random((4, count)) < 0.5
    return np.stack([a, a ^ (rng.random(count) < 0.1), b, ~b ^ (rng.random(count) < 0.1), c, d], axis=1) * 1.0


# ---- hidden units that are summed out --------------------------------------------------------------------------------


def test_the_weight_of_a_row_is_the_sum_over_hidden_units():
    machine = semi_restricted()
    network = machine.machine()
    rows = np.hstack([STATES, np.full((16, 2), np.nan)])
    np.testing.assert_allclose(machine.log_weight(STATES), pf.infer(network, rows, "exact").log_partition, atol=1e-12)
    scored = pf.score(network, rows)
    assert scored.is_exact
    np.testing.assert_allclose(scored.log_likelihood, log_joint(machine), atol=1e-12)
    moved = machine.around(np.array([0.3, -1, 2, 0.5]))
    np.testing.assert_allclose(log_joint(moved.around(-np.array([0.3, -1, 2, 0.5]))), log_joint(machine), atol=1e-12)


def test_neighbours_are_the_conditionals_of_the_joint():
    machine, means = semi_restricted(), np.array([0.1, 0.4, 0.7, 0.2])
    joint = log_joint(machine.around(-means))
    for row, state in enumerate(STATES):
        flipped = [np.flatnonzero((np.abs(state - np.eye(4)[i]) == STATES).all(axis=1))[0] for i in range(4)]
        expected = sum(joint[row] - np.logaddexp(joint[row], joint[other]) for other in flipped)
        with precision("float64"):
            assert float(log_neighbours(machine, state[None], means)[0]) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("values", [(0, 1), (-1, 1)])
@pytest.mark.parametrize("kind", ["sparse", "dense", "restricted"])
def test_one_small_step_by_neighbours_climbs_the_pseudo_likelihood(kind, values):
    """The step of plain gradient ascent is the slope, by differences, of the conditionals of the exact joint."""
    optax = pytest.importorskip("optax")
    parameters = semi_restricted()
    if kind == "restricted":
        machine = pf.BoltzmannMachine.restricted(parameters.weights, parameters.bias, parameters.hidden)
    else:
        machine = parameters.machine()
        weights = machine.weights if kind == "sparse" else machine.weights.toarray()
        machine = pf.BoltzmannMachine(weights, machine.bias)
    machine = machine.converted(values)
    off, on = values
    rows = np.where(np.random.default_rng(1).random((9, 4)) < 0.5, on, off).astype(float)
    rows = rows if kind == "restricted" else np.hstack([rows, np.full((9, 2), np.nan)])

    def pseudo_likelihood(machine: pf.BoltzmannMachine) -> float:
        found = 0.0
        for unit in range(4):
            both = [np.where(np.arange(rows.shape[1]) == unit, value, rows) for value in values]
            full = [z if z.shape[1] == 6 else np.hstack([z, np.full((9, 2), np.nan)]) for z in (rows, *both)]
            one, *two = (pf.infer(machine, z, "exact").log_partition for z in full)
            found += float(np.mean(one - np.logaddexp(*two)))
        return found

    step = pf.fit(machine, rows, "pseudolikelihood", epochs=1, optimizer=optax.sgd(1e-6), verbose=False).network
    slope = jax.tree.map(lambda new, old: (new - old) / 1e-6, step.parameters, machine.parameters)
    size = float(sum(np.sum(leaf**2) for leaf in jax.tree.leaves(slope)))
    assert pseudo_likelihood(step) - pseudo_likelihood(machine) == pytest.approx(1e-6 * size, rel=1e-3)
    direction = jax.tree.map(lambda g: 1e-4 * g / np.sqrt(size), slope)
    ends = [
        pseudo_likelihood(
            machine.with_parameters(jax.tree.map(lambda p, d, s=s: p + s * d, machine.parameters, direction))
        )
        for s in (1, -1)
    ]
    assert (ends[0] - ends[1]) / 2e-4 == pytest.approx(np.sqrt(size), rel=1e-5)


def test_hidden_units_learn_by_neighbours_what_pairs_cannot():
    """The parity of three columns has no pairwise trace."""
    rows = np.array([s for s in itertools.product([0, 1], repeat=3) if sum(s) % 2], float).repeat(20, axis=0)
    start = SemiRestricted(np.zeros((3, 3)), np.zeros(3), np.random.default_rng(0).normal(size=(3, 4)), np.zeros(4))
    whole = np.hstack([rows, np.full((80, 4), np.nan)])
    optimizer = pytest.importorskip("optax").adam(0.1)
    fitted = pf.fit(start.machine(), whole, "pseudolikelihood", epochs=120, optimizer=optimizer, verbose=False)
    assert pf.score(fitted.network, whole).mean > 1.3 * np.log(1 / 4)
    assert pf.fit(pf.ensembles.machine_to_learn(0, rows), rows, epochs=50, verbose=False).history["objective"][-1] < -2


# ---- the penalty path ------------------------------------------------------------------------------------------------


def test_points_of_the_path_are_maxima_and_zeros_are_zeros():
    rows = pairs_of_rows(0)
    values, counts = np.unique(rows, axis=0, return_counts=True)
    columns = CompleteRows.of(values, counts)
    top = strongest(columns)
    penalties = [Penalties(1.01 * top, 0.0), Penalties(top / 4, 1e-3), Penalties(0.0, 1e-2)]
    none, some, full = penalty_path(columns, SemiRestricted.alone(columns.means.astype(float)), penalties, 500)
    assert not none.pairs.any()
    assert 0 < np.count_nonzero(some.pairs) <= 6
    assert some.pairs[0, 1] > 1
    assert some.pairs[2, 3] < -1
    np.testing.assert_array_equal(full.pairs, full.pairs.T)
    for machine, (l1, l2, _) in zip((none, some, full), penalties, strict=True):
        z = columns.V - columns.means
        surprise = (columns.V - 1 / (1 + np.exp(-(z @ machine.pairs + machine.bias)))) * columns.shares[:, None]
        G = surprise.T @ z
        G = G + G.T - l2 * machine.pairs
        np.fill_diagonal(G, 0)
        on = machine.pairs != 0
        np.testing.assert_allclose(G[on], l1 * np.sign(machine.pairs[on]), atol=2e-4)
        assert np.abs(G[~on]).max(initial=0) <= l1 + 2e-4
        np.testing.assert_allclose(surprise.sum(axis=0), 0, atol=2e-3)


def test_l1_of_fit_leaves_zeros_too():
    rows = pairs_of_rows(1)
    start = pf.ensembles.machine_to_learn(0, rows)
    found = pf.fit(start, rows, "pseudolikelihood", epochs=150, batch_size=64, l1=0.2, verbose=False).network
    kept = np.argwhere(np.tril(np.abs(found.weights)) > 0)
    assert kept.tolist() == [[1, 0], [3, 2]]


def of_all_states(machine: SemiRestricted, columns: CompleteRows) -> SemiRestricted:
    """What the averages of chains estimate."""
    count = len(columns.means)
    z = np.array(list(itertools.product([0, 1], repeat=count)), np.float32) - columns.means
    log_weight = machine.log_weight(z)
    return averages(machine, z, np.exp(log_weight - np.logaddexp.reduce(log_weight)))


# ---- maximum likelihood ----------------------------------------------------------------------------------------------


def test_chains_have_the_averages_of_all_states():
    rng = np.random.default_rng(0)
    columns = CompleteRows.of(STATES, np.ones(16))
    machine = SemiRestricted(*(0.7 * part.astype(np.float32) for part in semi_restricted()))
    exact, chains = of_all_states(machine, columns), FreeChains(columns, rng)
    for _ in range(20):
        chains.averages(machine)
    found = [chains.averages(machine) for _ in range(150)]
    for part, expected in enumerate(exact):
        np.testing.assert_allclose(np.mean([each[part] for each in found], axis=0), expected, atol=0.01)


def test_polishing_matches_the_averages_of_the_rows():
    rows = pairs_of_rows(2)
    columns = CompleteRows.of(*np.unique(rows, axis=0, return_counts=True))
    (start,) = penalty_path(columns, SemiRestricted.alone(columns.means.astype(float)), [Penalties(0.0, 1e-2)], 100)
    *_, last = polished(start, columns, Penalties(0.0, 0.0), 4000, 0)
    free = of_all_states(last, columns)
    z = columns.V - columns.means
    np.testing.assert_allclose(free.bias, 0, atol=0.02)
    np.testing.assert_allclose(free.pairs, (z.T * columns.shares) @ z, atol=0.02)


# ---- the search ------------------------------------------------------------------------------------------------------


def test_a_search_scores_held_rows_exactly_where_it_can():
    rows, held = pairs_of_rows(3), pairs_of_rows(4)
    found = search(rows, held_out=held, budget=3, names=list("abcdef"), verbose=False)
    assert found.network.names[:6] == tuple("abcdef")
    padded = np.hstack([held, np.full((len(held), found.network.size - 6), np.nan)])
    assert found.kind is Accuracy.EXACT
    assert found.held_log_likelihood == pytest.approx(pf.score(found.network, padded).mean, abs=1e-4)
    truth = 4 * np.log(0.5) - 2 * (0.1 * np.log(1 / 0.1) + 0.9 * np.log(1 / 0.9))
    assert found.held_log_likelihood == pytest.approx(truth, abs=0.15)
    table = {each["family"]: each["held_log_likelihood"] for each in found.tried}
    assert table["independent columns"] < table["pairwise machine"]
    assert found.held_log_likelihood >= max(table.values()) - 1e-9
    again = search(rows, held_out=held, budget=3, verbose=False)
    assert again.held_log_likelihood == found.held_log_likelihood
    assert found.fitted.network is found.network
    assert len(found.history["validation"]) == found.fitted.epochs


def test_weights_of_held_rows_are_how_often_they_are_there():
    rows, held = pairs_of_rows(3, 60), pairs_of_rows(4, 10)
    count = np.arange(10)
    once = search(rows, held_out=held, held_out_weights=count, budget=1, verbose=False)
    often = search(rows, held_out=held.repeat(count, axis=0), budget=1, verbose=False)
    assert once.held_log_likelihood == pytest.approx(often.held_log_likelihood, abs=1e-12)
    for found in (once, often):
        best = max((each for each in found.tried if each["kind"]), key=lambda each: each["held_log_likelihood"])
        assert str(found.fitted.method) == ("persistent" if "maximum" in best["settings"] else "pseudolikelihood")


@pytest.mark.parametrize("shape", [(20, 3), (2, 1), (5, 2)])
def test_a_search_takes_little_data_and_constant_columns(shape):
    rows = (np.random.default_rng(0).random(shape) < 0.5) * 1.0
    rows[:, -1] = 1
    found = search(rows, weights=np.arange(1, len(rows) + 1), budget=1, verbose=False)
    assert np.isfinite(found.held_log_likelihood)
    assert np.isfinite(found.network.bias).all()


def test_a_search_leaves_out_what_missing_values_forbid():
    rows = pairs_of_rows(5, 60)
    rows[np.random.default_rng(0).random(rows.shape) < 0.2] = np.nan
    found = search(rows, budget=2, verbose=False)
    left_out = {each["family"] for each in found.tried if each["kind"] is None}
    assert left_out == {"pairwise machine", "semi-restricted machine"}
    families = [each["family"] for each in found.tried[3:]]
    assert set(families) == {"restricted machine", "sigmoid belief network"}
    assert len(families) == 3  # the better one at greater length
    assert str(found.fitted.method) in ("persistent", "G12", "pseudolikelihood")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"budget": 0}, "budget must be a number of seconds above 0"),
        ({"rows": [[0, 1]]}, "rows must be a table of 2 rows or more"),
        ({"rows": [[0, 2], [1, 1]]}, "rows must be 0, 1 or nan"),
        ({"weights": [1, -1]}, "weights must be 2 numbers that are not negative"),
    ],
)
def test_what_cannot_be_searched_is_refused(change, message):
    with pytest.raises(pf.errors.InvalidInput, match=message):
        search(**{"rows": [[0, 1], [1, 1]], "budget": 1, "verbose": False} | change)


def test_hidden_units_that_are_apart_are_summed_exactly():
    machine = semi_restricted(4, 3).machine()
    assert sp.issparse(machine.weights)
    assert pf.score(machine, np.hstack([STATES, np.full((16, 3), np.nan)])).is_exact
