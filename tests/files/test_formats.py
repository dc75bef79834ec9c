"""Saving and loading is the identity, by any name that a file may have."""

import json
import os
from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.sparse as sp
from format_zoo import PROBIT, SUFFIXES, ZOO, assert_same, custom_of, lower, npz_of, roundtrip
from hypothesis import given, settings
from hypothesis import strategies as st

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput
from plefka.files import FORMATS, load, native_json, native_npz, save
from plefka.networks.blocks import Blocks
from plefka.networks.edges import Edges


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("network", ZOO.values(), ids=ZOO)
def test_saving_and_loading_is_the_identity(network, suffix, tmp_path):
    path = tmp_path / f"network{suffix}"
    save(network, path)
    assert_same(load(path, activation=custom_of(network)), network)
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("network", ZOO.values(), ids=ZOO)
def test_a_second_save_writes_the_same_bytes(network, suffix):
    form = FORMATS[suffix]
    assert form.dumps(roundtrip(network, suffix, custom_of(network))) == form.dumps(network)


@st.composite
def recipes(draw):
    """Any of the three kinds, alone or stacked, with or without names, in any order of units.

    The network is made in the test: the type checker rolls dice, which Hypothesis forbids while it draws.
    """
    n, stack = draw(st.integers(1, 6)), draw(st.sampled_from([(), (1,), (3,)]))
    activation = draw(st.sampled_from(["sigmoid", "noisy_or"]))
    numbers = st.floats(-1e300, 1e300) if activation == "sigmoid" else st.floats(0, 1e300)
    weights = numbers if activation == "sigmoid" else numbers | st.just(np.inf)

    def array(shape, values):
        count = int(np.prod(shape))
        return np.array(draw(st.lists(values, min_size=count, max_size=count)), float).reshape(shape)

    word = st.text(st.characters(codec="utf-8"), min_size=1, max_size=5).filter(lambda w: w.strip() and w.isprintable())
    names = draw(st.none() | st.lists(word, min_size=n, max_size=n, unique=True))
    bias = array((*stack, n), numbers)
    kind = draw(st.sampled_from(["edges", "matrix", "layers"]))
    if kind == "layers":
        cuts = sorted(draw(st.sets(st.integers(1, n - 1), min_size=1))) if n > 1 else []
        layers = tuple(np.diff([0, *cuts, n]).tolist())
        blocks = [array((*stack, below, above), weights) for above, below in pairwise(layers)]
        bias = bias if blocks else bias.reshape(-1, n)[0]  # without a block there is nothing to stack
        return lambda: pf.BeliefNetwork(Blocks.layered(blocks, layers), bias, activation, names, layers=layers)
    order = np.array(draw(st.permutations(range(n))))
    child, parent = (order[end] for end in np.tril_indices(n, -1))
    values = array((*stack, len(child)), weights)
    if kind == "edges":
        kept = np.array(draw(st.lists(st.booleans(), min_size=len(child), max_size=len(child))), bool)
        values, child, parent = values[..., kept], child[kept], parent[kept]
        by_child = np.lexsort((parent, child))
        edges = (values[..., by_child], child[by_child], parent[by_child], n)
        return lambda: pf.BeliefNetwork(Edges.from_lists(*edges), bias, activation, names)
    W = np.zeros((*stack, n, n))
    W[..., child, parent] = values
    return lambda: pf.BeliefNetwork(W, bias, activation, names)


@settings(max_examples=60, deadline=None)
@given(recipes(), st.sampled_from(SUFFIXES))
def test_any_network_round_trips(recipe, suffix):
    network = recipe()
    assert_same(roundtrip(network, suffix), network)


def test_both_formats_hold_the_same(tmp_path):
    for network in ZOO.values():
        given = custom_of(network)
        assert_same(roundtrip(roundtrip(network, ".json", given), ".npz", given), network)


def test_float32_parameters_are_saved_exactly():
    network = ZOO["layered stack"].with_parameters(jax.tree.map(jnp.float32, ZOO["layered stack"].parameters))
    again = roundtrip(network, ".npz")
    assert all(W.dtype == float for W in again.weights)
    assert all(np.array_equal(a, b) for a, b in zip(again.weights, network.weights, strict=True))


def test_json_has_a_line_for_each_edge_or_row_and_is_strict():
    def refuse(token):
        raise AssertionError(token)

    for network in ZOO.values():
        text = native_json.dumps(network).decode()
        json.loads(text, parse_constant=refuse)
        assert max(map(len, text.splitlines())) <= 120 or network.stack is not None
    for network in (ZOO["sparse, named"], ZOO["dense"]):
        lines = [line.strip() for line in native_json.dumps(network).decode().splitlines()]
        expected = network.num_edges if network.given_names else network.size
        assert sum(line.startswith("[") for line in lines) == expected


