"""The words for what a solution says. They need no NumPy, so that the command can name them at once."""

import json
import math
from typing import TYPE_CHECKING, Any

from plefka.errors import listed
from plefka.tables.display import rows_by_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

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
    return "ln P(evidence)" if solution.network.is_normalised else "ln Z"


def seen(solution: "Solution") -> Any:
    """The units of a single row that were observed, and neither set nor implied by what was observed."""
    row, is_set = solution.evidence.rows[0], solution.evidence.intervened
    return row == row if is_set is None else (row == row) & (is_set != is_set)


def frequency(solution: "Solution") -> str:
    """': about 1 case in 7,400 looks like this', of a single row that was observed for certain; else nothing."""
    evidence, value = solution.evidence, float(solution.log_likelihood)
    is_certain = evidence.tilt is evidence.exclusive is None and seen(solution).any()
    if not is_certain or not value <= 0:
        return ""
    about = {"lower bound": "at least", "upper bound": "at most"}.get(str(solution.log_likelihood_accuracy), "about")
    if value > -0.05:
        return ": nearly every case looks like this"
    if value > -math.log(10):
        return f": {about} {100 * math.exp(value):.0f} of 100 cases look like this"
    if value < -math.log(1e12):
        return ": fewer than 1 case in a million million looks like this" if value > -math.inf else ""
    return f": {about} 1 case in {float(f'{math.exp(-value):.2g}'):,.0f} looks like this"


def given_states(solution: "Solution") -> "Sequence[tuple[str, str]]":
    """What off and on are called in each unit, where they have words."""
    return getattr(solution.network, "given_states", None) or ()


def probability_text(value: float, digits: int = 6) -> str:
    """With so many digits, or as a power of ten where these would be zeros; nothing for what is not known."""
    if math.isnan(value):
        return ""
    return f"{value:.2e}" if 0 < value < 1e-4 else f"{value:.{digits}f}"


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


def as_json(content: Any, indent: int | None = None) -> str:
    """A JSON document; infinities and nan, which JSON does not have, become null."""
    return json.dumps(finite(content), indent=indent, allow_nan=False)


def finite(content: Any) -> Any:
    """With None for infinities and nan."""
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
