"""The bundled networks: they hold the probabilities of their files, and pose questions that are worth asking."""

import doctest
import json
import re
from importlib.resources import files

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
import plefka.networks.examples
from plefka.errors import InvalidInput
from plefka.networks.examples import example_names, read_example


def probability(field):
    return -np.expm1(-np.asarray(field))


@pytest.mark.parametrize("name", example_names())
def test_the_network_holds_the_probabilities_of_its_file(name):
    content = json.loads(files("plefka.networks.examples").joinpath(f"{name}.json").read_text(encoding="utf-8"))
    network = pf.example(name)
    weights = sp.csr_array(network.storage.to_sparse()).toarray()
    for cause, prior in content["causes"].items():
        assert probability(network.bias[network.index(cause)]) == pytest.approx(prior, abs=1e-15)
    for finding, given in content["findings"].items():
        assert probability(network.bias[network.index(finding)]) == pytest.approx(given["leak"], abs=1e-15)
        row = probability(weights[network.index(finding)])
        strengths = {network.names[unit]: row[unit] for unit in np.flatnonzero(row)}
        assert strengths == pytest.approx(given["causes"], abs=1e-15)


@pytest.mark.parametrize("name", example_names())
def test_the_parts_fit_together(name):
    example = read_example(name)
    assert example.network.names == example.causes + example.findings
    assert set(example.evidence) <= set(example.findings)
    assert set(example.evidence.values()) == {0, 1}
    assert example.about


@pytest.mark.parametrize("name", example_names())
def test_methods_differ_from_the_truth_and_stay_sensible(name):
    example = read_example(name)
    exact = pf.infer(example.network, example.evidence, "exact")
    for method in ("G11", "G12"):
        solution = pf.infer(example.network, example.evidence, method)
        worst = np.abs(solution.means - exact.means).max()
        assert 0.01 < worst < 0.5
        assert abs(solution.log_likelihood - exact.log_likelihood) < 2


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(InvalidInput, match=r"there is no example 'expreso'.* Did you mean 'espresso'"):
        pf.example("expreso")


def test_every_public_function_that_the_documentation_of_example_names_exists():
    named = re.findall(r"`plefka\.(\w+)\(\)`", pf.example.__doc__ or "")
    assert named == ["example_names"]
    assert all(pf.example(name).size for name in pf.example_names())
    assert doctest.testmod(plefka.networks.examples).failed == 0


def test_load_takes_the_word_of_the_command():
    assert pf.load("example:espresso") == pf.example("espresso")
    with pytest.raises(pf.errors.InvalidInput, match=r"there is no example 'esspresso'; there is .*Did you mean 'espr"):
        pf.load("example:esspresso")
