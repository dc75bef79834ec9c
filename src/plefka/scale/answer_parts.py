"""The answers of blocks as files of their own: a run that was killed, by whatever, goes on from them.

Where the answers go to a folder, it is a Parquet dataset with a file for each block. Where they go to one file OUT, the
same is a folder OUT.parts beside it, until all blocks are there. A manifest says what was asked and what is done. Each
part also has a digest of the rows that it answers and of what was asked, so that a row that was corrected is answered
again, and a checksum of all its bytes, so that a part is right whatever the manifest says, or is computed again.
"""

import json
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from plefka.errors import InvalidFile, InvalidInput, NotWritten, listed
from plefka.inference.solution_tables import LOG_LIKELIHOOD, STATUS
from plefka.progress import progress
from plefka.runtime import extras, whole_files
from plefka.scale.rows_done import BlockDone, RowsDone
from plefka.tables.columns import VISIT
from plefka.tables.table_files import is_whole, sealed_parquet
from plefka.tables.workbooks import workbook

MANIFEST, DIGEST = "_manifest.json", b"plefka rows"  # readers of a dataset leave files alone that begin with _
SUFFIXES = (".parquet", ".csv", ".xlsx")
EVERY, SHARE = 2.0, 50  # seconds between two manifests, and how many times as long as one takes to write


class BlockAnswer(NamedTuple):
    """The answers of a block as a file, and how they ended; both None where the part that is there is right."""

    content: bytes | None
    done: BlockDone | None


