"""Networks that come and go as files in JSON: opened from a browser, edited there as tables, and saved again.

All of this runs in the workers, so that the limits of a question hold for what a file takes to be read.
"""

import base64
import hashlib
import os
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import Any

import plefka as pf
from plefka.errors import InvalidFile, InvalidInput, PlefkaWarning
from plefka.explorer.catalogue import Catalogue, Served
from plefka.files import EXAMPLE
from plefka.files.spreadsheets import frames_of

MOST_UNITS, MOST_EDGES = 200_000, 5_000_000  # of a network that a browser can hold
MOST_LINES = 5000  # of tables that are edited in a browser
NO_TABLE = "a network with {} cannot be edited as two tables of causes and findings. Open it and save it as it is."


def open_files(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Read a network, and say what is suspicious in it; if it is to be kept, workers find it by its key."""
    with _own_folder(fields) as folder, warnings.catch_warnings(record=True, action="always") as said:
        path = _written(fields["files"], Path(folder))
        network = checked(pf.load(path.name if path.name.startswith(EXAMPLE) else path), path.name)
    edges = Catalogue(network).facts["edges"]
    if network.size > MOST_UNITS or edges > MOST_EDGES:
        raise InvalidFile(
            f"{path.name}: a network that is opened here may have {MOST_UNITS:,} units and {MOST_EDGES:,} links; got "
            f"{network.size:,} and {edges:,}. Start plefka explore with its file."
        )
    name, key = path.name.removeprefix(EXAMPLE).partition(".")[0] or "network", None
    described = {
        "name": name,
        "units": network.size,
        "edges": edges,
        "notes": [str(each.message) for each in said if issubclass(each.category, PlefkaWarning)],
        "suspicions": [each._asdict() for each in pf.lint(network)] if isinstance(network, pf.BeliefNetwork) else [],
        **(save(network, fields["save"]) if fields.get("save") else {"files": {}}),
    }
    if fields["keep"]:
        content = repr((network.fingerprint, network.version, name)).encode()
        key = hashlib.blake2b(content, key=fields["secret"], digest_size=16).hexdigest()
        with _own_folder(fields) as folder:
            pf.save(network, file := Path(folder) / f"{key}.npz")
            os.replace(file, Path(fields["folder"]) / file.name)
    return {"network": key, **described}


def checked(network: Any, source: str) -> Served:
    """A network that can be served."""
    if isinstance(network, pf.MarkovNetwork):
        raise InvalidFile(
            f"{source}: must be a belief network or a Boltzmann machine; got a Markov network, whose factors the page "
            "cannot show. Use plefka infer, or pf.infer, for it."
        )
    if network.stack is not None:
        raise InvalidFile(f"{source}: must hold one network; got a stack of {network.stack}. Save one of them.")
    return network


def save(network: Any, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The files of a network in the format of a suffix."""
    with _own_folder(fields) as folder:
        pf.save(network, Path(folder) / f"{fields['name']}{fields['suffix']}")
        files = {path.name: base64.b64encode(path.read_bytes()).decode() for path in sorted(Path(folder).iterdir())}
    return {"files": files}


def tables(network: Any, _: object = None) -> dict[str, Any]:
    """The rows of the two tables of causes and findings."""
    if not isinstance(network, pf.BeliefNetwork) or network.hierarchy is not None:
        raise InvalidInput(NO_TABLE.format("findings that imply others" if network.is_normalised else "couplings"))
    frames = frames_of(network)
    if (lines := sum(map(len, frames.values()))) > MOST_LINES:
        raise InvalidInput(NO_TABLE.format(f"{lines:,} lines (more than {MOST_LINES:,})"))
    return {name: frame.astype(object).where(frame.notna(), None).values.tolist() for name, frame in frames.items()}


def _written(files: Mapping[str, str], folder: Path) -> Path:
    """The files in a folder; the first of them, which stands for all."""
    for name, content in files.items():
        named = repr(name[:100])
        if PurePath(name).name != name or name.startswith(".") or "\0" in name:
            raise InvalidFile(f"{named}: a name must be without a folder, and not begin with a dot, as net.json.")
        try:
            decoded = base64.b64decode(content, validate=True)
        except ValueError:  # also of letters that are not ASCII
            raise InvalidFile(f"{named}: the content must be in base64; got something else.") from None
        try:
            (folder / name).write_bytes(decoded)
        except (OSError, ValueError):
            why = "the name is too long or not valid, or the disk is full"
            raise InvalidFile(f"{named} cannot be kept here: {why}.") from None
    return folder / next(iter(files))


@contextmanager
def _own_folder(fields: Mapping[str, Any]) -> Iterator[str]:
    """Of this question: the service removes it if this worker is ended. Errors name the file as the visitor does."""
    with tempfile.TemporaryDirectory(dir=fields.get("own")) as folder:
        try:
            yield folder
        except InvalidInput as error:
            raise InvalidFile(f"file {str(error).replace(f'{folder}{os.sep}', '')}") from None
