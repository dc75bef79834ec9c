"""A disk on which things go wrong: the file operations below a folder, one of which meets a fault.

Faults are put where the library meets the system, in the functions of `os`, so that whatever writes meets them.
"""

import errno
import os
import random
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

WATCHED = ("open", "write", "fsync", "replace", "link", "unlink", "mkdir", "rmdir", "ftruncate")
LOSSES = (errno.EIO, errno.ESTALE, errno.ENOTCONN, errno.EROFS)  # what a mount says that is gone


class Killed(BaseException):
    """The process is not there any more: nothing that it would do afterwards happens."""


class Disk:
    """Counts what is done below a folder, remembers what every file ever held, and lets a fault have its way."""

    def __init__(self, folder: Path, fault: "Fault | None" = None):
        self.folder, self.fault = os.path.realpath(folder), fault
        self.count = 0
        self.open_files: set[int] = set()
        self.contents: dict[str, set[bytes]] = {}  # by the name of a file

    @contextmanager
    def watched(self) -> Iterator["Disk"]:
        """Inside, all file operations of this process below the folder are those of this disk."""
        replaced = {name: self._replaced(name, getattr(os, name)) for name in WATCHED}
        replaced["close"] = self._close(os.close)
        with ExitStack() as stack:
            for name, function in replaced.items():
                stack.enter_context(mock.patch.object(os, name, function))
            yield self

    def _replaced(self, name: str, function: Callable) -> Callable:
        def operation(*arguments: Any, **options: Any) -> Any:
            if not self._is_here(arguments[0]):
                return function(*arguments, **options)
            self.count += 1
            if name == "replace":
                written = Path(arguments[0]).read_bytes()
                self.contents.setdefault(str(arguments[1]), set()).add(written)
            found = self._faulty(name, function, arguments, options)
            if name == "open":
                self.open_files.add(found)
            return found

        return operation

    def _faulty(self, name: str, function: Callable, arguments: tuple, options: dict) -> Any:
        if self.fault is None:
            return function(*arguments, **options)
        return self.fault(self.count, name, function, arguments, options)

    def _close(self, function: Callable) -> Callable:
        """Never fails: the system closes the files of a process that ends."""

        def close(file: int) -> None:
            self.open_files.discard(file)
            function(file)

        return close

    def _is_here(self, what: Any) -> bool:
        if isinstance(what, int):
            return what in self.open_files
        return os.path.abspath(what).startswith(self.folder)


class Fault:
    """Something that happens at the n-th operation, and whether it lasts."""

    struck = ""  # the last operation that was hit

    def __init__(self, at: int, rng: random.Random):
        self.at, self.rng = at, rng

    def __repr__(self) -> str:
        return f"{type(self).__name__} at operation {self.at}"

    def __call__(self, count: int, name: str, function: Callable, arguments: tuple, options: dict) -> Any:
        if self.strikes(count, name):
            self.struck = name
            if name == "write":
                function(arguments[0], arguments[1][: self.rng.randrange(len(arguments[1]) + 1)])
            self.happen()
        return function(*arguments, **options)

    def strikes(self, count: int, name: str) -> bool:
        """Whether this operation is hit."""
        return count >= self.at

    def happen(self) -> None:
        raise NotImplementedError


class Kill(Fault):
    """kill -9, or the machine goes down."""

    def happen(self) -> None:
        raise Killed


class Interrupt(Fault):
    """Ctrl-C, once."""

    def strikes(self, count: int, name: str) -> bool:
        return count == self.at

    def happen(self) -> None:
        raise KeyboardInterrupt


class Full(Fault):
    """No room for a byte more."""

    def strikes(self, count: int, name: str) -> bool:
        return count >= self.at and name in ("write", "mkdir", "open", "link")

    def happen(self) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


class LostMount(Fault):
    """The disk is not there any more."""

    def happen(self) -> None:
        code = self.rng.choice(LOSSES)
        raise OSError(code, os.strerror(code))


class ShortWrites(Fault):
    """The system writes less than it was given, and says so: no error at all."""

    def __call__(self, count: int, name: str, function: Callable, arguments: tuple, options: dict) -> Any:
        if name != "write":
            return function(*arguments, **options)
        file, content = arguments
        return function(file, content[: self.rng.randint(1, max(1, len(content) // 2))])


FAULTS = (Kill, Interrupt, Full, LostMount, ShortWrites)
