"""Networks in files: `load`, `save` and `convert`, with one module for each format."""

import re
from collections.abc import Callable
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple, cast

from plefka.errors import InvalidFile, InvalidInput, nearest
from plefka.files import native_json, native_npz, spreadsheets
from plefka.files.conditional_tables import TableNetwork
from plefka.files.from_tables import network_of, tabled, tables_of
from plefka.files.native_schema import check_storable
from plefka.files.recognition import Form, expanded, recognised
from plefka.files.uai import dumps_factors, loads_evidence
from plefka.networks.activations import Activation, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.examples import example
from plefka.networks.markov import MarkovNetwork
from plefka.networks.network import Network
from plefka.runtime.registry import REGISTRABLE, import_registering_modules
from plefka.tables.disk import read, read_all, write
from plefka.tables.table_files import PACKED, input_errors_name


class FileFormat(NamedTuple):
    """A format of files: from the bytes of a file, or of several, to a network, and back.

    - `loads`: takes the content, as bytes, and the activation that the caller of `load` gave, or None.
    - `dumps`: takes a network, and gives the content.
    - `files`: the files that the name of a network stands for, where these are several.

    `pf.register` gives it a suffix.

    >>> import tempfile
    >>> import plefka as pf
    >>> def loads(content, activation):
    ...     return pf.BeliefNetwork([[0.0]], [float(content)])
    >>> _ = pf.register(".coin")(pf.FileFormat(loads, lambda network: str(network.bias[0]).encode()))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.save(pf.BeliefNetwork([[0.0]], [0.5]), f"{folder}/fair.coin")
    ...     float(pf.load(f"{folder}/fair.coin").bias[0])
    0.5
    >>> pf.unregister(".coin")
    """

    loads: Callable[..., BeliefNetwork | BoltzmannMachine]  # (content, activation), or (content, content, activation)
    dumps: Callable[..., bytes | tuple[bytes, ...]]  # the content, or one for each file
    files: Callable[[Path], tuple[Path, ...]] = lambda path: (path,)


NATIVE = (".json", ".npz")  # hold every network, bit by bit
FORMATS = {
    ".json": FileFormat(native_json.loads, native_json.dumps),
    ".npz": FileFormat(native_npz.loads, native_npz.dumps),
    ".csv": FileFormat(spreadsheets.loads_csv, spreadsheets.dumps_csv, spreadsheets.csv_files),
    ".xlsx": FileFormat(spreadsheets.loads_excel, spreadsheets.dumps_excel),
}
# Formats of tables, each a module that is loaded when it is used.
TABLE_FORMATS = {".bif": "bif", ".xmlbif": "xmlbif", ".bifxml": "xmlbif", ".xml": "xmlbif", ".uai": "uai"}
TABLE_FORMATS |= {".erg": "ergo", ".xdsl": "genie", ".net": "hugin", ".dne": "netica", ".dnet": "netica"}
TABLE_FORMATS |= {".dsc": "microsoft"}
PathText = str | PathLike[str]


def _entries(form: Any, name: str) -> list[tuple[dict, Any]]:
    """Where `pf.register` puts a format of a user's own."""
    if not re.fullmatch(r"[.][a-z0-9]+", name) or name in TABLE_FORMATS or name in (PACKED, ".evid"):
        raise InvalidInput(
            f"a file format is registered by a suffix of small letters and digits that no other format has, such as "
            f"'.coin'; got {name!r}."
        )
    if not (isinstance(form, FileFormat) and callable(form.loads) and callable(form.dumps)):
        raise InvalidInput(f"a pf.FileFormat must have two functions, loads and dumps; got {form!r}.")
    return [(FORMATS, form)]


REGISTRABLE[FileFormat] = _entries
EXAMPLE = "example:"  # before the name of a bundled network, in the place of a file


