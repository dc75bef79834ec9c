"""`python -m tests.fuzz.page PAGE SWEEP... [--before SWEEP...]`: the counts of sweeps as tables of a page.

What stands between `<!-- sweep -->` and `<!-- end of sweep -->` is replaced. `--before`: sweeps of the same draws by an
earlier version, whose share of numbers that were called exact, and were, stands beside.
"""

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

MARKED = re.compile(r"(<!-- sweep -->\n).*?(\n<!-- end of sweep -->)", flags=re.DOTALL)
MANY_DIGITS = "many digits"
STATUSES = ("converged", "impossible", "refused", "crashed")


class Sweep:
    """The counts of several runs together."""

    def __init__(self, files: Iterable[Path]):
        self.runs: list[dict[str, Any]] = [json.loads(file.read_text()) for file in files]
        self.counts: dict[str, dict[str, Counter]] = {}
        for run in self.runs:
            for kind, by_method in run["counts"].items():
                for method, count in by_method.items():
                    self.counts.setdefault(kind, {}).setdefault(method, Counter()).update(count)

    def of_kind(self, kind: str) -> Counter:
        return sum((count for method, count in self.counts.get(kind, {}).items() if method != MANY_DIGITS), Counter())

    def of_method(self, method: str) -> Counter:
        return sum((by_method.get(method, Counter()) for by_method in self.counts.values()), Counter())

    def checked(self, kind: str) -> int:
        return self.counts.get(kind, {}).get(MANY_DIGITS, Counter())["rows"]

    @property
    def whole(self) -> Counter:
        return sum((self.of_kind(kind) for kind in self.counts), Counter())


def kinds_table(sweep: Sweep, before: Sweep | None) -> str:
    """A line for each kind: how many cases, and how much of it was called exact and was."""
    head = ["kind", "cases", "rows in many digits", "laws broken", "ln P exact", "means exact"]
    lines = []
    for kind in sorted(sweep.counts):
        count = sweep.of_kind(kind)
        line = [kind, f"{count['cases']:,}", f"{sweep.checked(kind):,}", f"{count['broken']:,}", *_shares(count)]
        if before is not None:
            earlier = before.of_kind(kind)
            line += [*_shares(earlier), f"{earlier['broken']:,}"]
        lines.append(line)
    return table(head + (["ln P before", "means before", "broken before"] if before else []), lines)


def _shares(count: Counter) -> list[str]:
    return [_percent(count["ln P exact"], count["possible"]), _percent(count["units exact"], count["hidden units"])]


def _percent(some: int, of: int) -> str:
    return f"{100 * some / of:.1f} %" if of else ""


def methods_table(sweep: Sweep) -> str:
    """A line for each method: how its rows ended."""
    methods = sorted({method for by_method in sweep.counts.values() for method in by_method} - {MANY_DIGITS})
    lines = []
    for method in methods:
        count = sweep.of_method(method)
        others = count["cases"] - sum(count[status] for status in STATUSES)
        ended = [count[status] for status in STATUSES[:3]]
        asked = [count[option] for option in ("unpruned", "alone", "traced")]
        lines.append([f"`{method}`", *(f"{z:,}" for z in (count["cases"], *ended, others, *asked, count["broken"]))])
    head = ["method", "cases", "converged", "impossible", "refused", "other status", "unpruned", "alone", "traced"]
    return table([*head, "laws broken"], lines)


def table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    return "\n".join(f"| {' | '.join(line)} |" for line in (head, ["---", *["---:"] * (len(head) - 1)], *lines))


def section(sweep: Sweep, before: Sweep | None) -> str:
    """What a page says of a sweep."""
    seeds = ", ".join(str(run["seed"]) for run in sweep.runs)
    draws, seconds = (sum(run[name] for run in sweep.runs) for name in ("next", "seconds"))
    count = sweep.whole
    said = (
        f"{count['cases']:,} cases of {draws:,} draws (seeds {seeds}), {seconds / 3600:.1f} hours of one process; "
        f"{count['broken']:,} broke a law. Means are those of hidden units where the evidence is possible."
    )
    return f"\n{said}\n\n{kinds_table(sweep, before)}\n\n{methods_table(sweep)}\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("sweeps", type=Path, nargs="+")
    parser.add_argument("--before", type=Path, nargs="*", default=())
    options = parser.parse_args(arguments)
    found = section(Sweep(options.sweeps), Sweep(options.before) if options.before else None)
    text = options.page.read_text(encoding="utf-8")
    options.page.write_text(MARKED.sub(lambda match: match[1] + found + match[2], text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
