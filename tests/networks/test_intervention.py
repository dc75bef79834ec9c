"""do={...}: surgery before evidence, beside a plain sum over all states without the factors of what is set."""

import itertools

import jax
import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidEvidence
from plefka.networks.activations import as_activation
from tests import data

SEEN = {"e": 1, "b": 0}
NAMES = tuple("abcdef")
rng = np.random.default_rng(3)
WEIGHTS = np.tril(rng.uniform(0.1, 2, (6, 6)), -1) * (rng.random((6, 6)) < 0.8)
BIAS = rng.uniform(0.05, 0.5, 6)
LOG_LOG = pf.Custom(lambda x: jax.numpy.exp(-jax.numpy.exp(-x)), name="log-log")


def table_of(parents):
    return pf.Table(rng.uniform(0.05, 0.95, (2,) * parents))


def mixed():
    units = [
        ("a", [], "noisy_or", [], 0.3),
        ("b", ["a"], table_of(1)),
        ("c", ["a", "b"], table_of(2)),
        ("d", ["b"], "sigmoid", [1.0], -0.5),
        ("e", ["a", "c", "d"], table_of(3)),
        ("f", ["c", "e"], "noisy_or", [0.7, 1.2], 0.1),
    ]
    return pf.BeliefNetwork.of_units(units)


NETWORKS = {
    "dense": pf.BeliefNetwork(WEIGHTS, BIAS, "sigmoid", NAMES),
    "edges": pf.BeliefNetwork(sp.csr_array(WEIGHTS), BIAS, "noisy_or", NAMES),
    "leak 0": pf.BeliefNetwork(WEIGHTS, np.where(np.arange(6) < 1, 0.3, 0.0), "noisy_or", NAMES),
    "layers": pf.BeliefNetwork.layered(
        [rng.uniform(0, 2, (2, 2)), rng.uniform(0, 2, (2, 2))], [BIAS[:2], BIAS[2:4], BIAS[4:]], "noisy_or", NAMES
    ),
    "rare": pf.BeliefNetwork(WEIGHTS, [1e-20, *BIAS[1:]], "noisy_or", NAMES),
    "custom": pf.BeliefNetwork(WEIGHTS, BIAS, LOG_LOG, NAMES),
    "units of different kinds": mixed(),
}


def truth(network, evidence, do):
    """ln P(evidence | do) and means: every unit that is not set has its own factor."""
    states = np.array(list(itertools.product((0.0, 1.0), repeat=network.size)))
    log_weight = np.zeros(len(states))
    for k, (name, unit) in enumerate(zip(network.names, network.units, strict=True)):
        if name in do:
            continue
        parents = states[:, [network.index(parent) for parent in unit.parents]]
        if isinstance(unit.kind, pf.Table):
            p = np.asarray(unit.kind.probabilities)[tuple(parents.T.astype(int))]
        else:
            x = unit.bias + parents @ np.array(unit.weights, float)
            p = np.exp(np.asarray(as_activation(unit.kind).log_on(x), float))
        with np.errstate(divide="ignore"):
            log_weight += np.where(states[:, k] == 1, np.log(p), np.log1p(-p))
    for name, state in {**evidence, **do}.items():
        log_weight[states[:, network.index(name)] != state] = -np.inf
    total = np.logaddexp.reduce(log_weight)
    return total, np.exp(log_weight - total) @ states


@pytest.mark.parametrize("method", ["exact", "auto"])
@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("do", [{"c": 1}, {"c": 0}, {"a": 1, "d": 0}, {"f": 1}], ids=str)
def test_it_is_the_sum_without_the_factors_of_what_is_set(name, do, method):
    network = NETWORKS[name]
    log_likelihood, means = truth(network, SEEN, do)
    if np.isneginf(log_likelihood):
        with pytest.raises(pf.InferenceFailed):
            pf.infer(network, SEEN, method, do=do)
        return
    found = pf.infer(network, SEEN, method, do=do)
    assert found.log_likelihood == pytest.approx(log_likelihood, abs=1e-12)
    np.testing.assert_allclose(found.means, means, atol=1e-12)
    assert found.is_exact


