"""A file is written as a whole or not at all, and only if it can be read again."""

import os
import stat

import equinox as eqx
import numpy as np
import pytest
from format_zoo import SUFFIXES, ZOO, assert_same, lower

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput, InvalidNetwork
from plefka.files import load, save
from plefka.files.native_schema import check_storable
from plefka.networks.blocks import Blocks
from plefka.runtime import whole_files


def half_write(file, content, write=os.write):
    write(file, content[: len(content) // 2])
    raise OSError(28, "No space left on device")


def fail(*args):
    raise OSError(28, "No space left on device")


def interrupt(*args):
    raise KeyboardInterrupt


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("target", "failure"),
    [
        ("os.write", half_write),
        ("os.fsync", fail),
        ("os.replace", fail),
        ("os.fsync", interrupt),
        ("os.replace", interrupt),
    ],
)
def test_a_failed_save_leaves_the_old_file_and_nothing_else(suffix, target, failure, tmp_path, monkeypatch):
    path = tmp_path / f"network{suffix}"
    save(ZOO["dense"], path)
    before = path.read_bytes()
    monkeypatch.setattr(target, failure)
    with pytest.raises((InvalidFile, KeyboardInterrupt)):
        save(ZOO["layered stack"], path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == [path.name]


def test_a_save_keeps_modes_and_links(tmp_path):
    path, link = tmp_path / "network.json", tmp_path / "link.json"
    save(ZOO["dense"], path)
    (tmp_path / "plain").touch()
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE((tmp_path / "plain").stat().st_mode)
    path.chmod(0o640)
    link.symlink_to(path)
    save(ZOO["sparse"], link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert_same(load(path), ZOO["sparse"])


def test_writing_is_exclusive(tmp_path, monkeypatch):
    """A temporary name that is taken, perhaps by another process, is not written over."""
    monkeypatch.setattr(whole_files.secrets, "token_hex", lambda count: "taken")
    taken = tmp_path / ".plefka-taken.tmp"
    taken.write_text("theirs")
    with pytest.raises(InvalidFile, match="File exists"):
        save(ZOO["dense"], tmp_path / "network.json")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/network.json", "cannot be written: No such file or directory"),
        ("folder.json", "cannot be written: Is a directory"),
        ("nul\0.json", "cannot be written: .*null (byte|character)"),
    ],
)
def test_a_place_that_cannot_be_written(name, message, tmp_path):
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(InvalidFile, match=message):
        save(ZOO["dense"], tmp_path / name)
    assert os.listdir(tmp_path) == ["folder.json"]


ODD_BLOCKS = Blocks(weights=(np.ones((1, 1)),), children=((2, 3),), parents=((0, 1),), size=3)
UNSAVABLE = {
    "nan": (ZOO["dense"].with_parameters(((lower(4) * np.nan,), np.zeros(4))), InvalidNetwork, "got nan"),
    "odd blocks": (
        pf.BeliefNetwork(ODD_BLOCKS, np.zeros(3)),
        InvalidInput,
        "blocks between neighbouring layers",
    ),
}


@pytest.mark.parametrize(("network", "kind", "message"), UNSAVABLE.values(), ids=UNSAVABLE)
def test_what_cannot_be_read_again_is_not_written(network, kind, message, tmp_path):
    with pytest.raises(kind, match=message):
        save(network, tmp_path / "network.json")
    assert os.listdir(tmp_path) == []


def test_a_traced_network_is_not_written(tmp_path):
    with pytest.raises(InvalidInput, match=r"outside jax\.jit"):
        eqx.filter_jit(lambda network: save(network, tmp_path / "network.npz"))(ZOO["dense"])


def test_only_networks_are_written():
    with pytest.raises(InvalidInput, match="save needs a BeliefNetwork or a BoltzmannMachine; got ndarray"):
        check_storable(np.zeros(3))
