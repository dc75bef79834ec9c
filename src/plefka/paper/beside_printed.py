"""Our means beside the printed ones (paper.toml), and why they differ where they do."""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import numpy as np

from plefka.paper.experiment_settings import AS_PRINTED
from plefka.paper.store import StoredRows
from plefka.paper.summary import Key, Summary, percent, signed, summaries, wide
from plefka.tables.html_page import ReportTable

OBSERVED = {
    "off": "bottom layer off",
    "likeliest": "visible state with the largest ln Z",
    "unlikeliest": "visible state with the smallest ln Z",
}
SIGNIFICANT = 3  # standard errors
POLICY_LABELS = {"paper": "the paper's policy", "sequential": "one unit at a time"}
EQUATION = {"table1": "(76)", "table2": "(77)"}


@cache
def paper() -> dict[str, Any]:
    """The whole file."""
    return tomllib.loads(files("plefka.paper").joinpath("paper.toml").read_text(encoding="utf-8"))


def printed_mean(table: str, ensemble: str, observed: str, scheme: str) -> float | None:
    """The printed mean of E, or None for a scheme that the paper does not have."""
    return paper()[table].get(ensemble, {}).get(observed, {}).get(scheme)


def decimals(table: str) -> int:
    """To how many digits behind the point a table is printed."""
    return {"table1": 4, "table2": 3}[table]


class Cell(NamedTuple):
    """A mean of a table, ours and theirs."""

    table: str
    key: Key
    ours: Summary
    printed: float | None

    @property
    def difference(self) -> float:
        return float("nan") if self.printed is None else self.ours.mean - self.printed


class Variant(NamedTuple):
    """What a scheme gives on the networks of a column under assumptions other than those of the table."""

    label: str
    summary: Summary
    default_mean: float | None = None  # the mean of the default policy on the networks where this one converged


def cells(rows: StoredRows) -> list[Cell]:
    """All means of a table."""
    found = summaries(rows).items()
    return [Cell(rows.name, key, ours, printed_mean(rows.name, *key)) for key, ours in found]


def cells_by_column(rows: StoredRows) -> dict[str, dict[str, Cell]]:
    """All means of a table, of each of its columns by scheme."""
    found: dict[str, dict[str, Cell]] = {}
    for cell in cells(rows):
        found.setdefault(cell.key.column, {})[cell.key.method] = cell
    return found


def tables(rows: StoredRows, everything: Mapping[str, StoredRows]) -> Iterator[ReportTable]:
    """One for each column of the paper's table."""
    header = ("scheme", "paper", "ours ± standard error", "converged", "over all", "difference", "why")
    for column in cells_by_column(rows).values():
        first = next(iter(column.values()))
        caption = (
            f"{first.key.ensemble}, {OBSERVED[first.key.observed]}: mean of 𝓔 over those of {first.ours.networks:,} "
            "networks on which the scheme converged; over all of them, it is taken where each search ended"
        )
        yield ReportTable(caption, header, [_row(cell, everything) for cell in column.values()])


def _row(cell: Cell, everything: Mapping[str, StoredRows]) -> tuple[str, ...]:
    ours, digits = cell.ours, decimals(cell.table)
    share, of_all = percent(ours.converged), wide(ours.mean_of_all, digits + 1)
    if cell.printed is None:
        return (cell.key.method, "", ours.spelled(digits + 1), share, of_all, "", "not in the paper")
    return (
        cell.key.method,
        signed(cell.printed, digits),
        ours.spelled(digits + 1),
        share,
        of_all,
        f"{signed(cell.difference, digits + 1)} ({abs(cell.difference) / ours.standard_error:.1f} SE)",
        explain(cell, everything) if abs(cell.difference) > SIGNIFICANT * ours.standard_error else "",
    )


def explain(cell: Cell, everything: Mapping[str, StoredRows]) -> str:
    """A sentence about a difference of more than three standard errors, drawn from what else was computed."""
    rounding = 0.5 * 10.0 ** -decimals(cell.table)
    theirs = np.sqrt(cell.ours.networks / paper()[cell.table]["networks"])  # if the same fraction converges
    of_both = cell.ours.standard_error * np.hypot(1.0, theirs)
    if abs(cell.difference) <= SIGNIFICANT * of_both + rounding:
        return "The printed mean is rounded and has its own standard error. The difference is within these two."
    if cell.key.method == "G22":
        return _explain_second_order(cell, everything)
    return _explain_by_variants(cell, everything)


def _explain_second_order(cell: Cell, everything: Mapping[str, StoredRows]) -> str:
    sentence = f"{EQUATION[cell.table]} is misprinted; the correct G22 is {_how_close(cell)} than the printed value"
    printed = _find(everything, "misprints", cell.key._replace(method=AS_PRINTED))
    if printed is None:
        return f"{sentence}."
    digits = decimals(cell.table)
    far = abs(printed.mean - (cell.printed or 0.0)) > SIGNIFICANT * printed.standard_error
    which = "which is not the printed value either" if far else "the printed value"
    letter = f"{signed(printed.mean, digits)} ({percent(printed.converged)} converged)"
    return f"{sentence}. Taken to the letter, the equation gives {letter}, {which}."


