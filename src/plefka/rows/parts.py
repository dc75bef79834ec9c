"""The answers of blocks as files of their own: a run that was killed, by whatever, goes on from them.

Where the answers go to a folder, it is a Parquet dataset with a file for each block. Where they go to one file OUT, the
same is a folder OUT.parts beside it, until all blocks are there. A manifest says what was asked and what is done. Each
part also has a digest of the rows that it answers and of what was asked, so that a row that was corrected is answered
again, and a part is right whatever the manifest says.
"""

import json
import shutil
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from plefka import atomic, extras
from plefka.errors import InvalidFile, listed
from plefka.rows.done import BlockDone

STATUS, LOG_LIKELIHOOD = "status", "log_likelihood"  # columns that every part has
MANIFEST, DIGEST = "_manifest.json", b"plefka rows"  # readers of a dataset leave files alone that begin with _
SUFFIXES = (".parquet", ".csv")
EVERY, SHARE = 2.0, 50  # seconds between two manifests, and how many times as long as one takes to write


class Parts:
    """Where the answers go, and the folder in which they are collected."""

    def __init__(self, out: Path, settings: dict[str, Any]):
        self.out, self.settings = out, settings
        self.is_file = is_file(out)
        self.folder = out.with_name(f"{out.name}.parts") if self.is_file else out
        self._next = 0.0  # when the manifest may be written again

    @classmethod
    def begin(cls, out: Path, settings: dict[str, Any], *, force: bool) -> "Parts":
        """Check what is there; parts of the same settings are kept, others only go with `force`."""
        _check_target(out, force=force)
        parts = cls(out, settings)
        before = parts.settings_before(out)
        if before is None:
            parts._check_empty()
        differs = [name for name in settings if before is not None and before.get(name) != settings[name]]
        if differs and not force:
            raise InvalidFile(
                f"{parts.folder}: has answers of another run, which differs in {', '.join(differs)}. "
                "Remove this folder, name another, or pass force (--force) to begin again."
            )
        if differs:
            parts._remove_from(0)
        parts.folder.mkdir(exist_ok=True)
        parts.note({}, complete=False)
        return parts

    @classmethod
    def settings_before(cls, out: Path) -> dict[str, Any] | None:
        """What the run that began this output was asked; None where there was none, {} where nobody can tell."""
        folder = cls(out, {}).folder
        if not folder.is_dir() or (not is_file(out) and not (folder / MANIFEST).exists()):
            return None
        try:
            return dict(json.loads((folder / MANIFEST).read_bytes())["settings"])
        except (OSError, ValueError, TypeError, KeyError):
            return {}

    def digest(self, number: int) -> str | None:
        """Of the rows that a part answers; None where there is no part."""
        try:
            found = extras.pyarrow("pyarrow.parquet").read_metadata(self.path(number)).metadata
            return found[DIGEST].decode()
        except (OSError, ValueError, TypeError, KeyError):  # not there, or damaged
            return None

    def done(self, number: int) -> BlockDone | None:
        """How the rows of a part ended; None where it is damaged."""
        columns = [STATUS, LOG_LIKELIHOOD]
        try:
            table = extras.pyarrow("pyarrow.parquet").read_table(self.path(number), columns=columns)
            return BlockDone.of(*(table[name].to_numpy(zero_copy_only=False) for name in columns))
        except (OSError, ValueError, KeyError):
            return None

    def write(self, number: int, content: bytes) -> None:
        """Keep the answers of a block."""
        atomic.write(self.path(number), content)

    def note(self, done: dict[int, BlockDone], *, complete: bool) -> None:
        """Say in the manifest what is done; not after each block, as with many of them that would take long."""
        start = time.monotonic()
        if not complete and start < self._next:
            return
        blocks = [{"file": self.path(number).name, **done[number].counts()} for number in sorted(done)]
        content = {"complete": complete, "rows": sum(each["rows"] for each in blocks), "settings": self.settings}
        atomic.write(self.folder / MANIFEST, json.dumps({**content, "blocks": blocks}, indent=1).encode())
        self._next = time.monotonic() + max(EVERY, SHARE * (time.monotonic() - start))

    def last_note(self, done: dict[int, BlockDone]) -> None:
        """What a run that failed had done, where the disk has room for it."""
        self._next = 0.0
        with suppress(OSError):
            self.note(done, complete=False)

    def finish(self, done: dict[int, BlockDone]) -> None:
        """All parts with the same columns: one after another in one file, or as they are in the folder."""
        if not self.is_file:
            self._remove_from(len(done))
            self._make_alike(len(done))
            self.note(done, complete=True)
            return
        temporary = atomic.temporary_name(self.out)
        try:
            _write(temporary, self.out.suffix.lower(), self._schema(len(done)), self._tables(len(done)))
            temporary.replace(self.out)
        finally:
            temporary.unlink(missing_ok=True)
        shutil.rmtree(self.folder)

    def _make_alike(self, count: int) -> None:
        """Parts with names of rows of another kind than the others have are written again."""
        schema, parquet = self._schema(count), extras.pyarrow("pyarrow.parquet")
        for number in range(count):
            if not parquet.read_schema(self.path(number)).equals(schema):
                table = parquet.read_table(self.path(number))
                self.write(number, encoded(table.cast(schema), table.schema.metadata[DIGEST].decode()))

    def _tables(self, count: int) -> Iterator[Any]:
        for number in range(count):
            yield extras.pyarrow("pyarrow.parquet").read_table(self.path(number)).replace_schema_metadata(None)

    def _schema(self, count: int) -> Any:
        """Of all parts: the names of rows may be numbers in one and text, or all missing, in another."""
        pyarrow, parquet = extras.pyarrow(), extras.pyarrow("pyarrow.parquet")
        kinds: dict[str, set] = {}
        for number in range(count):
            for field in parquet.read_schema(self.path(number)):
                kinds.setdefault(field.name, set()).add(field.type)
        found = {name: types - {pyarrow.null()} for name, types in kinds.items()}
        return pyarrow.schema(
            [(name, types.pop() if len(types) == 1 else pyarrow.string()) for name, types in found.items()]
        )

    def _remove_from(self, number: int) -> None:
        """Parts from a number on, and only these: a folder may hold something else."""
        for path in self.folder.glob("[0-9]" * 8 + ".parquet"):
            if int(path.stem) >= number:
                path.unlink()

    def _check_empty(self) -> None:
        inside = [] if not self.folder.is_dir() else sorted(path.name for path in self.folder.iterdir())
        if inside:
            raise InvalidFile(
                f"{self.folder}: must be a new or an empty folder, or one of the same run; it holds {listed(inside)}. "
                "Name another folder."
            )

    def path(self, number: int) -> Path:
        """The file of a part."""
        return self.folder / f"{number:08}.parquet"


