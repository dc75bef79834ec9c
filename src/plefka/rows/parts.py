"""The answers of blocks as files of their own, until all are there: a run that was killed goes on from them.

Beside OUT there is a folder OUT.parts with a file for each block that is done, and a manifest that says what they are
answers to. A part also has a digest of the rows that it answers, so that a row that was corrected is answered again.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plefka import atomic, extras
from plefka.errors import InvalidFile
from plefka.rows.sources import Block

MANIFEST, DIGEST = "manifest.json", b"plefka rows"
SUFFIXES = (".parquet", ".csv")


class Parts(NamedTuple):
    """Where the answers go, and the folder in which they are collected."""

    out: Path
    folder: Path

    @classmethod
    def begin(cls, out: Path, settings: dict[str, Any], *, force: bool) -> "Parts":
        """Check what is there; parts of the same settings are kept, others only go with `force`."""
        _check_target(out, force=force)
        parts = cls(out, out.with_name(f"{out.name}.parts"))
        before = parts._manifest()
        differs = [name for name in settings if before is not None and before.get(name) != settings[name]]
        if differs and not force:
            raise InvalidFile(
                f"{parts.folder}: has answers of another run, which differs in {', '.join(differs)}. "
                "Remove this folder, name another file, or pass force (--force) to begin again."
            )
        if differs:
            shutil.rmtree(parts.folder)
        parts.folder.mkdir(exist_ok=True)
        atomic.write(parts.folder / MANIFEST, json.dumps(settings, indent=2).encode())
        return parts

    def read(self, number: int, digest: str, columns: list[str]) -> Any:
        """Some columns of a part, or None where there is none for these very rows."""
        parquet, path = extras.pyarrow("pyarrow.parquet"), self._path(number)
        try:
            if parquet.read_metadata(path).metadata.get(DIGEST) != digest.encode():
                return None
            return parquet.read_table(path, columns=columns)
        except (OSError, ValueError, AttributeError):  # not there, or damaged
            return None

    def write(self, number: int, digest: str, table: Any) -> None:
        """Keep the answers of a block."""
        buffer = extras.pyarrow().BufferOutputStream()
        table = table.replace_schema_metadata({DIGEST: digest.encode()})
        extras.pyarrow("pyarrow.parquet").write_table(table, buffer)
        atomic.write(self._path(number), buffer.getvalue().to_pybytes())

    def finish(self, count: int) -> None:
        """All parts, one after another, in one file; the folder goes away."""
        temporary = atomic.temporary_name(self.out)
        try:
            _write(temporary, self.out.suffix.lower(), self._schema(count), self._tables(count))
            temporary.replace(self.out)
        finally:
            temporary.unlink(missing_ok=True)
        shutil.rmtree(self.folder)

    def _tables(self, count: int) -> Iterator[Any]:
        for number in range(count):
            yield extras.pyarrow("pyarrow.parquet").read_table(self._path(number)).replace_schema_metadata(None)

    def _schema(self, count: int) -> Any:
        """Of all parts: the names of rows may be numbers in one and text, or all missing, in another."""
        pyarrow, parquet = extras.pyarrow(), extras.pyarrow("pyarrow.parquet")
        schemas = [parquet.read_schema(self._path(number)) for number in range(count)]
        kinds = {name: {schema.field(name).type for schema in schemas} - {pyarrow.null()} for name in schemas[0].names}
        return pyarrow.schema(
            [(name, found.pop() if len(found) == 1 else pyarrow.string()) for name, found in kinds.items()]
        )

    def _path(self, number: int) -> Path:
        return self.folder / f"{number:08}.parquet"

    def _manifest(self) -> dict[str, Any] | None:
        """What is in the folder; None where there is none."""
        if not self.folder.exists():
            return None
        try:
            return dict(json.loads((self.folder / MANIFEST).read_bytes()))
        except (OSError, ValueError, TypeError):
            return {}


def digest_of(block: Block) -> str:
    """Equal only for the same rows."""
    found = hashlib.sha256(np.ascontiguousarray(block.units, np.int64).tobytes())
    found.update(np.ascontiguousarray(np.nan_to_num(block.values, nan=2.0), np.int8).tobytes())
    found.update(repr((block.values.shape, block.ids)).encode())
    return found.hexdigest()


def _write(path: Path, suffix: str, schema: Any, tables: Iterator[Any]) -> None:
    if suffix == ".csv":
        writer = extras.pyarrow("pyarrow.csv").CSVWriter(path, schema)
    else:
        writer = extras.pyarrow("pyarrow.parquet").ParquetWriter(path, schema)
    with writer:
        for table in tables:
            writer.write_table(table.cast(schema))


def _check_target(out: Path, *, force: bool) -> None:
    if out.suffix.lower() not in SUFFIXES:
        raise InvalidFile(f"{out}: the name must end with {' or '.join(SUFFIXES)}; got {out.suffix!r}.")
    if not out.parent.is_dir():
        raise InvalidFile(f"{out}: the folder {str(out.parent)!r} does not exist. Create it, or name another.")
    if out.exists() and not force:
        raise InvalidFile(f"{out}: already exists. Pass force (--force) to replace it, or name another file.")
