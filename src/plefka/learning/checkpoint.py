"""Checkpoints: everything that the next epoch needs, with the fingerprint of the run, which alone resumes from it."""

import io
import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidFile
from plefka.files.archive import Archive
from plefka.learning.devices import Devices
from plefka.learning.gradient_step import TrainingState
from plefka.learning.steps import LearningRun, Steps
from plefka.networks.fingerprint import digest
from plefka.runtime.precision import is_key
from plefka.runtime.programs import Program
from plefka.runtime.version import __version__
from plefka.runtime.whole_files import only_run, write
from plefka.tables.table_files import errors_name_file

FORMAT = 5
THERE = b"+"  # before the content of a file, which may be empty
OPTIMISER_STEPS = 3  # of the optimiser; enough to tell its step size and its momentum


def fingerprint(run: LearningRun, steps: Steps, state: TrainingState) -> dict:
    """A name and a value for every setting that the result depends on; `state` is the one before the first step."""
    held_out, rules = run.held_out, run.settings.rules
    sizes = step_sizes(state, optimizer=run.optimizer, stacked=run.settings.stacked, work=0)
    return {
        "version": __version__,
        "network": repr(run.network),
        **steps.identity(),
        "method": str(run.method),
        "rows": digest(run.data.identity),
        "validation": None if held_out is None else digest(held_out.identity),
        "optimizer": str(jax.tree.structure(state.optimizer)),
        "optimizer's steps": " ".join(f"{size:.6g}" for size in sizes),
        "batch_size": int(run.batch_size),
        "seed": run.seed,
        "l1": run.settings.l1,
        "l2": run.settings.l2,
        "tol": run.settings.tol,
        "masks or frozen": digest(rules.moves),
        "shared": digest(rules.groups),
    }


def _sizes_of_steps(state: TrainingState, *, optimizer: Any, stacked: bool) -> Any:
    """How far the optimiser moves on a constant gradient: its structure does not show its step size."""
    free, optimizer_state = state
    gradient = jax.tree.map(lambda p: 0.01 * jnp.cos(jnp.arange(p.size, dtype=p.dtype)).reshape(p.shape), free)
    update = jax.vmap(optimizer.update) if stacked else optimizer.update
    found = []
    for _ in range(OPTIMISER_STEPS):
        updates, optimizer_state = update(gradient, optimizer_state, free)
        free = jax.tree.map(jnp.add, free, updates)
        found.append(sum(jnp.abs(u).sum() for u in jax.tree.leaves(updates)))
    return jnp.stack(found)


step_sizes = Program(_sizes_of_steps)


class Checkpoint:
    """The file of a run, written every so many seconds, or nothing where there is no path.

    Of several processes the first reads and writes it.
    """

    def __init__(self, path: str | Path | None, every: float, devices: Devices):
        self.path, self.every, self.devices = None if path is None else Path(path), every, devices
        self._claim = ExitStack()  # on the file, which one run at a time goes on from

    def open(self, fingerprint: Callable[[], dict], state: Any, columns: tuple[str, ...]) -> tuple[Any, dict] | None:
        """The state and the history to resume from, if the file exists; what could fail after hours fails at once."""
        if self.path is None:
            return None
        self.fingerprint = fingerprint()
        self.last_save = time.monotonic()
        with self.devices.together():
            if self.devices.is_first:
                if not self.path.parent.is_dir():
                    raise InvalidFile(
                        f"checkpoint {str(self.path)!r}: the folder {str(self.path.parent)!r} does not exist. Create "
                        "it, or name another."
                    )
                self._claim.enter_context(only_run(self.path))
            with errors_name_file(self.path):
                there = self.devices.is_first and self.path.exists()
                found = THERE + self.path.read_bytes() if there else b""
            if not found:
                self.save(state, {name: [] for name in columns})
        found = self.devices.from_first(found)
        return load(self.path, found[len(THERE) :], self.fingerprint, state, columns) if found else None

    def save(self, state: Any, history: dict[str, list], *, force: bool = True) -> None:
        """Write it, unless it is not forced and the last time was not long ago."""
        due = force or (self.path is not None and time.monotonic() - self.last_save >= self.every)
        if self.path is not None and self.devices.is_first and due:
            save(self.path, self.fingerprint, state, history)
            self.last_save = time.monotonic()

    def close(self) -> None:
        """Let others have the file."""
        self._claim.close()


def save(path: Path, fingerprint: dict, state: Any, history: dict[str, list]) -> None:
    """Write all leaves of the state and the history, as a whole or not at all."""
    arrays: dict[str, Any] = {f"leaf{k}": _storable(leaf) for k, leaf in enumerate(jax.tree.leaves(state))}
    arrays |= {f"history_{name}": np.asarray(column, float) for name, column in history.items()}
    arrays |= {"format": np.int64(FORMAT), "fingerprint": np.array(json.dumps(fingerprint, sort_keys=True))}
    file = io.BytesIO()
    np.savez(file, **arrays)
    write(path, file.getvalue())


def load(
    path: Path, content: bytes, fingerprint: dict, like: Any, columns: tuple[str, ...]
) -> tuple[Any, dict[str, list]]:
    """The state and the history; an error where the file is not a checkpoint of this run."""
    try:
        archive = Archive(content)
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
