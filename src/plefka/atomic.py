"""Writing a file as a whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Put `content` under a temporary name beside `path`, then give it its name in one step."""
    write_all({path: content})


def write_all(contents: Mapping[Path, bytes]) -> None:
    """The same for several files: all have been written before the first one gets its name."""
    targets = [Path(os.path.realpath(path)) for path in contents]  # a link goes on pointing to its file
    temporaries = [temporary_name(target) for target in targets]
    try:
        for temporary, target, content in zip(temporaries, targets, contents.values(), strict=True):
            _write_through(temporary, content)
            with suppress(FileNotFoundError):
                shutil.copymode(target, temporary)
        for temporary, target in zip(temporaries, targets, strict=True):
            os.replace(temporary, target)
    except BaseException:
        for temporary in temporaries:
            temporary.unlink(missing_ok=True)
        raise


def temporary_name(target: Path) -> Path:
    """A name beside a file, of one that will take its place."""
    return target.with_name(f".plefka-{secrets.token_hex(8)}.tmp")


def _write_through(path: Path, content: bytes) -> None:
    """On the disk, not only in the system's memory: otherwise a crash could leave the new name with no content."""
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
