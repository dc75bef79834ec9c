"""Units of different kinds in one network, against brute force over the joint table."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plefka as pf
from tests.compilations import compilations
from tests.mixed_networks import CAUCHY, joint, posterior, random_unit, random_units, some_evidence

SEEDS = st.integers(0, 10**6)
NETWORK = pf.BeliefNetwork.of_units(UNITS := random_units(5, 6))


@given(seed=SEEDS, size=st.integers(1, 6), certain=st.booleans())
@settings(max_examples=40, deadline=None)
def test_joint_and_exact_are_those_of_the_table(seed, size, certain):
    units = random_units(seed, size, certain=certain)
    network, (states, P) = pf.BeliefNetwork.of_units(units), joint(units)
    with np.errstate(divide="ignore"):
        np.testing.assert_allclose(network.log_joint(states.astype(float)), np.log(P), atol=1e-12)
    evidence = some_evidence(units, seed, soft=size > 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_p, means = posterior(units, evidence)
    if np.isneginf(log_p):
        found = pf.infer(network, np.atleast_2d(evidence_row(network, evidence)), "exact")
        assert found.log_likelihood[0] == -np.inf
        return
    for prune in (True, False):
        found = pf.infer(network, evidence, "exact", prune=prune)
        assert found.log_likelihood == pytest.approx(log_p, abs=1e-10)
        np.testing.assert_allclose(found.means, means, atol=1e-10)


def evidence_row(network, evidence):
    row = np.full(network.size, np.nan)
    for name, value in evidence.items():
        if not isinstance(value, pf.Likelihood):
            row[network.index(name)] = value
    return row


@pytest.mark.slow
@given(seed=SEEDS, size=st.integers(2, 6))
@settings(max_examples=25, deadline=None)
def test_bethe_is_exact_on_polytrees(seed, size):
    units = random_units(seed, size, polytree=True)
    evidence = some_evidence(units, seed, soft=size > 2)
    log_p, means = posterior(units, evidence)
    found = pf.infer(pf.BeliefNetwork.of_units(units), evidence, "bethe[tol=1e-12]")
    assert found.log_likelihood == pytest.approx(log_p, abs=1e-9)
    np.testing.assert_allclose(found.means, means, atol=1e-8)


@pytest.mark.slow
@given(seed=SEEDS, size=st.integers(2, 6))
@settings(max_examples=20, deadline=None)
def test_bounds_are_below_the_truth_and_holding_all_units_is_exact(seed, size):
    units = random_units(seed, size)
    network, evidence = pf.BeliefNetwork.of_units(units), some_evidence(units, seed, soft=False)
    log_p, means = posterior(units, evidence)
    first = pf.infer(network, evidence, "G1")
    assert first.is_bound
    assert first.log_likelihood <= log_p + 1e-9
    mixture = pf.infer(network, evidence, "mixture[2]", throw=False)
    assert first.log_likelihood - 1e-4 <= mixture.log_likelihood <= log_p + 1e-9
    held = pf.infer(network, evidence, "conditioned[G1,k=6]")
    assert held.log_likelihood == pytest.approx(log_p, abs=1e-9)
    relevant = ~np.isnan(means)
    np.testing.assert_allclose(held.means[relevant], means[relevant], atol=2e-2)  # of barren units from means alone


@pytest.mark.slow
def test_second_order_is_closer_than_the_first():
    evidence = some_evidence(UNITS, 1)
    log_p, _ = posterior(UNITS, evidence)
    errors = {name: abs(pf.infer(NETWORK, evidence, name).log_likelihood - log_p) for name in ("G1", "G2", "G3", "G4")}
    assert errors["G2"] < errors["G1"]
    assert errors["G4"] < errors["G1"]


def test_sampling_agrees_with_the_table():
    evidence = some_evidence(UNITS, 2)
    log_p, means = posterior(UNITS, evidence)
    found = pf.infer(NETWORK, evidence, "gibbs[seed=0]")
    assert found.log_likelihood == pytest.approx(log_p, abs=0.05)
    np.testing.assert_allclose(found.means, means, atol=0.05)
    check = pf.infer(NETWORK, evidence, "bethe").check(seed=0)
    assert check.reliable
    assert check.log_likelihood == pytest.approx(log_p, abs=5 * check.standard_error + 1e-3)
    states, P = joint(UNITS)
    drawn = NETWORK.sample(0, 20_000)
    np.testing.assert_allclose(drawn.mean(axis=0), P @ states, atol=0.02)


@pytest.mark.parametrize("method", ["exact", "bethe", "G1", "conditioned[bethe,k=2]"])
def test_a_batch_is_a_loop(method):
    rng = np.random.default_rng(3)
    rows = np.where(rng.random((5, NETWORK.size)) < 0.6, np.nan, rng.integers(0, 2, (5, NETWORK.size)))
    together = pf.infer(NETWORK, rows, method)
    for row, log_p, means in zip(rows, together.log_likelihood, together.means, strict=True):
        alone = pf.infer(NETWORK, row, method)
        assert alone.log_likelihood == pytest.approx(log_p, abs=1e-7)
        np.testing.assert_allclose(alone.means, means, atol=1e-5)


@pytest.mark.parametrize("method", ["bethe", "G1"])
def test_reductions_do_not_change_what_is_exact(method):
    units = random_units(8, 7, polytree=True)
    network, evidence = pf.BeliefNetwork.of_units(units), some_evidence(units, 8)
    pruned, whole = (pf.infer(network, evidence, method, prune=prune) for prune in (True, False))
    if method == "bethe":
        assert pruned.log_likelihood == pytest.approx(whole.log_likelihood, abs=1e-7)
        np.testing.assert_allclose(pruned.means, whole.means, atol=1e-6)
    else:  # what is summed out by hand is not approximated
        assert pruned.log_likelihood >= whole.log_likelihood - 1e-9


def test_roots_are_summed_out_beside_tables():
    """Noisy-or units that are off, and roots with one child, go as they do in a network of noisy-or alone."""
    units = [
        ("cause", [], "noisy_or", [], 0.2), ("other", [], "noisy_or", [], 0.1),
        ("table", ["cause"], pf.Table([0.2, 0.7])),
        ("finding", ["cause", "other"], "noisy_or", [1.0, 2.0], 0.01), ("off", ["cause"], "noisy_or", [0.7], 0.02),
    ]  # fmt: skip
    units, evidence = [pf.Unit(*unit) for unit in units], {"table": 1, "finding": 1, "off": 0}
    log_p, means = posterior(units, evidence)
    found = pf.infer(pf.BeliefNetwork.of_units(units), evidence, "G1")
    assert found.log_likelihood == pytest.approx(log_p, abs=1e-9)  # a single unit is left
    np.testing.assert_allclose(found.means, means, atol=1e-6)


@pytest.mark.parametrize("method", ["exact", "bethe", "G1"])
def test_inside_a_trace(method):
    evidence = jnp.asarray([[np.nan] * 5 + [1.0], [0.0] + [np.nan] * 4 + [1.0]])
    expected = pf.infer(NETWORK, np.asarray(evidence), method, prune=False)
    with jax.enable_x64(True):
        found = jax.jit(lambda rows: pf.infer(NETWORK, rows, method, prune=False).log_likelihood)(evidence)
    np.testing.assert_allclose(found, expected.log_likelihood, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exact", "G1"])
def test_derivatives_by_the_biases_of_units_that_have_fields(method):
    units = [pf.Unit("a", [], "sigmoid", [], 0.3), pf.Unit("b", [], "sigmoid", [], -0.2)]
    units += [pf.Unit("c", ["a", "b"], pf.Table([[0.1, 0.6], [0.4, 0.9]])), pf.Unit("d", ["c"], "sigmoid", [1.5], 0.1)]
    network = pf.BeliefNetwork.of_units(units)

    def log_p(bias):
        changed = network.with_parameters((network.parameters[0], bias))
        return pf.infer(changed, jnp.asarray([np.nan, np.nan, np.nan, 1.0]), method, prune=False).log_likelihood

    with jax.enable_x64(True):
        slope = jax.grad(log_p)(jnp.asarray(network.bias))
        for unit in (0, 1, 3):
            step = np.zeros(4)
            step[unit] = 1e-5
            high, low = (log_p(jnp.asarray(network.bias + sign * step)) for sign in (1, -1))
            assert slope[unit] == pytest.approx(float(high - low) / 2e-5, abs=1e-5)
    assert np.asarray(slope)[2] == 0  # a table has no field


def test_float32():
    evidence = some_evidence(UNITS, 4)
    log_p, _ = posterior(UNITS, evidence)
    assert pf.infer(NETWORK, evidence, "exact", dtype="float32").log_likelihood == pytest.approx(log_p, abs=1e-4)
    double = pf.infer(NETWORK, evidence, "bethe").log_likelihood
    assert pf.infer(NETWORK, evidence, "bethe", dtype="float32").log_likelihood == pytest.approx(double, abs=1e-4)


def test_noisy_or_units_with_more_parents_than_any_table_are_products():
    rng = np.random.default_rng(7)
    names = [f"cause {k}" for k in range(13)]
    units = [
        *(pf.Unit(name, [], "noisy_or", [], 0.2) for name in [*names, "other"]),
        pf.Unit("many", names, "noisy_or", rng.uniform(0, 0.5, 13).tolist(), 0.02),
        pf.Unit("table", ["many", "other"], pf.Table(rng.uniform(0, 1, (2, 2)))),
    ]
    network = pf.BeliefNetwork.of_units(units)
    evidence = {"table": 1, "cause 4": 1}
    truth, found = pf.infer(network, evidence, "exact"), pf.infer(network, evidence, "bethe[tol=1e-11]")
    assert found.log_likelihood == pytest.approx(truth.log_likelihood, abs=1e-10)
    np.testing.assert_allclose(found.means, truth.means, atol=1e-9)


@pytest.mark.slow
def test_large_noisy_or_units_beside_tables():
    """Units with more parents than a table keep their product, and tables with 16 parents are summed over."""
    rng = np.random.default_rng(6)
    causes = [pf.Unit(f"cause {k}", [], "noisy_or", [], 0.1) for k in range(20)]
    names = [f"cause {k}" for k in range(20)]
    units = [
        *causes,
        pf.Unit("many", names, "noisy_or", rng.uniform(0, 0.3, 20).tolist(), 0.02),
        pf.Unit("table", ["many", *names[:3]], pf.Table(rng.uniform(0, 1, (2,) * 4))),
        pf.Unit("largest", names[:16], pf.Table(rng.uniform(0.2, 0.8, (2,) * 16))),
    ]
    network = pf.BeliefNetwork.of_units(units)
    truth = pf.infer(network, {"table": 1}, "exact")
    for method, error in (("bethe", 0.05), ("G2", 0.05)):
        found = pf.infer(network, {"table": 1}, method)
        assert found.log_likelihood == pytest.approx(truth.log_likelihood, abs=error)
        np.testing.assert_allclose(found.means, truth.means, atol=error)
    assert pf.infer(network, {"largest": 1}, "bethe[tol=1e-10]").log_likelihood == pytest.approx(
        pf.infer(network, {"largest": 1}, "exact").log_likelihood, abs=1e-9
    )


def test_units_that_are_certain_given_their_parents():
    """A table that rules states out: exact where states are summed, and no strict bound elsewhere."""
    units = [
        pf.Unit("a", [], "sigmoid", [], 0.3), pf.Unit("b", [], "sigmoid", [], -0.5),
        pf.Unit("either", ["a", "b"], pf.Table([[0, 1], [1, 1]])), pf.Unit("seen", ["either"], pf.Table([0.1, 0.8])),
    ]  # fmt: skip
    network, (log_p, means) = pf.BeliefNetwork.of_units(units), posterior(units, {"seen": 1})
    found = pf.infer(network, {"seen": 1}, "bethe")
    assert found.log_likelihood == pytest.approx(log_p, abs=1e-7)
    np.testing.assert_allclose(found.means, means, atol=1e-6)
    bound = pf.infer(network, {"seen": 1}, "G1")
    assert not bound.is_bound
    assert any("not a strict bound" in note for note in bound.notes)
    assert bound.log_likelihood <= log_p + 1e-6


def test_constructors_agree():
    rng = np.random.default_rng(2)
    p = rng.uniform(0, 1, (2, 2))
    W = np.array([[0, 0, 0], [1.5, 0, 0], [1, 1, 0]], float)
    listed = pf.BeliefNetwork(W, [0.2, -0.1, 0], ["sigmoid", "sigmoid", pf.Table(p)])
    units = pf.BeliefNetwork.of_units(
        [(None, [], "sigmoid", [], 0.2), (None, [0], "sigmoid", [1.5], -0.1), (None, [1, 0], pf.Table(p.T))]
    )
    assert listed.units == units.units
    assert listed.units == pf.BeliefNetwork.of_units(listed.units).units
    layered = pf.BeliefNetwork.layered([W[2:, :2]], [[0.2, 0.1], [0.0]], ["sigmoid", "sigmoid", pf.Table(p)])
    assert layered.units[2] == listed.units[2]
    assert isinstance(pf.BeliefNetwork(W, [0, 0, 0.0], ["sigmoid"] * 3).activation, pf.Sigmoid)  # nothing is mixed


def test_networks_of_tables():
    tables = [0.2, [0.1, 0.9], [[0.5, 0.6], [0.7, 0.8]]]
    network = pf.BeliefNetwork.from_tables([[], ["rain"], ["rain", "wet"]], tables, names=["rain", "wet", "slip"])
    log_p = np.log(0.2 * 0.9 * 0.8 + 0.2 * 0.1 * 0.7 + 0.8 * 0.1 * 0.6 + 0.8 * 0.9 * 0.5)
    assert pf.infer(network, {"slip": 1}, "exact").log_likelihood == pytest.approx(log_p, abs=1e-12)
    assert pf.infer(pf.BeliefNetwork.from_tables([[], [0]], [0.3, [0.5, 0.1]]), {1: 1}).log_likelihood == pytest.approx(
        np.log(0.7 * 0.5 + 0.3 * 0.1)
    )


def test_describe_and_repr():
    network = pf.BeliefNetwork.of_units(
        [
            ("rain", [], "noisy_or", [], 0.25),
            ("wet", ["rain"], pf.Table([0.125, 0.875])),
            ("x", ["wet"], CAUCHY, [2], 1),
        ]
    )
    text = network.describe()
    assert "wet      table     rain  P(on) = 0.125, 0.875" in text
    assert "rain  noisy_or" in text
    assert "cauchy" in text
    assert "bias 1; weights 2" in text
    assert network.describe(most=1).endswith("... and 2 more units")
    assert "3 units (1 table, 1 cauchy, 1 noisy_or)" in repr(network)
    assert "noisy_or" in pf.BeliefNetwork([[0, 0], [1, 0]], [0.1, 0.2], "noisy_or").describe()


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize("seed", range(4))
def test_files_keep_kinds_and_tables(tmp_path, suffix, seed):
    units = random_units(seed, 7, certain=True)
    if seed == 3:  # without names
        place = {unit.name: k for k, unit in enumerate(units)}
        units = [unit._replace(name=None, parents=[place[parent] for parent in unit.parents]) for unit in units]
    network = pf.BeliefNetwork.of_units(units)
    own = any(unit.kind == CAUCHY for unit in units)
    pf.save(network, path := tmp_path / f"network{suffix}")
    loaded = pf.load(path, activation=CAUCHY if own else None)
    assert loaded.units == network.units
    assert loaded.given_names == network.given_names
    states = np.random.default_rng(0).integers(0, 2, (20, 7)).astype(float)
    np.testing.assert_array_equal(loaded.log_joint(states), network.log_joint(states))


@pytest.mark.parametrize("method", ["bethe", "G1"])
def test_networks_and_evidence_of_similar_size_share_programs(method):
    pf.infer(NETWORK, {0: 1, 5: 0}, method)
    with compilations() as found:
        for seed in range(4):
            units = random_units(seed, 8, certain=False)
            units = [unit if unit.kind != CAUCHY else random_table(unit, seed) for unit in units]
            network = pf.BeliefNetwork.of_units(units)
            network = pf.BeliefNetwork.of_units([as_tables(unit) for unit in network.units])
            pf.infer(network, {"unit 1": 1, "unit 3": 0}, method)
            pf.infer(network, {"unit 2": 1}, method)
    assert len(found) <= 3


def random_table(unit, seed):
    return pf.Unit(
        unit.name, unit.parents, pf.Table(np.random.default_rng(seed).uniform(0, 1, (2,) * len(unit.parents)))
    )


def as_tables(unit):
    return unit if isinstance(unit.kind, pf.Table) else random_table(unit, 1)


@pytest.mark.parametrize("method", ["G11", "G12", "G22", "G221", "SJJ"])
def test_methods_that_expand_in_fields_refuse(method):
    with pytest.raises(pf.errors.MethodDoesNotApply, match=r"a table has none\. Use G1, G2 or bethe"):
        pf.infer(NETWORK, {0: 1}, method)
    with pytest.raises(pf.errors.MethodDoesNotApply, match="a table has none"):
        pf.free_energy(NETWORK, {0: 1}, np.full(6, 0.5), method)


def test_learning_refuses_and_scores_do_not():
    rows = NETWORK.sample(0, 10).astype(float)
    with pytest.raises(pf.errors.InvalidInput, match="all of one kind; this network has units of different kinds"):
        pf.fit(NETWORK, rows, method="G1", epochs=1, seed=0)
    np.testing.assert_allclose(pf.score(NETWORK, rows, seed=0).log_likelihood, NETWORK.log_joint(rows), atol=1e-9)


def wide(kind, name):
    return pf.Unit(name, [f"p{k}" for k in range(17)], kind, [0.1] * 17, 0.1)


PARENTS = [pf.Unit(f"p{k}", [], "sigmoid", [], 0.0) for k in range(17)]
ANY_TABLE: Any = pf.Table(0.5)
WRONG = {
    "parts of a unit": (lambda: pf.BeliefNetwork.of_units([("a",)]), r"must be \(name, parents, kind, weights, bias\)"),
    "not between 0 and 1": (lambda: pf.Table([0.1, 1.2]), r"must lie between 0 and 1; got 1\.2"),
    "not a number": (lambda: pf.Table([0.1, np.nan]), "must lie between 0 and 1; got nan"),
    "no numbers": (lambda: pf.Table(["a", "b"]), "must be an array of numbers"),
    "three states": (lambda: pf.Table([0.1, 0.2, 0.3]), r"shape \(2,\) \* parents.*got shape \(3,\)"),
    "too many parents": (lambda: pf.Table(np.zeros((2,) * 17)), "at most 16 parents"),
    "too few axes": (
        lambda: pf.BeliefNetwork.of_units([("a", [], pf.Table(0.5)), ("b", ["a"], pf.Table(0.5))]),
        "the table of unit b must have one axis for each of its 1 parents",
    ),
    "too few weights": (
        lambda: pf.BeliefNetwork([[0, 0], [1, 0]], [0, 0], ["sigmoid", pf.Table([[0.1, 0.2], [0.3, 0.4]])]),
        "the table of unit 1 must have one axis for each of its 1 parents; got 2. The parents are",
    ),
    "weights and parents": (
        lambda: pf.BeliefNetwork.of_units([("a", [], "sigmoid"), ("b", ["a"], "sigmoid", [1, 2])]),
        "unit b must have a weight for each of its 1 parents; got 2",
    ),
    "unknown parent": (
        lambda: pf.BeliefNetwork.of_units([("rain", [], "sigmoid"), ("b", ["rian"], "sigmoid", [1])]),
        "unit b must have parents of this network; got 'rian'. Did you mean 'rain'",
    ),
    "parent out of range": (
        lambda: pf.BeliefNetwork.from_tables([[], [2]], [0.1, [0.1, 0.2]]),
        "unit 1 must have parents of this network; got 2",
    ),
    "parent twice": (
        lambda: pf.BeliefNetwork.from_tables([[], [0, 0]], [0.1, [[0.1, 0.2]] * 2]),
        "the parents of unit 1 must be distinct; got 0 twice",
    ),
    "a cycle": (
        lambda: pf.BeliefNetwork.from_tables([[1], [0]], [[0.1, 0.2]] * 2, ["a", "b"]),
        "must be acyclic; got the cycle",
    ),
    "counts": (lambda: pf.BeliefNetwork.from_tables([[]], [0.1, 0.2]), r"entry for each unit; got \[1, 2\] entries"),
    "some names": (
        lambda: pf.BeliefNetwork.of_units([("a", [], "sigmoid"), (None, [], "sigmoid")]),
        "either all units or none must have names; got 1 names for 2 units",
    ),
    "no units": (lambda: pf.BeliefNetwork.of_units([]), "a network must have at least one unit"),
    "number of kinds": (
        lambda: pf.BeliefNetwork(np.zeros((2, 2)), [0, 0], ["sigmoid"]),
        "one activation for each of the 2 units; got 1",
    ),
    "a stack": (
        lambda: pf.BeliefNetwork(np.zeros((3, 2, 2)), [0, 0], ["sigmoid", pf.Table(0.5)]),
        "in a stack all units must have the same activation",
    ),
    "one table for all": (
        lambda: pf.BeliefNetwork(np.zeros((2, 2)), [0, 0], ANY_TABLE),
        "a single activation, which applies to all units, must not be a Table",
    ),
    "unknown kind": (
        lambda: pf.BeliefNetwork.of_units([("a", [], "sigmoid"), ("b", [], "noisyor")]),
        "activation must be one of .*Did you mean 'noisy_or'",
    ),
    "two large kinds": (
        lambda: pf.BeliefNetwork.of_units([*PARENTS, wide("sigmoid", "x"), wide("noisy_or", "y")]),
        "more than 16 parents must be of the same kind; got x .sigmoid, 17 parents., y .noisy_or, 17 parents.",
    ),
    "outside the domain": (
        lambda: pf.BeliefNetwork.of_units([*PARENTS, ("y", ["p0"], "noisy_or", [-1], 0.5)]),
        "fields of the noisy_or unit y must be finite numbers from 0 to inf; got fields from -0.5 to 0.5",
    ),
    "infinite weight": (
        lambda: pf.BeliefNetwork.of_units(
            [("a", [], "noisy_or", [], 1), ("c", [], "noisy_or", [], 1), ("b", ["a"], "sigmoid", [np.inf], 0.5)]
        ),
        "fields of the sigmoid unit b must be finite",
    ),
    "very large fields": (
        lambda: pf.BeliefNetwork.of_units(
            [("a", [], "sigmoid"), ("b", ["a"], "sigmoid", [-1e7], 0), ("t", [], pf.Table(0.5))]
        ),
        "fields must be above -1,048,576 in a network with tables; got -10,000,000 at unit b",
    ),
    "too many rows": (
        lambda: pf.BeliefNetwork.of_units(
            [*PARENTS[:16], *((f"t{k}", [*range(16)], pf.Table(np.full((2,) * 16, 0.5))) for k in range(129))]
        ),
        "together must have at most 8,388,608 rows; got 8,454,144",
    ),
    "units of a stack": (
        lambda: pf.ensembles.layered((2, 2), -1, 1, 3, 0).units,
        "units can only be listed for a single network; got a stack",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_wrong_units_are_refused_in_words(case):
    make, message = WRONG[case]
    with pytest.raises(pf.errors.InvalidInput, match=message):
        make()


def test_inside_a_trace_no_network_of_different_kinds_is_made():
    def make(bias):
        return pf.BeliefNetwork(np.zeros((2, 2)), bias, ["sigmoid", pf.Table(0.5)]).bias.sum()

    with pytest.raises(pf.errors.InvalidNetwork, match=r"inside a JAX trace\. Create it outside"):
        jax.jit(make)(jnp.zeros(2))


def test_a_single_unit():
    unit = random_unit("alone", [], np.random.default_rng(0))
    assert pf.BeliefNetwork.of_units([unit]).size == 1