def _how_close(cell: Cell) -> str:
    """Whether our mean is closer to 0 than the printed one, over the networks that converged and over all."""
    words = {True: "closer to the truth", False: "farther from the truth"}
    done, every = (words[abs(mean) < abs(cell.printed or 0.0)] for mean in (cell.ours.mean, cell.ours.mean_of_all))
    if done == every:
        return done
    return f"{done} on the {percent(cell.ours.converged)} of the networks on which it converged, and over all {every},"


def _find(everything: Mapping[str, StoredRows], name: str, key: Key) -> Summary | None:
    return summaries(everything[name]).get(key) if name in everything else None


def _explain_by_variants(cell: Cell, everything: Mapping[str, StoredRows]) -> str:
    tried = list(variants(cell, everything))
    if not tried:
        return (
            "Other starts, policies and biases have not been tried. Run plefka reproduce variants policies to try them."
        )
    digits = decimals(cell.table)
    best = closest(cell, tried)
    left = signed(best.summary.mean - (cell.printed or 0.0), digits)
    how = f"{best.label} ({signed(best.summary.mean, digits)}, {percent(best.summary.converged)} converged)"
    how = f"{how}, which is {left} from the printed mean" if float(left.replace("\N{MINUS SIGN}", "-")) else how
    chance = SIGNIFICANT * np.hypot(best.summary.standard_error, cell.ours.standard_error)
    is_closer = abs(best.summary.mean - (cell.printed or 0.0)) + chance < abs(cell.difference)
    if not is_closer:
        return f"Not explained: none of {len(tried)} variants comes clearly closer to the paper. The nearest is {how}."
    sentence = f"The paper does not state all of its assumptions. The closest of {len(tried)} variants is {how}"
    if best.default_mean is None:
        return f"{sentence}."
    return f"{sentence}. On these networks alone, the default policy gives {signed(best.default_mean, digits)}."


def closest(cell: Cell, tried: list[Variant]) -> Variant:
    """The variant whose mean is nearest to the printed one."""
    return min(tried, key=lambda variant: abs(variant.summary.mean - (cell.printed or 0.0)))


def variants(cell: Cell, everything: Mapping[str, StoredRows]) -> Iterator[Variant]:
    """What a cell's scheme gives on its weights with other starts, another policy or other biases."""
    weights = cell.key.ensemble
    for name in ("variants", "policies", "sequential"):
        for key, found in summaries(everything[name]).items() if name in everything else ():
            scheme = key.method.partition("[")[0]
            same = key.ensemble.partition(", biases")[0] == weights and key.observed == cell.key.observed
            in_more = name == "policies" and _find(everything, "sequential", key) is not None
            if same and scheme == cell.key.method and found.converged and key != cell.key and not in_more:
                yield from _both_ways(key, found, _default_mean(cell, everything[name], everything, key))


def _both_ways(key: Key, found: Summary, default_mean: float | None) -> Iterator[Variant]:
    """Another policy over the networks on which it converged, and over all; what else differs, over the first."""
    policy = _policy(key)
    if policy is None:
        yield Variant(_label(key), found)
        return
    yield Variant(f"{policy}, over the networks on which it converged", found, default_mean)
    if found.converged < 1:
        of_all = replace(found, mean=found.mean_of_all, standard_error=found.standard_error_of_all)
        yield Variant(f"{policy}, over all networks, wherever it ended", of_all)


def _policy(key: Key) -> str | None:
    """The words for another policy than the default."""
    return next((words for option, words in POLICY_LABELS.items() if f"policy={option}" in key.method), None)


def _default_mean(cell: Cell, rows: StoredRows, everything: Mapping[str, StoredRows], key: Key) -> float | None:
    """The default policy's mean on the networks where another one converged: is that better, or are these easier?"""
    if _policy(key) is None:
        return None
    plain = key.method.partition("[")[0]
    sources = (rows, everything.get(cell.table, rows))  # the rows of a table are of the same networks
    default = next((each for each in sources if key._replace(method=plain) in summaries(each)), rows)
    both = [
        each.where(ensemble=key.ensemble, observed=key.observed, method=method)
        for each, method in ((rows, key.method), (default, plain))
    ]
    theirs, ours = (
        {k: e for k, e, s in zip(p["network"], p["error"], p["status"], strict=True) if s == "converged"} for p in both
    )
    shared = [error for network, error in ours.items() if network in theirs]
    return float(np.mean(shared)) if shared else None


def _label(key: Key) -> str:
    """What is different about it."""
    _, _, biases = key.ensemble.partition("], ")
    options = key.method.partition("[")[2].rstrip("]")
    if "restarts" in options:
        count = options.partition("restarts=")[2].partition(",")[0]
        return f"the lowest free energy of {int(count) + 1} starts"
    return biases
