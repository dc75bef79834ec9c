"""Posteriors of rows whose truth is known, against this truth; block by block, so that memory stays bounded."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma

from plefka.errors import InvalidInput, PlefkaWarning, listed, nearest
from plefka.inference.exclusive import with_group
from plefka.inference.further_rows import answered_rows
from plefka.inference.library import parse_method
from plefka.inference.ranking import Units, check_top
from plefka.inference.solution import Solution
from plefka.inference.solution_words import status_word
from plefka.methods.method import Method
from plefka.methods.posterior import ESTIMATE
from plefka.networks.belief import BeliefNetwork
from plefka.networks.evidence import as_evidence
from plefka.networks.index_arrays import places_of
from plefka.progress import progress
from plefka.questions.calibration_bins import CalibrationBins
from plefka.runtime import extras
from plefka.scale.evidence_rows import CommonEvidence, EvidenceBlock
from plefka.scale.infer_rows import block_size
from plefka.scale.row_questions import RowQuestion
from plefka.scale.row_sources import open_source
from plefka.tables.columns import IdColumns
from plefka.tables.display import frame_in_words, text_table
from plefka.tables.values import meaning

if TYPE_CHECKING:
    import pandas

MOST_CASES = 256  # that are answered at once
EDGES = np.array([0, 0.001, 0.01, *np.arange(1, 11) / 10])  # of the bins for all causes, most of which are improbable
SAME = 1e-9  # log-odds that differ by no more, but for their rounding, are equal
LOG_OF_ROUNDED = -36.7  # ln(1 - p) of a p that is rounded to 1 is below
SHOWN = 10  # pairs that were confused, and worst cases


@dataclass(frozen=True, eq=False, repr=False)
class Validation:
    """The result of `validate`. `print` and notebooks show its `tables`; `page` writes them to a file, with pictures.

    - `cases`: a DataFrame. `rank`, `probability`, `ahead` and `ties` (other causes above it, and equal to it) are those
        of the true cause that ranks highest: inf where the case failed or its truth is no unit, nan where none is true.
        `log_score` and `brier` are sums over all causes, and `accuracy` is "exact", "estimate", or why it failed.
    - `first_calibration`, `calibration`: of the first cause, and of all causes whose truth is known.
    - `about`: the method, and the fingerprint and version of the network. `notes`: what was left out or is not known.

    >>> import plefka as pf
    >>> rows = [{"slow_flow": 1, "truth": "limescale"}, {"sour_taste": 1, "truth": "stale_beans"}]
    >>> found = pf.validate(pf.example("espresso"), rows, "truth")
    >>> found.measures["first"], found.among(2)
    (1.0, 1.0)
    """

    cases: "pandas.DataFrame"
    calibration: CalibrationBins
    about: dict[str, str | None]
    notes: tuple[str, ...] = ()

    def among(self, k: int) -> float:
        """The share of the cases with a true cause that have one among the first k; equal ones in a random order."""
        check_top(k)
        cases: Any = self.cases
        return float(((k - cases["ahead"]) / (cases["ties"] + 1)).clip(0, 1).mean())

    @property
    def first_calibration(self) -> CalibrationBins:
        return CalibrationBins.of(np.linspace(0, 1, 11), *self.cases[["first_probability", "right"]].to_numpy(float).T)

    @property
    def measures(self) -> dict[str, float]:
        """Numbers by name. A case that failed counts as a miss in ranks, and not in scores and calibration."""
        cases: Any = self.cases
        kinds = cases["accuracy"].value_counts().to_dict()
        ahead, ties, exact, estimates = cases["ahead"], cases["ties"], kinds.get("exact", 0), kinds.get("estimate", 0)
        reached = ahead.where(ahead < np.inf)
        reciprocal = (digamma(reached + ties + 2) - digamma(reached + 1)) / (ties + 1)  # its mean over equal ranks
        return {
            "cases": len(cases), "exact": exact, "estimates": estimates, "failed": len(cases) - exact - estimates,
            "with a true cause": int(ahead.notna().sum()), "first": self.among(1), "among 10": self.among(10),
            "mean reciprocal rank": float(reciprocal.mask(ahead == np.inf, 0.0).mean()),
            "log score": float(cases["log_score"].mean()), "Brier score": float(cases["brier"].mean()),
            "mean probability of the first": float(cases["first_probability"].mean()),
            "calibration error of the first": self.first_calibration.error,
            "calibration error of all causes": self.calibration.error,
        }  # fmt: skip

    def tables(self) -> dict[str, Any]:
        """DataFrames by title: measures, both calibrations, the most confused pairs and the worst cases."""
        cases: Any = self.cases
        frame = extras.pandas().DataFrame
        pairs = cases[(cases["right"] == 0) & (cases["truth"] != "")].groupby(["truth", "first"]).size()
        worst = cases[cases["rank"].notna()].sort_values("probability", na_position="first", kind="stable")
        measures = frame(self.measures.items(), columns=["measure", "value"], dtype=object)
        return {
            f"Validation of {len(cases):,} cases": measures,
            "Calibration of the first cause": frame(self.first_calibration.columns()),
            "Calibration of all causes": frame(self.calibration.columns()),
            "Most confused": pairs.sort_values(ascending=False, kind="stable")[:SHOWN].rename("cases").reset_index(),
            "Worst cases": worst.drop(columns=["ahead", "ties", "right", "log_score", "brier"])[:SHOWN],
        }

    def to_frame(self) -> "pandas.DataFrame":
        """A DataFrame with a row for each case: `cases`."""
        return self.cases

    def __repr__(self) -> str:
        return f"<Validation of {len(self.cases):,} cases: first {self.among(1):.1%}>"

    def __str__(self) -> str:
        tables = (
            f"{title}\n\n{text_table(*frame_in_words(table))}" for title, table in self.tables().items() if len(table)
        )
        return "\n\n".join([*tables, "\n".join([f"by {self.about['method']}", *self.notes])])

    def _repr_html_(self) -> str:
        return "".join(f"<h4>{title}</h4>{table.to_html(index=False)}" for title, table in self.tables().items())

    def page(self, path: str | PathLike[str]) -> None:
        """Write all of it, with pictures of the calibration, as one page of HTML that needs nothing else."""
        from plefka.scale.validation_page import write_page

        write_page(self, path)


def validate(
    network: BeliefNetwork, rows: Any, truth: Any, *, method: str | Method = "auto", units: Units = "causes",
    id_columns: IdColumns = None, exclusive: Any = None,
) -> Validation:  # fmt: skip
    """How well posteriors of rows agree with the truth: ranks, scores, calibration, confusions and the worst cases.

    Units that are ranked are never observed: columns of truth are no evidence, nor is anything else that rows say of
    these units, of which a `PlefkaWarning` speaks. A case that fails is counted as one.

    **Arguments:**

    - `rows`: a file, a DataFrame, an array or dictionaries, as for `infer_rows`.
    - `truth`: the column of the rows that names the true cause, or several with `;` between them, or none by
        "no"; a cause, or a list of causes, whose columns have 0, 1 or nothing in them; or a list with a name, or a list
        of names, for each row.
        Where causes are named, all others are false; where columns are, the truth of all others is not known.
    - `method`, `exclusive`: as for `infer`.
    - `units`: the units that are ranked: "causes" (those without parents) or a list of names.
    - `id_columns`: the columns that name the rows.

    >>> import plefka as pf
    >>> rows = [{"slow_flow": 1, "cause": "limescale"}, {"sour_taste": 1, "cause": "weak_pump"}]
    >>> pf.validate(pf.example("espresso"), rows, "cause")
    <Validation of 2 cases: first 50.0%>
    """
    if not isinstance(network, BeliefNetwork) or network.stack is not None:
        raise InvalidInput(f"validate takes one BeliefNetwork; got {network!r}.")
    if not hasattr(truth, "__iter__"):
        raise InvalidInput(f"truth must be a column, causes, or a list with one truth for each row; got {truth!r}.")
    column = truth if isinstance(truth, str) and truth not in network.names else None
    labels = [truth] if isinstance(truth, str) and not column else truth if _are_columns(rows, truth) else []
    ids = [id_columns] if isinstance(id_columns, str) else list(id_columns or ())
    size = min(block_size(network, None, None), MOST_CASES)
    source = open_source(network, rows, size, [column, *ids] if column else ids)
    common = CommonEvidence(network, with_group(network, as_evidence(network, None), exclusive))
    asked = RowQuestion.of(network, parse_method(method), common, units, 1, source.id_columns)
    reader = TruthReader(asked, labels, column, iter(() if column or labels else truth))
    frames, sums, first = [], np.zeros((3, len(EDGES) - 1)), 0
    for block in progress(source.blocks(size), "cases", total=source.about and -(-source.about // size)):
        cases, bins = compared(asked, reader, block, first)
        frames.append(cases)
        sums, first = sums + bins.sums, first + len(cases)
    about, notes = {"method": str(asked.method), **network.identity}, reader.notes(first)
    return Validation(extras.pandas().concat(frames, ignore_index=True), CalibrationBins(EDGES, sums), about, notes)


def compared(
    asked: RowQuestion, reader: "TruthReader", block: EvidenceBlock, first: int
) -> tuple["pandas.DataFrame", CalibrationBins]:
    """Some of the cases, the first of which has the number `first`, and the calibration of all causes in them."""
    truths, states, block = reader.read(block, first)
    ids = [names for name, names in block.ids.items() if name != reader.column] or [range(first, first + len(truths))]
    means, columns = _compared(asked, *asked.solution(block, first), states, np.array(truths, object))
    cases = extras.pandas().DataFrame({"case": ids[0], "truth": truths, **columns})
    return cases, CalibrationBins.of(EDGES, means, states)


def _are_columns(rows: Any, truth: Any) -> bool:
    """Whether these are columns of the rows, and not one truth for each row."""
    if not isinstance(truth, list | tuple) or not all(isinstance(each, str) for each in truth):
        return False
    first = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) else ()
    names = {str(name) for name in getattr(rows, "columns", first)}
    return isinstance(rows, str | PathLike) or (len(set(truth)) == len(truth) and names.issuperset(truth))


class TruthReader:
    """What is true in rows, and what else they say of the units that are ranked, which is no evidence."""

    def __init__(self, asked: RowQuestion, labels: Sequence[str], column: str | None, by_row: Iterator[Any]):
        self.column, self.by_row, self.ignored, self.unknown, self.known = column, by_row, {}, {}, 0
        self.units = {name: unit for unit, name in enumerate(asked.network.names)}
        self.names = np.array([asked.network.names[unit] for unit in asked.units], object)
        self.place = places_of(asked.units, asked.network.size)
        self.labels = self._ranked(labels)

    def read(self, block: EvidenceBlock, first: int) -> tuple[list[str], np.ndarray, EvidenceBlock]:
        """Of each row the true causes, as text and as states (rows, ranked), nan where unknown; and the evidence."""
        states, at = np.full((block.num_rows, len(self.names)), np.nan), self.place[block.units]
        is_label = np.isin(at, self.labels)
        states[:, at[is_label]] = block.values()[:, is_label]
        self.ignored |= dict.fromkeys(self.names[at[(at >= 0) & ~is_label]])
        texts = ["; ".join(self.names[row == 1]) for row in states]
        if not len(self.labels):
            given = list(islice(self.by_row, block.num_rows)) if self.column is None else block.ids[self.column]
            if len(given) < block.num_rows:
                raise InvalidInput(f"there must be a truth for each row; got {first + len(given):,} for more rows.")
            for row, names in enumerate(map(self._true_names, given)):
                states[row] = 0.0 if names else np.nan
                names = [name for name in names if name in self.units or meaning(name) != 0]  # no: none of them is true
                texts[row] = "; ".join(names)
                states[row, self._ranked([name for name in names if name in self.units])] = 1.0
                self.unknown |= dict.fromkeys(name for name in names if name not in self.units)
        self.known += int((states == states).any(axis=1).sum())
        return texts, states, block._replace(units=block.units[at < 0], states=block.states[:, at < 0])

    def _ranked(self, names: Sequence[str]) -> np.ndarray:
        found = self.place[[self.units[name] for name in names]] if names else np.zeros(0, int)
        for name in [name for name, at in zip(names, found, strict=True) if at < 0]:
            raise InvalidInput(
                f"what is true must be one of the units that are ranked; got {name!r}. Pass units (--units)."
            )
        return found

    def _true_names(self, value: Any) -> list[str]:
        text = "" if value is None or value != value else str(value).strip()
        names = value if isinstance(value, list | tuple) else [text] if text in self.units else text.split(";")
        return [name for name in map(str.strip, names) if name in self.units or not np.isnan(meaning(name))]

    def notes(self, count: int) -> tuple[str, ...]:
        """What is to be said when all rows are read."""
        if not self.known or next(self.by_row, None) is not None:
            got = "more." if self.known else "no truth at all. Is there such a column?"
            raise InvalidInput(f"there must be one truth for each of the {count:,} rows; got {got}")
        notes = [f"{count - self.known:,} rows do not say what is true"] if self.known < count else []
        if self.ignored:
            notes.append(f"the rows also state {listed(self.ignored)}, which are ranked and therefore no evidence here")
            warnings.warn(f"{notes[-1]}. To observe a unit, rank others: units=[...].", PlefkaWarning, stacklevel=3)
        if self.unknown:
            slips = "".join(nearest(name, self.names, likeness=0.75) for name in [*self.unknown][:3])
            notes.append(f"true, but not in the network, and therefore missed: {listed(self.unknown)}.{slips}")
        return tuple(notes)


def _compared(
    asked: RowQuestion, solution: Solution, units: np.ndarray, states: np.ndarray, truths: np.ndarray
) -> tuple[np.ndarray, dict[str, Any]]:
    """The posteriors (rows, ranked), nan where a case failed, and the columns of the table of cases."""
    wanted, answered, true = np.searchsorted(units, asked.units), np.asarray(solution.converged), states == 1
    means = np.where(answered[:, None], solution.means[:, wanted], np.nan)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_on, log_off = np.log(means), _log_off(asked, solution, means, wanted)
        odds = np.where(answered[:, None], log_on - log_off, -np.inf)
        of_true = np.where(true, odds, -np.inf)
        best = of_true.max(axis=1, initial=-np.inf)[:, None]
        rounding = np.where(best < -LOG_OF_ROUNDED, 4 * np.finfo(float).eps * (1 + np.exp(best)), 0.0)
        near = (odds == best) | (abs(odds - best) <= SAME + rounding)
    ahead, ties = (np.sum(z & ~true, axis=1, dtype=float) for z in ((odds > best) & ~near, near))
    none, lost = truths == "", ~answered | ~true.any(axis=1)
    ahead, ties = np.select([none, lost], [np.nan, np.inf], ahead), np.where(none | lost, 0.0, ties)
    rows, top, known = np.arange(len(odds)), odds.argmax(axis=1), states == states
    failed = np.where(answered, 0.0, np.nan)
    kinds = np.where((np.asarray(solution.codes.means)[:, wanted] == ESTIMATE).any(axis=1), "estimate", "exact")
    names = np.array([asked.network.names[unit] for unit in asked.units], object)
    return means, {
        "rank": 1 + ahead + ties / 2,
        "probability": np.where(none | lost, np.nan, means[rows, of_true.argmax(axis=1)]),
        "ahead": ahead, "ties": ties, "first": np.where(answered, names[top], ""),
        "first_probability": means[rows, top], "right": states[rows, top] + failed,
        "log_score": np.sum(np.where(true, log_on, log_off), axis=1, where=known) + failed,
        "brier": np.sum((means - states) ** 2, axis=1, where=known) + failed,
        "accuracy": np.where(answered, kinds, [status_word(status) for status in solution.status]),
    }  # fmt: skip


def _log_off(asked: RowQuestion, solution: Solution, means: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """ln(1 - mean); where a mean is rounded to 1, from ln P of the evidence with the unit observed off."""
    found, (row, at) = np.log1p(-means), np.nonzero(means == 1)
    places, which = np.unique(at, return_inverse=True)
    states = np.where(which[:, None] == np.arange(len(places)), 0.0, np.nan)
    for some, off in answered_rows(solution.network, solution.evidence, asked.method, row, wanted[places], states):
        difference = off.log_likelihood - np.asarray(solution.log_likelihood)[row[some]]
        found[row[some], at[some]] = np.where(off.converged, np.minimum(difference, LOG_OF_ROUNDED), -np.inf)
    return found
