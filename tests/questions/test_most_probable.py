"""The most probable states beside a plain sum over all states, of every kind of network and by every way."""

from dataclasses import replace

import numpy as np
import pytest

import plefka as pf
from plefka.exact import state_programs
from plefka.exact.log_factors import TooManyParents
from plefka.exact.ordering import TooWide
from plefka.exact.state_terms import StateTerms
from plefka.networks.evidence import as_evidence
from plefka.questions import most_probable as question_module
from plefka.questions.most_probable import METHODS
from tests.data import names_in
from tests.questions.small_questions import KINDS, question
from tests.test_real_networks import diagnosis

ESPRESSO, SEEN = pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}
COUNT = 5


def assert_as_enumerated(seed, methods=METHODS):
    """As many states as are possible, up to COUNT, with the logarithms that a plain sum has, ties included."""
    asked = question(seed)
    logs = asked.all_logs()
    truth = logs[logs > -np.inf]
    if not len(truth):
        with pytest.raises(pf.errors.PlefkaError):
            pf.most_probable(asked.network, asked.evidence, asked.units or None, COUNT)
        return
    for method in methods:
        found = pf.most_probable(asked.network, asked.evidence, asked.units or None, COUNT, method)
        np.testing.assert_allclose(found.log_joint, truth[:COUNT], rtol=1e-9, atol=1.1e-6, err_msg=f"{seed} {method}")
        assert found.proven.all()
        assert len(np.unique(found.states[:, asked.units], axis=0)) == len(found.states)
        rows = np.where(np.isnan(found.states), 0, found.states)
        if not np.isnan(found.states).any() and not any(isinstance(z, pf.Likelihood) for z in asked.evidence.values()):
            np.testing.assert_allclose(asked.network.log_joint(rows), found.log_joint, atol=1e-9)
        np.testing.assert_allclose(found.probability, np.exp(truth[:COUNT] - np.logaddexp.reduce(logs)), atol=2e-6)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_states_are_those_of_a_plain_sum(kind):
    for seed in range(kind, 10 * len(KINDS), len(KINDS)):
        assert_as_enumerated(seed)


@pytest.mark.slow
def test_states_of_two_thousand_networks_are_those_of_a_plain_sum():
    for seed in range(2000):
        assert_as_enumerated(seed)


