"""`python -m tests.fuzz.page PAGE SWEEP... [--before EARLIER NOW]`: the counts of sweeps as tables of a page.

What stands between `<!-- sweep -->` and `<!-- end of sweep -->` is replaced. `--before`: a run by an earlier version
and one of the same draws by this one. The shares of numbers that each called exact, and were, stand beside each other.
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

    @property
    def draws(self) -> list[tuple[int, int]]:
        """A seed and how many draws, of each run."""
        return sorted((run["seed"], run["next"]) for run in self.runs)

    def of_kind(self, kind: str) -> Counter:
        return sum((count for method, count in self.counts.get(kind, {}).items() if method != MANY_DIGITS), Counter())

    def of_method(self, method: str) -> Counter:
        return sum((by_method.get(method, Counter()) for by_method in self.counts.values()), Counter())

    def checked(self, kind: str) -> int:
        return self.counts.get(kind, {}).get(MANY_DIGITS, Counter())["rows"]

    @property
    def whole(self) -> Counter:
        return sum((self.of_kind(kind) for kind in self.counts), Counter())


def kinds_table(sweep: Sweep) -> str:
    """A line for each kind: how many cases, and how much of it was called exact and was."""
    lines = []
    for kind in sorted(sweep.counts):
        count = sweep.of_kind(kind)
        lines.append(
            [kind, *(f"{z:,}" for z in (count["cases"], sweep.checked(kind), count["broken"])), *_shares(count)]
        )
    return table(["kind", "cases", "rows in many digits", "laws broken", "ln P exact", "means exact"], lines)


def versions_table(earlier: Sweep, now: Sweep) -> str:
    """A line for each kind: how much an earlier version and this one called exact of the same draws."""
    if earlier.draws != now.draws:
        raise SystemExit(f"--before needs two runs of the same draws; got {earlier.draws} and {now.draws}.")
    lines = []
    for kind in sorted(now.counts):
        before, count = earlier.of_kind(kind), now.of_kind(kind)
        shares = [share for pair in zip(_shares(before), _shares(count), strict=True) for share in pair]
        lines.append([kind, f"{count['cases']:,}", *shares, f"{before['broken']:,}", f"{count['broken']:,}"])
    head = ["kind", "cases", "ln P exact before", "now", "means exact before", "now", "laws broken before", "now"]
    return table(head, lines)


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


def section(sweep: Sweep, versions: tuple[Sweep, Sweep] | None = None) -> str:
    """What a page says of a sweep, and of the same draws by an earlier version and by this one."""
    draws = " and ".join(f"{count:,} draws of seed {seed}" for seed, count in sweep.draws)
    hours, count = sum(run["seconds"] for run in sweep.runs) / 3600, sweep.whole
    said = (
        f"{count['cases']:,} cases of {draws}, {hours:.1f} hours of one process; {count['broken']:,} broke a law. "
        f"Means are those of hidden units where the evidence is possible."
    )
    parts = [said, kinds_table(sweep), methods_table(sweep)]
    if versions is not None:
        ((seed, number),) = versions[1].draws
        parts += [f"The first {number:,} draws of seed {seed} by the earlier version and by this one:"]
        parts += [versions_table(*versions)]
    return "\n" + "\n\n".join(parts) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("sweeps", type=Path, nargs="+")
    parser.add_argument("--before", type=Path, nargs=2, default=None, metavar=("EARLIER", "NOW"))
    options = parser.parse_args(arguments)
    versions = None if options.before is None else (Sweep(options.before[:1]), Sweep(options.before[1:]))
    found = section(Sweep(options.sweeps), versions)
    text = options.page.read_text(encoding="utf-8")
    options.page.write_text(MARKED.sub(lambda match: match[1] + found + match[2], text), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
