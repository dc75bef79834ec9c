"""Files that the command writes: tables of numbers as .csv, .parquet and .npy, and what must not be overwritten."""

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from plefka import extras
from plefka.data_files import for_suffix
from plefka.errors import InvalidFile

if TYPE_CHECKING:
    import numpy as np


def encode_csv(names: Iterable[str] | None, values: "np.ndarray") -> bytes:
    """Whole numbers without a point, others with all their digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    if names is not None:
        writer.writerow(names)
    rows = values.astype(float).tolist()
    writer.writerows([int(value) if value.is_integer() else value for value in row] for row in rows)
    return text.getvalue().encode()


def _encode_parquet(names: Iterable[str] | None, values: "np.ndarray") -> bytes:
    extras.pyarrow()
    frame = extras.pandas("a .parquet file").DataFrame(values, columns=None if names is None else list(names))
    return frame.rename(columns=str).to_parquet(index=False)


def _encode_npy(names: Iterable[str] | None, values: "np.ndarray") -> bytes:
    import numpy as np

    content = io.BytesIO()
    np.save(content, values)
    return content.getvalue()


WRITERS = {".csv": encode_csv, ".parquet": _encode_parquet, ".npy": _encode_npy}


def write_table(path: Path, names: Iterable[str] | None, values: "np.ndarray") -> None:
    """Write a table in the format that the suffix says, as a whole or not at all."""
    from plefka import atomic

    atomic.write(path, for_suffix(path, WRITERS)(names, values))


def check_target(path: Path) -> None:
    """Refuse what cannot be written before the work, not after it."""
    if not path.parent.is_dir():
        raise InvalidFile(f"{path}: the folder {str(path.parent)!r} does not exist. Create it, or name another.")
    if path.is_dir():
        raise InvalidFile(f"{path}: must be a file; got a folder.")


def check_new(path: Path, inputs: Iterable[Path], *, force: bool) -> None:
    """Input files are never overwritten, and other files only with --force."""
    check_target(path)
    if not path.exists():
        return
    if any(given.exists() and path.samefile(given) for given in inputs):
        raise InvalidFile(f"{path}: is one of the input files, which are not overwritten. Name another file.")
    if not force:
        raise InvalidFile(f"{path}: already exists. Pass --force to replace it, or name another file.")


def check_folder(path: Path) -> None:
    """Make a folder for what will be written, before the work."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InvalidFile(f"{path}: cannot be a folder for the output: {error.strerror}. Name another.") from error
