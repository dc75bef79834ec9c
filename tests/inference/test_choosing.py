"""`auto`: what it chooses, and that it says what it found."""

import jax
import numpy as np
import pytest

import plefka as pf
from plefka.errors import MethodDoesNotApply
from plefka.inference import auto, conditioned
from plefka.methods.posterior import OUT_OF_STEPS
from plefka.sampling import smc
from tests import zoo
from tests.two_layers import two_layer


def one_finding(causes=4):
    """Causes that share a single finding, the last unit."""
    rng = np.random.default_rng(1)
    W = np.zeros((causes + 1, causes + 1))
    W[causes, :causes] = rng.normal(0, 2, causes)
    return pf.BeliefNetwork(W, np.r_[rng.normal(size=causes), -1.0])


def test_conditioning_is_a_bound_only_where_every_part_is_one(monkeypatch):
    """Exact is affordable for the first row, where nothing else is hidden, but not for the second."""
    network = one_finding()
    rows = np.array([[np.nan, 0, 0, 0, 1], [np.nan] * 4 + [1]])
    monkeypatch.setattr(conditioned, "STATES_AT_ONCE", 2)  # each row by itself
    method = "conditioned[auto[budget=5e-7s],units=0]"
    first, second = (pf.infer(network, row, method) for row in rows)
    for row, found in zip(rows, (first, second), strict=True):
        exact = pf.infer(network, row, "exact")
        assert found.is_bound == (found.log_partition_accuracy == "exact")
        assert found.is_bound <= (abs(found.log_likelihood - exact.log_likelihood) < 1e-10)
    assert first.is_bound
    both = pf.infer(network, rows, method)
    assert both.is_bound == second.is_bound
    assert [note.split(":")[0] for note in both.notes] == ["auto chose exact", "auto chose bethe"]


def two_findings():
    """Two causes behind two findings, one of them without a leak: belief propagation is off by 0.09 here."""
    W = np.zeros((4, 4))
    W[2, :2], W[3, :2] = 1.0, 0.7
    return pf.BeliefNetwork(W, np.array([0.5, 0.5, 0.0, 0.1]), "noisy_or")


@pytest.fixture
def no_findings(monkeypatch):
    """As if too few draws of theirs carried weight."""
    monkeypatch.setattr(auto, "affordable", lambda *_, **__: None)


def test_findings_are_drawn_where_exact_is_forbidden():
    rows = np.array([[0, 0, 1, 1], [np.nan, np.nan, 1, 1]])
    found, exact = (pf.infer(two_findings(), rows, method) for method in ("auto[exact=no]", "exact"))
    assert [str(method) for method in found.methods] == ["bethe", "findings[k=0]"]
    assert "auto chose findings[k=0] for 1 of 2 rows: exact was forbidden" in found.notes
    assert [status.name for status in found.status] == ["IMPOSSIBLE", "CONVERGED"]
    assert found.log_likelihood == pytest.approx(exact.log_likelihood, abs=0.02)
    assert not found.is_exact


def test_what_would_take_too_long_is_not_drawn():
    rows = np.repeat([[np.nan, np.nan, 1, 1]], 30, axis=0)
    said = [pf.infer(two_findings(), rows, f"auto[exact=no,budget={b}s]").notes[0] for b in (1, 0.015, 1e-5)]
    assert [each.split()[2].split("[")[0] for each in said] == ["findings", "smc", "bethe:"]
    assert "annealed populations would take about" in said[2]


def test_populations_take_over_from_draws_that_are_rejected(monkeypatch):
    from plefka.sampling.findings import findings

    monkeypatch.setattr(findings, "is_enough", lambda average, samples: False)
    found, exact = (pf.infer(two_findings(), {2: 1, 3: 1}, method) for method in ("auto[exact=no]", "exact"))
    assert "auto chose smc[budget=0.8s]: exact was forbidden" in found.notes[0]
    low, high = found.log_likelihood_interval
    assert low - (high - low) < exact.log_likelihood < high + (high - low)


