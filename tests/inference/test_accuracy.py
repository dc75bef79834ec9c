"""What every number says of itself is true: exact ones are, bounds hold, observed ones are what was observed."""

import json
from itertools import product

import jax
import numpy as np
import pytest

import plefka as pf
from plefka.methods.posterior import ACCURACIES, ESTIMATE, EXACT, LOWER_BOUND, OBSERVED, UPPER_BOUND
from plefka.runtime.precision import precision

CLOSE = 1e-10
MANY = dict.fromkeys(("slow_flow", "thin_crema", "loud_hum", "low_pressure", "lukewarm_cup"), 1)


def chance_on(activation, x):
    return 1 - np.exp(-x) if activation == "noisy_or" else 1 / (1 + np.exp(-x))


class Enumerated:
    """All states of a network with their weights, from the definition."""

    def __init__(self, network, weights, bias, kind):
        off, on = network.values
        self.states = np.array(list(product((0, 1), repeat=len(bias))))
        self.values = np.where(self.states, on, off).astype(float)
        if kind in ("sigmoid", "noisy_or"):
            p = chance_on(kind, self.values @ weights.T + bias)
            self.weight = np.where(self.states, p, 1 - p).prod(axis=1)
        else:
            pairs = np.einsum("si,ij,sj->s", self.values, np.triu(weights, 1), self.values)
            self.weight = np.exp(pairs + self.values @ bias)

    def of(self, row):
        """ln of the sum over the states that agree with a row of 0, 1 and nan, and P(on) of every unit."""
        fits = (np.isnan(row) | (self.states == np.nan_to_num(row))).all(axis=1)
        weight = np.where(fits, self.weight, 0.0)
        with np.errstate(divide="ignore"):
            return np.log(weight.sum()), weight @ self.states / max(weight.sum(), 1e-300)


def belief_network(kind, seed, size=6):
    rng = np.random.default_rng(seed)
    weights = np.tril(rng.normal(0, 1.5, (size, size)) * (rng.random((size, size)) < 0.5), -1)
    bias = rng.normal(0, 1, size)
    if kind == "noisy_or":
        weights, bias = abs(weights), 0.05 + abs(bias) / 2
    return pf.BeliefNetwork(weights, bias, kind), weights, bias, kind


def machine(values, seed, size=5):
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.normal(0, 0.7, (size, size)) * (rng.random((size, size)) < 0.5), 1)
    bias = rng.normal(0, 0.7, size)
    return pf.BoltzmannMachine(upper + upper.T, bias, values=values), upper + upper.T, bias, "machine"


NETWORKS = {
    "sigmoid": belief_network("sigmoid", 1),
    "noisy-or": belief_network("noisy_or", 2),
    "machine of 0 and 1": machine((0, 1), 3),
    "machine of -1 and 1": machine((-1, 1), 4),
}
METHODS = {
    "sigmoid": ("exact", "G2", "bethe", "conditioned[G1,k=2]", "mixture[2]", "SJJ", "G12"),
    "noisy-or": ("auto", "G1", "bethe", "findings[k=1]", "findings[k=1,samples=0]", "gibbs[seed=0,sweeps=50,runs=4]"),
    "machine of 0 and 1": ("exact", "G2", "bethe"),
    "machine of -1 and 1": ("exact", "G1"),
}
CASES = [(name, method) for name, methods in METHODS.items() for method in methods]


def some_rows(network, count=10):
    """From nothing observed to all of it, as evidence and as 0, 1 and nan."""
    rng = np.random.default_rng(0)
    states = rng.integers(0, 2, (count, network.size)).astype(float)
    states[rng.random(states.shape) < np.linspace(1, 0, count)[:, None]] = np.nan
    off, on = network.values
    return off + (on - off) * states, states


