"""`python -m benchmarks.fuzz_formats [--count 20000] [KIND ...]`: damaged files for every reader of our own.

Each must give a network or an `InvalidFile`, in under ten seconds of processor time and within 1 GiB; anything else is
printed with the bytes that did it, and the exit code is 1.
"""

import argparse
import io
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import plefka as pf
from benchmarks.measure import peak_memory
from plefka.errors import InvalidFile, InvalidInput
from plefka.files import FORMATS, bif, ergo, genie, hugin, microsoft, netica, spreadsheets, uai, xmlbif
from plefka.files.conditional_tables import TableNetwork
from plefka.files.from_tables import network_of
from plefka.tables.table import read_table

READERS: dict[str, Callable[[bytes], Any]] = {
    ".bif": bif.loads,
    ".xmlbif": xmlbif.loads,
    ".uai": uai.loads,
    ".erg": ergo.loads,
    ".xdsl": genie.loads,
    ".net": hugin.loads,
    ".dne": netica.loads,
    ".dsc": microsoft.loads,
}
KINDS = (*READERS, ".csv", "matrix.csv", ".xlsx", ".evid", "rows.csv", "rows.xlsx", "rows.jsonl")
SECONDS = 10
IN_MEMORY = "/dev/shm"  # where files of rows are written, if it is there
MEMORY = 2**30
WORDS = (
    b"0", b"1", b"2", b"3", b"-1", b"0.5", b"1e308", b"1e999", b"nan", b"inf", b"99999999999999999999", b"{", b"}",
    b"(", b")", b"[", b"]", b",", b";", b"|", b'"', b"//", b"/*", b"*/", b"#", b"\n", b"\0", b"\xff", b"\xe2\x82",
    b"yes", b"no", b"table", b"default", b"variable", b"probability", b"property", b"<", b">", b"</", b"<GIVEN>",
    b"<TABLE>", b"</TABLE>", b"<!--", b"<![CDATA[", b"&lt;", b"&a;", b"<!ENTITY a 'b'>", b"MARKOV", b"_", b"1_0",
    b"'", b"\r", b"\t", b",,", b'""', b"NA", b"cause", b"finding", b"prior", b"leak", b"flu", b"fever", b"<row>",
    b"=", b"%", b"#1", b"node", b"NoisyOrDist", b"<state id='x'/>",
    b"<c>", b'r="XFD1048576"', b't="s"', b"null", b"{}", b":", b"true", b"\xef\xbb\xbf",
)  # fmt: skip


def damaged(content: bytes, rng: random.Random) -> bytes:
    """One to six changes: bytes, words, pieces that are removed, doubled, moved or repeated, the end cut off."""
    text = bytearray(content)
    for _ in range(rng.randint(1, 6)):
        start = rng.randint(0, len(text))
        end = min(len(text), start + rng.choice((0, 1, 2, 5, 20, 100)))
        piece = bytes(text[start:end])
        change = rng.randrange(8)
        if change == 0:
            text[start:end] = rng.choice(WORDS)
        elif change == 1:
            text[start:start] = b" " + rng.choice(WORDS) + b" "
        elif change == 2:
            del text[start:end]
        elif change == 3:
            text[start:end] = piece * rng.choice((2, 3, 50))
        elif change == 4:
            at = rng.randint(0, len(text))
            text[at:at] = piece
        elif change == 5:
            del text[start:]
        elif change == 6:
            text[start:end] = bytes(rng.randrange(256) for _ in piece)
        else:
            _swap_number(text, rng)
    return bytes(text)


def _swap_number(text: bytearray, rng: random.Random) -> None:
    digits = [k for k, byte in enumerate(text) if 48 <= byte <= 57]
    if digits:
        text[rng.choice(digits)] = 48 + rng.randrange(10)