def load(
    path: PathText, *, activation: str | Activation | Callable | None = None, approximate: float | None = None
) -> BeliefNetwork:
    """Read a network from a file. The suffix of the file name selects the format. Loading never runs code.

    **Arguments:**

    - `path`: a file of plefka (.json, .npz, .csv, .xlsx) or of others (.bif, .xmlbif, .bifxml, .xml, .uai, .erg, .xdsl,
        .net, .dne, .dsc). NET.csv stands for NET.causes.csv and NET.findings.csv, or for a matrix of both, and a folder
        for causes.csv and findings.csv in it; "example:NAME" is a bundled network; MARKOV files (.uai) may be machines.
    - `activation`: your own activation, if the network has one; a file can name it but not store it.
    - `approximate`: how far the probabilities of a noisy-or or sigmoid unit may be from its table, for example 0.02.
        Only for formats of tables (BIF, UAI and others). A warning says how far they are. By default they must agree
        within 1e-6; other units are kept as tables.

    **Example:**

    >>> import plefka as pf
    >>> pf.load("example:espresso").num_edges
    56
    """
    if isinstance(path, str) and path.startswith(EXAMPLE):
        return example(path.removeprefix(EXAMPLE))
    path = Path(path)
    suffix = _suffix(path)
    given = as_activation(activation) if isinstance(activation, str) else activation
    with input_errors_name(path):
        if suffix in TABLE_FORMATS and given is not None:
            raise InvalidInput("activation is only for .json and .npz files; this format stores tables. Leave it out.")
        if suffix in FORMATS:
            if approximate is not None:
                raise InvalidInput("approximate is only for formats of tables. Load this file without `approximate`.")
            form = FORMATS[suffix]
            found = form.loads(*read_all(form.files(path)), given)
            if not isinstance(found, Network):
                raise InvalidFile(f"loads of the format {suffix} must give a network; got {type(found).__name__}.")
            return cast(BeliefNetwork, found)
        found = _module(suffix).loads(read(path))
        return cast(BeliefNetwork, found) if isinstance(found, Network) else network_of(found, approximate)


def save(network: BeliefNetwork | BoltzmannMachine | MarkovNetwork, path: PathText) -> None:
    """Write a network to a file. The suffix of the file name selects the format.

    `load` gives the same network back: from .json and .npz bit by bit, from .csv and .xlsx up to rounding. Other
    formats store the table of every unit. If writing fails, an existing file stays as it was.

    **Example:**

    >>> import tempfile
    >>> import plefka as pf
    >>> network = pf.example("espresso")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.save(network, f"{folder}/espresso.npz")
    ...     pf.load(f"{folder}/espresso.npz").names == network.names
    True
    """
    path = Path(path)
    suffix = _suffix(path)
    if isinstance(network, MarkovNetwork) and suffix == ".uai":
        write({path: dumps_factors(network)})
        return
    if suffix in TABLE_FORMATS and not isinstance(network, BoltzmannMachine | MarkovNetwork):
        write({path: _table_writer(path)(tables_of(network))})
        return
    check_storable(network)
    if isinstance(network, BoltzmannMachine) and suffix not in NATIVE:
        raise InvalidFile(f"{path}: a Boltzmann machine can be saved as {' or '.join(NATIVE)}; got {suffix}.")
    form = FORMATS[suffix]
    content = form.dumps(network)
    if not isinstance(content, bytes | tuple):
        raise InvalidFile(f"{path}: dumps of the format {suffix} must give bytes; got {type(content).__name__}.")
    contents, files = content if isinstance(content, tuple) else (content,), form.files(path)
    if len(files) != len(contents):
        raise InvalidFile(f"{path}: already exists and is a table by itself. Remove it, or name another file.")
    write(dict(zip(files, contents, strict=True)))


def load_tables(path: PathText) -> TableNetwork:
    """Read a network from a file of any format as probability tables, without recognising noisy-or or sigmoid units.

    `pf.recognised` says which units are a noisy-or or a sigmoid.

    **Example:**

    >>> import tempfile
    >>> import plefka as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.save(pf.example("espresso"), f"{folder}/espresso.bif")
    ...     tables = pf.load_tables(f"{folder}/espresso.bif")
    >>> {form.kind for form in pf.recognised(tables)}
    {'noisy-or'}
    """
    path = Path(path)
    if _suffix(path) not in TABLE_FORMATS:
        return tables_of(load(path))
    found = _read_tables(path)
    if isinstance(found, Network):
        raise InvalidFile(f"{path}: a MARKOV network is tables if each variable has a factor P(child | parents) alone.")
    return tabled(found)