@pytest.mark.parametrize("count", [1, 2, 5, 9])
def test_causes_that_nothing_binds_to_others_take_part(count):
    """The two that are observed in something, and others, of which some are probable, or known a little."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        causes = int(rng.integers(4, 9))
        weights = np.zeros((causes + 2, causes + 2))
        weights[causes:, :2] = rng.uniform(0.2, 2, (2, 2))
        bias = np.r_[-np.log1p(-rng.uniform(0.01, 0.95, causes)), 0.05, 0.1]
        seen = {causes: 1, causes + 1: seed % 2, 3: pf.Likelihood(rng.uniform(0.1, 1), 0.5)}
        asked = pf.BeliefNetwork(weights, bias, "noisy_or"), seen, "causes", count
        found = pf.most_probable(*asked, "branch-and-bound")
        np.testing.assert_allclose(found.log_joint, pf.most_probable(*asked, "enumeration").log_joint, atol=1e-6)


def test_a_batch_equals_a_loop():
    rows = [SEEN, {}, {"slow_flow": pf.Likelihood(0.9, 0.2)}, dict.fromkeys(ESPRESSO.names, 0)]
    found = pf.most_probable(ESPRESSO, rows, count=3)
    assert found.states.shape == (4, 3, ESPRESSO.size)
    for number, row in enumerate(rows):
        alone, one = pf.most_probable(ESPRESSO, row, count=3), found.row(number)
        np.testing.assert_array_equal(one.states, alone.states)
        np.testing.assert_allclose(one.probability, alone.probability, atol=1e-12)
    assert np.isneginf(found.log_joint[3, 1:]).all()  # all is observed: there is one state
    assert found.probability[3].tolist() == [1.0, 0.0, 0.0]


def test_the_interval_is_that_of_ln_p_of_the_evidence():
    found = pf.most_probable(ESPRESSO, SEEN, "causes", 2)
    np.testing.assert_array_equal(found.interval, found.probability[:, None].repeat(2, axis=1))
    drawn = pf.infer(ESPRESSO, [SEEN], "smc[particles=64,seed=0]")
    vars(found)["solution"] = drawn  # as where the evidence has no exact answer
    low, high = drawn.log_likelihood_interval
    np.testing.assert_allclose(found.interval, np.exp(found.log_joint[:, None] - [high[0], low[0]]))
    assert (found.interval[:, 0] < found.probability).all()
    assert np.isnan(replace(found, bound=found.bound + 1).interval).all()  # not proven
    assert pf.most_probable(ESPRESSO, [SEEN, {}], "causes", 2).interval.shape == (2, 2, 2)


def test_an_impossible_row_of_a_batch_has_no_state():
    network = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.0], "noisy_or", ["flu", "fever"])
    found = pf.most_probable(network, [{"flu": 0, "fever": 1}, {"fever": 1}])
    assert np.isneginf(found.log_joint[0]).all()
    assert np.isnan(found.states[0, 0]).all()
    assert found.row(1).on() == ["flu"]
    assert "impossible" in str(found)


def test_impossible_evidence_names_the_contradiction():
    network = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.0], "noisy_or", ["flu", "fever"])
    with pytest.raises(pf.errors.PlefkaError, match="flu=0 and fever=1 cannot both be true"):
        pf.most_probable(network, {"flu": 0, "fever": 1})


BAD = {
    "units that are observed": ({"units": ["slow_flow"]}, "'slow_flow' is observed"),
    "no units": ({"units": []}, "at least one unit"),
    "an unknown word": ({"units": "diseases"}, "units must be 'all', 'causes'"),
    "an unknown unit": ({"units": ["stale_bean"]}, "Did you mean 'stale_beans'"),
    "no state": ({"count": 0}, "count must be a whole number from 1"),
    "half a state": ({"count": 1.5}, "count must be a whole number from 1"),
    "an unknown method": ({"method": "eliminate"}, "Did you mean 'elimination'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    options, message = BAD[case]
    with pytest.raises(pf.errors.InvalidInput, match=message):
        pf.most_probable(ESPRESSO, SEEN, **options)


def test_stacks_and_other_things_are_refused():
    stack = pf.ensembles.layered((2, 3), -1, 1, 4, 0, "sigmoid")
    with pytest.raises(pf.errors.InvalidInput, match="takes one network; got a stack of 4"):
        pf.most_probable(stack)
    with pytest.raises(pf.errors.InvalidInput, match="takes one network; got dict"):
        pf.most_probable({})  # pyright: ignore[reportArgumentType]


def test_a_way_that_does_not_apply_says_so():
    rng = np.random.default_rng(0)
    wide = pf.BeliefNetwork.layered([rng.random((1, 40))], [rng.random(40), [0.1]], "noisy_or")
    with pytest.raises(pf.errors.MethodDoesNotApply, match="elimination does not apply"):
        pf.most_probable(wide, {40: 1}, method="elimination")
    with pytest.raises(pf.errors.MethodDoesNotApply, match="enumeration would sum over 2\\^40"):
        pf.most_probable(wide, {40: 1}, method="enumeration")
    with pytest.raises(pf.errors.MethodDoesNotApply, match="branch-and-bound does not apply"):
        pf.most_probable(wide, {40: 1}, list(range(20)), method="branch-and-bound")
    with pytest.raises(pf.errors.MethodDoesNotApply, match="the limit is 2\\^10"):
        pf.most_probable(wide, {40: 1}, list(range(20)), method="enumeration")
    assert pf.most_probable(wide, {40: 1}).proven.all()


def test_few_chosen_units_of_a_wide_network_are_summed_by_infer():
    rng = np.random.default_rng(1)
    wide = pf.BeliefNetwork.layered([rng.random((2, 30))], [rng.random(30) / 9, [0.1, 0.01]], "noisy_or")
    found = pf.most_probable(wide, {30: 1, 31: 0}, [0, 1], count=4)
    assert found.method == "enumeration"
    assert found.proven.all()
    assert found.probability.sum() == pytest.approx(1.0)
    assert np.isnan(found.states[:, 2:30]).all()


def test_what_is_set_from_outside_says_nothing_about_its_causes():
    network = pf.BeliefNetwork([[0, 0], [3.0, 0]], [0.1, 0.01], "noisy_or", ["flu", "fever"])
    seen, done = pf.most_probable(network, {"fever": 1}), pf.most_probable(network, do={"fever": 1})
    assert (seen.on(), done.on()) == (["flu"], [])
    assert done.probability[0] == pytest.approx(1 - pf.infer(network)["flu"])


def _too_wide(*_):
    raise TooWide(40)


def test_an_estimate_has_a_bound_and_a_gap(monkeypatch):
    """With no time to prove anything: the state is searched for, and the truth lies between it and the bound."""
    truth = pf.most_probable(ESPRESSO, SEEN, ["limescale", "stale_beans"])
    monkeypatch.setattr(question_module, "MarginalSearch", _too_wide)
    monkeypatch.setattr(question_module, "MOST_BITS", 0)
    found = pf.most_probable(ESPRESSO, SEEN, ["limescale", "stale_beans"])
    assert not found.proven.any()
    assert "a search" in found.method
    assert "is an estimate" in str(found)
    assert found.log_joint[0] <= truth.log_joint[0] <= found.bound[0]
    assert found.bound[0] > found.log_joint[0]
    assert f"{found.gap[0]:.3g}" in str(found)


def test_numbers_of_estimates_are_marked():
    found = pf.most_probable(pf.ensembles.ising_grid(20, 20, coupling=0.1))
    assert found.probability_accuracy is pf.Accuracy.ESTIMATE
    assert "~" in str(found)
    assert "numbers with ~ are estimates" in str(found)


def test_print_html_and_frame_show_differences():
    found = pf.most_probable(ESPRESSO, SEEN, "causes", count=3)
    text, html, frame = str(found), found._repr_html_(), found.to_frame()
    assert "limescale on, stale_beans on; all others off" in text
    assert "as 1, but" in text
    assert "as 1, but" in html
    assert frame["proven"].tolist() == [True] * 3
    assert frame["stale_beans"].tolist() == found.states[:, ESPRESSO.index("stale_beans")].tolist()
    assert repr(found) == "<MostProbable: 3 states of 7 units by enumeration>"
    assert "rows" in repr(pf.most_probable(ESPRESSO, [SEEN, {}]))
    several = pf.most_probable(ESPRESSO, [SEEN, {}], count=2).to_frame()
    assert several["row"].tolist() == [0, 0, 1, 1]


def test_words_of_states_are_shown():
    units = [("flu", [], "noisy_or", [], 3.0), ("fever", ["flu"], pf.Table([0.02, 0.8]))]
    network = pf.BeliefNetwork.of_units(units, states=[("absent", "present"), ("no", "yes")])
    assert "flu=present, fever=yes; all others off" in str(pf.most_probable(network))


def test_the_causes_of_real_diagnoses_are_proven():
    for name in names_in("promedas")[::12]:
        network, evidence, log_z, _ = diagnosis(name)
        found = pf.most_probable(network, evidence)
        assert found.proven.all(), name
        assert found.log_joint[0] < log_z


def test_a_row_of_a_batch_that_is_impossible_has_no_states():
    network = pf.BeliefNetwork([[0, 0], [1.0, 0]], [0.1, 0.0], "noisy_or", ["flu", "fever"])
    found = pf.most_probable(network, [{"flu": 0, "fever": 1}, {"fever": 1}])
    np.testing.assert_array_equal(found.probability, [[0.0], [1.0]])
    assert found.row(0).to_dict()["states"] == []
    assert "the evidence is impossible" in str(found.row(0))
    assert found.row(1).probability == pytest.approx([1.0])


def test_programs_that_run_out_of_time_say_so(monkeypatch):
    """Of five states that are asked for, those that were found in time are proven, and it is said that more exist."""
    rng = np.random.default_rng(1)
    links = np.where(rng.random((10, 40)) < 0.5, rng.uniform(0.05, 0.6, (10, 40)), 0.0)
    network = pf.BeliefNetwork.layered([-np.log1p(-links)], [np.full(40, 0.05), np.full(10, 0.01)], "noisy_or")
    evidence = dict.fromkeys(range(40, 50), 1)
    with monkeypatch.context() as patience:  # on a busy machine all five take longer than they may
        patience.setattr(state_programs, "ALL_SECONDS", 1000.0)
        whole = pf.most_probable(network, evidence, "causes", 5, method="branch-and-bound")
    assert (len(whole.states), whole.method) == (5, "branch and bound")
    clock = iter(np.r_[np.zeros(1), np.linspace(0, 2 * state_programs.ALL_SECONDS, 60), np.full(500, np.inf)])
    monkeypatch.setattr(state_programs.time, "monotonic", lambda: next(clock))
    found = pf.most_probable(network, evidence, "causes", 5, method="branch-and-bound")
    assert 1 <= len(found.states) < 5
    assert found.method == "branch and bound, which ended before it had found all states"
    proven = found.proven
    np.testing.assert_allclose(found.log_joint[proven], whole.log_joint[: proven.sum()], atol=2e-6)


def test_a_finding_of_more_causes_than_a_float_has_exponents_is_too_large_for_tables():
    names = [f"c{k}" for k in range(1100)]
    findings = {"finding": ["f"] * 1100, "cause": names, "probability": [0.5] * 1100}
    net = pf.BeliefNetwork.diagnosis({"cause": names, "prior": [1e-3] * 1100}, findings, leak=1e-3)
    with pytest.raises(TooManyParents):
        StateTerms(net, as_evidence(net, {"f": 1}), np.ones(1101, bool)).factors()