def hold(solution, truth, states):
    """The laws of one answer to several rows."""
    codes, of_means = solution.codes
    log_z, means = map(np.array, zip(*(truth.of(row) for row in states), strict=True))
    known = (of_means == EXACT) | (of_means == OBSERVED)
    np.testing.assert_allclose(solution.means[known], means[known], rtol=0, atol=CLOSE)
    np.testing.assert_array_equal(of_means == OBSERVED, ~np.isnan(states))
    np.testing.assert_array_equal(solution.means[of_means == OBSERVED], states[~np.isnan(states)])
    difference = solution.log_partition - log_z
    assert (abs(difference[codes == EXACT]) <= CLOSE).all()
    assert (difference[codes == LOWER_BOUND] <= CLOSE).all()
    assert (difference[codes == UPPER_BOUND] >= -CLOSE).all()
    assert solution.is_exact == bool((codes == EXACT).all() and known.all())
    assert solution.is_bound == bool(np.isin(codes, (EXACT, LOWER_BOUND)).all())
    nothing_hidden = ~np.isnan(states).any(axis=1)
    assert (codes[nothing_hidden] == EXACT).all()


@pytest.mark.parametrize(("name", "method"), CASES)
def test_numbers_are_what_they_are_called(name, method):
    network, *numbers = NETWORKS[name]
    truth, (evidence, states) = Enumerated(network, *numbers), some_rows(network)
    for prune in (True, False):
        solution = pf.infer(network, evidence, method, prune=prune, throw=False)
        hold(solution, truth, states)
        if method == "exact":
            assert solution.is_exact


@pytest.mark.parametrize("name", ["machine of 0 and 1", "machine of -1 and 1"])
def test_log_likelihood_of_a_machine_is_exact_where_both_numbers_are(name):
    network, *numbers = NETWORKS[name]
    truth, (evidence, states) = Enumerated(network, *numbers), some_rows(network)
    free = truth.of(np.full(network.size, np.nan))[0]
    wanted = np.array([truth.of(row)[0] for row in states]) - free
    for method in ("exact", "G1"):
        solution = pf.infer(network, evidence, method)
        exact = np.asarray(solution.log_likelihood_accuracy, object) == "exact"
        np.testing.assert_allclose(solution.log_likelihood[exact], wanted[exact], atol=CLOSE)
        assert exact.all() == (method == "exact")
        assert set(solution.log_likelihood_accuracy) <= {"exact", "estimate"}


# ---- nothing left to approximate -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "method"),
    [("sigmoid", "G1"), ("sigmoid", "G4"), ("noisy_or", "G2"), ("noisy_or", "G3"), ("noisy_or", "mixture[2]")],
)
def test_independent_units_are_exact_by_every_order(kind, method):
    """Every finding has a single cause that is not known: the posterior is a product."""
    rng = np.random.default_rng(5)
    weights = np.zeros((6, 6))
    weights[[3, 4, 5, 5], [0, 1, 2, 1]] = rng.uniform(0.5, 2, 4)
    bias = rng.uniform(0.1, 1, 6)
    network = pf.BeliefNetwork(weights, bias, kind)
    rows = np.array([[np.nan, np.nan, np.nan, 1, 0, np.nan], [np.nan, 1, np.nan, 1, 1, 0], [np.nan] * 3 + [1, 1, 1]])
    solution = pf.infer(network, rows, method, prune=False)
    hold(solution, Enumerated(network, weights, bias, kind), rows)
    assert solution.log_partition_accuracy[1] is pf.Accuracy.EXACT
    assert (solution.codes.means[1] != ESTIMATE).all()


@pytest.mark.parametrize("method", ["G1", "G4", "bethe"])
def test_uncoupled_units_of_a_machine_are_exact(method):
    weights, bias = np.zeros((4, 4)), np.array([0.5, -1, 2, 0.1])
    weights[0, 1:] = weights[1:, 0] = (1.0, -2.0, 0.5)
    network = pf.BoltzmannMachine(weights, bias)
    rows = np.array([[1, np.nan, np.nan, np.nan], [0, np.nan, 1, np.nan], [np.nan] * 4])
    solution = pf.infer(network, rows, method, prune=False)
    hold(solution, Enumerated(network, weights, bias, "machine"), rows)
    assert list(solution.log_partition_accuracy[:2]) == ["exact", "exact"]
    assert (solution.log_partition_accuracy[2] == "exact") == (method == "bethe")  # a star has no loop


def test_a_method_is_called_exact_by_its_rows_and_not_by_its_name():
    network = pf.example("espresso")
    nothing_on = dict.fromkeys([name for name in network.names if network.parents(name)], 0)
    solution = pf.infer(network, [nothing_on, MANY], "G2")
    assert list(solution.log_partition_accuracy) == ["exact", "estimate"]
    assert not solution.is_exact
    assert solution.row(0).is_exact


