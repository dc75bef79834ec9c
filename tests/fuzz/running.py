"""A run: draws that are asked one after another and judged, counted by kind and method; and one case again."""

import json
import math
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

from tests import oracle
from tests.fuzz.asking import CRASHED, EXACT, IMPOSSIBLE, OBSERVED, REFUSED, Answer, Asking, asked, askings
from tests.fuzz.drawing import Draw, drawn, kind_of
from tests.fuzz.enumeration import Enumerated, Enumeration
from tests.fuzz.laws import CLOSE, Verdict, compared, judged

ALONE = 2  # rows of a draw that are asked so
IN_MANY_DIGITS = 0.001  # of all rows, beside every disagreement
MOST_STATES = 2**11  # of a row that is summed in many digits as a sample
SAVED_EVERY = 20.0  # seconds
SHOWN = 2  # failures of one draw, asked in one way


class Truths:
    """Of the rows of a draw: by enumeration, and in many digits where that was asked for."""

    def __init__(self, draw: Draw):
        self.draw = draw
        self._sums: dict[int, Enumeration] = {}
        self._known: dict[int, Enumerated] = {}
        self._free: dict[int, float] = {}

    def __getitem__(self, row: int) -> Enumerated:
        if row not in self._known:
            self._known[row] = self._of_network(row).answer(self.draw.known[row])
        return self._known[row]

    def _of_network(self, row: int) -> Enumeration:
        network = row if self.draw.is_stack else 0
        if network not in self._sums:
            self._sums[network] = Enumeration.of(self.draw.numbers[network])
        return self._sums[network]

    def log_free(self, row: int) -> float:
        """ln Z with nothing known: 0 for a belief network."""
        network = row if self.draw.is_stack else 0
        if network not in self._free:
            known = np.ones(self.draw.known.shape[1:])
            self._free[network] = self._of_network(row).answer(known).log_p if "machine" in self.draw.kind else 0.0
        return self._free[network]

    def settle(self, row: int) -> None:
        """In many digits from now on."""
        self._known[row] = self.in_many_digits(row)

    def in_many_digits(self, row: int) -> Enumerated:
        truth = oracle.answer(self.draw.of_row(row), self.draw.known[row])
        means = np.array(truth.means, float) if truth.is_possible else np.full(self.draw.known.shape[1], np.nan)
        return Enumerated(float(truth.log_p), means)


class Fuzz:
    """Draws that are asked one after another; counts of what came of them."""

    def __init__(
        self,
        seed: int,
        out: Path | None = None,
        kinds: tuple[str, ...] = (),
        methods: tuple[str, ...] = (),
        *,
        quiet: bool = False,
    ):
        self.seed, self.out, self.kinds, self.methods, self.quiet = seed, out, kinds, methods, quiet
        self.next, self.seconds, self.num_failures = 0, 0.0, 0
        self.counts: dict[str, dict[str, Counter]] = {}
        self.failures: list[tuple[str, str]] = []
        if out is not None and out.exists():
            kept = json.loads(out.read_text())
            if kept["seed"] != seed:
                raise SystemExit(f"{out} belongs to seed {kept['seed']}; got --seed {seed}. Name another file.")
            self.next, self.seconds, self.num_failures = kept["next"], kept["seconds"], kept["num_failures"]
            self.counts = {k: {m: Counter(c) for m, c in by.items()} for k, by in kept["counts"].items()}
            self.failures = [tuple(z) for z in kept["failures"]]

    @property
    def cases(self) -> int:
        return sum(count["cases"] for by in self.counts.values() for count in by.values())

    def run(self, seconds: float, cases: float | None = None, draws: float | None = None) -> None:
        """Until one of these limits is reached."""
        start, saved, before = time.monotonic(), time.monotonic(), self.seconds
        cases, draws = (math.inf if limit is None else limit for limit in (cases, draws))
        while time.monotonic() - start < seconds and self.cases < cases and self.next < draws:
            self.one(self.draw_seed(self.next))
            self.next += 1
            self.seconds = before + time.monotonic() - start
            if time.monotonic() - saved > SAVED_EVERY:
                self.save()
                saved = time.monotonic()
        self.save()

    def draw_seed(self, number: int) -> int:
        return int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])

    def one(self, seed: int) -> None:
        kind = kind_of(seed)
        if self.kinds and kind not in self.kinds:
            return
        draw, rng = drawn(seed), np.random.default_rng([seed, 3])
        truths = Truths(draw)
        for row in np.flatnonzero(rng.random(len(draw.known)) < IN_MANY_DIGITS).tolist():
            self._sampled(seed, draw, truths, row)
        for asking in askings(kind, seed):
            if self.methods and asking.name not in self.methods:
                continue
            count = asking.num_rows(draw)
            rows = rng.choice(count, ALONE, replace=False).tolist() if "alone" in asking.options else range(count)
            for row, answer, verdict in verdicts(draw, truths, asking, rows):
                self.count(draw, asking, row, answer, truths[row], verdict)
                for broken in verdict.broken:
                    self.fail(seed, str(asking), row, f"{kind}: {broken}")

    def _sampled(self, seed: int, draw: Draw, truths: Truths, row: int) -> None:
        """The enumeration itself is checked."""
        if np.prod((draw.known[row] > 0).sum(axis=-1).astype(float)) > MOST_STATES:
            return
        self.counts.setdefault(draw.kind, {}).setdefault("many digits", Counter())["rows"] += 1
        if differs(truths[row], truths.in_many_digits(row)):
            self.fail(seed, "enumeration", row, f"{draw.kind}: the enumeration itself is off")

    def fail(self, seed: int, asking: str, row: int, what: str) -> None:
        """Kept and shown, but for rows of one draw that fail like others."""
        self.num_failures += 1
        alike = sum(case.startswith(f"{seed}/{asking}/") for case, _ in self.failures[-SHOWN:])
        if alike < SHOWN:
            self.failures.append((f"{seed}/{asking}/{row}", what))
            if not self.quiet:
                print(f"--replay '{seed}/{asking}/{row}'  {what}", flush=True)

    def count(self, draw: Draw, asking: Asking, row: int, answer: Answer, truth: Enumerated, verdict: Verdict) -> None:
        count = self.counts.setdefault(draw.kind, {}).setdefault(asking.name, Counter())
        count["cases"] += 1
        count[answer.status] += 1
        count["broken"] += not verdict.is_good
        for option in asking.options:
            count[option] += 1
        if answer.status in (REFUSED, IMPOSSIBLE) or answer.means is None or truth.log_p == -np.inf:
            return
        hidden = ~(draw.known[row] == 0).any(axis=-1)
        exact = np.isin(answer.claims, (EXACT, OBSERVED))
        right = np.abs(answer.means - truth.means) <= CLOSE
        count["possible"] += 1
        count["ln P exact"] += answer.log_p_claim == EXACT and verdict.is_good
        count["all exact"] += bool(answer.log_p_claim == EXACT and exact.all() and verdict.is_good)
        count["hidden units"] += int(hidden.sum())
        count["units exact"] += int((hidden & exact & right).sum())
        count["units wrongly exact"] += int((hidden & exact & ~right).sum())

    def save(self) -> None:
        if self.out is not None:
            kept = {"seed": self.seed, "next": self.next, "seconds": self.seconds, "cases": self.cases,
                    "counts": self.counts, "num_failures": self.num_failures, "failures": self.failures}  # fmt: skip
            self.out.parent.mkdir(parents=True, exist_ok=True)
            self.out.write_text(json.dumps(kept, indent=1))


