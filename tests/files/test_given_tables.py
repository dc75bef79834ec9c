"""A network that came in tables keeps these in the native formats, so that exact inference finds the same numbers."""

import io
import json
from typing import Any

import numpy as np
import pytest
from tests.data import path_of
from tests.files.table_zoo import random_tables

import plefka as pf
from plefka.errors import InvalidFile
from plefka.files import native_json, native_npz
from plefka.files.conditional_tables import TableNetwork, TableUnit
from plefka.files.from_tables import network_of

FORMATS = {"json": native_json, "npz": native_npz}
ROUNDED = 7  # digits of probabilities


def rounded_noisy_or():
    """Recognised as noisy-or, and off by as much as the tables are rounded."""
    states = (("no", "yes"),) * 3
    tables = [np.array(0.1), np.array(0.3), np.array([[0.02, 0.6123457], [0.4234567, 0.7719353]])]
    tables[2][1, 1] = np.round(1 - 0.98 * (0.3876543 / 0.98) * (0.5765433 / 0.98), ROUNDED)
    parents = [(), (), (0, 1)]
    units = [TableUnit(n, s, p, t) for n, s, p, t in zip("abc", states, parents, tables, strict=True)]
    return network_of(TableNetwork(tuple(units), True))


NETWORKS = {
    "rounded noisy-or": rounded_noisy_or(),
    "tables": network_of(random_tables(6, 3, 0)),
    "tables with zeros": network_of(random_tables(6, 3, 2, zeros=True)),
}


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
@pytest.mark.parametrize("network", NETWORKS.values(), ids=NETWORKS)
def test_saving_and_loading_keeps_the_tables(network, form):
    again = form.loads(form.dumps(network))
    assert again.given_tables is not None
    assert again.given_tables.parents == network.given_tables.parents
    for ours, theirs in zip(again.given_tables.on, network.given_tables.on, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    found, right = (pf.infer(each, None, "exact") for each in (again, network))
    np.testing.assert_array_equal(found.means, right.means)
    assert form.dumps(again) == form.dumps(network)


def test_the_compact_units_alone_would_differ():
    network = NETWORKS["rounded noisy-or"]
    assert network.conditionals is None
    with_tables, without = (pf.infer(each, None, "exact").means for each in (network, network.with_tables(None)))
    assert np.abs(with_tables - without).max() > 1e-12


@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_file_without_them_still_loads(form):
    for network in NETWORKS.values():
        plain = network.with_tables(None)
        content = form.dumps(plain)
        assert b"tables" not in content
        assert b"table_num" not in content
        assert form.loads(content).given_tables is None
    changed = NETWORKS["rounded noisy-or"].with_parameters(NETWORKS["rounded noisy-or"].parameters)
    assert form.loads(form.dumps(changed)).given_tables is None


@pytest.mark.parametrize("name", ["bif/win95pts.bif.gz", "bif/cancer.bif.gz"])
def test_real_networks_have_the_same_answer_after_saving(name, tmp_path):
    network = pf.load(path_of(name))
    for suffix in FORMATS:
        pf.save(network, tmp_path / f"network.{suffix}")
        again = pf.load(tmp_path / f"network.{suffix}")
        found, right = (pf.infer(each, {0: 1}, "exact") for each in (again, network))
        assert found.log_likelihood == right.log_likelihood
        np.testing.assert_array_equal(found.means, right.means)


def text_with(change):
    content = json.loads(native_json.dumps(NETWORKS["rounded noisy-or"]))
    change(content["tables"])
    return json.dumps(content).encode()


WRONG = {
    "too few": (lambda tables: tables.pop(), "tables must be a list of 3 tables, one for each unit; got 2."),
    "a parent": (
        lambda tables: tables[2]["parents"].__setitem__(0, "d"),
        r"tables\[2\].parents\[0\] must be the name of a unit, .*; got 'd'.",
    ),
    "numbers": (lambda tables: tables[2]["on"].pop(), r"tables\[2\].on must be a list of 4 numbers; got 3."),
    "probabilities": (
        lambda tables: tables[0]["on"].__setitem__(0, 1.5),
        "tables: a table must have probabilities; got others for unit 'a'.",
    ),
    "twice": (
        lambda tables: tables[2].__setitem__("parents", ["a", "a"]),
        "tables: parents must differ; got one twice for unit 'c'.",
    ),
    "a cycle": (
        lambda tables: tables[0].update(parents=["c"], on=[0.1, 0.2]),
        "tables: parents must make no cycle; got a -> c -> a.",
    ),
    "many parents": (
        lambda tables: tables[0].update(parents=["b"] * 30, on=[]),
        r"tables\[0\]: a table must have at most 16 parents; got 30.",
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_what_is_wrong_in_a_text_is_named(wrong):
    change, message = wrong
    with pytest.raises(InvalidFile, match=message):
        native_json.loads(text_with(change))


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("table_num_parents", [0, 0, 20], r"table_num_parents\[2\]: a table must have at most 16 parents; got 20"),
        ("table_parents", [0, 3], "entry 'table_parents' must have indices of units, from 0 to 2; got others"),
        ("table_numbers", [0.1, 0.2], "entry 'table_numbers' must be P"),
    ],
)
def test_what_is_wrong_in_an_archive_is_named(entry, value, message):
    with np.load(io.BytesIO(native_npz.dumps(NETWORKS["rounded noisy-or"]))) as archive:
        arrays: dict[str, Any] = dict(archive) | {entry: np.array(value)}
    file = io.BytesIO()
    np.savez(file, **arrays)
    with pytest.raises(InvalidFile, match=message):
        native_npz.loads(file.getvalue())


def test_a_stack_has_none():
    stack = pf.BeliefNetwork(np.zeros((2, 2, 2)), np.zeros((2, 2)), "sigmoid")
    content = json.loads(native_json.dumps(stack)) | {"tables": [{"parents": [], "on": [0.5]}] * 2}
    with pytest.raises(InvalidFile, match=r"tables: a stack of networks has no tables; got some. Remove them."):
        native_json.loads(json.dumps(content).encode())