@pytest.mark.usefixtures("no_findings")
@pytest.mark.filterwarnings("error")
def test_impossible_rows_have_no_say():
    rows = np.array([[0, 0, 1, 1], [np.nan, np.nan, 1, 1]])
    both = pf.infer(two_findings(), rows, "auto[exact=no]")
    assert [status.name for status in both.status] == ["IMPOSSIBLE", "CONVERGED"]
    assert [method.name for method in both.methods] == ["bethe", "smc"]
    alone = pf.infer(two_findings(), rows[1], "auto[exact=no]")
    assert alone.log_likelihood == pytest.approx(both.log_likelihood[1], abs=1e-9)
    assert pf.infer(two_findings(), rows[:1], "auto[exact=no]").notes[0] == "auto chose bethe: exact was forbidden"


def test_where_messages_are_exact_nothing_is_drawn():
    chain = pf.ensembles.ising_grid(1, 9, 1.5, 0.3, seed=2)
    for network in (chain, pf.BeliefNetwork(np.eye(9, k=-1) * 2.0, np.linspace(-1, 1, 9))):
        found = pf.infer(network, {8: 1}, "auto[exact=no]")
        assert found.methods[0].name == "bethe"
        assert found.log_partition == pytest.approx(pf.infer(network, {8: 1}, "exact").log_partition, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_every_estimate_has_an_interval_around_the_truth(seed):
    for network, row in (hard_machine(seed), hard_network(seed)):
        found, exact = (pf.infer(network, row, method) for method in ("auto[exact=no,budget=0.3s]", "exact"))
        low, high = found.log_partition_interval
        reach = high - low  # twice as wide, so that chance fails no test
        assert low - reach / 2 <= exact.log_partition <= high + reach / 2
        assert 0 < reach < 0.5
        assert np.isfinite(found.intervals()).all()
        np.testing.assert_allclose(found.means, exact.means, atol=0.1)


def hard_machine(seed):
    machine = pf.ensembles.ising_grid(6, 6, 1.0, 0.2, periodic=True, seed=seed)
    return machine, {0: 1}


def hard_network(seed):
    network = pf.ensembles.layered((4, 6, 8), -5, 5, 1, seed, "sigmoid").take(0)
    return network, np.r_[np.full(10, np.nan), np.zeros(8)]


def unsettled():
    """As if the populations had not converged."""
    real = smc.posterior

    def posterior(method, part, *, dtype):
        found = real(method, part, dtype=dtype)
        return found._replace(status=np.full_like(found.status, OUT_OF_STEPS))

    return posterior


def test_messages_answer_where_populations_fail_unless_these_contradict(monkeypatch):
    monkeypatch.setattr(smc, "posterior", unsettled())
    found = pf.infer(*hard_network(0), "auto[exact=no]")
    assert found.methods[0].name == "loops"
    assert found.converged
    assert "did not converge" in found.notes[0]
    assert np.isnan(found.log_likelihood_interval).all()
    glass = pf.ensembles.ising_grid(8, 8, 4.0, 0.2, periodic=True, seed=3)
    found = pf.infer(glass, None, "auto[exact=no]", throw=False)
    assert found.methods[0].name == "smc"  # messages are an answer neither
    assert not found.converged
    assert np.isnan(found.log_partition_interval).all()


def test_what_more_time_would_buy_is_said_of_a_single_row():
    glass = pf.ensembles.ising_grid(12, 12, 0.5, 0.2, periodic=True, seed=1)
    found = pf.infer(glass, None, "auto[exact=no,budget=0.05s]", throw=False)
    assert found.converged
    assert "would be halved by four times the budget, auto[budget=0.2s,exact=no]" in found.notes[0]


@pytest.mark.parametrize("make", [hard_machine, hard_network])
def test_a_row_has_its_draws_in_any_batch(make):
    network, _ = make(0)
    off, on = network.values
    rows = np.full((3, network.size), np.nan)
    rows[1:, -2:] = [[off, on], [on, off]]
    together = pf.infer(network, rows, "auto[exact=no,budget=0.05s]")
    for number, each in enumerate(rows):
        alone = pf.infer(network, each, "auto[exact=no,budget=0.05s]", throw=False)
        assert together.methods[number] == alone.methods[0]
        assert together.log_partition[number] == pytest.approx(alone.log_partition, abs=1e-6)
        assert np.allclose(together.row(number).log_partition_interval, alone.log_partition_interval, equal_nan=True)


# ---- a row of a batch has the answer that it has alone ---------------------------------------------------------------


def some_patients():
    """A diagnosis network, and rows some of which are cheap and some dear to sum over."""
    network, _ = two_layer(3, 14, 12)
    rows = np.full((6, network.size), np.nan)
    for row, on in zip(rows, (1, 2, 4, 8, 12, 12), strict=True):
        row[14 : 14 + on] = 1.0
    rows[5, 14:20] = 0.0
    return network, rows


@pytest.mark.parametrize("method", ["auto", "auto[budget=3e-3s]", "auto[budget=0.03s]", "auto[exact=no]"])
def test_a_batch_of_patients_equals_the_loop(method):
    network, rows = some_patients()
    together = pf.infer(network, rows, method)
    for number, row in enumerate(rows):
        alone = pf.infer(network, row, method, throw=False)
        assert together.methods[number] == alone.methods[0]
        assert together.log_likelihood[number] == pytest.approx(alone.log_likelihood, abs=1e-6)
        np.testing.assert_allclose(together.means[number], alone.means, atol=1e-6)
        assert together.row(number).status == alone.status


def test_cheap_rows_are_exact_beside_dear_ones():
    network, rows = some_patients()
    found = pf.infer(network, rows, "auto[budget=3e-3s]")
    names = [method.name for method in found.methods]
    assert "exact" in names
    assert set(names) != {"exact"}
    count = names.count("exact")
    assert f"auto chose exact for {count} of 6 rows: " in found.notes[0]


def test_the_order_of_rows_does_not_matter():
    network, rows = some_patients()
    found, reverse = (pf.infer(network, some, "auto[budget=3e-3s]") for some in (rows, rows[::-1]))
    assert found.methods == reverse.methods[::-1]
    np.testing.assert_allclose(found.means, reverse.means[::-1], atol=1e-6)


@pytest.mark.slow
def test_a_stack_of_networks_is_chosen_for_one_by_one():
    stack = pf.ensembles.layered((2, 4, 6), -5, 5, 4, 3, "sigmoid")
    row = np.array([np.nan] * 6 + [0.0] * 6)
    together = pf.infer(stack, row, "auto[exact=no]")
    for number in range(4):
        alone = pf.infer(stack.take(number), row, "auto[exact=no]")
        assert together.methods[number] == alone.methods[0]
        assert together.log_likelihood[number] == pytest.approx(alone.log_likelihood, abs=1e-6)
        assert together.row(number).check(seed=0).estimate == together.log_likelihood[number]


@pytest.mark.parametrize("method", ["exact", "G12", "bethe"])
def test_other_methods_answer_all_rows(method):
    network = zoo.ZOO["sigmoid, layered"]
    rows = np.stack([zoo.some_evidence(network)] * 2)
    assert pf.infer(network, rows, method).methods == (pf.parse_method(method),) * 2
    assert pf.infer(network, rows[0], method).methods == (pf.parse_method(method),)


@pytest.mark.slow
def test_inside_a_trace_auto_refuses_and_names_what_works():
    network = zoo.dense(6, -1, 1, "sigmoid", 1)
    row = zoo.some_evidence(network)

    def log_likelihood(bias, method):
        return pf.infer(pf.BeliefNetwork(network.weights, bias), row, method).log_likelihood

    with pytest.raises(MethodDoesNotApply, match=r"auto does not apply: .* Use exact, bethe or G1 instead"):
        jax.grad(log_likelihood)(network.bias, "auto")
    for method in ("exact", "bethe", "G1"):
        assert np.isfinite(jax.grad(lambda bias, m=method: log_likelihood(bias, m))(network.bias)).all()


@pytest.mark.parametrize("method", ["conditioned[bethe,k=2]", "conditioned[G1,k=2]", "conditioned[G2,k=2]"])
def test_conditioning_chooses_for_a_row_what_it_chooses_alone(method):
    """Also between units that are alike, of which rounding would choose one in a batch and another one alone."""
    rng = np.random.default_rng(2)
    weights = np.repeat(rng.uniform(-2, 2, (5, 2)), 2, axis=1) + np.array([0.0, 1e-12, 0.0, -1e-12])
    bias = np.repeat(rng.uniform(-1, 1, 2), 2)
    network = pf.BeliefNetwork.layered([weights], [bias, rng.uniform(-1, 1, 5)], "sigmoid")
    rows = np.full((6, network.size), np.nan)
    for row in rows:
        row[4 + rng.permutation(5)[: rng.integers(2, 6)]] = rng.integers(2)
    together = pf.infer(network, rows, method)
    for number, row in enumerate(rows):
        alone = pf.infer(network, row, method)
        assert together.log_likelihood[number] == pytest.approx(alone.log_likelihood, abs=1e-6)
        np.testing.assert_allclose(together.means[number], alone.means, atol=1e-6)


def test_units_that_rounding_alone_tells_apart_are_chosen_in_the_order_of_the_network():
    score, units = np.array([[0.2, 0.0], [0.5, 0.3], [0.5 + 1e-12, 0.3 - 1e-12]]), np.array([7, 4, 2])
    np.testing.assert_array_equal(conditioned.highest(score, units, None), [[2, 2], [1, 1], [0, -1]])
    tiny = np.array([[0.0], [1e-9], [1.0]])  # before those that contribute nothing
    np.testing.assert_array_equal(conditioned.highest(tiny, np.array([-1, 4, 2]), 2), [[2], [1]])
    by_row = np.array([[7, 1], [4, 2], [2, 5]])
    np.testing.assert_array_equal(conditioned.highest(score, by_row, None), [[2, 1], [1, 2], [0, -1]])


def test_messages_that_have_not_converged_are_not_added_up():
    glass = pf.ensembles.ising_grid(8, 8, 4.0, 0.2, periodic=True, seed=3)
    plain, conditioned_on_two = (pf.infer(glass, None, m, throw=False) for m in ("bethe", "conditioned[bethe,k=2]"))
    assert not plain.converged
    assert conditioned_on_two.status == plain.status
    assert conditioned_on_two.log_partition == pytest.approx(plain.log_partition)
    np.testing.assert_allclose(conditioned_on_two.means, plain.means, atol=1e-6)
    assert conditioned.NOT_SUMMED in conditioned_on_two.notes


def test_large_sparse_machines_are_answered_on_their_loops():
    machine = pf.ensembles.ising_grid(48, 48, 1.0, seed=1)  # too many spins for populations within the budget
    found = pf.infer(machine, None, "auto[exact=no]", throw=False)
    assert found.methods[0].name == "loops"
    assert found.status is pf.Status.CONVERGED
    assert "annealed populations would take about" in found.notes[0]
    by_loops = pf.infer(machine, None, "loops[joined=no]")
    assert found.log_partition == pytest.approx(by_loops.log_partition, abs=1e-3)


def test_rows_of_a_batch_that_messages_answer_are_what_they_are_alone():
    machine = pf.BoltzmannMachine([[0, 1, 2], [1, 0, 1], [2, 1, 0]], [0.1, 0.2, 0.3])
    rows = np.array([[np.nan, 1, np.nan], [np.nan, np.nan, np.nan], [np.nan, np.nan, 0]])
    together = pf.infer(machine, rows, "auto[exact=no]")
    for row, given in enumerate(rows):
        alone = pf.infer(machine, given, "auto[exact=no]")
        assert together.log_partition[row] == alone.log_partition
        assert together.row(row).log_partition_accuracy == alone.log_partition_accuracy
        assert str(together.methods[row]) == str(alone.methods[0])
