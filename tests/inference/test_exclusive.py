"""exclusive=[...]: given that exactly one unit of a group is on, beside a plain sum over all states."""

import itertools
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidInput, MethodDoesNotApply, PlefkaError
from plefka.inference import exclusive

rng = np.random.default_rng(5)
NAMES = ("a", "b", "c", "d", "x", "y", "z")
BELOW = np.zeros((7, 7))
BELOW[4:, :4] = rng.uniform(0.2, 2, (3, 4)) * (rng.random((3, 4)) < 0.8)
DEEP = BELOW.copy()
DEEP[[2, 6], [0, 4]] = 1.3, 0.7  # one cause has a parent, and one finding too
BIAS = np.array([0.1, 0.3, 0.05, 0.2, 0.02, 0.1, 0.3])
CERTAIN = BELOW.copy()
CERTAIN[4, 1] = np.inf


def tables():
    units = [("a", [], pf.Table(0.2)), ("b", [], "noisy_or", [], 0.3), ("c", ["a"], pf.Table([0.1, 0.7]))]
    units += [("d", [], "sigmoid", [], -1.0), ("x", ["a", "b", "c"], pf.Table(rng.uniform(0, 1, (2, 2, 2))))]
    units += [("y", ["d", "c"], "sigmoid", [1.0, -2.0], 0.5), ("z", ["b"], pf.Table([0.0, 0.6]))]
    return pf.BeliefNetwork.of_units(units)


NETWORKS = {
    "two layers": pf.BeliefNetwork(BELOW, BIAS, "noisy_or", NAMES),
    "edges": pf.BeliefNetwork(sp.csr_array(BELOW), BIAS, "noisy_or", NAMES),
    "sigmoid": pf.BeliefNetwork(BELOW, BIAS - 0.5, "sigmoid", NAMES),
    "leak 0": pf.BeliefNetwork(BELOW, np.where(np.arange(7) < 4, BIAS, 0.0), "noisy_or", NAMES),
    "certain edge": pf.BeliefNetwork(CERTAIN, BIAS, "noisy_or", NAMES),
    "rare": pf.BeliefNetwork(BELOW, [1e-20, 1e-20, 1e-15, 1e-20, *BIAS[4:]], "noisy_or", NAMES),
    "no edges": pf.BeliefNetwork(np.zeros((7, 7)), BIAS, "noisy_or", NAMES),
    "deep": pf.BeliefNetwork(DEEP, BIAS, "noisy_or", NAMES),
    "units of different kinds": tables(),
}
GROUPS = {
    "all causes": ["a", "b", "c", "d"],
    "or none": ["a", "b", "c", "d", None],
    "some causes": ["a", "c"],
    "across layers": ["b", "x", "y", None],
}
ROWS = {
    "nothing": {},
    "findings": {"x": 1, "y": 0},
    "one off": {"x": 1, "b": 0},
    "one on": {"y": 1, "c": 1},
    "soft": {"x": 1, "a": pf.Likelihood(0.9, 0.2), "z": pf.Likelihood(0.3, 0.8)},
}


def truth(network, evidence, group):
    states = np.array(list(itertools.product((0.0, 1.0), repeat=network.size)))
    log_weight = np.asarray(network.log_joint(states))
    for name, state in evidence.items():
        on = states[:, network.index(name)] == 1
        soft = state if isinstance(state, pf.Likelihood) else pf.Likelihood(on=state, off=1 - state)
        with np.errstate(divide="ignore"):
            log_weight = log_weight + np.where(on, np.log(soft.on), np.log(soft.off))
    count = states[:, [network.index(name) for name in group if name is not None]].sum(axis=1)
    log_weight = np.where((count == 1) | ((count == 0) & (None in group)), log_weight, -np.inf)
    total = np.logaddexp.reduce(log_weight)
    return total, np.exp(log_weight - total) @ states if np.isfinite(total) else None


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", NETWORKS)
def test_it_is_the_sum_over_states_with_one_of_them_on(name, group, row):
    network, evidence, group = NETWORKS[name], ROWS[row], GROUPS[group]
    total, means = truth(network, evidence, group)
    if means is None:
        with pytest.raises(pf.InferenceFailed, match=r"leave no state in which|cannot"):
            pf.infer(network, evidence, "exact", exclusive=group)
        return
    for method in ("exact", "auto"):
        found = pf.infer(network, evidence, method, exclusive=group)
        assert found.log_likelihood == pytest.approx(total, abs=1e-12)
        np.testing.assert_allclose(found.means, means, atol=1e-12)
        assert found.is_exact


