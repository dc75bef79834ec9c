"""A checksum inside a Parquet file, of the file itself: bytes that are not as they were written are found.

The metadata have a place for the digits, which are zeros when the checksum of all bytes is taken.
"""

import hashlib

SEAL, MARK = b"plefka seal", b"sha256:"  # the key in the metadata, and what comes before the digits
DIGITS = b"0" * 64
BLANK = MARK + DIGITS  # the value to write under the key


def sealed(content: bytes) -> bytes:
    """A file with a blank seal, with its checksum in it."""
    return _with_digits(content, hashlib.sha256(content).hexdigest().encode())


def is_sealed(content: bytes) -> bool:
    """Whether there is a seal, broken or not."""
    return SEAL in content and MARK in content


def is_whole(content: bytes) -> bool:
    """Whether all bytes are as they were sealed."""
    return is_sealed(content) and sealed(_with_digits(content, DIGITS)) == content


def _with_digits(content: bytes, digits: bytes) -> bytes:
    """Metadata are the last that a Parquet file has, so that columns may be called anything."""
    at = content.rindex(MARK) + len(MARK)
    return content[:at] + digits + content[at + len(DIGITS) :]
