"""The bytes of files: read and written as a whole, and packed if their names end with .gz."""

from pathlib import Path

from plefka.errors import InvalidFile
from plefka.files import packed
from plefka.runtime import whole_files
from plefka.tables.table_files import check_regular


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
        raise InvalidFile(f"cannot be read: {_reason(error)}. Check the file name.") from error
    if path.suffix.lower() != packed.PACKED_SUFFIX:
        return content
    return packed.unpack(content, path.with_suffix("").suffix.lower())


def write(contents: dict[Path, bytes]) -> None:
    """Write all files of a network, or none of them."""
    whole_files.write_all(
        {
            file: packed.pack(content) if file.suffix.lower() == packed.PACKED_SUFFIX else content
            for file, content in contents.items()
        }
    )


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
