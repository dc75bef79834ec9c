"""Rows on disk: DIR/rows/NAME-HASH/BLOCK.parquet, each file written as a whole, with its provenance inside."""

import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from plefka.errors import InvalidFile, MissingExtra
from plefka.paper.experiment_settings import digest, spelled
from plefka.runtime import whole_files
from plefka.runtime.provenance import PACKAGE, machine, source
from plefka.runtime.version import __version__
from plefka.tables.table_files import is_sealed, is_whole, sealed_parquet

try:
    import pyarrow as pa
    import pyarrow.parquet as pq
except ImportError as error:
    raise MissingExtra("pyarrow", "data", "keeping the rows of an experiment") from error

METADATA_KEY = b"plefka"
# Other modules draw rows.
COMPUTING = ("as_printed", "compute", "experiment_settings", "learn_bars", "random_networks", "summary")


@dataclass(frozen=True, eq=False)
class StoredRows:
    """What an experiment computed: columns of equal length, the settings, and where it comes from."""

    name: str
    settings: dict[str, Any]
    columns: dict[str, np.ndarray]
    provenance: dict[str, Any]  # version, code, machine, dates of the first and the last block, seconds in all
    complete: bool

    def where(self, **values: Any) -> dict[str, np.ndarray]:
        """The columns of those rows that have these values."""
        keep = np.ones(len(next(iter(self.columns.values()))), bool)
        for name, value in values.items():
            keep &= self.columns[name] == value
        return {name: column[keep] for name, column in self.columns.items()}


class Store:
    """The blocks of one experiment."""

    def __init__(self, folder: Path, experiment: Any):
        self.experiment = experiment
        self.folder = folder / "rows" / f"{experiment.name}-{digest(experiment)}"

    def path(self, block: str) -> Path:
        return self.folder / f"{block}.parquet"

    def state(self, block: str) -> str:
        """What is there of a block: "missing", "damaged", "stale" if other code has computed it, or "fresh"."""
        if not self.path(block).exists():
            return "missing"
        try:
            about = _read_block(self.path(block), columns=[])[1]
        except InvalidFile:
            return "damaged"
        return "fresh" if about.get("source") == code_digest() else "stale"

    def write(self, block: str, columns: dict[str, Any], seconds: float, num_blocks: int) -> None:
        """One block, under its name only once it is whole."""
        about = {
            "experiment": self.experiment.name,
            "settings": spelled(self.experiment),
            "hash": digest(self.experiment),
            "block": block,
            "blocks": num_blocks,
            "version": __version__,
            "source": code_digest(),
            "machine": machine(),
            "date": time.strftime("%Y-%m-%d %H:%M:%S %z"),
            "seconds": round(seconds, 3),
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        whole_files.write(self.path(block), _encoded(columns, about))


def _encoded(columns: dict[str, Any], about: dict[str, Any]) -> bytes:
    arrays = {}
    for name, column in columns.items():
        values = np.asarray(column)  # numbers as they are, words with each word kept once
        is_number = values.dtype.kind in "iufb"
        arrays[name] = pa.array(values) if is_number else pa.array(values.tolist()).dictionary_encode()
    table = pa.table(arrays)
    floats = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    others = [field.name for field in table.schema if field.name not in floats]
    encodings: dict[str, Any] = {
        "use_dictionary": others,
        "column_encoding": dict.fromkeys(floats, "BYTE_STREAM_SPLIT"),
    }
    metadata = {METADATA_KEY: json.dumps(about).encode()}
    return sealed_parquet(table, metadata, compression="zstd", compression_level=9, **encodings)


def read(folder: Path) -> dict[str, StoredRows]:
    """Of every experiment in a folder the newest complete set of rows, or else the newest at all."""
    sets = [_read_set(path) for path in sorted((folder / "rows").glob("*-*")) if any(path.glob("*.parquet"))]
    sets.sort(key=lambda rows: (rows.complete, rows.provenance["last"]))
    return {rows.name: rows for rows in sets}


def read_one(folder: Path, experiment: Any) -> StoredRows:
    """The rows that belong to these very settings."""
    return _read_set(Store(folder, experiment).folder)


def _read_set(folder: Path) -> StoredRows:
    blocks = [_read_block(path) for path in sorted(folder.glob("*.parquet"))]
    tables, about = zip(*blocks, strict=True)
    joined = pa.concat_tables([table.replace_schema_metadata(None) for table in tables], promote_options="permissive")
    words = [field.name for field in joined.schema if pa.types.is_dictionary(field.type)]
    columns = {
        name: (column.cast(pa.string()) if name in words else column).to_numpy()
        for name, column in zip(joined.column_names, joined.columns, strict=True)
    }
    dates = sorted(entry["date"] for entry in about)
    first = about[0]
    provenance = {key: first[key] for key in ("version", "machine", "hash")}
    provenance["sources"] = sorted({entry.get("source", "unknown") for entry in about})
    provenance |= {"first": dates[0], "last": dates[-1], "seconds": sum(entry["seconds"] for entry in about)}
    wanted = max(entry["blocks"] for entry in about)  # of a trial, there are more with every new method
    return StoredRows(first["experiment"], first["settings"], columns, provenance, len(about) == wanted)


def _read_block(path: Path, columns: list[str] | None = None) -> tuple[Any, dict[str, Any]]:
    """The table, or some of its columns, and its provenance."""
    try:
        content = path.read_bytes()
        if is_sealed(content) and not is_whole(content):  # rows of earlier versions have no seal
            raise ValueError("it is damaged")
        table = pq.read_table(pa.BufferReader(content), columns=columns)
        return table, json.loads(table.schema.metadata[METADATA_KEY])
    except (pa.ArrowInvalid, OSError, KeyError, TypeError, ValueError) as error:
        raise InvalidFile(f"{path}: cannot be read as rows of an experiment. Remove it and run again.") from error


def code_digest(package: Path = PACKAGE) -> str:
    """Another one for every change of the code that computes rows."""
    return source(package, tuple(f"paper/{name}.py" for name in COMPUTING))