def test_what_is_set_tells_nothing_about_its_causes():
    network = NETWORKS["edges"]
    prior = pf.infer(network, None, "exact")
    assert pf.infer(network, None, "exact", do={"f": 1})["a"] == pytest.approx(prior["a"], abs=1e-12)
    assert pf.infer(network, {"f": 1}, "exact")["a"] > prior["a"]
    assert pf.infer(network, None, "exact", do={"f": 1}).log_likelihood == pytest.approx(0, abs=1e-12)
    assert pf.infer(network, SEEN, "exact", do={}).log_likelihood == pf.infer(network, SEEN, "exact").log_likelihood


def test_rows_stacks_soft_evidence_and_other_methods():
    network, do = NETWORKS["dense"], {"c": 1}
    batch = pf.infer(network, [{}, SEEN], "exact", do=do)
    assert batch.log_likelihood.tolist() == pytest.approx([0.0, truth(network, SEEN, do)[0]], abs=1e-12)
    stack = pf.ensembles.layered((2, 3), -1, 1, 4, seed=0)
    found = pf.infer(stack, {4: 1}, "exact", do={2: 1})
    for k in range(4):
        one = pf.infer(stack.take(k), {4: 1}, "exact", do={2: 1})
        np.testing.assert_allclose(found.means[k], one.means, atol=1e-12)
    soft = {"e": pf.Likelihood(0.9, 0.2), "b": 0}
    on, off = (truth(network, {"b": 0, "e": state}, do)[0] for state in (1, 0))
    assert pf.infer(network, soft, "exact", do=do).log_likelihood == pytest.approx(
        np.logaddexp(on + np.log(0.9), off + np.log(0.2)), abs=1e-12
    )
    checked = pf.infer(network, SEEN, "G2", do=do).check(seed=0)
    assert checked.log_likelihood == pytest.approx(truth(network, SEEN, do)[0], abs=5 * checked.standard_error + 1e-3)


def test_inside_a_trace():
    network, expected = NETWORKS["dense"], truth(NETWORKS["dense"], SEEN, {"c": 1})[0]
    with jax.enable_x64(True):
        value = jax.jit(lambda p: pf.infer(network.with_parameters(p), SEEN, "exact", do={"c": 1}).log_likelihood)
        assert float(value(network.parameters)) == pytest.approx(expected, abs=1e-9)


def test_tables_of_a_file_keep_their_digits():
    network = pf.load(data.path_of("bif/asia.bif.gz"))
    assert network.given_tables is not None
    found = pf.infer(network, {"dysp": "yes"}, "exact", do={"smoke": "yes"})
    on = pf.infer(network, {"dysp": "yes", "smoke": "yes"}, "exact")  # a root: to set it is to observe it
    assert found.log_likelihood == pytest.approx(on.log_likelihood - np.log(0.5), abs=1e-12)
    np.testing.assert_allclose(found.means, on.means, atol=1e-12)
    cut = pf.infer(network, {"dysp": "yes"}, "exact", do={"bronc": "yes"})
    assert cut["smoke"] < pf.infer(network, {"dysp": "yes", "bronc": "yes"}, "exact")["smoke"]
    assert "do(bronc = yes)" in str(cut)


@pytest.mark.parametrize(
    ("network", "evidence", "do", "message"),
    [
        ("dense", SEEN, {"e": 1}, "unit 'e' is set by do and must not be observed too. Leave it out of one of them."),
        ("dense", {"e": pf.Likelihood(0.9, 0.1)}, {"e": 1}, "unit 'e' is set by do and must not be observed too"),
        ("dense", {}, {"nobody": 1}, "there is no unit 'nobody' in this network."),
        ("dense", {}, {"a": 2}, "the state of unit 'a' must be 0 or 1; got 2."),
        ("dense", {}, {"a": None}, "do must set every unit to 0 or 1; got {'a': None}."),
        ("dense", {}, {"a": pf.Likelihood(0.9, 0.1)}, "do must set every unit to 0 or 1; got {'a': Likelihood(on=0.9"),
        ("dense", {}, "a", "do must be a dictionary {unit: 0 or 1} of what is set; got str."),
    ],
)  # fmt: skip
def test_bad_interventions_are_refused_in_a_sentence(network, evidence, do, message):
    with pytest.raises(InvalidEvidence) as caught:
        pf.infer(NETWORKS[network], evidence, do=do)
    assert message in str(caught.value)