def test_a_finding_below_the_evidence_is_exact_by_findings():
    states = {"thin_crema": 0, "lukewarm_cup": 1, "bitter_taste": 0, "slow_flow": 1, "low_pressure": 1, "loud_hum": 1}
    network = pf.example("espresso")
    for solution in (pf.infer(network, states, "findings"), pf.infer(network, [{}, states], "findings").row(1)):
        assert solution["puddle_below"] == pytest.approx(0.14411, abs=5e-6)
        assert solution["puddle_below"] == pytest.approx(pf.infer(network, states, "exact")["puddle_below"], abs=CLOSE)
        assert solution.accuracy[network.index("puddle_below")] is pf.Accuracy.EXACT


@pytest.mark.parametrize("method", ["bethe", "auto"])
def test_a_row_of_a_batch_is_what_it_is_alone(method):
    network = NETWORKS["noisy-or"][0]
    evidence, _ = some_rows(network, 5)
    solution = pf.infer(network, evidence, method, throw=False)
    for k, row in enumerate(evidence):
        alone, taken = pf.infer(network, row, method, throw=False), solution.row(k)
        np.testing.assert_array_equal(taken.accuracy, alone.accuracy)
        assert taken.log_partition_accuracy is alone.log_partition_accuracy
        assert taken.is_exact == alone.is_exact


# ---- traces and stacks -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NETWORKS)
def test_a_trace_says_what_is_known_without_numbers(name):
    network, *_ = NETWORKS[name]
    evidence, states = some_rows(network, 6)
    for method, code in (("exact", EXACT), ("G1", LOWER_BOUND)):
        found = []

        def answer(rows, method=method, found=found):
            solution = pf.infer(network, rows, method)
            found.append((solution.is_exact, solution.is_bound, solution.log_partition_accuracy))
            return solution.means, solution.accuracy, solution.log_partition

        means, codes, log_partition = jax.jit(answer)(evidence)
        (is_exact, is_bound, whole), *_ = found
        assert (is_exact, is_bound) == (code == EXACT, code in (EXACT, LOWER_BOUND))
        assert set(whole) == {ACCURACIES[code]}
        known = np.where(np.isnan(states), EXACT if code == EXACT else ESTIMATE, OBSERVED)
        np.testing.assert_array_equal(codes, known)
        assert not (np.asarray(means) > 1).any()
        if code == EXACT:
            outside = pf.infer(network, evidence, method)
            np.testing.assert_allclose(log_partition, outside.log_partition, rtol=1e-5, atol=1e-5)


def test_exact_means_of_a_trace_are_probabilities_with_derivatives():
    network = pf.BeliefNetwork([[0, 0], [40.0, 0]], [np.log(1 / 0.7), 0], "noisy_or")

    def mean(bias):
        return pf.infer(network.with_parameters((network.parameters[0], bias)), {1: 1}, "exact").means[0]

    with precision("float64"):
        value, slope = jax.value_and_grad(mean)(np.array([0.3, 1e-3]))
    assert 0.99 < float(value) <= 1
    assert np.isfinite(slope).all()


@pytest.mark.parametrize("method", ["exact", "G2"])
def test_networks_of_a_stack_have_rows_of_their_own(method):
    stack = pf.ensembles.layered((2, 3), -1, 1, 3, 0, "sigmoid")
    rows = np.full((3, 5), np.nan)
    rows[1], rows[2, -1] = (1, 0, 1, 1, 0), 1
    solution = pf.infer(stack, rows, method)
    want = {"exact": ["exact"] * 3, "G2": ["exact", "exact", "exact"]}[method]
    assert list(solution.log_partition_accuracy[:2]) == want[:2]
    for k in range(3):
        alone = pf.infer(stack.take(k), rows[k], method)
        np.testing.assert_array_equal(solution.row(k).accuracy, alone.accuracy)


# ---- the same words everywhere ---------------------------------------------------------------------------------------


