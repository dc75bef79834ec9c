"""The bytes of files: read and written as a whole, and packed by gzip if their names end with .gz.

Files are unpacked up to a limit, so that a small file cannot take all memory.
"""

import gzip
import io
import zlib
from pathlib import Path

from plefka.errors import InvalidFile
from plefka.runtime import whole_files
from plefka.tables.table_files import PACKED, check_regular

LARGEST_UNPACKED = 2**26  # bytes of an unpacked file
LARGEST_JSON = 2**24  # JSON takes up to thirty times its length when it is read


def read_all(files: tuple[Path, ...]) -> list[bytes]:
    """The contents of all files of a network."""
    contents = []
    for file in files:
        try:
            contents.append(read(file))
        except InvalidFile as error:
            all_of_them = " and ".join(each.name for each in files)
            which = "" if len(files) == 1 else f"the network consists of {all_of_them}; {file.name} "
            raise InvalidFile(f"{which}{error}") from error
    return contents


def read(path: Path) -> bytes:
    """The content of a file, unpacked if its name ends with .gz."""
    try:
        check_regular(path)
        content = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidFile(f"cannot be read: {reason}. Check the file name.") from error
    if path.suffix.lower() != PACKED:
        return content
    largest = LARGEST_JSON if path.with_suffix("").suffix.lower() == ".json" else LARGEST_UNPACKED
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(content)) as file:
            unpacked = file.read(largest + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidFile(f"must be a gzip file; got: {error}. Was it cut off?") from None
    if len(unpacked) > largest:
        raise InvalidFile(
            f"a gzip file must have at most {largest:,} bytes when unpacked; got more. "
            "Unpack it yourself with gunzip if you trust it."
        )
    return unpacked


def write(contents: dict[Path, bytes]) -> None:
    """Write all files of a network, or none of them; packed without time and name, so that bytes depend on content."""
    whole_files.write_all(
        {
            file: gzip.compress(content, mtime=0) if file.suffix.lower() == PACKED else content
            for file, content in contents.items()
        }
    )
