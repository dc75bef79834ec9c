"""Boltzmann machines as such: conventions, files, evidence, draws, and what must hold for them."""

import jax
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import plefka as pf
from tests.boltzmann.machines import MACHINES, couplings, fields, log_weights, restricted, states, summed


@pytest.mark.parametrize("name", MACHINES)
def test_conventions_and_temperatures_convert_exactly(name):
    machine = MACHINES[name]
    log_z, means = summed(machine)
    for values, temperature in (((0, 1), 1.0), ((-1, 1), 1.0), ((0, 1), 2.5), ((-1, 1), 0.3)):
        other = machine.converted(values, temperature)
        assert (other.values, other.temperature) == (values, temperature)
        again, again_means = summed(other)
        np.testing.assert_allclose(again, log_z, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(again_means, means, atol=1e-12)


@pytest.mark.parametrize("name", MACHINES)
def test_log_joint_is_the_definition(name):
    machine = MACHINES[name]
    S = states(machine)
    np.testing.assert_allclose(machine.log_joint(S), log_weights(machine, S), rtol=1e-12, atol=1e-12)
    assert machine.log_joint(S[3]) == pytest.approx(log_weights(machine, S[3:4])[0])


def test_weights_are_as_they_were_given():
    W = couplings(5, 1.0, 0)
    np.testing.assert_array_equal(pf.BoltzmannMachine(W, np.zeros(5)).weights, W)
    np.testing.assert_array_equal(pf.BoltzmannMachine(sp.csr_array(W), np.zeros(5)).weights.toarray(), W)
    np.testing.assert_array_equal(pf.BoltzmannMachine.restricted(W[:2, 2:], W[0, :2], W[0, 2:]).weights, W[:2, 2:])


def test_a_restricted_machine_stores_its_block_alone():
    machine = restricted(300, 200, 0.1, 0)
    assert sum(leaf.size for leaf in jax.tree.leaves(machine.storage)) == 300 * 200
    assert machine.is_restricted
    assert repr(machine).startswith("<BoltzmannMachine: restricted, 300 x 200 units of 0 and")


@pytest.mark.parametrize("suffix", ["json", "npz"])
@pytest.mark.parametrize("name", [*MACHINES, "stack", "restricted stack", "grid"])
def test_saving_and_loading_is_the_identity(name, suffix, tmp_path):
    others = {
        "stack": pf.ensembles.spin_glass(4, 3, 0),
        "restricted stack": pf.BoltzmannMachine.restricted(np.ones((2, 3, 2)), np.arange(3.0), np.arange(2.0)),
        "grid": pf.ensembles.ising_grid(2, 3, seed=1),
    }
    machine = MACHINES.get(name) or others[name]
    pf.save(machine, tmp_path / f"machine.{suffix}")
    loaded = pf.load(tmp_path / f"machine.{suffix}")
    assert jax.tree.structure(loaded) == jax.tree.structure(machine)
    for ours, theirs in zip(jax.tree.leaves(machine), jax.tree.leaves(loaded), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_other_formats_are_refused(tmp_path):
    for suffix in ("bif", "csv"):
        with pytest.raises(pf.errors.InvalidFile, match=r"a Boltzmann machine can be saved as \.json or \.npz"):
            pf.save(MACHINES["dense"], tmp_path / f"machine.{suffix}")


def test_a_file_with_a_coupling_twice_is_refused(tmp_path):
    machine = pf.BoltzmannMachine(sp.csr_array(couplings(3, 1.0, 0)), np.zeros(3))
    path = tmp_path / "machine.json"
    pf.save(machine, path)
    path.write_text(path.read_text().replace('"edges": [', '"edges": [\n      [1, 0, 0.5],'))
    with pytest.raises(pf.errors.InvalidFile, match="every coupling must occur once; got that of units 0 and 1 twice"):
        pf.load(path)


SPINS = pf.BoltzmannMachine(couplings(3, 1.0, 0), fields(3, 1.0, 1), values=(-1, 1), names=["a", "b", "c"])


def test_evidence_of_every_form_is_in_the_values_of_the_machine():
    wanted = pf.infer(SPINS, {"a": -1, "c": 1}, "exact")
    rows = [[-1, np.nan, 1]]
    for evidence in ({0: -1, 2: 1}, {"a": "-1", "c": "1"}, rows[0]):
        assert pf.infer(SPINS, evidence, "exact").log_partition == wanted.log_partition
    for batch in (rows, [{"a": -1, "c": 1}], pd.DataFrame({"a": [-1], "c": [1]})):
        assert pf.infer(SPINS, batch, "exact").log_partition[0] == wanted.log_partition
    np.testing.assert_array_equal(wanted.magnetisations[[0, 2]], [-1, 1])
    np.testing.assert_allclose(wanted.magnetisations, 2 * wanted.means - 1)
    assert wanted.marginals()["b"] == wanted["b"] == wanted.means[1]


def test_soft_evidence_is_averaged_over():
    soft = pf.infer(SPINS, {"a": pf.Likelihood(0.9, 0.2)}, "exact").log_partition
    on, off = (pf.infer(SPINS, {"a": value}, "exact").log_partition for value in (1, -1))
    assert soft == pytest.approx(np.logaddexp(on + np.log(0.9), off + np.log(0.2)))


@pytest.mark.parametrize("evidence", [{"a": 0}, {"a": "0"}, [0, np.nan, 1], pd.DataFrame({"a": [0, 1]})])
def test_evidence_outside_the_convention_is_refused(evidence):
    with pytest.raises(pf.errors.InvalidEvidence, match=r"must be -1(,| or) 1"):
        pf.infer(SPINS, evidence, "exact")
    with pytest.raises(pf.errors.InvalidEvidence, match=r"0 or 1; got -1|0, 1 or nan .hidden.; got -1"):
        pf.infer(SPINS.converted(), {"a": -1} if isinstance(evidence, dict) else [-1, np.nan, np.nan], "exact")


BAD = {
    r"weights must be symmetric; got 1 from 'b' to 'a' and 2 from 'a' to 'b'": ([[0, 1], [2, 0]], [0, 0], {}),
    r"weights must be symmetric; got 0 from 'b' to 'a' and 2": (sp.csr_array([[0, 0], [2.0, 0]]), [0, 0], {}),
    r"the diagonal of weights must be 0.*got 3 for unit 'b'": ([[0, 1], [1, 3]], [0, 0], {}),
    r"the diagonal of weights must be 0.*got 1 for unit 'a'": (sp.csr_array(np.eye(2)), [0, 0], {}),
    r"temperature must be a positive number; got 0": (np.zeros((2, 2)), [0, 0], {"temperature": 0}),
    r"temperature must be a positive number; got -1": (np.zeros((2, 2)), [0, 0], {"temperature": -1.0}),
    r"temperature must be a positive number; got 'hot'": (np.zeros((2, 2)), [0, 0], {"temperature": "hot"}),
    r"values must be \(0, 1\) or \(-1, 1\).*got \(1, 0\)": (np.zeros((2, 2)), [0, 0], {"values": (1, 0)}),
    r"values must be .*got 'spins'": (np.zeros((2, 2)), [0, 0], {"values": "spins"}),
    r"weights must be a square, symmetric matrix": (np.zeros((2, 3)), [0, 0], {}),
    r"weights of a Boltzmann machine must be finite; got inf": ([[0, np.inf], [np.inf, 0]], [0, 0], {}),
    r"biases must be finite; got nan at unit b": (np.zeros((2, 2)), [0, np.nan], {}),
    r"bias must have one number for each unit": (np.zeros((2, 2)), [0, 0, 0], {}),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input_is_refused(message):
    weights, bias, options = BAD[message]
    with pytest.raises(pf.errors.InvalidInput, match=message):
        pf.BoltzmannMachine(weights, bias, names=["a", "b"], **options)


def test_bad_blocks_and_states_are_refused():
    with pytest.raises(
        pf.errors.InvalidNetwork, match=r"must be \(visible units, hidden units\).*got weights \(2, 3\)"
    ):
        pf.BoltzmannMachine.restricted(np.zeros((2, 3)), np.zeros(3), np.zeros(2))
    with pytest.raises(pf.errors.InvalidNetwork, match="must have visible and hidden units"):
        pf.BoltzmannMachine.restricted(np.zeros((2, 0)), np.zeros(2), np.zeros(0))
    with pytest.raises(pf.errors.InvalidInput, match="a state of this machine consists of -1 and 1"):
        SPINS.log_joint([0, 1, 1])
    with pytest.raises(pf.errors.InvalidInput, match="a state has one number for each unit"):
        SPINS.log_joint([1, 1])
    with pytest.raises(pf.errors.InvalidInput, match="size must be 2 or more"):
        pf.ensembles.spin_glass(1, 1, 0)
    with pytest.raises(pf.errors.InvalidInput, match="scale and field must not be negative"):
        pf.ensembles.spin_glass(3, 1, 0, scale=-1.0)
    with pytest.raises(pf.errors.InvalidInput, match="a grid must have two units or more"):
        pf.ensembles.ising_grid(1, 1)


def test_draws_follow_the_distribution():
    machine = MACHINES["dense, spins, temperature"]
    _, means = summed(machine, {2: -1})
    S = machine.sample(seed=0, count=4000, evidence={2: -1})
    assert set(np.unique(S)) == {-1, 1}
    assert (S[:, 2] == -1).all()
    np.testing.assert_allclose((S == 1).mean(axis=0), means, atol=5 * 0.5 / np.sqrt(4000))


def test_draws_of_many_units_are_the_ends_of_chains():
    grid = pf.ensembles.ising_grid(4, 5, coupling=0.2, field=0.3)
    means = pf.infer(grid, method="exact").means
    S = grid.sample(seed=0, count=2000, sweeps=60)
    np.testing.assert_allclose((S == 1).mean(axis=0), means, atol=5 * 0.5 / np.sqrt(2000))


def test_ensembles_are_what_they_say():
    glass = pf.ensembles.spin_glass(200, 1, 0, scale=2.0, field=0.5)
    lower = glass.weights[0][np.tril_indices(200, -1)]
    assert glass.values == (-1, 1)
    assert lower.std() == pytest.approx(2 / np.sqrt(200), rel=0.03)
    assert glass.bias.std() == pytest.approx(0.5, rel=0.2)
    grid = pf.ensembles.ising_grid(3, 4, periodic=True)
    assert (np.diff(grid.weights.indptr) == 4).all()
    assert grid.num_couplings == 24


def test_machines_are_described():
    text = SPINS.describe()
    assert text.splitlines()[0].split() == ["unit", "bias", "coupled", "to"]
    assert "b " in text
    assert "a" in SPINS._repr_html_()
    assert "2 machines" in pf.ensembles.spin_glass(3, 2, 0)._repr_html_()
    with pytest.raises(pf.errors.InvalidNetwork, match="a single machine can be described; got a stack"):
        pf.ensembles.spin_glass(3, 2, 0).describe()