def by_rows(network, evidence, members, method="exact"):
    """The sum over rows in which one of the members is on, each by itself."""
    rows = [{**evidence, **{name: int(name == one) for name in members}} for one in members]
    found = pf.infer(network, rows, method)
    total = np.logaddexp.reduce(found.log_partition)
    return total, np.exp(found.log_partition - total) @ found.means


def test_a_machine_and_other_methods_take_it_too():
    machine = pf.BoltzmannMachine(BELOW + BELOW.T, BIAS, names=NAMES)
    found = pf.infer(machine, {"x": 1}, "exact", exclusive=["a", "c", "z"])
    total, means = by_rows(machine, {"x": 1}, ["a", "c", "z"])
    assert found.log_partition == pytest.approx(total, abs=1e-12)
    np.testing.assert_allclose(found.means, means, atol=1e-12)
    bound = pf.infer(NETWORKS["deep"], {"z": 1, "y": 1}, "G1", exclusive=["b", "d"])
    total, means = by_rows(NETWORKS["deep"], {"z": 1, "y": 1}, ["b", "d"], "G1")
    assert bound.log_likelihood == pytest.approx(total, abs=1e-9)
    np.testing.assert_allclose(bound.means, means, atol=1e-9)
    assert bound.log_likelihood <= truth(NETWORKS["deep"], {"z": 1, "y": 1}, ["b", "d"])[0]
    assert bound.log_likelihood_accuracy is pf.Accuracy.LOWER_BOUND
    assert not bound.is_exact
    drawn = pf.infer(NETWORKS["deep"], {"z": 1, "y": 1}, "gibbs[seed=0]", throw=False, exclusive=["b", "d"])
    exact = truth(NETWORKS["deep"], {"z": 1, "y": 1}, ["b", "d"])[1]
    assert drawn.means_error is not None
    assert abs(drawn.means - exact).max() < 5 * np.nanmax(drawn.means_error) + 1e-3


def test_a_batch_is_each_row_by_itself():
    network, group = NETWORKS["deep"], ["a", "b", None]
    rows = [{}, {"x": 1}, {"a": 1, "b": 1}, {"a": 1}]
    batch = pf.infer(network, rows, exclusive=group)
    assert [status.name for status in batch.status] == ["CONVERGED", "CONVERGED", "IMPOSSIBLE", "CONVERGED"]
    assert "at most one of a, b is on" in str(batch.contradiction(2))
    for k in (0, 1, 3):
        one = pf.infer(network, rows[k], exclusive=group)
        np.testing.assert_allclose(batch.means[k], one.means, atol=1e-12)
    assert pf.infer(network, {"a": 0}, "exact", exclusive=["a", "b"])["b"] == 1


def test_one_pass_over_the_edges_is_the_sum_over_rows_and_solves_nothing(monkeypatch):
    network, evidence = NETWORKS["edges"], {"x": 1, "z": 0}

    def never(*arguments, **options):
        raise AssertionError("no row is solved where all fields are known")

    with monkeypatch.context() as patch:
        patch.setattr("plefka.inference.infer.answer_of", never)
        quick = pf.infer(network, evidence, exclusive="causes")
    with monkeypatch.context() as patch:
        patch.setattr(exclusive, "_fields_are_known", lambda *_: False)
        patch.setattr(exclusive, "MOST_NUMBERS", 14)  # two rows at once
        slow = pf.infer(network, evidence, exclusive=["causes"])
    np.testing.assert_allclose(quick.means, slow.means, atol=1e-12)
    assert quick.log_likelihood == pytest.approx(slow.log_likelihood, abs=1e-12)


def test_what_is_set_may_be_one_of_the_group():
    network, group = NETWORKS["deep"], ["a", "c", None]
    found = pf.infer(network, {"x": 1}, "exact", do={"c": 1}, exclusive=group)
    assert found["a"] == 0
    set_and_seen = pf.infer(network, {"x": 1, "a": 0}, "exact", do={"c": 1})
    np.testing.assert_allclose(found.means, set_and_seen.means, atol=1e-12)


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ("flu", "exclusive must be 'causes' or a list of units, with None for none; got 'flu'."),
        (3, "exclusive must be 'causes' or a list of units, with None for none; got 3."),
        (["a"], "exclusive must name at least two units, each once; got 'a'."),
        (["a", "b", "a"], "exclusive must name at least two units, each once; got 'a', 'b', 'a'."),
        (["a", "nobody"], "there is no unit 'nobody' in this network."),
    ],
)
def test_bad_groups_are_refused_in_a_sentence(group, message):
    with pytest.raises(InvalidInput) as caught:
        pf.infer(NETWORKS["deep"], {}, exclusive=group)
    assert message in str(caught.value)


