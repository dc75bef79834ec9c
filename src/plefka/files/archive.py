"""The arrays of an .npz archive, read with suspicion.

NumPy's own reader makes room for whatever a header promises before it looks at what is there. Here entries are stored,
not compressed, and one is read only where its header promises exactly the bytes that it has, so that the memory that a
file takes is a small multiple of its length.
"""

import io
import math
import zipfile
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Integer

from plefka.errors import InvalidFile, listed, nearest

HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
LARGEST_ITEM = {"f": 8, "i": 8, "u": 8, "U": 2**31}  # bytes, by kind of type
LONGEST_ARRAY = 2**31 - 1  # units are counted in 32 bits
ARRAY_SUFFIX = ".npy"
ARCHIVE, END, END_BYTES = b"PK", b"PK\x05\x06", 22  # how a zip file begins, its last record and the length of that


class Archive:
    """Arrays by name."""

    def __init__(self, content: bytes):
        self._zip = _open(content)
        self._entries = {info.filename.removesuffix(ARRAY_SUFFIX): info for info in self._zip.infolist()}
        self._check_sizes(len(content))

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def check_names(self, names: Sequence[str]) -> None:
        """No other entries than these."""
        allowed = dict.fromkeys(names)
        unknown = next((name for name in self._entries if name not in allowed), None)
        if unknown is not None:
            hint = nearest(unknown, allowed) or " Remove it."
            raise InvalidFile(f"entries must be among {listed(allowed, 12)}; got {unknown!r}.{hint}")

    def text(self, name: str) -> str:
        """An entry that is one string."""
        return self._words(name, (), "one string").item()

    def texts(self, name: str) -> list[str]:
        """An entry that is a list of strings."""
        return self._words(name, (None,), "a list of strings").tolist()

    def pairs(self, name: str, count: int) -> list[list[str]]:
        """An entry that is two strings for each unit."""
        return self._words(name, (count, 2), f"two strings for each of the {count} units").tolist()

    def whole(self, name: str) -> int:
        """An entry that is one whole number."""
        return int(self._read(name, "iu", (), "one whole number"))

    def indices(self, name: str, shape: tuple[int | None, ...], what: str) -> Integer[np.ndarray, "..."]:
        """An entry of whole numbers."""
        return self._read(name, "iu", shape, what)

    def numbers(self, name: str, shape: tuple[int | None, ...], what: str) -> Float[np.ndarray, "..."]:
        """An entry of numbers, as float64."""
        return self._read(name, "fiu", shape, what).astype(float, copy=False)

    def shape(self, name: str) -> tuple[int, ...]:
        """What the header of an entry says."""
        return self._header(name)[0]

    def _words(self, name: str, shape: tuple[int | None, ...], what: str) -> np.ndarray:
        words = self._read(name, "U", shape, what)
        codes = np.ascontiguousarray(words).view(np.uint32) if words.size else np.zeros(0)
        if np.any(codes > 0x10FFFF):  # beyond Unicode: Python would refuse it later with a less clear message
            raise InvalidFile(f"entry {name!r} must be {what}; got bytes that are not text. The file is damaged.")
        return words

    def _read(self, name: str, kinds: str, shape: tuple[int | None, ...], what: str) -> np.ndarray:
        """The entry, whose type must be of one of the kinds; None in a shape stands for any length."""
        found, by_column, dtype, body = self._header(name)
        lengths = [0 <= n <= LONGEST_ARRAY and want in (None, n) for n, want in zip(found, shape, strict=False)]
        fits = len(found) == len(shape) and all(lengths)
        if not (fits and dtype.kind in kinds and 0 < dtype.itemsize <= LARGEST_ITEM[dtype.kind]):
            raise InvalidFile(f"entry {name!r} must be {what}; got {dtype} of shape {found}.")
        if math.prod(found) * dtype.itemsize != len(body):
            raise InvalidFile(
                f"entry {name!r} must have as many bytes as its header says, {dtype} of shape {found}; "
                f"got {len(body)} bytes. The file is damaged."
            )
        array = np.frombuffer(body, dtype) if len(body) else np.zeros(found, dtype)
        return array.astype(dtype.newbyteorder("=")).reshape(found, order="F" if by_column else "C")

    def _header(self, name: str) -> tuple[tuple[int, ...], bool, np.dtype, memoryview]:
        """Shape, whether columns come first, type, and the bytes that follow."""
        if name not in self._entries:
            raise InvalidFile(f"entry {name!r} is missing; got {listed(map(repr, self._entries), 12) or 'none'}.")
        try:
            raw = self._zip.read(self._entries[name])
            file = io.BytesIO(raw)
            shape, by_column, dtype = HEADERS[np.lib.format.read_magic(file)](file)
        except Exception as error:  # zipfile and numpy meet damage with a dozen kinds of errors
            raise InvalidFile(f"entry {name!r} must be an array as NumPy writes it; got {_reason(error)}.") from error
        return shape, by_column, dtype, memoryview(raw)[file.tell() :]

    def _check_sizes(self, length: int) -> None:
        """Stored, each once, and together no longer than the file."""
        infos = self._zip.infolist()
        if len(infos) > len(self._entries):
            raise InvalidFile("the names of entries must be unique; got one of them twice.")
        packed = next((info for info in infos if info.compress_type != zipfile.ZIP_STORED), None)
        if packed is not None:
            raise InvalidFile(f"entry {packed.filename!r} must not be compressed. Write the file with numpy.savez.")
        if sum(max(info.file_size, info.compress_size) for info in infos) > length:
            raise InvalidFile("entries must fit into the file; got sizes that do not. The file is damaged.")


def _open(content: bytes) -> zipfile.ZipFile:
    if not content:
        raise InvalidFile("must be a NumPy archive; got an empty file. Was it cut off?")
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except Exception as error:  # see _header
        raise InvalidFile(f"must be a NumPy archive; got {_reason(error)}. Was the file cut off?") from error
    end = len(content) - END_BYTES - len(archive.comment)  # zipfile looks inside of the file, whatever stands around
    if not content.startswith(ARCHIVE) or not content.startswith(END, end):
        raise InvalidFile("must be a NumPy archive alone; got other bytes before or after it. The file is damaged.")
    return archive


def _reason(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".replace("\n", " ")[:200]
