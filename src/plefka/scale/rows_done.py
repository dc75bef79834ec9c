"""How a run over many rows went."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from plefka.errors import listed
from plefka.inference.solution_tables import LOG_LIKELIHOOD, STATUS

CONVERGED = "converged"
FAILURES_SHOWN = 10  # rows that failed, of each kind


class BlockDone(NamedTuple):
    """How the rows of one block ended."""

    rows: int
    statuses: dict[str, int]
    failed: dict[str, list[int]]  # the first few rows that ended so, counted within the block
    total_log_likelihood: float  # of the rows that have an answer

    @classmethod
    def of(cls, table: Any) -> "BlockDone":
        words, log_likelihood = (table[name].to_numpy(zero_copy_only=False) for name in (STATUS, LOG_LIKELIHOOD))
        words = words.astype(str)
        counts = {str(word): int(count) for word, count in zip(*np.unique(words, return_counts=True), strict=True)}
        failed = {word: np.flatnonzero(words == word)[:FAILURES_SHOWN].tolist() for word in counts if word != CONVERGED}
        return cls(len(words), counts, failed, float(log_likelihood[words == CONVERGED].sum()))


@dataclass
class RowsDone:
    """What `infer_rows` did: how many rows, how they ended, and which of them failed.

    - `statuses`: {how rows ended: how many}; `failed`: {how: the first few rows that ended so}.
    - `resumed`: how many rows had been done by a run before this one.
    - `fingerprint`, `network_version`: those of the network that gave the answers.
    """

    path: Path
    method: str
    rows: int = 0
    resumed: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    failed: dict[str, list[int]] = field(default_factory=dict)
    total_log_likelihood: float = 0.0
    seconds: float = 0.0
    fingerprint: str | None = None
    network_version: str | None = None

    @property
    def converged(self) -> int:
        """How many rows have an answer."""
        return self.statuses.get(CONVERGED, 0)

    @property
    def mean_log_likelihood(self) -> float:
        """Of the rows that have an answer."""
        return self.total_log_likelihood / self.converged if self.converged else float("nan")

    def add(self, blocks: Iterable[BlockDone]) -> None:
        """All blocks in their order, so that the sum does not depend on which was ready first."""
        for block in blocks:
            for word, count in block.statuses.items():
                self.statuses[word] = self.statuses.get(word, 0) + count
            for word, found in block.failed.items():
                rows = self.failed.setdefault(word, [])
                rows += [self.rows + row for row in found[: FAILURES_SHOWN - len(rows)]]
            self.total_log_likelihood += block.total_log_likelihood
            self.rows += block.rows

    def __str__(self) -> str:
        resumed = f" ({self.resumed:,} of them before)" if self.resumed else ""
        lines = [
            f"{self.rows:,} rows{resumed} by {self.method} in {self.seconds:.1f} s, written to {self.path}",
            f"{self.converged:,} converged, mean ln P(evidence) = {self.mean_log_likelihood:.6f}",
        ]
        for word, rows in self.failed.items():
            count = self.statuses[word]
            more = ", ..." if count > len(rows) else ""
            lines.append(
                f"{count:,} ended as {word}: row{'s' if count > 1 else ''} {listed(rows, FAILURES_SHOWN)}{more}"
            )
        return "\n".join(lines)