def damaged_parts(content: tuple[bytes, ...] | bytes, rng: random.Random) -> tuple[bytes, ...] | bytes:
    """One file, or one of several; of an Excel file mostly the XML inside, with sums that are right again."""
    if isinstance(content, tuple):
        parts = list(content)
        chosen = rng.randrange(len(parts))
        parts[chosen] = damaged(parts[chosen], rng)
        return tuple(parts)
    if not content.startswith(b"PK") or rng.random() < 0.2:
        return damaged(content, rng)
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(file, "w") as new:
        chosen = rng.choice(old.namelist())
        for name in old.namelist():
            new.writestr(name, damaged(old.read(name), rng) if name == chosen else old.read(name))
    return file.getvalue()


def outcome(kind: str, content: Any) -> str:
    """What a file leads to: 'a network', 'tables', 'evidence', or 'refused'."""
    if kind in READERS:
        return _of_tables(READERS[kind], content)
    try:
        OTHERS[kind](content)
    except InvalidInput:
        return "refused"
    return "a network" if kind in (*FORMATS, "matrix.csv") else "evidence"


def _of_tables(read: Callable[[bytes], Any], content: bytes) -> str:
    try:
        tables = read(content)
    except InvalidFile:
        return "refused"
    if not isinstance(tables, TableNetwork):  # a product of factors
        return "a network"
    try:
        network_of(tables)
    except InvalidInput:
        return "tables"
    return "a network"


def _rows(suffix: str, content: bytes) -> object:
    """Rows of evidence, which are read from a file."""
    with tempfile.TemporaryDirectory(dir=IN_MEMORY if Path(IN_MEMORY).is_dir() else None) as folder:
        path = Path(folder) / f"rows{suffix}"
        path.write_bytes(content)
        return read_table(path, pf.example("espresso"))


OTHERS: dict[str, Callable[[Any], object]] = {
    ".csv": lambda pair: spreadsheets.loads_csv(*pair),
    "matrix.csv": spreadsheets.loads_csv,
    ".xlsx": spreadsheets.loads_excel,
    ".evid": uai.loads_evidence,
    "rows.csv": partial(_rows, ".csv"),
    "rows.xlsx": partial(_rows, ".xlsx"),
    "rows.jsonl": partial(_rows, ".jsonl"),
}


def fuzz(kind: str, originals: list, count: int, seed: int) -> tuple[Counter, list, float]:
    """How often each outcome was met, the files that crashed or took too long, and the longest time."""
    rng, found, crashed, slowest = random.Random(seed), Counter(), [], 0.0
    signal.signal(signal.SIGPROF, _too_long)  # of processor time: others may use the machine as well
    for _ in range(count):
        content = damaged_parts(rng.choice(originals), rng)
        begin = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found[outcome(kind, content)] += 1
        except (Exception, TooLong):
            traceback.print_exc()
            crashed.append(content)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        slowest = max(slowest, time.process_time() - begin)
    return found, crashed, slowest


class TooLong(BaseException):
    """Not an Exception: a reader that turns whatever a library raises into its own words must not catch it."""


def _too_long(*_: object) -> None:
    raise TooLong(f"no answer in {SECONDS} s")


def originals_of(kind: str) -> list:
    """Good files to damage: made by the writers, and one by hand for what these do not write."""
    from benchmarks.fuzz_originals import ORIGINALS

    return ORIGINALS[kind]()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=KINDS, metavar="KIND", help=f"of {', '.join(KINDS)}")
    parser.add_argument("--count", type=int, default=20_000, help="damaged files for each reader")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (2 * MEMORY, 2 * MEMORY))
    failed = 0
    for kind in options.kinds:
        found, crashed, slowest = fuzz(kind, originals_of(kind), options.count, options.seed)
        failed += len(crashed)
        counts = ", ".join(f"{outcome} {number:,}" for outcome, number in found.most_common())
        print(f"{kind}: {options.count:,} files: {counts}; crashed {len(crashed)}; slowest {slowest:.2f} s", flush=True)
        for content in crashed[:3]:
            print(f"  {content!r}")
    memory = peak_memory()
    print(f"peak memory {memory / 2**20:.0f} MiB")
    return int(failed > 0 or memory > MEMORY)


if __name__ == "__main__":
    sys.exit(main())
