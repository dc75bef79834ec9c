"""Files that are packed by gzip: unpacked up to a limit, so that a small file cannot take all memory."""

import gzip
import io
import zlib

from plefka.errors import InvalidFile

PACKED_SUFFIX = ".gz"
LARGEST_UNPACKED = 2**26  # bytes of an unpacked file
LARGEST_JSON = 2**24  # JSON takes up to thirty times its length when it is read


def unpack(content: bytes, suffix: str) -> bytes:
    """What a packed file of a format contains."""
    largest = LARGEST_JSON if suffix == ".json" else LARGEST_UNPACKED
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


def pack(content: bytes) -> bytes:
    """The content packed by gzip without time and name, so that equal contents give equal bytes."""
    return gzip.compress(content, mtime=0)
