"""Programs as StableHLO beside their compiled form, so that a process that needs them again does not even trace them.

What a program computes follows from the code, from JAX, and from the shapes and settings that it is traced for. A
digest of these is the name of its file. The file holds StableHLO (`jax.export`) and the structure of the result: no
Python code; and a file that is not whole is not read.
"""

import dataclasses
import hashlib
import json
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import equinox as eqx
import jax
import numpy as np

from plefka.runtime import whole_files
from plefka.runtime.program_cache import CACHE_SUFFIX
from plefka.runtime.provenance import source

LEAF = 0  # an array, in the structure of a result
PLAIN_TYPES = (type(None), bool, int, float, str)


class Unnamed(Exception):
    """Text cannot identify it, as a function of the user's."""


class Exported(NamedTuple):
    """A program of flat arrays, and the structure of its result."""

    call: Callable
    structure: Any


def exported(folder: Path, function: Callable, arguments: tuple, static: dict) -> Exported | None:
    """The program from its file, or else traced and written there; None where that cannot be done."""
    if find_spec("flatbuffers") is None:  # which jax.export writes with, and JAX does not install
        return None
    try:
        path = folder / f"plefka-{_name(function, arguments, static)}{CACHE_SUFFIX}"
        return _read(path, arguments) or _traced(path, function, arguments, static)
    except (Unnamed, NotImplementedError):  # jax.export raises the second for what it cannot write, such as callbacks
        return None


def _traced(path: Path, function: Callable, arguments: tuple, static: dict) -> Exported:
    from jax import export

    leaves, structure = jax.tree.flatten(arguments)
    results = []

    def flat(*leaves):
        results.append(function(*jax.tree.unflatten(structure, leaves), **static))
        return jax.tree.leaves(results[-1])

    found = export.export(jax.jit(flat))(*leaves)
    with suppress(OSError, Unnamed):  # the disk may be full, and not every result has a structure that can be written
        structure, content = _written(results[-1], arguments), bytes(found.serialize())
        header = json.dumps([hashlib.sha256(content).hexdigest(), structure]).encode()
        whole_files.write(path, header + b"\n" + content)
    return Exported(found.call, jax.tree.structure(results[-1]))


def _read(path: Path, arguments: tuple) -> Exported | None:
    from jax import export

    with suppress(OSError, ValueError):
        header, _, content = path.read_bytes().partition(b"\n")
        digest, structure = json.loads(header)
        if hashlib.sha256(content).hexdigest() == digest:
            return Exported(
                export.deserialize(bytearray(content)).call, jax.tree.structure(_tree(structure, arguments))
            )
    return None


# ---- the name of a program -------------------------------------------------------------------------------------------


def _name(function: Callable, arguments: tuple, static: dict) -> str:
    if not function.__module__.startswith("plefka."):  # whose code is in the digest
        raise Unnamed
    settings = _text(sorted(static.items()), is_static=True)
    config = jax.config.jax_enable_x64, jax.config.jax_default_matmul_precision  # pyright: ignore[reportAttributeAccessIssue]
    about = _code(), config, function.__module__, function.__qualname__, _text(arguments, is_static=False), settings
    return hashlib.sha256(repr(about).encode()).hexdigest()


@cache
def _code() -> str:
    versions = sys.version, jax.__version__, version("jaxlib"), eqx.__version__, np.__version__
    return repr((source(), versions, jax.default_backend()))


def _text(value: Any, *, is_static: bool) -> str:
    """What a program depends on of a value: the shapes of arrays, and all of what is static."""
    if isinstance(value, PLAIN_TYPES):
        return repr(value)
    if isinstance(value, np.ndarray | jax.Array) and not is_static:
        return f"{value.dtype}{value.shape}"
    if isinstance(value, tuple | list):
        parts = [_text(part, is_static=is_static) for part in value]
    elif dataclasses.is_dataclass(value):
        parts = [
            _text(getattr(value, field.name), is_static=is_static or bool(field.metadata.get("static")))
            for field in dataclasses.fields(value)
        ]
    else:
        raise Unnamed
    return f"{type(value).__module__}.{type(value).__qualname__}({', '.join(parts)})"


# ---- the structure of a result ---------------------------------------------------------------------------------------


def _written(result: Any, arguments: tuple) -> Any:
    """Lists for tuples, and the place of an argument that has the same structure for everything else."""
    if type(result) is tuple:
        return [_written(part, arguments) for part in result]
    if result is None or isinstance(result, jax.Array):
        return None if result is None else LEAF
    for place, argument in enumerate(arguments):
        if jax.tree.structure(argument) == jax.tree.structure(result):
            return {"like": place}
    raise Unnamed


def _tree(written: Any, arguments: tuple) -> Any:
    """A result of the structure that is written."""
    if isinstance(written, list):
        return tuple(_tree(part, arguments) for part in written)
    return arguments[written["like"]] if isinstance(written, dict) else written
