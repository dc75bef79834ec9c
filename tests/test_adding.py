"""Every row of "Where new things go" in CONTRIBUTING.md, added from outside by public names as far as they reach."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest

import plefka as pf
from plefka.networks.edges import Edges
from plefka.paper.compute import complete
from plefka.paper.experiment_settings import Column, Ensemble, Study
from plefka.paper.store import read_one

ROW = np.array([np.nan] * 5 + [1.0, 0.0, 1.0])


@pytest.fixture
def registered():
    """Register things in a test, and forget them after it."""
    names = []

    def add(name, thing):
        names.append(name)
        return pf.register(name)(thing)

    yield add
    for name in names:
        pf.unregister(name)


def network(activation="sigmoid"):
    return pf.ensembles.layered((2, 3, 3), low=-1, high=1, count=1, seed=0, activation=activation).take(0)


def added_scheme(registered, tmp_path):
    class FirstOrder(pf.Functional):
        """G11: the energy at the mean field."""

        def powers(self, activation):
            return 1

        def network_energy(self, question, u):
            model = question.model
            (x,) = model.weights.power_sums(u)
            f, x = model.activation, model.activation.off_poles(x + model.h)
            return -jnp.sum(model.counted * (u * f.log_on(x) + (1 - u) * f.log_off(x)), axis=0)

    registered("first_order", FirstOrder)
    ours, theirs = (pf.infer(network(), ROW, method) for method in ("first_order", "G11"))
    np.testing.assert_allclose(ours.means, theirs.means, atol=1e-7)
    assert ours.log_likelihood == pytest.approx(theirs.log_likelihood)


def added_method(registered, tmp_path):
    @dataclass(frozen=True)
    class Prior(pf.Method):
        shift: float = 0.0

        def answer(self, network, evidence, *, prune, dtype):
            means = np.where(np.isnan(evidence.rows), 0.5 + self.shift, evidence.rows)
            return pf.Posterior.of(means, np.full(len(means), -1.0))

    registered("prior", Prior)
    solution = pf.infer(network(), ROW, "prior[shift=0.25]")
    assert solution.means[0] == 0.75
    assert str(solution.method) == "prior[shift=0.25]"
    assert solution.log_likelihood_accuracy is pf.Accuracy.ESTIMATE


def added_policy(registered, tmp_path):
    class HalfSteps(pf.Policy):
        def step(self, point, trial, memory, evaluate):
            return trial, trial.theta + trial.direction / 2, memory

    registered("half", HalfSteps)
    ours, theirs = (pf.infer(network(), ROW, method) for method in ("G12[policy=half]", "G12"))
    np.testing.assert_allclose(ours.means, theirs.means, atol=1e-6)


def added_activation(registered, tmp_path):
    registered("cloglog", pf.Custom(log_on=lambda x: jnp.log(-jnp.expm1(-jnp.exp(x))), log_off=lambda x: -jnp.exp(x)))
    net = network("cloglog")
    assert 0 < pf.infer(net, ROW, "exact").means[0] < 1
    pf.save(net, tmp_path / "net.json")
    again = pf.load(tmp_path / "net.json")  # a file names it, and the registered one is taken
    assert again.activation.name == "cloglog"
    assert pf.infer(again, ROW, "bethe").log_likelihood == pf.infer(net, ROW, "bethe").log_likelihood


def added_storage(registered, tmp_path):
    class OwnEdges(Edges):
        """A storage of one's own must equal dense blocks."""

    dense = network()
    child, parent, weight = dense.storage.edge_list()
    storage = OwnEdges.from_lists(weight[:, 0], child, parent, dense.size)
    own = eqx.tree_at(lambda net: net.storage, dense, storage)
    for method in ("G12", "bethe", "exact"):
        ours, theirs = (pf.infer(each, ROW, method) for each in (own, dense))
        np.testing.assert_allclose(ours.means, theirs.means, atol=1e-9)


def added_experiment(registered, tmp_path):
    column = Column(Ensemble("sigmoid", -0.5, 0.5), "off", ("G12", "bethe"))
    study = Study("own", (column,), networks=3, block=3, max_steps=200, seed=0)
    complete(study, tmp_path)
    assert set(read_one(tmp_path, study).columns["method"]) == {"G12", "bethe"}


def added_format(registered, tmp_path):
    def loads(content, activation):
        given = json.loads(content)
        return pf.BeliefNetwork(np.array(given["W"]), np.array(given["h"]), activation or "sigmoid")

    def dumps(net):
        return json.dumps({"W": net.weights.tolist(), "h": net.bias.tolist()}).encode()

    registered(".tiny", pf.FileFormat(loads, dumps))
    net = pf.BeliefNetwork([[0.0, 0.0], [1.5, 0.0]], [0.1, -1.0])
    pf.save(net, tmp_path / "net.tiny")
    assert pf.infer(pf.load(tmp_path / "net.tiny"), {1: 1}).means[0] == pf.infer(net, {1: 1}).means[0]
    pf.convert(tmp_path / "net.tiny", tmp_path / "net.json")
    assert pf.load(tmp_path / "net.json").num_edges == net.num_edges


ADDED = {
    "a scheme, a functional of the means": added_scheme,
    "a method of another kind": added_method,
    "a policy for the solver": added_policy,
    "an activation": added_activation,
    "a way to store weights": added_storage,
    "an experiment": added_experiment,
    "a file format": added_format,
}


@pytest.mark.parametrize("what", ADDED)
def test_a_new_thing_is_added_from_outside(what, registered, tmp_path):
    ADDED[what](registered, tmp_path)


def test_every_row_of_the_table_is_tried():
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    table = text.split("## Where new things go")[1].split("\n\n")[1]
    assert [line.split("|")[1].strip() for line in table.splitlines()[2:]] == list(ADDED)


FORMAT = pf.FileFormat(pf.example, bytes)


@pytest.mark.parametrize(("name", "thing"), [(".json", FORMAT), ("sigmoid", pf.Custom(jnp.tanh))])
def test_names_of_the_library_are_refused(name, thing):
    with pytest.raises(pf.errors.PlefkaError, match="of the library"):
        pf.register(name)(thing)


@pytest.mark.parametrize("name", ["net", ".NET", ".gz", ".bif", ".net", "."])
def test_a_format_needs_a_suffix_of_its_own(name):
    with pytest.raises(pf.errors.PlefkaError, match=r"'\.coin'|must begin with a letter"):
        pf.register(name)(FORMAT)


def test_a_refused_registration_loses_nothing(registered):
    registered("mine", pf.Custom(lambda x: 0.5 + 0 * x))
    with pytest.raises(pf.errors.PlefkaError, match=r"register pf\.Custom"):
        pf.register("mine")(lambda x: x)
    assert pf.BeliefNetwork([[0.0]], [0.0], "mine").activation.name == "mine"


@pytest.mark.parametrize("given", [pf.FileFormat, pf.FileFormat(pf.example, cast(Any, None))])
def test_a_format_must_have_both_functions(given):
    with pytest.raises(pf.errors.PlefkaError, match="must have two functions, loads and dumps"):
        pf.register(".coin")(given)


def test_functions_of_a_format_must_give_what_they_say(registered, tmp_path):
    wrong: Any = lambda *_: "text"  # noqa: E731
    registered(".coin", pf.FileFormat(wrong, wrong))
    with pytest.raises(pf.errors.InvalidFile, match="must give bytes; got str"):
        pf.save(network(), tmp_path / "a.coin")
    (tmp_path / "a.coin").write_text("")
    with pytest.raises(pf.errors.InvalidFile, match="must give a network; got str"):
        pf.load(tmp_path / "a.coin")
