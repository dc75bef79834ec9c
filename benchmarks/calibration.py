"""How far to rely on the verdict of a check: how often it trusts a wrong answer, and how often it rejects a right one.

`python -m benchmarks calibration` runs the study; `python -m benchmarks.calibration RESULTS.json` writes the table of
docs/beyond.md from what that has kept. Every share has its Wilson interval of 95 %.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import numpy as np

import plefka as pf
from benchmarks import calibration_cases, calibration_machines
from benchmarks.calibration_cases import Case
from benchmarks.measure import Row, at_most
from plefka.errors import PlefkaError
from plefka.runtime import whole_files

WRONG_LOG_P, WRONG_MEAN = 0.1, 0.05  # beyond either, an answer must not be trusted
RIGHT = 0.01  # within this in ln P and in every mean, it should be
ALL_OF = {"belief networks": calibration_cases.cases, "machines": calibration_machines.cases}
PAGE = Path(__file__).parents[1] / "docs" / "beyond.md"
MARKS = ("<!-- calibration -->", "<!-- end of calibration -->")
COLUMNS = ("answers of", "wrong, of those that are trusted", "trusted, of those that are wrong",
           "not trusted, of those that are right")  # fmt: skip
MOST_TRUSTED_WRONG, MOST_REJECTED_RIGHT = 1.0, 5.0  # per cent
NORMAL = 1.96  # standard errors of an interval of 95 %


@dataclass(frozen=True)
class Judged:
    """One answer, how far it and the draws of its check are off, and what the check says."""

    kind: str  # belief networks or machines
    group: str
    method: str
    log_p: float  # errors of the answer
    mean: float
    drawn_log_p: float  # errors of the draws
    drawn_mean: float
    trusted: bool
    seconds: float  # of a processor that the check took

    @property
    def is_wrong(self) -> bool:
        return not (self.log_p <= WRONG_LOG_P and self.mean <= WRONG_MEAN)

    @property
    def is_right(self) -> bool:
        return self.log_p <= RIGHT and self.mean <= RIGHT


def judged(case: Case, method: str, kind: str = "") -> list[Judged]:
    """The answers to all rows of a case by one method; none where it does not apply."""
    try:
        solution = pf.infer(case.network, case.rows, method, throw=False)
    except PlefkaError:
        return []
    start = time.process_time()
    checks = solution.check(seed=0)
    seconds = (time.process_time() - start) / len(checks)
    return [
        Judged(
            kind, case.group, method, *_errors(case, row, solution.log_partition[row], solution.means[row]),
            *_errors(case, row, check.log_likelihood, check.means), bool(check.trusted), seconds,
        )
        for row, check in enumerate(checks)
    ]  # fmt: skip


def _errors(case: Case, row: int, log_p: float, means: np.ndarray) -> tuple[float, float]:
    """Of ln P, and the largest of a mean whose truth is known; infinite where there is no number."""
    known = np.isfinite(case.means[row])
    worst = np.abs(means - case.means[row])[known].max(initial=0.0)
    return _finite(abs(log_p - case.log_p[row])), _finite(worst)


def _finite(error: float) -> float:
    return float(error) if np.isfinite(error) else float("inf")


def rows() -> Iterator[Row]:
    """The two rates of both kinds, and all answers for the table."""
    for kind, cases in ALL_OF.items():
        of_cases = ((case, method) for case in cases() for method in case.methods)
        found = list(chain.from_iterable(judged(case, method, kind) for case, method in of_cases))
        trusted, _, rejected = tally(found)
        kept = {"of": str(trusted), "answers": [vars(answer) for answer in found]}
        yield at_most(f"{kind}: trusted, but wrong", trusted.percent, "%", MOST_TRUSTED_WRONG, kept)
        details = {"of": str(rejected)}
        yield at_most(f"{kind}: right, but not trusted", rejected.percent, "%", MOST_REJECTED_RIGHT, details)


# ---- the table of the documentation ----------------------------------------------------------------------------------


class Share(NamedTuple):
    """Some of a number of answers."""

    some: int
    of: int

    @property
    def percent(self) -> float:
        return 100 * self.some / max(1, self.of)

    @property
    def interval(self) -> tuple[float, float]:
        """Wilson's interval of the share, in per cent."""
        n, p, z = max(1, self.of), self.some / max(1, self.of), NORMAL
        middle, reach = p + z**2 / (2 * n), z * np.sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
        low, high = (100 * (middle + sign * reach) / (1 + z**2 / n) for sign in (-1, 1))
        return max(0.0, float(low)), min(100.0, float(high))

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.some} of {self.of}: {self.percent:.1f} % ({low:.1f} to {high:.1f})" if self.of else "none"


def tally(found: list[Judged]) -> tuple[Share, Share, Share]:
    """Wrong ones of the trusted, trusted ones of the wrong, and not trusted ones of the right."""
    both = sum(answer.trusted and answer.is_wrong for answer in found)
    right = [answer for answer in found if answer.is_right]
    return (
        Share(both, sum(answer.trusted for answer in found)), Share(both, sum(answer.is_wrong for answer in found)),
        Share(sum(not answer.trusted for answer in right), len(right)),
    )  # fmt: skip


def markdown(found: list[Judged]) -> str:
    """A line for each group, and for all of a kind."""
    groups: dict[str, list[Judged]] = {}
    for answer in found:
        groups.setdefault(answer.group, []).append(answer)
        groups.setdefault(f"all {answer.kind}", []).append(answer)
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for group in sorted(groups, key=lambda group: (groups[group][-1].kind, group.startswith("all "))):
        lines.append("| " + " | ".join([group, *map(str, tally(groups[group]))]) + " |")
    return "\n".join(lines)


def write_table(results: Path) -> None:
    """Between the marks of the page."""
    rows = json.loads(results.read_text())["rows"]
    found = [Judged(**answer) for row in rows for answer in row["details"].get("answers", ())]
    text = PAGE.read_text()
    start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    whole_files.write(PAGE, f"{text[:start]}\n\n{markdown(found)}\n\n{text[end:]}".encode())


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))