class AnswerParts:
    """Where the answers go, and the folder in which they are collected."""

    def __init__(self, out: Path, settings: dict[str, Any]):
        self.out, self.settings = out, settings
        self.is_file = is_file(out)
        self.folder = out.with_name(f"{out.name}.parts") if self.is_file else out
        self._next = 0.0  # when the manifest may be written again

    @classmethod
    @contextmanager
    def begin(cls, out: Path, settings: dict[str, Any], *, force: bool) -> Iterator["AnswerParts"]:
        """Check what is there; parts of the same settings are kept, others only go with `force`.

        Inside, no other run writes to this output.
        """
        _check_target(out, force=force)
        parts = cls(out, settings)
        with whole_files.write_errors_in_words(parts.folder):
            parts.folder.mkdir(exist_ok=True)
        with _kept(out), whole_files.only_run(out, parts.folder / whole_files.LOCK):
            _check_target(out, force=force)  # again, as a run that has just ended may have written it
            parts._check_settings(force=force)
            parts._note({}, complete=False)
            yield parts

    def _check_settings(self, *, force: bool) -> None:
        whole_files.remove(self.folder.glob(whole_files.TEMPORARY))  # of a run that was killed
        before = self.settings_before(self.out)
        inside = sorted({path.name for path in self.folder.iterdir()} - {whole_files.LOCK})
        if before is None and inside:
            raise InvalidFile(
                f"{self.folder}: must be a new or an empty folder, or one of the same run; it holds {listed(inside)}. "
                "Name another folder."
            )
        differs = [name for name in self.settings if before is not None and before.get(name) != self.settings[name]]
        if differs and not force:
            raise InvalidFile(
                f"{self.folder}: has answers of another run, which differs in {', '.join(differs)}. "
                "Remove this folder, name another, or pass force (--force) to begin again."
            )
        if differs:
            self._remove_from(0)

    @classmethod
    def settings_before(cls, out: Path) -> dict[str, Any] | None:
        """What the run that began this output was asked; None where there was none, {} where nobody can tell."""
        parts = cls(out, {})
        manifest = parts.folder / MANIFEST
        if not manifest.exists() and not (parts.is_file and parts.path(0).exists()):
            return None
        try:
            return dict(json.loads(manifest.read_bytes())["settings"])
        except (OSError, ValueError, TypeError, KeyError):
            return {}

    def collect(
        self, answers: Generator[tuple[int, BlockAnswer], None, None], what: str, total: int | None, method: str
    ) -> RowsDone:
        """Keep what a team of workers answers as soon as it is ready; `what` and `total`: of how many, if known."""
        done: dict[int, BlockDone] = {}
        resumed = 0
        try:
            with closing(answers):  # lets workers go, whatever happens
                for number, answer in progress(answers, what, total=total):
                    done[number] = self.keep(number, answer)
                    resumed += done[number].rows if answer.content is None else 0
                    self._note(done, complete=False)
        except BaseException:
            self._next = 0.0
            with suppress(OSError):  # the disk may have no room for it
                self._note(done, complete=False)
            raise
        if not done:
            raise InvalidInput("there must be at least one row of evidence; got none.")
        self._finish(done)
        found = RowsDone(self.out, method, resumed=resumed)
        found.add(done[number] for number in sorted(done))
        return found

    def keep(self, number: int, answer: BlockAnswer) -> BlockDone:
        """Write the answers of a block, and say how they ended."""
        if answer.content is not None:
            whole_files.write(self.path(number), answer.content)
        found = answer.done or self.done(number)
        if found is None:
            raise InvalidFile(f"{self.path(number)}: is damaged. Run the same again, which computes it anew.")
        return found

    def digest(self, number: int) -> str | None:
        """Of the rows that a part answers; None where there is no part, or one that is not as it was written."""
        try:
            content = extras.pyarrow().BufferReader(self._content(number))
            return extras.pyarrow("pyarrow.parquet").read_metadata(content).metadata[DIGEST].decode()
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def done(self, number: int) -> BlockDone | None:
        """How the rows of a part ended; None where it is damaged."""
        try:
            return BlockDone.of(self._read(number, [STATUS, LOG_LIKELIHOOD]))
        except (OSError, ValueError, KeyError):
            return None

    def _read(self, number: int, columns: list[str] | None = None) -> Any:
        content = extras.pyarrow().BufferReader(self._content(number))
        return extras.pyarrow("pyarrow.parquet").read_table(content, columns=columns)

    def _content(self, number: int) -> bytes:
        """All bytes of a part; an error where they are not as they were written."""
        try:
            content = self.path(number).read_bytes()
        except OSError as error:
            raise InvalidFile(f"{self.path(number)}: cannot be read: {error.strerror or error}.") from error
        if not is_whole(content):
            raise InvalidFile(f"{self.path(number)}: is damaged. Run the same again, which computes it anew.")
        return content

    def _note(self, done: dict[int, BlockDone], *, complete: bool) -> None:
        """Say in the manifest what is done; not after each block, as with many of them that would take long."""
        start = time.monotonic()
        if not complete and start < self._next:
            return
        blocks = [
            {"file": self.path(number).name, "rows": done[number].rows, "statuses": done[number].statuses}
            for number in sorted(done)
        ]
        content = {"complete": complete, "rows": sum(each["rows"] for each in blocks), "settings": self.settings}
        whole_files.write(self.folder / MANIFEST, json.dumps({**content, "blocks": blocks}, indent=1).encode())
        self._next = time.monotonic() + max(EVERY, SHARE * (time.monotonic() - start))

    def _finish(self, done: dict[int, BlockDone]) -> None:
        """All parts with the same columns: one after another in one file, or as they are in the folder."""
        if not self.is_file:
            self._remove_from(len(done))
            schema, parquet = self._schema(len(done)), extras.pyarrow("pyarrow.parquet")
            for number in range(len(done)):  # names of rows may be of another kind than in other parts
                if not parquet.read_schema(self.path(number)).equals(schema):
                    table = self._read(number)
                    content = encoded(_alike(table, schema), table.schema.metadata[DIGEST].decode())
                    whole_files.write(self.path(number), content)
            self._note(done, complete=True)
            return
        with whole_files.replacing(self.out) as (file,):
            write_tables(file, self.out.suffix.lower(), self._schema(len(done)), map(self._read, range(len(done))))
        whole_files.sync_folder(self.out.parent)  # before what it was made from goes
        whole_files.remove([*self._from(0), self.folder / MANIFEST, self.folder / whole_files.LOCK])
        with suppress(OSError):  # another run may begin here already
            self.folder.rmdir()

    def _schema(self, count: int) -> Any:
        """Of all parts: the names of rows may be numbers in one and text, or all missing, in another."""
        pyarrow, parquet = extras.pyarrow(), extras.pyarrow("pyarrow.parquet")
        kinds: dict[str, set] = {}
        schemas = [parquet.read_schema(self.path(number)) for number in range(count)]
        for schema in sorted(schemas, key=len, reverse=True):  # first those with visits
            for field in schema:
                kinds.setdefault(field.name, set()).add(field.type)
        found = {name: types - {pyarrow.null()} for name, types in kinds.items()}
        return pyarrow.schema(
            [(name, types.pop() if len(types) == 1 else pyarrow.string()) for name, types in found.items()]
        )

    def _remove_from(self, number: int) -> None:
        for path in self._from(number):
            with whole_files.write_errors_in_words(path):
                path.unlink()

    def _from(self, number: int) -> list[Path]:
        """Parts from a number on, and only these: a folder may hold something else."""
        return [path for path in self.folder.glob("[0-9]" * 8 + ".parquet") if int(path.stem) >= number]

    def path(self, number: int) -> Path:
        """The file of a part."""
        return self.folder / f"{number:08}.parquet"