@pytest.mark.parametrize("suffix", [".JSON", ".Npz"])
def test_suffixes_are_read_in_any_case(suffix, tmp_path):
    save(ZOO["sparse"], tmp_path / f"network{suffix}")
    assert_same(load(str(tmp_path / f"network{suffix}")), ZOO["sparse"])


def test_a_text_by_hand(tmp_path):
    """Whole numbers, any order of edges and of keys, biases in a list although there are names, a byte order mark."""
    path = tmp_path / "hand.json"
    text = """{"weights": {"edges": [["b", "c", 2], ["a", "c", "inf"], ["a", "b", 1]]}, "names": ["c", "b", "a"],
               "bias": [0, 1, 2], "activation": "noisy_or", "version": 1, "format": "plefka"}"""
    path.write_text(text, encoding="utf-8-sig")
    W = [[0, 2, np.inf], [0, 0, 1], [0, 0, 0]]
    assert_same(load(path), pf.BeliefNetwork(sp.csr_array(np.array(W)), [0, 1, 2], "noisy_or", ["c", "b", "a"]))


def test_an_archive_by_hand():
    """Other number types, other byte orders and columns first are what NumPy makes of them."""
    matrix = np.asfortranarray(lower(3, 2).astype(">f4"))
    content = npz_of(format="plefka", version=np.uint8(1), activation="sigmoid", bias=np.arange(3), matrix=matrix)
    assert_same(native_npz.loads(content), pf.BeliefNetwork(lower(3, 2), np.arange(3)))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("network.jsn", "must end with .json, .npz, .csv, .xlsx, .* got '.jsn'. Did you mean '.json'?"),
        ("network", ".* got no suffix"),
        ("network.xds", r".* got '.xds'. Did you mean '.xdsl'\?"),
    ],
)
def test_unknown_suffixes(name, message, tmp_path):
    for verb in (lambda path: load(path), lambda path: save(ZOO["dense"], path)):
        with pytest.raises(InvalidFile, match=f"{name}: the name {message}"):
            verb(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "message"), [("none.json", "No such file"), ("folder.npz", "Is a directory"), ("nul\0.json", "null byte")]
)
def test_a_file_that_cannot_be_opened(name, message, tmp_path):
    (tmp_path / "folder.npz").mkdir()
    with pytest.raises(InvalidFile, match=f"{name}: cannot be read: .*{message}"):
        load(tmp_path / name)


def probit(x):
    return PROBIT.probability(x)


ACTIVATION_ERRORS = {
    "none for a custom one": (
        "custom",
        None,
        "'probit' is a Python function, which a file cannot store. Pass it as load",
    ),
    "a built-in for a custom one": ("custom", "sigmoid", "must be the custom one .*'probit'; got 'sigmoid'"),
    "another custom one": ("custom", pf.Custom(probit, name="logit"), "got 'logit'. .* name='probit'"),
    "another built-in": ("dense", "noisy_or", "must be what the file says, 'sigmoid'; got 'noisy_or'"),
    "a function for a built-in": ("dense", probit, "got the function 'probit'"),
    "a custom one with a built-in's name": ("dense", pf.Custom(probit, name="sigmoid"), "Load it without"),
}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(("saved", "given", "message"), ACTIVATION_ERRORS.values(), ids=ACTIVATION_ERRORS)
def test_activations_that_do_not_agree(saved, given, message, suffix, tmp_path):
    path = tmp_path / f"network{suffix}"
    save(ZOO[saved], path)
    with pytest.raises(InvalidFile, match=f"network{suffix}: .*{message}"):
        load(path, activation=given)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_activations_that_agree(suffix, tmp_path):
    path = tmp_path / f"network{suffix}"
    save(ZOO["custom"], path)
    bare = load(path, activation=probit)
    assert (bare.activation.name, float(bare.activation.probability(jnp.zeros(())))) == ("probit", 0.5)
    save(ZOO["dense"], path)
    assert_same(load(path, activation="sigmoid"), ZOO["dense"])


def test_an_unknown_activation_is_the_callers_mistake_not_the_files(tmp_path):
    save(ZOO["dense"], tmp_path / "network.json")
    with pytest.raises(InvalidInput, match=r"^activation must be one of .*'sigmoid'"):
        load(tmp_path / "network.json", activation="sigmoyd")
