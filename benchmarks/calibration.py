"""How far to rely on the verdict of a check: how often it trusts a wrong answer, and how often it rejects a right one.

`python -m benchmarks calibration` runs the study; `python -m benchmarks.calibration RESULTS.json` writes the table of
docs/beyond.md from what that has kept, beside what the check said before it compared means and adapted its draws.
"""

import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks.calibration_cases import Case, cases
from benchmarks.measure import Row, at_most
from plefka import atomic
from plefka.errors import PlefkaError

WRONG_LOG_P, WRONG_MEAN = 0.1, 0.05  # beyond either, an answer must not be trusted
RIGHT = 0.01  # within this in ln P and in every mean, it should be
Counts = tuple[int, int, int, int]
ALL = "all"
BEFORE = Path(__file__).with_name("calibration_before.json")
PAGE = Path(__file__).parents[1] / "docs" / "beyond.md"
MARKS = ("<!-- calibration -->", "<!-- end of calibration -->")
COLUMNS = ("answers of", "trusted, but wrong: before", "now", "not trusted, but right: before", "now")
MOST_TRUSTED_WRONG, MOST_REJECTED_RIGHT = 1.0, 10.0  # per cent


@dataclass(frozen=True)
class Judged:
    """One answer, how far it and the draws of its check are off, and what the check says."""

    group: str
    method: str
    log_p: float  # errors of the answer
    mean: float
    drawn_log_p: float  # errors of the draws
    drawn_mean: float
    trusted: bool
    seconds: float  # that the check took

    @property
    def is_wrong(self) -> bool:
        return not (self.log_p <= WRONG_LOG_P and self.mean <= WRONG_MEAN)

    @property
    def is_right(self) -> bool:
        return self.log_p <= RIGHT and self.mean <= RIGHT


def judged(case: Case, method: str) -> list[Judged]:
    """The answers to all rows of a case by one method; none where it does not apply."""
    try:
        solution = pf.infer(case.network, case.rows, method, throw=False)
    except PlefkaError:
        return []
    start = time.perf_counter()
    checks = solution.check(seed=0)
    seconds = (time.perf_counter() - start) / len(checks)
    return [
        Judged(
            case.group, method, *_errors(case, row, solution.log_likelihood[row], solution.means[row]),
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
    """The two rates over everything, and how often the draws were right where the answer was not."""
    found = [answer for case in cases() for method in case.methods for answer in judged(case, method)]
    trusted, rejected = _wrong_of_trusted(found), _right_of_rejected(found)
    kept = {"answers": [vars(answer) for answer in found]}
    yield at_most("trusted, but wrong", _percent(*trusted), "%", MOST_TRUSTED_WRONG, {"of": trusted[1], **kept})
    yield at_most("not trusted, but right", _percent(*rejected), "%", MOST_REJECTED_RIGHT, {"of": rejected[1]})


def _wrong_of_trusted(found: list[Judged]) -> tuple[int, int]:
    trusted = [answer for answer in found if answer.trusted]
    return sum(answer.is_wrong for answer in trusted), len(trusted)


def _right_of_rejected(found: list[Judged]) -> tuple[int, int]:
    rejected = [answer for answer in found if not answer.trusted]
    return sum(answer.is_right for answer in rejected), len(rejected)


def _percent(some: int, of: int) -> float:
    return 100 * some / max(1, of)


# ---- the table of the documentation ----------------------------------------------------------------------------------


def counts(found: list[Judged]) -> dict[str, Counts]:
    """For each group, and for all: how many trusted answers are wrong, how many rejected ones right, and of what."""
    groups: dict[str, list[Judged]] = {}
    for answer in found:
        groups.setdefault(answer.group, []).append(answer)
    return {
        name: (*_wrong_of_trusted(some), *_right_of_rejected(some)) for name, some in {**groups, ALL: found}.items()
    }


def markdown(now: dict[str, Counts], before: dict[str, Counts]) -> str:
    """A line for each group that was studied both times."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for group, counted in now.items():
        pairs = [(each[place], each[place + 1]) for place in (0, 2) for each in (before[group], counted)]
        lines.append("| " + " | ".join([group, *(_cell(*pair) for pair in pairs)]) + " |")
    return "\n".join(lines)


def _cell(some: int, of: int) -> str:
    return f"{some} of {of} ({_percent(some, of):.1f} %)" if of else "none"


def write_table(results: Path) -> None:
    """Between the marks of the page."""
    content = json.loads(results.read_text())["rows"][0]["details"]["answers"]
    now = counts([Judged(**answer) for answer in content])
    text = PAGE.read_text()
    start, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    table = markdown(now, json.loads(BEFORE.read_text()))
    atomic.write(PAGE, f"{text[:start]}\n\n{table}\n\n{text[end:]}".encode())


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))
