"""What an Excel file unpacks to, looked at before it is read: it is a zip archive of XML, and may promise anything.

openpyxl reads a sheet row by row, but each row as a whole, and the list of all texts as a whole.
"""

import io
import zipfile
from xml.parsers import expat

from plefka.errors import InvalidFile

MOST_BYTES = 2**28  # of all parts of a file, unpacked
MOST_TEXT = 2**26  # of any part that is not a sheet
FEW_BYTES = 2**22  # a part that is no larger takes little memory whatever is in it
MOST_ELEMENTS = 10**5  # of one row, or of one text
PIECE = 2**16


def check_archive(content: bytes) -> None:
    """Refuse a file that would take much memory, by the sizes that it promises and by a look at large parts."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        parts = archive.infolist()
        size = sum(part.file_size for part in parts)
        if size > MOST_BYTES or len({part.filename for part in parts}) < len(parts):
            raise InvalidFile(
                f"an Excel file must have at most {MOST_BYTES:,} bytes unpacked, and every part once; got {size:,}. "
                "Save it as .csv."
            )
        for part in parts:
            if part.file_size > FEW_BYTES:
                _check_part(archive, part)


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> None:
    if not part.filename.lower().endswith((".xml", ".rels")):  # it may be named as a sheet all the same
        raise InvalidFile(
            f"pictures and the like must have at most {FEW_BYTES:,} bytes; got {part.file_size:,} in "
            f"{part.filename!r}. Remove it from the file, or save the sheets as .csv."
        )
    if part.file_size > MOST_TEXT and "sheets/" not in part.filename:
        raise InvalidFile(f"its part {part.filename!r} must have at most {MOST_TEXT:,} bytes; got {part.file_size:,}.")
    parser, count = expat.ParserCreate(), 0

    def start(name: str, _: object) -> None:
        nonlocal count
        count = 0 if name.rpartition(":")[2] in ("row", "si") else count + 1
        if count > MOST_ELEMENTS:
            raise InvalidFile(f"a row must have at most {MOST_ELEMENTS:,} cells; got more in {part.filename!r}.")

    parser.StartElementHandler = start
    with archive.open(part) as file:  # gives no more bytes than were promised
        while piece := file.read(PIECE):
            parser.Parse(piece, False)
    parser.Parse(b"", True)