def test_what_does_not_know_of_groups_refuses_them():
    found = pf.infer(NETWORKS["deep"], {"x": 1}, "G2", exclusive=["a", "b"])
    for ask in (
        lambda: found.check(seed=0),
        found.covariance,
        lambda: found.covariance_product(np.ones(7)),
        found.draws,
    ):
        with pytest.raises(MethodDoesNotApply, match="does not take exclusive into account"):
            ask()
    with pytest.raises(MethodDoesNotApply, match="the check does not take exclusive"):
        pf.infer(NETWORKS["deep"], {"x": 1}, exclusive=["a", "b"], check=True)
    with pytest.raises(InvalidInput, match="exclusive is for one network"):
        pf.infer(pf.ensembles.layered((2, 3), -1, 1, 2, seed=0), {}, exclusive=[0, 1])


def test_a_solution_says_what_was_assumed():
    found = pf.infer(NETWORKS["deep"], {"x": 1}, exclusive=["a", "b"])
    assert "exactly one of a, b is on, by assumption" in str(found)
    assert "prior" not in str(found)
    assert "looks like this" not in str(found)


def test_rows_of_a_file(tmp_path):
    large = np.zeros((200, 200))
    large[60:, :60] = rng.uniform(0.2, 2, (140, 60)) * (rng.random((140, 60)) < 0.6)
    many = pf.BeliefNetwork(
        sp.csr_array(large), np.full(200, 0.1), "noisy_or"
    )  # of which a part is taken for each block
    for network, group in ((NETWORKS["deep"], ["a", "c", None]), (many, "causes"), (many, [0, 3, 80])):
        rows = [{4: 1}, {5: 0, 6: 1}] if network is NETWORKS["deep"] else [{70: 1, 90: 1}, {100: 0, 110: 1}]
        out = tmp_path / "out.csv"
        pf.infer_rows(network, rows, out, "exact", units="causes", exclusive=group, force=True)
        lines = [line.split(",") for line in out.read_text().splitlines()[1:]]
        for row, line in zip(rows, lines, strict=True):
            one = pf.infer(network, row, "exact", exclusive=group)
            assert float(line[2]) == pytest.approx(one.log_likelihood, abs=1e-12)
            assert line[5].strip('"') == network.fingerprint
            np.testing.assert_allclose([*map(float, line[6:])], one.means[network.roots], atol=1e-12)


@pytest.mark.parametrize("name", ["two layers", "deep", "leak 0"])
@pytest.mark.parametrize("group", [["a", "b", "c", "d"], ["a", "d", None]], ids=str)
def test_ask_knows_of_the_group(name, group):
    """The information of a candidate about a target, from the joint table of both by enumeration."""
    network, evidence = NETWORKS[name], {"x": 1}
    targets = [unit for unit in group if unit is not None]
    found = pf.ask(network, evidence, ["y", "z"], targets, exclusive=group)
    assert found.is_exact
    for candidate in found.candidates:
        information = 0.0
        for target in targets:
            logs = [
                [truth(network, {**evidence, candidate.unit: s, target: t}, group)[0] for t in (0, 1)] for s in (0, 1)
            ]
            table = np.exp(np.array(logs) - np.logaddexp.reduce(logs, axis=None))
            alone = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True)
            information += np.where(
                table > 0, table * np.log(np.where(table > 0, table, 1) / np.where(alone > 0, alone, 1)), 0.0
            ).sum()
        assert candidate.information == pytest.approx(information, abs=1e-9)


@pytest.mark.parametrize(
    "question",
    [pf.most_probable, pf.counterfactuals, partial(pf.sensitivity, target="a"), pf.bounds,
     lambda network, evidence: pf.free_energy(network, evidence, np.full(network.size, 0.5), "G12")],
    ids=["most_probable", "counterfactuals", "sensitivity", "bounds", "free_energy"],
)  # fmt: skip
def test_questions_that_do_not_know_of_groups_refuse_their_evidence(question):
    found = pf.infer(NETWORKS["two layers"], {"x": 1}, exclusive=["a", "b"])
    with pytest.raises(PlefkaError, match=r"does not take exclusive into account|exactly one of a, b is on, which"):
        question(found.network, found.evidence)