def test_a_machine_has_no_direction():
    machine = pf.BoltzmannMachine([[0, 1.0], [1.0, 0]], [0.1, 0.2])
    with pytest.raises(InvalidEvidence, match="a BoltzmannMachine has no direction"):
        pf.infer(machine, do={0: 1})


def test_a_solution_says_that_it_is_an_intervention():
    text = str(pf.infer(NETWORKS["dense"], {"e": 1}, "exact", do={"c": 1}))
    assert "do(c = 1): the probabilities are those after this intervention" in text
    assert "observed: e=1\n" in text
    assert "looks like" not in str(pf.infer(NETWORKS["dense"], None, "exact", do={"c": 1}))


def test_rows_of_a_file(tmp_path):
    network, do, rows = NETWORKS["edges"], {"c": 1}, [{"e": 1}, {"e": 0, "b": 1}]
    pf.infer_rows(network, rows, tmp_path / "out.csv", "exact", evidence={"f": 1}, do=do, units="causes")
    found = [line.split(",") for line in (tmp_path / "out.csv").read_text().splitlines()]
    for row, line in zip(rows, found[1:], strict=True):
        assert float(line[2]) == pytest.approx(truth(network, {**row, "f": 1}, do)[0], abs=1e-12)
    with pytest.raises(InvalidEvidence, match="unit 'e' is set by do"):
        pf.infer_rows(network, rows, tmp_path / "other.csv", "exact", do={"e": 1})


def test_ask_is_that_of_the_network_without_the_edges():
    """What is set tells nothing of its causes, so that it is as if the unit were a root that is known."""
    units = [
        ("a", [], "noisy_or", [], 0.3),
        ("b", ["a"], "noisy_or", [1.0], 0.1),
        ("c", ["a", "b"], "noisy_or", [0.5, 2.0], 0.1),
    ]
    cut = [units[0], ("b", [], "noisy_or", [], 0.7), units[2]]
    network, without = pf.BeliefNetwork.of_units(units), pf.BeliefNetwork.of_units(cut)
    found, expected = pf.ask(network, {}, do={"b": 1}), pf.ask(without, {"b": 1})
    assert found.candidates[0].information == pytest.approx(expected.candidates[0].information, abs=1e-12)
    assert "do(b = 1)" in str(found)
    with pytest.raises(InvalidEvidence, match="is set by do"):
        pf.ask(network, {"b": 1}, do={"b": 1})


def test_the_most_probable_states_are_those_without_the_factors_of_what_is_set():
    for name in ("edges", "dense", "units of different kinds"):
        network, do = NETWORKS[name], {"c": 1}
        found = pf.most_probable(network, SEEN, count=2, do=do)
        hidden = [unit for unit in network.names if unit not in (*SEEN, *do)]
        states = [dict(zip(hidden, values, strict=True)) for values in itertools.product((0, 1), repeat=len(hidden))]
        logs = sorted((truth(network, {**SEEN, **state}, do)[0] for state in states), reverse=True)
        np.testing.assert_allclose(found.log_joint, logs[:2], atol=1e-12)
        np.testing.assert_allclose(found.probability, np.exp(logs[:2] - truth(network, SEEN, do)[0]), atol=1e-12)
        assert "do(c = 1)" in str(found)
    with pytest.raises(InvalidEvidence, match="is set by do"):
        pf.most_probable(NETWORKS["edges"], SEEN, do={"e": 1})