def encoded(table: Any, digest: str) -> bytes:
    """A part, with a digest of what it answers."""
    buffer = extras.pyarrow().BufferOutputStream()
    table = table.replace_schema_metadata({DIGEST: digest.encode()})
    extras.pyarrow("pyarrow.parquet").write_table(table, buffer)
    return buffer.getvalue().to_pybytes()


def is_file(out: Path) -> bool:
    """Whether the answers go to one file, and not to a folder."""
    return bool(out.suffix) and not out.is_dir()


def _write(path: Path, suffix: str, schema: Any, tables: Iterator[Any]) -> None:
    if suffix == ".csv":
        writer = extras.pyarrow("pyarrow.csv").CSVWriter(path, schema)
    else:
        writer = extras.pyarrow("pyarrow.parquet").ParquetWriter(path, schema)
    with writer:
        for table in tables:
            writer.write_table(table.cast(schema))


def _check_target(out: Path, *, force: bool) -> None:
    if is_file(out) and out.suffix.lower() not in SUFFIXES:
        raise InvalidFile(
            f"{out}: the name must end with {' or '.join(SUFFIXES)}, or have no suffix for a folder; "
            f"got {out.suffix!r}."
        )
    if not out.parent.is_dir():
        raise InvalidFile(f"{out}: the folder {str(out.parent)!r} does not exist. Create it, or name another.")
    if out.is_file() and not is_file(out):
        raise InvalidFile(f"{out}: must be a folder, as its name has no suffix; got a file. Name another.")
    if out.is_file() and not force:
        raise InvalidFile(f"{out}: already exists. Pass force (--force) to replace it, or name another file.")
