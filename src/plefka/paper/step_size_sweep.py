"""What was learned in the sweep of step sizes behind figure 10, read from its rows.

Of every scheme there is a choice of the step size that is best for it: by the objective that the scheme maximises
itself, which is what a user without the exact ln P could choose by, and by the exact ln P in the end.
"""

from typing import NamedTuple

import numpy as np

from plefka.paper.store import StoredRows
from plefka.paper.summary import signed

CONVERGED_SHARE = 0.99  # of the patterns have solves that converged
CHOICES = {"objective": "its own objective", "exact": "the exact ln P"}


class Learned(NamedTuple):
    """A scheme that learned with steps of one size; arrays are (epochs, starts)."""

    method: str
    step_size: float
    epochs: np.ndarray
    exact: np.ndarray  # ln P per pattern
    objective: np.ndarray  # what the scheme takes it for, and maximises
    converged: np.ndarray  # the share of patterns whose solves did
    failed: np.ndarray  # (starts,): those that kept their last usable parameters

    @property
    def end(self) -> np.ndarray:
        """The exact ln P of every start in the end."""
        return self.exact[-1]

    @property
    def mean(self) -> float:
        """That of all starts in the end."""
        return float(self.end.mean())

    def span(self, decimals: int) -> str:
        """From the worst to the best start in the end."""
        return " to ".join(signed(float(end), decimals) for end in (self.end.min(), self.end.max()))

    def score(self, choice: str) -> float:
        """The mean over starts by which a step size is chosen; of a failed start, the last objective that it had."""
        if choice == "exact":
            return self.mean
        last = [
            column[np.isfinite(column)][-1] if np.isfinite(column).any() else -np.inf for column in self.objective.T
        ]
        return float(np.mean(last))


def runs(rows: StoredRows, activation: str) -> dict[str, list[Learned]]:
    """Of every scheme those that were computed, by growing step size."""
    methods = next(methods for name, methods in rows.settings["schemes"] if name == activation)
    found = {method: [_run(rows, activation, method, size) for size in step_sizes(rows)] for method in methods}
    return {method: present for method, some in found.items() if (present := [run for run in some if run is not None])}


def step_sizes(rows: StoredRows) -> list[float]:
    return sorted(rows.settings["step_sizes"])


def _run(rows: StoredRows, activation: str, method: str, step_size: float) -> Learned | None:
    part = rows.where(activation=activation, method=method, step_size=step_size)
    if not len(part["epoch"]):
        return None
    starts = rows.settings["starts"]
    exact, objective, converged = (
        part[name].reshape(-1, starts).astype(float) for name in ("log_likelihood", "objective", "converged")
    )
    failed = part["failed"][:starts].astype(bool)
    return Learned(method, step_size, part["epoch"][::starts], exact, objective, converged, failed)


def chosen(rows: StoredRows, activation: str, choice: str) -> dict[str, Learned]:
    """Every scheme with the step size that is best for it."""
    return {method: max(some, key=lambda run: run.score(choice)) for method, some in runs(rows, activation).items()}


def conditions(rows: StoredRows) -> str:
    """Under which everything here was found."""
    given = rows.settings
    sizes = ", ".join(f"{size:g}" for size in step_sizes(rows))
    return (
        f"Adam with step sizes {sizes}, {given['starts']} starts for each scheme and step size, the same ones for all, "
        f"{given['epochs']} epochs of {given['patterns']:,} images, solves of at most {given['max_steps']} evaluations"
    )