def verdicts(draw: Draw, truths: Truths, asking: Asking, rows: Any) -> list[tuple[int, Answer, Verdict]]:
    """Of all rows that are asked; where an answer disagrees with the enumeration, many digits decide.

    Where these have confirmed a few rows of a draw, the others are taken to fail as well.
    """
    found = asked(draw, asking, rows)
    together = asked(draw, asking.together, rows) if "alone" in asking.options else [None] * len(found)
    judgements, confirmed = [], 0
    for row, answer, other in zip(rows, found, together, strict=True):
        verdict = judged(answer, truths[row], truths.log_free(row))
        if not verdict.is_good and answer.status != CRASHED and confirmed < SHOWN:
            truths.settle(row)
            verdict = judged(answer, truths[row], truths.log_free(row))
            confirmed += not verdict.is_good
        if other is not None:
            verdict = Verdict((*verdict.broken, *compared(answer, other).broken))
        judgements.append((row, answer, verdict))
    return judgements


def differs(one: Enumerated, other: Enumerated) -> bool:
    if np.isneginf(one.log_p) or np.isneginf(other.log_p):
        return one.log_p != other.log_p
    error = abs(one.log_p - other.log_p) / max(1.0, abs(other.log_p))
    return bool(error > CLOSE / 10 or np.abs(one.means - other.means).max() > CLOSE / 10)


def replayed(text: str) -> Verdict:
    """One case again, with what is known about it."""
    first, asking, last = text.split("/")
    seed, row = int(first), int(last)
    draw = drawn(seed)
    truths = Truths(draw)
    print(f"{draw.kind}: {draw.row_network(row)!r}, row {row} of {len(draw.known)}")
    print("evidence:", {u: tuple(p) for u, p in enumerate(draw.known[row].tolist()) if p != [1.0, 1.0]}, "as (off, on)")
    for name, truth in (("enumeration", truths[row]), ("many digits", truths.in_many_digits(row))):
        print(f"{name}: ln P = {truth.log_p:.15g}, means {truth.means}")
    if asking == "enumeration":
        return Verdict(())
    ((_, answer, verdict),) = verdicts(draw, truths, Asking.spelled(asking), [row])
    print(f"{asking}: {answer.status} {answer.message}, ln P = {answer.log_p:.15g} ({answer.log_p_claim})")
    print(f"means {answer.means}\nclaims {answer.claims}")
    print("\n".join(verdict.broken) or "every law holds")
    return verdict
