"""Files of networks whose units are of different kinds, and what is wrong with some of them."""

import json

import numpy as np
import pytest

import plefka as pf
from plefka.files import native_json, native_npz

PROBIT = pf.Custom(lambda x: 0.5 + 0.3 * np.tanh(1) * x / (1 + abs(x)), name="probit")
UNITS = [("a", [], "noisy_or", [], 0.1), ("b", ["a"], pf.Table([0.25, 0.5])), ("c", ["a"], "noisy_or", [0.5], 0.2)]
NETWORK = pf.BeliefNetwork.of_units(UNITS)


def text(unit: int, **changes) -> bytes:
    content = json.loads(native_json.dumps(NETWORK))
    content["units"][unit] |= changes
    return json.dumps(content).encode()


def archive(tmp_path, **changes) -> bytes:
    pf.save(NETWORK, tmp_path / "network.npz")
    with np.load(tmp_path / "network.npz") as found:
        arrays = {**found, **changes}
    np.savez(tmp_path / "changed.npz", **arrays)
    return (tmp_path / "changed.npz").read_bytes()


TEXTS = {
    "parent": (text(1, parents=[0.5]), r"units\[1\]\.parents\[0\] must be the name of a unit, or the index"),
    "unknown parent": (text(1, parents=["x"]), "unit b must have parents of this network; got 'x'"),
    "size": (text(1, table=[0.1]), r"units\[1\]\.table must be a list of 2 numbers; got 1"),
    "probability": (text(1, table=[0.1, 2]), "must lie between 0 and 1; got 2"),
    "large": (text(1, parents=["a"] * 17), r"units\[1\]: a table must have at most 16 parents; got 17"),
    "kind": (text(2, kind="noisyor"), "activation must be one of sigmoid, noisy_or, or custom; got 'noisyor'"),
    "key": (text(0, table=[0.5]), r"units\[0\]: keys must be among parents, table, name; got 'kind'"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_wrong_texts_are_refused(case):
    content, message = TEXTS[case]
    with pytest.raises(pf.errors.InvalidInput, match=message):
        native_json.loads(content)


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_states_keep_their_words(tmp_path, suffix):
    states = (("no", "yes"), ("absent", "present"), ("low", "high"))
    pf.save(pf.BeliefNetwork.of_units(UNITS, states=states), path := tmp_path / f"network{suffix}")
    assert pf.load(path).given_states == states
    assert pf.load(path).units == NETWORK.units


ARRAYS = {
    "states": ({"states": np.array([["no", "yes"]])}, "entry 'states' must be two strings for each of the 3 units"),
    "kind": ({"kind": np.array([0, 5, 0])}, "entries 'kind' and 'num_parents' must be those of units"),
    "large": (
        {"num_parents": np.array([0, 17, 1]), "parents": np.zeros(18, int)},
        "unit 1: a table must have at most 16",
    ),
    "names": ({"names": np.array(["a", "b"])}, "entry 'names' must have a name for each of the 3 units; got 2"),
    "numbers": ({"numbers": np.zeros(3)}, "entry 'numbers' must be the numbers of all units"),
    "entry": ({"bias": np.zeros(3)}, "entries must be among"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_wrong_archives_are_refused(case, tmp_path):
    changes, message = ARRAYS[case]
    with pytest.raises(pf.errors.InvalidInput, match=message):
        native_npz.loads(archive(tmp_path, **changes))


@pytest.mark.parametrize("suffix", [".json", ".npz"])
def test_an_activation_that_the_file_does_not_name_is_refused(tmp_path, suffix):
    pf.save(NETWORK, path := tmp_path / f"network{suffix}")
    with pytest.raises(pf.errors.InvalidFile, match="only for files that name an activation of your own"):
        pf.load(path, activation=PROBIT)


def test_two_activations_of_your_own_cannot_be_saved(tmp_path):
    other = pf.Custom(lambda x: 0.5 + 0 * x, name="other")
    network = pf.BeliefNetwork.of_units([("a", [], PROBIT, [], 0.1), ("b", ["a"], other, [0.5], 0.2)])
    with pytest.raises(pf.errors.InvalidInput, match="at most one activation of your own in a network; got 'probit'"):
        pf.save(network, tmp_path / "network.json")
