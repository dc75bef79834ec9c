"""Files that the command writes: tables as .csv, .xlsx, .parquet and .npy, and what must not be overwritten."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plefka.errors import InvalidFile
from plefka.runtime import extras, whole_files
from plefka.tables.workbooks import workbook

if TYPE_CHECKING:
    import numpy as np


Ids = Mapping[str, list[Any]]


def encode_csv(names: Iterable[str] | None, values: "np.ndarray", ids: Ids | None = None) -> bytes:
    """Whole numbers without a point, others with all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if names is not None:
        writer.writerow([*(ids or ()), *names])
    writer.writerows(_rows(values, ids))
    return text.getvalue().encode()


def _rows(values: "np.ndarray", ids: Ids | None) -> Iterator[list]:
    rows = values.astype(float).tolist()
    before = zip(*ids.values(), strict=True) if ids else [()] * len(rows)
    for called, row in zip(before, rows, strict=True):
        yield [*called, *(int(value) if value.is_integer() else value for value in row)]


def _encode_excel(names: Iterable[str] | None, values: "np.ndarray", ids: Ids | None = None) -> bytes:
    called = [str(k) for k in range(values.shape[1])] if names is None else names
    return workbook({"rows": ([*(ids or ()), *called], _rows(values, ids))})


def _encode_parquet(names: Iterable[str] | None, values: "np.ndarray", ids: Ids | None = None) -> bytes:
    pyarrow, parquet = extras.pyarrow(), extras.pyarrow("pyarrow.parquet")
    called = [str(k) for k in range(values.shape[1])] if names is None else list(names)
    columns = {**(ids or {}), **dict(zip(called, values.T.copy(), strict=True))}
    content = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(columns), content)
    return content.getvalue().to_pybytes()


def _encode_npy(names: Iterable[str] | None, values: "np.ndarray", ids: Ids | None = None) -> bytes:
    """Numbers only: an array has no place for the names of rows."""
    import numpy as np

    content = io.BytesIO()
    np.save(content, values)
    return content.getvalue()


WRITERS = {".csv": encode_csv, ".xlsx": _encode_excel, ".parquet": _encode_parquet, ".npy": _encode_npy}


def write_table(path: Path, names: Iterable[str] | None, values: "np.ndarray", ids: Ids | None = None) -> None:
    """Write a table in the format that the suffix says, as a whole or not at all; `ids` are its first columns."""
    whole_files.write(path, writer_of(path)(names, values, ids))


def writer_of(path: Path) -> Any:
    """How a table is written to this file; an error where its suffix says nothing."""
    from plefka.tables.table_files import for_suffix

    return for_suffix(path, WRITERS)


def check_target(path: Path) -> None:
    """Refuse what cannot be written before the work, not after it."""
    if not path.parent.is_dir():
        raise InvalidFile(f"{path}: the folder {str(path.parent)!r} does not exist. Create it, or name another.")
    if path.is_dir():
        raise InvalidFile(f"{path}: must be a file; got a folder.")


@contextmanager
def claimed(path: Path | None, inputs: Iterable[Path], *, force: bool) -> Iterator[None]:
    """Inside, a file that may be written, and that no other run writes to; None for no file."""
    if path is None:
        yield
        return
    check_target(path)
    with whole_files.only_run(path):
        check_new(path, inputs, force=force)
        yield


def check_new(path: Path, inputs: Iterable[Path], *, force: bool) -> None:
    """Input files are never overwritten, and other files only with --force."""
    check_target(path)
    if not path.exists():
        return
    if any(file.exists() and path.samefile(file) for given in inputs for file in _files_of(given)):
        raise InvalidFile(f"{path}: is one of the input files, which are not overwritten. Name another file.")
    if not force:
        raise InvalidFile(f"{path}: already exists. Pass --force to replace it, or name another file.")


def _files_of(given: Path) -> tuple[Path, ...]:
    """A file itself, or where it is the name of a network those that it stands for."""
    try:
        return (given, *files_of_network(given))
    except InvalidFile:  # a table, or an example
        return (given,)


def files_of_network(path: Path) -> tuple[Path, ...]:
    """Those that a network of this name consists of."""
    from plefka.files import stored_in

    return stored_in(path)


def check_folder(path: Path) -> None:
    """Make a folder for what will be written, before the work."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be a folder for the output: {error.strerror}. Name another.") from error
