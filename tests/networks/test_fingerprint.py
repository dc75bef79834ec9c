"""One text tells networks apart: whatever stores them, in whatever file, and nothing else changes it."""

import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput

W = np.array([[0, 0, 0], [0.5, 0, 0], [0.25, 0.0, 0]])
BIAS = [0.1, 0.2, -0.0]
NAMES = ["flu", "a ü,<b>", "c"]


def network(weights: Any = W, bias: Any = BIAS, activation: Any = "noisy_or", names=NAMES, **more):
    return pf.BeliefNetwork(weights, bias, activation, names, **more)


def test_dense_sparse_layered_and_listed_units_agree():
    layered = pf.BeliefNetwork.layered([W[1:, :1]], [BIAS[:1], BIAS[1:]], "noisy_or", NAMES)
    listed = pf.BeliefNetwork.of_units(network().units)
    others = [network(sp.csr_array(W)), network(sp.coo_array(W[::1])), layered, listed, network(bias=[0.1, 0.2, 0.0])]
    assert {each.fingerprint for each in others} == {network().fingerprint}


def test_every_part_of_a_network_counts():
    changed = W.copy()
    changed[2, 0] = np.nextafter(0.25, 1)
    others = [
        network(),
        network(changed),
        network(bias=[0.1, 0.2, 1e-300]),
        network(activation="sigmoid"),
        network(activation=pf.Custom(lambda x: x / (1 + x), domain=(0, np.inf))),
        network(activation=pf.Custom(lambda x: x / (2 + x), domain=(0, np.inf))),
        network(activation=["noisy_or", "noisy_or", pf.Table([0.1, 0.2])]),
        network(activation=["noisy_or", "noisy_or", pf.Table([0.1, 0.3])]),
        network(names=["flu", "a ü,<b>", "d"]),
        network(states=[("no", "yes")] * 3),
        pf.BoltzmannMachine(W + W.T, BIAS, names=NAMES),
        pf.BoltzmannMachine(W + W.T, BIAS, 2.0, names=NAMES),
        pf.BoltzmannMachine(W + W.T, BIAS, names=NAMES, values=(-1, 1)),
        pf.MarkovNetwork(3, [((0, 1), [[1, 0], [2, 4]])], NAMES),
        pf.MarkovNetwork(3, [((0, 1), [[1, 0], [2, 5]])], NAMES),
    ]
    assert len({each.fingerprint for each in others}) == len(others)


def test_it_is_the_same_in_another_process():
    code = "import plefka as pf; print(pf.example('espresso').fingerprint)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == pf.example("espresso").fingerprint


@pytest.mark.parametrize("suffix", [".json", ".npz"])
@pytest.mark.parametrize(
    "given",
    [
        network(states=[("no", "yes")] * 3),
        network(activation=["noisy_or", "noisy_or", pf.Table([0.1, 0.2])]),
        pf.BoltzmannMachine(sp.csr_array(W + W.T), BIAS, names=NAMES),
        pf.BoltzmannMachine.restricted([[1.0, -2.0]], [0.1], [0.0, -1.0]),
    ],
)
def test_files_keep_fingerprint_and_version(tmp_path, given, suffix):
    path = tmp_path / f"net{suffix}"
    pf.save(given.with_version('2026 "ü" <3>'), path)
    found = pf.load(path)
    assert (found.version, found.fingerprint) == ('2026 "ü" <3>', given.fingerprint)


def test_tables_of_a_file_count(tmp_path):
    pf.save(network(), tmp_path / "net.xmlbif")
    read = pf.load(tmp_path / "net.xmlbif")
    pf.save(read, tmp_path / "net.json")
    assert pf.load(tmp_path / "net.json").fingerprint == read.fingerprint
    assert read.with_tables(None).fingerprint != read.fingerprint


def test_a_version_names_numbers_and_goes_when_they_change():
    named = network().with_version("3")
    assert named.fingerprint == network().fingerprint
    assert network().version is named.with_parameters(named.parameters).version is None
    assert pf.infer(named, {"c": 1}).network.version == "3"
    assert pickle.loads(pickle.dumps(named)).version == "3"


@pytest.mark.parametrize("version", ["", "  ", 3])
def test_what_is_no_version(version, tmp_path):
    with pytest.raises(InvalidInput, match="version must be a text that is not empty"):
        network().with_version(version)
    text = f'"version": 1, "network_version": {version!r}'.replace("'", '"')
    (tmp_path / "net.json").write_text(
        '{"format": "plefka", ' + text + ', "activation": "sigmoid", "bias": [0], "weights": {"edges": []}}'
    )
    with pytest.raises(InvalidFile, match="version must be"):
        pf.load(tmp_path / "net.json")
