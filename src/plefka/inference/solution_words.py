"""The words for what a solution says. They need no NumPy, so that the command can name them at once."""

from typing import TYPE_CHECKING

from plefka.errors import listed
from plefka.tables.display import rows_by_sentence

if TYPE_CHECKING:
    from plefka.inference.batched_types import Statuses
    from plefka.inference.check_verdict import Check
    from plefka.inference.solution import Solution
    from plefka.methods.posterior import Status

LEGEND = "~ is an estimate; other probabilities are exact"
SENTENCES = {
    "exact": "exact",
    "lower bound": "a lower bound",
    "upper bound": "an upper bound",
    "estimate": "an estimate, not a bound",
}


def method_and_kind(solution: "Solution") -> str:
    """The method, and what its ln P(evidence) is: 'G1 (a lower bound)', or 'exact', which says it all."""
    method, kind = str(solution.method), SENTENCES[kind_of(solution)]
    return method if method == kind else f"{method} ({kind})"


def kind_of(solution: "Solution") -> str:
    """What `log_partition` is, of all rows: 'exact', 'lower bound', 'upper bound' or 'estimate'."""
    said = solution.log_partition_accuracy
    weakest = ({said} if isinstance(said, str) else set(said.tolist())) - {"exact"} or {"exact"}
    return str(weakest.pop()) if len(weakest) == 1 else "estimate"


def accuracies(solution: "Solution") -> list[str]:
    """What ln P, or ln Z, of every row is."""
    said = solution.log_partition_accuracy
    return [str(said)] if isinstance(said, str) else [str(each) for each in said]


def estimates(solution: "Solution") -> list[str]:
    """How many of the hidden units of every row have a mean that is an estimate: none, all, or '3 of 14'."""
    said = solution.accuracy.reshape(solution.num_rows, -1)
    some, hidden = (said == "estimate").sum(axis=1), (said != "observed").sum(axis=1)
    return ["none" if not n else "all" if n == m else f"{n:,} of {m:,}" for n, m in zip(some.tolist(), hidden.tolist())]


def marked(solution: "Solution", row: int | None, unit: int, digits: int) -> str:
    """The mean of a unit, with a ~ in front where that is an estimate."""
    place = unit if row is None else (row, unit)
    return f"{'~' if solution.accuracy[place] == 'estimate' else ''}{solution.means[place]:.{digits}f}"


def quantity_of(solution: "Solution") -> str:
    """What `log_partition` is called: ln P(evidence) of a belief network, ln Z of a Boltzmann machine."""
    return "ln P(evidence)" if solution.network is None or solution.network.is_normalised else "ln Z"


def status_word(status: "Status | Statuses") -> str:
    """'converged', 'out of steps', ..."""
    return status.name.lower().replace("_", " ")


def checks_of(solution: "Solution") -> "list[Check]":
    """What `infer(..., check=True)` found: one for each row, or none."""
    checked = solution.checked
    return [] if checked is None else checked if isinstance(checked, list) else [checked]


def doubts(solution: "Solution") -> list[str]:
    """Every warning once; of a batch, with the rows that it is about."""
    if not solution.is_batch:
        return solution.warnings
    found = rows_by_sentence(solution.warnings)
    return [f"{warning} ({'row' if len(rows) == 1 else 'rows'} {listed(rows)})" for warning, rows in found.items()]
