"""Checkpoints: everything that the next epoch needs, with the fingerprint of the run that it belongs to."""

import io
import json
from pathlib import Path
from typing import Any

import jax
import numpy as np

from plefka.atomic import write
from plefka.errors import InvalidFile
from plefka.formats.archive import Archive
from plefka.precision import is_key

FORMAT = 3


def save(path: Path, fingerprint: dict, state: Any, history: dict[str, list]) -> None:
    """Write all leaves of the state and the history, as a whole or not at all."""
    arrays: dict[str, Any] = {f"leaf{k}": _storable(leaf) for k, leaf in enumerate(jax.tree.leaves(state))}
    arrays |= {f"history_{name}": np.asarray(column, float) for name, column in history.items()}
    arrays |= {"format": np.int64(FORMAT), "fingerprint": np.array(json.dumps(fingerprint, sort_keys=True))}
    file = io.BytesIO()
    np.savez(file, **arrays)
    write(path, file.getvalue())


def check_place(path: Path) -> None:
    """Refuse a folder that does not exist before hours of learning, not after."""
    if not path.parent.is_dir():
        raise InvalidFile(
            f"checkpoint {str(path)!r}: the folder {str(path.parent)!r} does not exist. Create it, or name another."
        )


def load(path: Path, fingerprint: dict, like: Any, columns: tuple[str, ...]) -> tuple[Any, dict[str, list]]:
    """The state and the history; an error where the file is not a checkpoint of this run."""
    try:
        archive = Archive(path.read_bytes())
        if archive.whole("format") != FORMAT:
            raise InvalidFile(f"must be a checkpoint of format {FORMAT}; got {archive.whole('format')}.")
        _compare(json.loads(archive.text("fingerprint")), fingerprint)
        leaves, structure = jax.tree.flatten(like)
        found = [_leaf(archive, f"leaf{k}", leaf) for k, leaf in enumerate(leaves)]
        keys = {name: f"history_{name}" for name in columns}
        history = {name: list(archive.numbers(key, archive.shape(key), "numbers")) for name, key in keys.items()}
    except (InvalidFile, ValueError) as error:
        raise InvalidFile(
            f"checkpoint {str(path)!r}: {error} Nothing was changed. Remove the file to start again, or name another."
        ) from None
    return jax.tree.unflatten(structure, found), history


def _storable(leaf: Any) -> np.ndarray:
    """Numbers as an archive holds them: random keys as their data, and booleans as 0 and 1."""
    array = np.asarray(jax.random.key_data(leaf) if is_key(leaf) else leaf)
    return array if array.dtype.kind in "fiu" else array.astype(float)


def _leaf(archive: Archive, name: str, like: Any) -> Any:
    """An array of the type and shape that the run has."""
    if is_key(like):
        data = _leaf(archive, name, _storable(like))
        return jax.random.wrap_key_data(data, impl=jax.random.key_impl(like))
    like = np.asarray(like)
    if like.dtype.kind in "iu":
        return archive.indices(name, like.shape, "whole numbers").astype(like.dtype)
    return archive.numbers(name, like.shape, "numbers").astype(like.dtype)


def _compare(found: Any, expected: dict) -> None:
    if not isinstance(found, dict):
        raise InvalidFile("its fingerprint must be an object.")
    for key, value in expected.items():
        if found.get(key) != value:
            raise InvalidFile(f"it belongs to another run: {key} must be {value!r}; got {found.get(key)!r}.")
