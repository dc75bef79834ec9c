"""`python -m benchmarks.fuzz_formats [--count 20000] [SUFFIX ...]`: damaged files for every reader of tables.

Each must give a network or an `InvalidFile`, in under ten seconds and within 1 GiB; anything else is printed with the
bytes that did it, and the exit code is 1.
"""

import argparse
import random
import resource
import signal
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable

from benchmarks.measure import peak_memory
from plefka.errors import InvalidFile, InvalidInput
from plefka.formats import bif, ergo, uai, xmlbif
from plefka.formats.from_tables import network_of
from plefka.formats.tables import TableNetwork

READERS: dict[str, Callable[[bytes], TableNetwork]] = {
    ".bif": bif.loads,
    ".xmlbif": xmlbif.loads,
    ".uai": uai.loads,
    ".erg": ergo.loads,
}
SECONDS = 10
MEMORY = 2**30
WORDS = (
    b"0", b"1", b"2", b"3", b"-1", b"0.5", b"1e308", b"1e999", b"nan", b"inf", b"99999999999999999999", b"{", b"}",
    b"(", b")", b"[", b"]", b",", b";", b"|", b'"', b"//", b"/*", b"*/", b"#", b"\n", b"\0", b"\xff", b"\xe2\x82",
    b"yes", b"no", b"table", b"default", b"variable", b"probability", b"property", b"<", b">", b"</", b"<GIVEN>",
    b"<TABLE>", b"</TABLE>", b"<!--", b"<![CDATA[", b"&lt;", b"&a;", b"<!ENTITY a 'b'>", b"MARKOV", b"_", b"1_0",
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


def outcome(suffix: str, content: bytes) -> str:
    """What a file leads to: 'a network', 'tables', or 'refused'."""
    try:
        tables = READERS[suffix](content)
    except InvalidFile:
        return "refused"
    try:
        network_of(tables)
    except InvalidInput:
        return "tables"
    return "a network"


def fuzz(suffix: str, originals: list[bytes], count: int, seed: int) -> tuple[Counter, list[bytes], float]:
    """How often each outcome was met, the files that crashed or took too long, and the longest time."""
    rng, found, crashed, slowest = random.Random(seed), Counter(), [], 0.0
    signal.signal(signal.SIGALRM, _too_long)
    for _ in range(count):
        content = damaged(rng.choice(originals), rng)
        begin = time.perf_counter()
        signal.alarm(SECONDS)
        try:
            found[outcome(suffix, content)] += 1
        except Exception:
            traceback.print_exc()
            crashed.append(content)
        finally:
            signal.alarm(0)
        slowest = max(slowest, time.perf_counter() - begin)
    return found, crashed, slowest


def _too_long(*_: object) -> None:
    raise TimeoutError(f"no answer in {SECONDS} s")


def originals_of(suffix: str) -> list[bytes]:
    """Good files to damage: made by the writers, and one by hand for what these do not write."""
    from benchmarks.fuzz_originals import ORIGINALS

    return ORIGINALS[suffix]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suffixes", nargs="*", default=list(READERS), metavar="SUFFIX")
    parser.add_argument("--count", type=int, default=20_000, help="damaged files for each reader")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (2 * MEMORY, 2 * MEMORY))
    failed = 0
    for suffix in options.suffixes:
        found, crashed, slowest = fuzz(suffix, originals_of(suffix), options.count, options.seed)
        failed += len(crashed)
        counts = ", ".join(f"{kind} {number:,}" for kind, number in found.most_common())
        print(
            f"{suffix}: {options.count:,} files: {counts}; crashed {len(crashed)}; slowest {slowest:.2f} s", flush=True
        )
        for content in crashed[:3]:
            print(f"  {content!r}")
    memory = peak_memory()
    print(f"peak memory {memory / 2**20:.0f} MiB")
    return int(failed > 0 or memory > MEMORY)


if __name__ == "__main__":
    sys.exit(main())
