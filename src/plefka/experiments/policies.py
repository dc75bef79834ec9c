"""The paper's fixed point policy and the monotone one, side by side on the same networks."""

from collections.abc import Mapping
from dataclasses import replace

from plefka.experiments import tables
from plefka.experiments.report import Section, Table, Text
from plefka.experiments.store import Rows
from plefka.experiments.summary import percent, signed, summaries

PAPER = "[policy=paper]"
COLUMNS = tuple(
    replace(column, methods=tuple(m for method in column.methods for m in (method, method + PAPER)))
    for column in tables.COLUMNS
)
ABOUT = (
    "The paper iterates the fixed point equations. When the means alternate between two points, it starts again from "
    "the best point between them. The default policy of plefka never lets the free energy rise, so it cannot cycle. "
    "Steps are evaluations of the free energy, without those of the search between two points. Their number is limited "
    "for both policies. If few solves converge, their mean covers only the easy networks."
)


def render(everything: Mapping[str, Rows]) -> Section:
    found = summaries(everything["policies"])
    rows = []
    for key, ours in found.items():
        if not key.method.endswith(PAPER):
            theirs = found.get(key._replace(method=key.method + PAPER))
            if theirs is not None:
                rows.append(_row(key.column, key.method, ours, theirs))
    networks = next(iter(found.values())).networks
    header = (
        "networks", "scheme", "converged: monotone", "converged: paper", "met a cycle", "restarts per network",
        "steps: monotone", "steps: paper", "mean of 𝓔: monotone", "mean of 𝓔: paper",
    )  # fmt: skip
    caption = (
        f"The two policies on {networks:,} networks of each kind; cycles and restarts are those of the paper's policy"
    )
    return Section("The fixed point policies", [Text(ABOUT), Table(caption, header, rows)])


def _row(column: str, method: str, ours, theirs) -> tuple[str, ...]:
    return (
        column,
        method,
        percent(ours.converged),
        percent(theirs.converged),
        percent(theirs.cycled),
        f"{theirs.cycles:.1f}",
        f"{ours.steps:.1f}",
        f"{theirs.steps:.1f}",
        signed(ours.mean, 4),
        signed(theirs.mean, 4) if theirs.converged else "",
    )
