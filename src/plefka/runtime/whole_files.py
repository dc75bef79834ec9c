"""Files that are written as a whole or not at all, and outputs that one run at a time writes to."""

import errno
import io
import os
import secrets
import shutil
import socket
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from plefka.errors import InvalidFile, NotWritten, PlefkaWarning

TEMPORARY = ".plefka-*.tmp"  # names of files that are being written; only a process that was killed leaves one behind
LOCK = ".plefka.lock"  # in a folder that one run at a time writes to; readers of datasets leave such names alone
HELD = (errno.EAGAIN, errno.EACCES)  # what the system says of a lock that another process has
BEYOND = 2**30  # the byte that is locked on Windows, far from those that say who has the lock


def write(path: Path, content: bytes) -> None:
    """Put `content` under a temporary name beside `path`, then give it its name in one step."""
    write_all({path: content})


def write_all(contents: Mapping[Path, bytes]) -> None:
    """Write several files, or none: if one of them cannot be written, all of them stay as they were."""
    with replacing(*contents) as files:
        for file, content in zip(files, contents.values(), strict=True):
            file.write(content)


@contextmanager
def replacing(*paths: Path) -> Iterator[list[Any]]:
    """Files to write to, which take the places of `paths` once all that was written is on the disk."""
    with write_errors_in_words(paths[0]):
        targets = [Path(os.path.realpath(path)) for path in paths]  # a link goes on pointing to its file
    temporaries = [temporary_name(target) for target in targets]
    try:
        with ExitStack() as stack:
            files = [
                stack.enter_context(io.BufferedWriter(_Raw(temporary, path)))
                for temporary, path in zip(temporaries, paths, strict=True)
            ]
            yield files
            for file, target, temporary in zip(files, targets, temporaries, strict=True):
                file.flush()
                with write_errors_in_words(target):
                    os.fsync(file.fileno())  # otherwise a crash could leave the new name with no content
                    with suppress(FileNotFoundError):
                        shutil.copymode(target, temporary)
        _take_names(temporaries, targets)
    except BaseException:
        remove(temporaries)
        raise


@contextmanager
def write_errors_in_words(path: Path) -> Iterator[None]:
    """What the system refuses, for a full disk or a lost mount, as a sentence about `path`."""
    try:
        yield
    except InvalidFile:
        raise
    except (OSError, ValueError) as error:
        raise NotWritten.of(path, error) from error


def temporary_name(target: Path) -> Path:
    """A name beside a file, of one that will take its place."""
    return target.with_name(TEMPORARY.replace("*", secrets.token_hex(8)))


def remove(paths: Iterable[Path]) -> None:
    """Files that are not needed any more, where they are still there."""
    for path in paths:
        with suppress(OSError):
            os.unlink(path)


def sync_folder(folder: Path) -> None:
    """See to it that the names in a folder are on the disk, where the system can do that for folders."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)


class _Raw(io.RawIOBase):
    """A new file, whose errors name the file that it will replace."""

    def __init__(self, path: Path, target: Path):
        self._target = target
        with write_errors_in_words(target):
            self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)

    def write(self, content: Any) -> int:
        with write_errors_in_words(self._target):
            return os.write(self._file, content)

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._file

    def close(self) -> None:
        if not self.closed:
            super().close()
            os.close(self._file)


def _take_names(temporaries: list[Path], targets: list[Path]) -> None:
    """One after another; what the first ones replaced is kept until the last one has its name."""
    earlier: dict[Path, Path | None] = {}
    try:
        for target in targets[:-1]:
            earlier[target] = _copied(target)
        for temporary, target in zip(temporaries, targets, strict=True):
            with write_errors_in_words(target):
                os.replace(temporary, target)
    except BaseException:
        _put_back(earlier)
        raise
    finally:
        remove(filter(None, earlier.values()))


def _put_back(earlier: Mapping[Path, Path | None]) -> None:
    for target, copy in earlier.items():
        try:
            target.unlink(missing_ok=True) if copy is None else os.replace(copy, target)
        except OSError as error:
            raise NotWritten(
                f"{target}: is the new file, but others that go with it cannot be written: {error.strerror}. Write all "
                "of them again."
            ) from error


def _copied(path: Path) -> Path | None:
    """A second name for the file, or a copy of it; None where there is no such file."""
    copy = temporary_name(path)
    with write_errors_in_words(path):
        try:
            os.link(path, copy)
        except FileNotFoundError:
            return None
        except OSError:  # a file system without links
            shutil.copy2(path, copy)
    return copy


# ---- one run at a time -----------------------------------------------------------------------------------------------


@contextmanager
def only_run(out: Path, lock: Path | None = None) -> Iterator[None]:
    """Refuse to begin while another run writes to `out`.

    The lock is on an open file, which is beside `out` unless named, so that the system lets go of it however the
    process ends.
    """
    lock = lock or out.with_name(f".{out.name}.lock")
    with write_errors_in_words(out):
        held = _locked(lock, out)
    try:
        with write_errors_in_words(out):
            os.ftruncate(held, 0)
            os.write(held, f"process {os.getpid()} on {socket.gethostname()}".encode())
        yield
    finally:
        try:
            remove([lock])  # before others may have it: see _locked
        finally:
            os.close(held)


def _locked(lock: Path, out: Path) -> int:
    """The open file, once it is ours and still has its name, which the run before may have removed meanwhile."""
    while True:
        file = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(file, out):
                who = os.read(file, 200).decode(errors="replace")
                raise InvalidFile(
                    f"{out}: another run writes to it{f' ({who})' if who else ''}. Wait until that has ended, or name "
                    "another."
                )
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(lock), os.fstat(file)):
                    return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _lock(file: int, out: Path) -> bool:
    """False where another process has the lock; a file system without locks is no reason not to begin."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, BEYOND, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
            os.lseek(file, 0, os.SEEK_SET)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in HELD:
            return False
        warnings.warn(
            f"{out}: its file system has no locks ({error.strerror}), so nothing keeps a second run from writing to "
            "it. See that there is only one.",
            PlefkaWarning,
            stacklevel=2,
        )
    return True
