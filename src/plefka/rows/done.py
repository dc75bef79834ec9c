"""How a run over many rows went."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from plefka.errors import listed

CONVERGED = "converged"
SHOWN = 10  # rows that failed, of each kind


@dataclass
class RowsDone:
    """What `infer_rows` did: how many rows, how they ended, and which of them failed.

    - `statuses`: {how rows ended: how many}; `failed`: {how: the first few rows that ended so}.
    - `resumed`: how many rows had been done by a run before this one.
    """

    path: Path
    method: str
    rows: int = 0
    resumed: int = 0
    statuses: dict[str, int] = field(default_factory=dict)
    failed: dict[str, list[int]] = field(default_factory=dict)
    total_log_likelihood: float = 0.0
    seconds: float = 0.0

    @property
    def converged(self) -> int:
        """How many rows have an answer."""
        return self.statuses.get(CONVERGED, 0)

    @property
    def mean_log_likelihood(self) -> float:
        """Of the rows that have an answer."""
        return self.total_log_likelihood / self.converged if self.converged else float("nan")

    def add(self, statuses: np.ndarray, log_likelihood: np.ndarray) -> None:
        """The rows of one more block."""
        for word, count in zip(*np.unique(statuses, return_counts=True), strict=True):
            self.statuses[str(word)] = self.statuses.get(str(word), 0) + int(count)
            if word != CONVERGED:
                rows = self.failed.setdefault(str(word), [])
                rows += (self.rows + np.flatnonzero(statuses == word)[: SHOWN - len(rows)]).tolist()
        self.total_log_likelihood += float(log_likelihood[statuses == CONVERGED].sum())
        self.rows += len(statuses)

    def __str__(self) -> str:
        resumed = f" ({self.resumed:,} of them before)" if self.resumed else ""
        lines = [
            f"{self.rows:,} rows{resumed} by {self.method} in {self.seconds:.1f} s, written to {self.path}",
            f"{self.converged:,} converged, mean ln P(evidence) = {self.mean_log_likelihood:.6f}",
        ]
        for word, rows in self.failed.items():
            count = self.statuses[word]
            more = ", ..." if count > len(rows) else ""
            lines.append(f"{count:,} ended as {word}: row{'s' if count > 1 else ''} {listed(rows, SHOWN)}{more}")
        return "\n".join(lines)