def _read_tables(path: Path) -> "TableNetwork | BoltzmannMachine | MarkovNetwork":
    """What a file in a format of tables holds; a product of factors may be no tables."""
    with input_errors_name(path):
        return _module(_suffix(path)).loads(read(path))


def load_evidence(path: PathText) -> dict[int, str] | list[dict[int, str]]:
    """Read evidence from a file of the UAI competitions (.evid): {unit: state}, or a list of such rows.

    **Example:**

    >>> import tempfile
    >>> from pathlib import Path
    >>> import plefka as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     length = Path(folder, "asia.uai.evid").write_text("2 0 1 3 0")
    ...     pf.load_evidence(Path(folder, "asia.uai.evid"))
    {0: '1', 3: '0'}
    """
    path = Path(path)
    with input_errors_name(path):
        if not path.name.lower().removesuffix(PACKED).endswith(".evid"):
            raise InvalidFile("the name of an evidence file must end with .evid or .evid.gz.")
        return loads_evidence(read(path))


def convert(source: PathText, target: PathText, approximate: float | None = None) -> list[Form]:
    """Convert a network file from one format to another.

    Between two formats of tables, the tables are copied as they are, unless you pass `approximate`.

    **Arguments:**

    - `source`, `target`: the file to read and the file to write. Their suffixes select the formats. A file that is
        read is never overwritten.
    - `approximate`: as for `load`.

    Returns what each table was recognised as, or an empty list if `source` has no tables.

    **Example:**

    >>> import tempfile
    >>> import plefka as pf
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     pf.save(pf.example("espresso"), f"{folder}/espresso.bif")
    ...     forms = pf.convert(f"{folder}/espresso.bif", f"{folder}/espresso.json")
    >>> {form.kind for form in forms}
    {'noisy-or'}
    """
    source, target = Path(source), Path(target)
    given = [file for file in stored_in(source) if file.exists()]
    for file in stored_in(target):  # the new format may hold less than the old one, which must not be lost
        if file.exists() and any(file.samefile(other) for other in given):
            raise InvalidFile(f"{file}: is one of the input files, which are not overwritten. Name another file.")
    tables = _read_tables(source) if _suffix(source) in TABLE_FORMATS else load(source, approximate=approximate)
    if isinstance(tables, Network):
        save(tables, target)
        return []
    forms = recognised(tables, approximate)
    if _suffix(target) in TABLE_FORMATS:
        tables = tabled(tables)
        write({target: _table_writer(target)(tables if approximate is None else expanded(tables, forms))})
    else:
        with input_errors_name(source):
            network = network_of(tables, approximate)
        save(network, target)
    return forms


def stored_in(path: Path) -> tuple[Path, ...]:
    """The files that the name of a network stands for; a name NET.csv stands for two of them."""
    suffix = _suffix(path)
    return FORMATS[suffix].files(path) if suffix in FORMATS else (path,)


def _suffix(path: Path) -> str:
    """The suffix that names the format, without .gz."""
    name = path.with_suffix("") if path.suffix.lower() == PACKED else path
    suffix = name.suffix.lower()
    if suffix not in FORMATS and path.is_dir():
        return ".csv"
    if suffix not in (*FORMATS, *TABLE_FORMATS):
        import_registering_modules()
    if suffix not in (known := (*FORMATS, *TABLE_FORMATS)):
        raise InvalidFile(
            f"{path}: the name must end with {', '.join(known)}, which selects the format, or with one of these and "
            f".gz; got {repr(name.suffix) if suffix else 'no suffix'}.{nearest(suffix, known)}"
        )
    return suffix


def _module(suffix: str) -> Any:
    return import_module(f"plefka.files.{TABLE_FORMATS[suffix]}")


def _table_writer(path: Path) -> Callable[[TableNetwork], bytes]:
    module = _module(_suffix(path))
    if not hasattr(module, "dumps"):
        written = ", ".join(suffix for suffix in TABLE_FORMATS if hasattr(_module(suffix), "dumps"))
        raise InvalidFile(f"{path}: this format can be read but not written. Choose one of {written}.")
    return module.dumps
