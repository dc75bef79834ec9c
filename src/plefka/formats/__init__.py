"""Networks in files: `load` and `save`, one module for each format."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from plefka import atomic
from plefka.activations import Activation, as_activation
from plefka.errors import InvalidFile, InvalidInput, nearest
from plefka.formats import csv_pair, excel, native_json, native_npz
from plefka.formats.stored import check_storable
from plefka.networks.belief import BeliefNetwork


class Format(NamedTuple):
    """From the bytes of a file, or of several, to a network, and back."""

    loads: Callable[..., BeliefNetwork]  # (content, activation), or (content, content, activation)
    dumps: Callable[[BeliefNetwork], Any]  # the content, or one for each file
    files: Callable[[Path], tuple[Path, ...]] = lambda path: (path,)


NATIVE = (".json", ".npz")  # hold every network, bit by bit
FORMATS = {
    ".json": Format(native_json.loads, native_json.dumps),
    ".npz": Format(native_npz.loads, native_npz.dumps),
    ".csv": Format(csv_pair.loads, csv_pair.dumps, csv_pair.files),
    ".xlsx": Format(excel.loads, excel.dumps),
}


def load(path: str | PathLike[str], *, activation: str | Activation | Callable | None = None) -> BeliefNetwork:
    """The network in a file; the suffix of its name says in which format. Loading never runs code.

    A name that ends with .csv, or a folder, stands for a pair of tables, NET.causes.csv and NET.findings.csv.

    **Arguments:**

    - `activation`: only for a network with an activation of your own, which a file can name but not hold.
    """
    path = Path(path)
    form = _format_of(path)
    given = as_activation(activation) if isinstance(activation, str) else activation
    try:
        return form.loads(*_contents(form.files(path)), given)
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from error


def save(network: BeliefNetwork, path: str | PathLike[str]) -> None:
    """Write a network to a file; the suffix of its name says in which format.

    `load` gives the same network back: from .json and .npz bit by bit, from tables of probabilities (.csv, .xlsx) up to
    rounding. A file that was there before is replaced as a whole or not at all.
    """
    path = Path(path)
    form = _format_of(path)
    check_storable(network)
    content = form.dumps(network)
    contents = (content,) if isinstance(content, bytes) else content
    try:
        atomic.write_all(dict(zip(form.files(path), contents, strict=True)))
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{path}: cannot be written: {_reason(error)}. A file of that name is unchanged.") from error


def _format_of(path: Path) -> Format:
    suffix = path.suffix.lower()
    if suffix not in FORMATS and path.is_dir():
        return FORMATS[".csv"]
    if suffix not in FORMATS:
        raise InvalidFile(
            f"{path}: the name must end with {', '.join(FORMATS)}, which says what the format is; "
            f"got {repr(path.suffix) if suffix else 'no suffix'}." + nearest(suffix, FORMATS)
        )
    return FORMATS[suffix]


def _contents(files: tuple[Path, ...]) -> list[bytes]:
    contents = []
    for file in files:
        try:
            contents.append(file.read_bytes())
        except (OSError, ValueError) as error:
            which = "" if len(files) == 1 else f"of the files {' and '.join(each.name for each in files)}, {file.name} "
            raise InvalidFile(f"{which}cannot be read: {_reason(error)}. Check the name.") from error
    return contents


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
