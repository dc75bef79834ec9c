"""`python -m benchmarks fuzz_infer [--count 10000] [--workers 2]`: random networks through `infer`.

Weights are as large as 1e3. Every row must end with a status, or be refused by a method that says why; none may end
with nan or an exception of another kind. Rows that are impossible have no posterior, and nan for hidden units. What
fails is printed with the number of its block, and the exit code is 1.
The rows are kept in a folder, so that a run that was interrupted goes on, and one with a larger count adds to them.
"""

import argparse
import hashlib
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import plefka as pf
from benchmarks.fuzz_networks import Case, cases
from plefka import extras
from plefka.errors import InvalidInput
from plefka.experiments.provenance import source
from plefka.rows.done import BlockDone
from plefka.rows.parts import LOG_LIKELIHOOD, STATUS, Parts, encoded
from plefka.rows.running import Answer, Job, run
from plefka.tables import status_word
from plefka.workers.cluster import team_of
from plefka.workers.mapping import Ready

BLOCK, ALONE = 2500, 10  # networks of a block, and how many of them are not in its stack
REFUSED, CRASHED, NOT_A_NUMBER = "refused", "crashed", "nan"
BAD, SHOWN = (CRASHED, NOT_A_NUMBER), 20


class Fuzz(NamedTuple):
    """What all blocks share."""

    seed: int

    def digest(self, number: int) -> str:
        return hashlib.sha256(f"fuzz {self.seed} {number}".encode()).hexdigest()


def fuzzed(fuzz: Fuzz, number: int) -> Answer:
    """The rows of a block."""
    found: list[dict[str, Any]] = []
    key = int(np.random.SeedSequence([fuzz.seed, number]).generate_state(1, np.uint64)[0])
    for case in cases(key, BLOCK, ALONE):
        found += outcome(case)
    columns = {name: [row[name] for row in found] for name in found[0]}
    table = extras.pyarrow().table({"block": [number] * len(found), **columns})
    done = BlockDone.of(columns[STATUS], np.array(columns[LOG_LIKELIHOOD], float))
    return Answer(encoded(table, fuzz.digest(number)), done)


def outcome(case: Case) -> list[dict[str, Any]]:
    """A row for each network."""
    start = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", pf.errors.PlefkaWarning)
            warnings.simplefilter("error", RuntimeWarning)  # of NumPy: an overflow that nobody expected
            solution = pf.infer(case.network, case.evidence, case.method, throw=False)
    except InvalidInput as error:
        return _alike(case, REFUSED, str(error), start)
    except Exception:
        return _alike(case, CRASHED, traceback.format_exc(), start)
    means, log_likelihood = np.atleast_2d(solution.means), np.atleast_1d(solution.log_likelihood)
    words = [status_word(status) for status in np.atleast_1d(np.asarray(solution.status, object))]
    whole = np.isfinite(means).all(axis=1) & ((means >= 0) & (means <= 1)).all(axis=1)
    finite = np.isfinite(log_likelihood) | np.array([word != "converged" for word in words])
    no_posterior = np.array([word == "impossible" for word in words]) & np.isneginf(log_likelihood)
    good = no_posterior | (whole & finite & ~np.isnan(log_likelihood))
    seconds = (time.process_time() - start) / case.num_networks
    return [
        _row(case, word if fine else NOT_A_NUMBER, "" if fine else word, float(value), seconds)
        for word, fine, value in zip(words, good, log_likelihood, strict=True)
    ]


def _alike(case: Case, status: str, message: str, start: float) -> list[dict[str, Any]]:
    seconds = (time.process_time() - start) / case.num_networks
    return [_row(case, status, message, -np.inf, seconds) for _ in range(case.num_networks)]


def _row(case: Case, status: str, message: str, value: float, seconds: float) -> dict[str, Any]:
    about = {"kind": case.kind, "method": case.method, STATUS: status, LOG_LIKELIHOOD: value}
    return {**about, "message": message[-500:], "seconds": seconds}


def pieces(fuzz: Fuzz, parts: Parts, blocks: int) -> Iterator[tuple[int, tuple | Ready]]:
    for number in range(blocks):
        kept = parts.done(number) if parts.digest(number) == fuzz.digest(number) else None
        yield number, (number,) if kept is None else Ready(Answer(None, kept))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help=f"networks, in blocks of {BLOCK:,}")
    parser.add_argument("--workers", type=int, default=None, help="processes; this one unless given")
    parser.add_argument("--scheduler", default=None, help="the address of a Dask scheduler")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/fuzz_infer"))
    options = parser.parse_args(arguments)
    fuzz, blocks = Fuzz(options.seed), -(-options.count // BLOCK)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    parts = Parts.begin(options.out, {"seed": options.seed, "block": BLOCK, "source": source()}, force=False)
    with team_of(options.scheduler, options.workers) as team:
        done, _ = run(team, Job(fuzzed, fuzz, "networks", blocks), parts, pieces(fuzz, parts, blocks))
    parts.note(done, complete=True)
    return report(options.out)


def report(folder: Path) -> int:
    """Counts of how rows ended, by method; what is bad, with its block."""
    table = extras.pyarrow("pyarrow.parquet").read_table(folder)
    methods: dict[str, Counter] = {}
    for row in table.group_by(["method", STATUS]).aggregate([([], "count_all")]).to_pylist():
        methods.setdefault(row["method"].partition("[")[0], Counter())[row[STATUS]] += row["count_all"]
    total = sum(methods.values(), Counter())
    for name, counts in [*sorted(methods.items()), ("all", total)]:
        print(f"{name}: {sum(counts.values()):,}: " + ", ".join(f"{word} {n:,}" for word, n in counts.most_common()))
    kinds = table.group_by("kind").aggregate([([], "count_all")]).to_pylist()
    print("kinds: " + ", ".join(f"{row['kind']} {row['count_all']:,}" for row in kinds))
    bad = table.filter(np.isin(table[STATUS].to_pylist(), BAD))
    for row in bad.slice(0, SHOWN).to_pylist():
        print(f"block {row['block']}, {row['kind']}, {row['method']}: {row[STATUS]}: {row['message']}")
    print(f"the slowest: {max(table['seconds'].to_pylist()):.1f} s of CPU time")
    return int(any(total[word] for word in BAD))


if __name__ == "__main__":
    sys.exit(main())
