"""Whatever comes, loading gives a network or an error of ours, and nothing else."""

import copy
import io
import json
import zipfile
from contextlib import suppress
from typing import cast

import numpy as np
import pytest
import scipy.sparse as sp
from format_zoo import GOOD, SUFFIXES, ZOO, arrays_of, assert_same, npz_of, with_raw
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import plefka as pf
from plefka.errors import InvalidFile, PlefkaError
from plefka.files import FORMATS, load, native_npz, save

fuzz = settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
FUZZED = ["dense stack", "sparse, named", "sparse stack", "layered", "sparse, certain"]


def damaged(data, content):
    """A few bytes changed, inserted or left out, and perhaps the end cut off."""
    content = bytearray(content)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content) - 1))
        removed, inserted = data.draw(st.integers(0, 3)), data.draw(st.binary(max_size=3))
        content[at : at + removed] = inserted
    return bytes(content[: data.draw(st.none() | st.integers(0, len(content)))])


def load_or_refuse(content, suffix):
    with suppress(PlefkaError):
        assert isinstance(FORMATS[suffix].loads(content, None), pf.BeliefNetwork)


@fuzz
@given(st.data(), st.sampled_from(FUZZED), st.sampled_from(SUFFIXES))
def test_damaged_bytes(data, name, suffix):
    load_or_refuse(damaged(data, FORMATS[suffix].dumps(ZOO[name])), suffix)


@fuzz
@given(st.data(), st.sampled_from(FUZZED))
def test_damaged_entries(data, name):
    """The checksums are right, so that what is damaged gets as far as the header of an array."""
    with zipfile.ZipFile(io.BytesIO(native_npz.dumps(ZOO[name]))) as archive:
        entry = data.draw(st.sampled_from(archive.namelist()))
        raw = archive.read(entry)
    load_or_refuse(with_raw(name, entry.removesuffix(".npy"), damaged(data, raw)), ".npz")


@fuzz
@given(st.data(), st.sampled_from(FUZZED))
def test_damaged_texts(data, name):
    """Valid JSON with any value in the place of any other."""
    content = [copy.deepcopy(GOOD[name])]
    inner, key = content, 0
    while isinstance(inner[key], dict | list) and inner[key] and data.draw(st.integers(0, 4)):
        inner = inner[key]
        key = data.draw(st.sampled_from(list(inner) if isinstance(inner, dict) else range(len(inner))))
    scalars = (
        st.none()
        | st.booleans()
        | st.integers()
        | st.floats()
        | st.sampled_from(["inf", "flu", "a", "", "\ud800", 10**400])
    )
    inner[key] = data.draw(
        st.recursive(
            scalars,
            lambda v: st.lists(v, max_size=4) | st.dictionaries(st.text(max_size=3), v, max_size=2),
            max_leaves=6,
        )
    )
    load_or_refuse(json.dumps(content[0]).encode(), ".json")


@fuzz
@given(st.data(), st.sampled_from(FUZZED))
def test_damaged_arrays(data, name):
    """A sound archive with any array in the place of any other."""
    arrays = arrays_of(name)
    entry = data.draw(st.sampled_from(sorted(arrays)))
    dtype = data.draw(st.sampled_from(["f8", "f4", ">f8", "i8", "u8", "i1", "?", "c16", "U3", "S2", "M8[s]", "f8,i4"]))
    shape = data.draw(st.sampled_from([arrays[entry].shape]) | st.lists(st.integers(0, 4), max_size=3).map(tuple))
    raw = data.draw(st.binary(min_size=int(np.prod(shape)) * np.dtype(dtype).itemsize))
    array = np.frombuffer(
        raw[: int(np.prod(shape)) * np.dtype(dtype).itemsize] or bytes(np.dtype(dtype).itemsize), dtype
    )
    load_or_refuse(npz_of(**{**arrays, entry: array[: int(np.prod(shape))].reshape(shape)}), ".npz")


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("name", FUZZED)
def test_any_start_of_a_file_is_refused(name, suffix):
    content = cast(bytes, FORMATS[suffix].dumps(ZOO[name])).rstrip()
    for end in range(0, len(content), 7):
        with pytest.raises(InvalidFile):
            FORMATS[suffix].loads(content[:end], None)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_large_sparse_networks_make_no_matrix(suffix, tmp_path):
    """n x n numbers of this network would be 80 GB."""
    n = 100_000
    ring = sp.csr_array((np.arange(1.0, n), (np.arange(1, n), np.arange(n - 1))), shape=(n, n))
    network = pf.BeliefNetwork(ring, np.zeros(n))
    save(network, tmp_path / f"large{suffix}")
    assert_same(load(tmp_path / f"large{suffix}"), network)