def test_frames_dictionaries_files_and_the_service_carry_the_same_words(tmp_path):
    pandas = pytest.importorskip("pandas")
    from plefka.explorer.worker_answers import Answers

    network = pf.example("espresso")
    rows = [{}, MANY, MANY | {"thin_crema": 0}]
    solution = pf.infer(network, rows, "G2")
    words = np.array(solution.accuracy, str)
    assert {"exact", "estimate", "observed"} == set(words.ravel())

    np.testing.assert_array_equal(solution.to_frame()["accuracy"].to_numpy(str).reshape(words.shape), words)
    content = json.loads(solution.to_json())["rows"]
    assert [list(row["means_accuracy"].values()) for row in content] == words.tolist()
    wide = solution.to_frame(wide=True)
    assert wide["accuracy"].tolist() == [row["accuracy"] for row in content]

    frame = pandas.DataFrame([{name: row.get(name, np.nan) for name in network.names} for row in rows])
    pf.infer_rows(network, frame, tmp_path / "found.csv", "G2")
    written = pandas.read_csv(tmp_path / "found.csv", keep_default_na=False)
    assert written["accuracy"].tolist() == wide["accuracy"].tolist()
    assert written["estimates"].tolist() == wide["estimates"].tolist()

    asked = {"rows": rows, "units": "all", "method": "G2", "top": network.size}
    answered = Answers(network).rows(asked)["rows"]
    for row, answer in enumerate(answered):
        assert answer["kind"] == str(wide["accuracy"][row]).replace(" ", "_")
        said = {each["name"]: each["accuracy"] for each in answer["ranking"]}
        assert said == {name: word for name, word in zip(network.names, words[row]) if word != "observed"}

    for row in range(3):
        assert str(words[row][words[row] != "observed"][0]) in str(solution.row(row))
        assert "estimate" in solution._repr_html_()


def test_what_follows_from_exact_numbers_is_exact():
    network, states = pf.example("espresso"), MANY
    for method, exact in (("exact", True), ("G2", False)):
        why = pf.explain(network, states, "stale_beans", method)
        entries = [why.accuracy, *(each.accuracy for each in (*why.observations, *why.changes))]
        assert why.is_exact == exact
        assert (set(entries) == {"exact"}) == exact
        assert why.prior_accuracy == "exact"  # without evidence every cause has its prior
        assert ("all numbers are exact" in str(why)) == exact
        advice = pf.ask(network, states, method=method)
        assert advice.is_exact == exact == all(each.accuracy == "exact" for each in advice.candidates)


def test_a_score_says_which_rows_are_exact():
    network, weights, bias, kind = NETWORKS["noisy-or"]
    truth, (evidence, states) = Enumerated(network, weights, bias, kind), some_rows(network)
    found = pf.score(network, evidence, "G1", seed=0, num_samples=200, exact=False)
    wanted, exact = np.array([truth.of(row)[0] for row in states]), found.accuracy == "exact"
    np.testing.assert_allclose(found.log_likelihood[exact], wanted[exact], atol=CLOSE)
    assert (found.standard_error[exact] == 0).all()
    assert exact[-1]
    assert not exact.all()
    assert not found.is_exact
    assert (np.asarray(found.bound) <= wanted + CLOSE)[exact].all()
    assert pf.score(network, evidence[-1:], "G1", seed=0, exact=False).is_exact


def test_a_score_of_a_machine_is_exact_where_both_sums_are():
    network, *_ = NETWORKS["machine of 0 and 1"]
    evidence, _ = some_rows(network)
    assert pf.score(network, evidence).is_exact
    sampled = pf.score(network, evidence, seed=0, num_samples=50, exact=False)
    assert set(sampled.accuracy) == {"estimate"}


def test_an_objective_is_called_what_it_is():
    rows = [[1, 1, 0], [0, 0, 1]] * 5
    nothing_hidden = pf.BeliefNetwork(np.zeros((3, 3)), np.zeros(3), "sigmoid")
    assert pf.fit(nothing_hidden, rows, "G12", epochs=1, verbose=False).accuracy is pf.Accuracy.EXACT
    hidden = pf.ensembles.to_learn((2,), rows, seed=0)
    for method, accuracy in (("SJJ", "lower bound"), ("G12", "estimate")):
        fitted = pf.fit(hidden, rows, method, epochs=1, verbose=False)
        assert fitted.accuracy == accuracy
    coupled = pf.BoltzmannMachine(np.ones((3, 3)) - np.eye(3), np.zeros(3))
    for method, accuracy in (("exact", "exact"), ("G2", "estimate")):
        fitted = pf.fit(coupled, rows, method, epochs=1, verbose=False)
        assert fitted.accuracy == accuracy
        assert accuracy in fitted.kind_of_objective