def encoded(table: Any, digest: str) -> bytes:
    """A part, with a digest of what it answers and a checksum."""
    return sealed_parquet(table, {DIGEST: digest.encode()})


@contextmanager
def _kept(out: Path) -> Iterator[None]:
    """Where the disk is full or gone, say what to do."""
    try:
        yield
    except NotWritten as error:
        raise error.advising(f"Finished blocks of {out} are kept; run the same again to resume.") from error


def is_file(out: Path) -> bool:
    """Whether the answers go to one file, and not to a folder."""
    return bool(out.suffix) and not out.is_dir()


def _alike(table: Any, schema: Any) -> Any:
    """With the columns of all parts; one in which no name comes again has no visits of its own."""
    if VISIT not in table.column_names and VISIT in schema.names:
        table = table.append_column(VISIT, extras.pyarrow().array([1] * len(table)))
    return table.select(schema.names).cast(schema)


def write_tables(file: Any, suffix: str, schema: Any, tables: Iterable[Any]) -> None:
    """All answers in one file."""
    if suffix == ".xlsx":
        rows = (row for table in tables for row in zip(*_alike(table, schema).to_pydict().values(), strict=True))
        file.write(workbook({"answers": (schema.names, rows)}, ".csv, .parquet or a folder"))
        return
    if suffix == ".csv":
        writer = extras.pyarrow("pyarrow.csv").CSVWriter(file, schema)
    else:
        writer = extras.pyarrow("pyarrow.parquet").ParquetWriter(file, schema)
    with writer:
        for table in tables:
            writer.write_table(_alike(table, schema))


def _check_target(out: Path, *, force: bool) -> None:
    if is_file(out) and out.suffix.lower() not in SUFFIXES:
        raise InvalidFile(
            f"{out}: the name must end with {', '.join(SUFFIXES)}, or have no suffix for a folder; got {out.suffix!r}."
        )
    if not out.parent.is_dir():
        raise InvalidFile(f"{out}: the folder {str(out.parent)!r} does not exist. Create it, or name another.")
    if out.is_file() and not is_file(out):
        raise InvalidFile(f"{out}: must be a folder, as its name has no suffix; got a file. Name another.")
    if out.is_file() and not force:
        raise InvalidFile(f"{out}: already exists. Pass force (--force) to replace it, or name another file.")
