"""Networks in files: `load` and `save`, one module for each format."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from plefka import atomic
from plefka.activations import Activation, as_activation
from plefka.errors import InvalidFile, InvalidInput, nearest
from plefka.formats import native_json, native_npz
from plefka.formats.stored import GivenActivation, check_storable
from plefka.networks.belief import BeliefNetwork


class Format(NamedTuple):
    """From the bytes of a file to a network, and back."""

    loads: Callable[[bytes, GivenActivation], BeliefNetwork]
    dumps: Callable[[BeliefNetwork], bytes]


FORMATS = {
    ".json": Format(native_json.loads, native_json.dumps),
    ".npz": Format(native_npz.loads, native_npz.dumps),
}


def load(path: str | PathLike[str], *, activation: str | Activation | Callable | None = None) -> BeliefNetwork:
    """The network in a file; the suffix of its name says in which format. Loading never runs code.

    **Arguments:**

    - `activation`: only for a network with an activation of your own, which a file can name but not hold.
    """
    path = Path(path)
    loads = _format_of(path).loads
    given = as_activation(activation) if isinstance(activation, str) else activation
    try:
        return loads(_read(path), given)
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from error


def save(network: BeliefNetwork, path: str | PathLike[str]) -> None:
    """Write a network to a file; the suffix of its name says in which format.

    `load` gives the same network back, bit by bit. A file that was there before is replaced as a whole or not at all.
    """
    path = Path(path)
    dumps = _format_of(path).dumps
    check_storable(network)
    content = dumps(network)
    try:
        atomic.write(path, content)
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{path}: cannot be written: {_reason(error)}. A file of that name is unchanged.") from error


def _format_of(path: Path) -> Format:
    suffix = path.suffix.lower()
    if suffix not in FORMATS:
        raise InvalidFile(
            f"{path}: the name must end with {' or '.join(FORMATS)}, which says what the format is; "
            f"got {repr(path.suffix) if suffix else 'no suffix'}." + nearest(suffix, FORMATS)
        )
    return FORMATS[suffix]


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidFile(f"cannot be read: {_reason(error)}. Check the name.") from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
