"""Writing a file as a whole or not at all."""

import os
import secrets
import shutil
from contextlib import suppress
from pathlib import Path


def write(path: Path, content: bytes) -> None:
    """Put `content` under a temporary name beside `path`, then give it its name in one step."""
    target = Path(os.path.realpath(path))  # a link goes on pointing to its file
    temporary = target.with_name(f".plefka-{secrets.token_hex(8)}.tmp")
    try:
        _write_through(temporary, content)
        with suppress(FileNotFoundError):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _write_through(path: Path, content: bytes) -> None:
    """On the disk, not only in the system's memory: otherwise a crash could leave the new name with no content."""
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
