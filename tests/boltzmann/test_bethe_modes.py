"""Belief propagation where a Boltzmann machine has more than one mode: the heavier one is found, at no new program."""

import numpy as np
import pytest

import plefka as pf
from plefka.messages import coupling_messages
from plefka.messages.coupling_messages import may_have_several, without_zeros
from plefka.networks.blocks import Blocks
from plefka.networks.evidence import as_evidence
from plefka.reduction.reduce import reduce
from tests.boltzmann.machines import fields, summed
from tests.compilations import compilations

UNITS = 10


def magnet(bias: float, coupling: float = 1.0, units: int = UNITS) -> pf.BoltzmannMachine:
    """All units coupled, so that all of them like to be on if many are, and off if few are."""
    return pf.BoltzmannMachine(coupling * (1 - np.eye(units)), np.full(units, bias))


def question_of(machine: pf.BoltzmannMachine):
    (part,) = reduce(machine, as_evidence(machine, None)).parts
    return part.question


@pytest.mark.parametrize(("bias", "on"), [(-4.0, True), (-5.0, False)])
@pytest.mark.parametrize("method", ["bethe", "conditioned[bethe,k=2]"])
def test_the_heavier_of_two_modes_is_found(bias, on, method):
    """All on adds 45 + 10 bias to ln Z. Without messages, units begin as their biases say: off."""
    machine = magnet(bias)
    log_z, means = summed(machine)
    found = pf.infer(machine, None, method)
    assert found.log_partition == pytest.approx(log_z, abs=0.1)
    assert (found.means.mean() > 0.5) == on == (means.mean() > 0.5)


def test_the_second_start_is_of_use(monkeypatch):
    """Or the test above would show nothing: sweeps that start without messages end in the other mode."""
    monkeypatch.setattr(coupling_messages, "may_have_several", lambda question: np.zeros(question.num_rows, bool))
    found = pf.infer(magnet(-4.0), None, "bethe")
    assert found.converged
    assert found.means.max() < 0.1


def test_a_second_start_compiles_nothing():
    pf.infer(magnet(-4.0, 0.01), None, "bethe")
    with compilations() as found:
        pf.infer(magnet(-4.0), None, "bethe")
    assert not found


def test_weak_couplings_have_one_fixed_point():
    weak, strong = (question_of(magnet(-4.0, coupling)) for coupling in (0.4, 0.5))
    assert not may_have_several(weak).any()  # 9 tanh(0.1) = 0.9, and 9 tanh(0.125) = 1.12
    assert may_have_several(strong).all()


def test_rows_of_a_batch_are_answered_as_if_alone():
    """Some of them have one fixed point, because units that are observed take couplings away."""
    machine = magnet(-4.0)
    rows = np.full((3, UNITS), np.nan)
    rows[1, :8], rows[2, :3] = 1, 0
    batch = pf.infer(machine, rows, "bethe")
    for row, log_z, means in zip(rows, batch.log_partition, batch.means, strict=True):
        alone = pf.infer(machine, row, "bethe")
        assert alone.log_partition == pytest.approx(log_z, abs=1e-9)
        np.testing.assert_allclose(alone.means, means, atol=1e-7)


@pytest.mark.parametrize("damping", [0.0, 0.5])
def test_where_sweeps_start_is_forgotten(damping):
    """On a chain there is one fixed point, which is exact; damping takes some sweeps to forget the start."""
    half = np.diag([6.0, -5.0, 4.0, 7.5, -6.0], 1)
    chain = pf.BoltzmannMachine(half + half.T, fields(6, 1.0, 4))
    assert may_have_several(question_of(chain)).all()
    found = pf.infer(chain, None, f"bethe[damping={damping},tol=1e-12]")
    log_z, means = summed(chain)
    assert found.log_partition == pytest.approx(log_z, abs=1e-10)
    np.testing.assert_allclose(found.means, means, atol=1e-10)


@pytest.mark.parametrize("shape", [(3, 6), (8, 8)])
def test_messages_are_sent_along_couplings_only(monkeypatch, shape):
    """A small sparse machine is laid out as a matrix, whose zeros are left out of the sweeps."""
    grid = pf.ensembles.ising_grid(*shape, coupling=0.5, field=0.3, seed=0)
    question = question_of(grid)
    assert isinstance(question.storage, Blocks)
    assert without_zeros(question).storage.num_edges < question.storage.num_edges / 4
    few = pf.infer(grid, {2: 1}, "bethe")
    monkeypatch.setattr(coupling_messages, "without_zeros", lambda question: question)
    all_pairs = pf.infer(grid, {2: 1}, "bethe")
    assert few.log_partition == pytest.approx(all_pairs.log_partition, abs=1e-10)
    np.testing.assert_allclose(few.means, all_pairs.means, atol=1e-8)


def test_a_dense_machine_keeps_its_matrix():
    question = question_of(magnet(-4.0))
    assert without_zeros(question) is question
