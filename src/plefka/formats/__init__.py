"""Networks in files: `load` and `save`, one module for each format."""

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from plefka import atomic
from plefka.activations import Activation, as_activation
from plefka.errors import InvalidFile, InvalidInput, nearest
from plefka.examples import example
from plefka.formats import csv_pair, excel, native_json, native_npz, packed
from plefka.formats.stored import GivenActivation, check_storable
from plefka.networks.belief import BeliefNetwork

if TYPE_CHECKING:
    from plefka.formats.tables import TableNetwork
    from plefka.recognition import Form


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
# Formats of tables, each a module that is loaded when it is used.
TABLE_FORMATS = {".bif": "bif", ".xmlbif": "xmlbif", ".xml": "xmlbif", ".uai": "uai", ".erg": "ergo"}
PathText = str | PathLike[str]
EXAMPLE = "example:"  # before the name of a bundled network, in the place of a file


def load(
    path: PathText, *, activation: str | Activation | Callable | None = None, approximate: float | None = None
) -> BeliefNetwork:
    """The network in a file; the suffix of its name says in which format. Loading never runs code.

    A name that ends with .csv, or a folder, stands for a pair of tables, NET.causes.csv and NET.findings.csv;
    "example:NAME" stands for a bundled network, as in `pf.example`.

    **Arguments:**

    - `activation`: only for a network with an activation of your own, which a file can name but not hold.
    - `approximate`: only for formats of tables; how far the probabilities of a noisy-or or sigmoid unit may be from
        its table, as 0.02. A warning says by how much they are. Without it, forms must fit within 1e-6.
    """
    if isinstance(path, str) and path.startswith(EXAMPLE):
        return example(path.removeprefix(EXAMPLE))
    path = Path(path)
    suffix = _suffix(path)
    given = as_activation(activation) if isinstance(activation, str) else activation
    try:
        _check_options(suffix, given, approximate)
        if suffix in FORMATS:
            form = FORMATS[suffix]
            return form.loads(*_contents(form.files(path)), given)
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from error
    return _network_of(load_tables(path), path, approximate)


def save(network: BeliefNetwork, path: PathText) -> None:
    """Write a network to a file; the suffix of its name says in which format.

    `load` gives the same network back: from .json and .npz bit by bit, from probabilities (.csv, .xlsx) up to rounding;
    other formats hold its tables. A file that was there before is replaced as a whole or not at all.
    """
    path = Path(path)
    suffix = _suffix(path)
    if suffix in TABLE_FORMATS:
        from plefka.formats.from_tables import tables_of

        _write(path, {path: _table_writer(path)(tables_of(network))})
        return
    check_storable(network)
    form = FORMATS[suffix]
    content = form.dumps(network)
    contents = (content,) if isinstance(content, bytes) else content
    _write(path, dict(zip(form.files(path), contents, strict=True)))


def load_tables(path: PathText) -> "TableNetwork":
    """The tables of a network in a file of any format, as `plefka.recognition` takes them."""
    path = Path(path)
    if _suffix(path) not in TABLE_FORMATS:
        from plefka.formats.from_tables import tables_of

        return tables_of(load(path))
    try:
        return _module(_suffix(path)).loads(_read(path))
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from error


def load_evidence(path: PathText) -> dict[int, str] | list[dict[int, str]]:
    """What a file of the UAI competitions (.evid) says was observed: {unit: state}, or a list of such rows."""
    from plefka.formats.uai import loads_evidence

    path = Path(path)
    try:
        if path.suffix.lower() != ".evid" and [part.lower() for part in path.suffixes[-2:]] != [".evid", packed.SUFFIX]:
            raise InvalidFile("the name of a file of evidence must end with .evid or .evid.gz.")
        return loads_evidence(_read(path))
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from error


def convert(source: PathText, target: PathText, approximate: float | None = None) -> "list[Form]":
    """Write the network of one file to another, and say what its tables became.

    Between two formats of tables, these stay as they are unless an approximation is asked for.
    """
    source, target = Path(source), Path(target)
    from_tables, to_tables = (_suffix(path) in TABLE_FORMATS for path in (source, target))
    if not from_tables:
        save(load(source, approximate=approximate), target)
        return []
    from plefka.recognition import expanded, recognised

    tables = load_tables(source)
    forms = recognised(tables, approximate)
    if to_tables:
        write = _table_writer(target)
        _write(target, {target: write(tables if approximate is None else expanded(tables, forms))})
    else:
        save(_network_of(tables, source, approximate), target)
    return forms


def _network_of(tables: "TableNetwork", path: Path, approximate: float | None) -> BeliefNetwork:
    from plefka.formats.from_tables import network_of

    try:
        return network_of(tables, approximate)
    except InvalidInput as error:
        raise InvalidFile(f"{path}: {error}") from error


def _suffix(path: Path) -> str:
    """Which format a name says, packed or not."""
    name = path.with_suffix("") if path.suffix.lower() == packed.SUFFIX else path
    suffix = name.suffix.lower()
    if suffix not in FORMATS and path.is_dir():
        return ".csv"
    if suffix not in FORMATS and suffix not in TABLE_FORMATS:
        raise InvalidFile(
            f"{path}: the name must end with {', '.join(FORMATS)}, or for tables with {', '.join(TABLE_FORMATS)} "
            f"(and .gz where it is packed), which says what the format is; "
            f"got {repr(name.suffix) if suffix else 'no suffix'}." + nearest(suffix, (*FORMATS, *TABLE_FORMATS))
        )
    return suffix


def _module(suffix: str) -> Any:
    return import_module(f"plefka.formats.{TABLE_FORMATS[suffix]}")


def _table_writer(path: Path) -> "Callable[[TableNetwork], bytes]":
    module = _module(_suffix(path))
    if not hasattr(module, "dumps"):
        raise InvalidFile(f"{path}: this format is only read. Write .uai, which holds the same.")
    return module.dumps


def _check_options(suffix: str, activation: GivenActivation, approximate: float | None) -> None:
    if suffix in TABLE_FORMATS and activation is not None:
        raise InvalidInput("a file of tables has no activation to be given. Load it without `activation`.")
    if suffix in FORMATS and approximate is not None:
        raise InvalidInput("only formats of tables are approximated. Load this file without `approximate`.")


def _contents(files: tuple[Path, ...]) -> list[bytes]:
    contents = []
    for file in files:
        try:
            contents.append(_read(file))
        except InvalidFile as error:
            which = "" if len(files) == 1 else f"of the files {' and '.join(each.name for each in files)}, {file.name} "
            raise InvalidFile(f"{which}{error}") from error
    return contents


def _read(path: Path) -> bytes:
    try:
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        raise InvalidFile(f"cannot be read: {_reason(error)}. Check the name.") from error
    if path.suffix.lower() != packed.SUFFIX:
        return content
    return packed.unpack(content, path.with_suffix("").suffix.lower())


def _write(path: Path, contents: dict[Path, bytes]) -> None:
    try:
        packed_ones = {
            file: packed.pack(z) if file.suffix.lower() == packed.SUFFIX else z for file, z in contents.items()
        }
        atomic.write_all(packed_ones)
    except (OSError, ValueError) as error:
        raise InvalidFile(f"{path}: cannot be written: {_reason(error)}. A file of that name is unchanged.") from error


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
