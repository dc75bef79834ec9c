"""A matrix of probabilities, causes by findings or the other way round, as two tables with a row for each entry.

Beside it stand the priors of the causes, as a column or a row `prior`, and the leaks of the findings, as a row or a
column `leak`. Which side the causes are on is never guessed: the priors say it, or a table of causes.
"""

from typing import Any

import numpy as np

from plefka.errors import InvalidNetwork, first_repeated, listed, nearest
from plefka.networks.probability_frame import (
    CAUSE,
    FINDING,
    IMPLIES,
    ITS_CAUSE,
    PROBABILITY,
    ProbabilityFrame,
    words_in,
)
from plefka.runtime.extras import pandas

BESIDE = PRIOR, LEAK = "prior", "leak"


def is_matrix(table: ProbabilityFrame) -> bool:
    """Whether it has at most one of the columns of a table with a row for each edge."""
    known = [names for names in (FINDING, ITS_CAUSE, PROBABILITY, IMPLIES) if table.column(names) is not None]
    labelled = not isinstance(table.frame.index, pandas().RangeIndex)
    return len(known) < 2 and table.frame.shape[1] + labelled > 1


def tables_of_matrix(
    table: ProbabilityFrame, causes: list[str] | None = None
) -> tuple[ProbabilityFrame, ProbabilityFrame]:
    """The tables of causes and of findings; the priors of the first mean nothing where `causes` are known."""
    frame = table.frame
    if not isinstance(frame.index, pandas().RangeIndex):
        frame = frame.reset_index()
    corner, *header = (_name(name) for name in frame.columns)
    named, filled = np.array([name != "" for name in header], bool), ~frame.isin(["", None]).all(axis=1).to_numpy(bool)
    places = (np.arange(len(frame)) if table.positions is None else table.positions)[filled]
    labels = np.array([_name(word) for word in words_in(frame.iloc[:, 0])[filled]], object)
    header, cells = np.array(header, object)[named], frame.to_numpy(object)[filled, 1:][:, named]
    if not _rows_are_causes(table.what, corner, labels, header, causes):
        labels, header, cells = header, labels, cells.T
        table, places = table._replace(row="column"), np.flatnonzero(named) + 2
    for names, kind in ((labels, "cause"), (header, "finding")):
        twice, other = first_repeated(names), {*names} - {*BESIDE}
        if twice is not None or "" in names or not other:
            got = f"{twice!r} twice" if twice else "one without a name" if other else f"no {kind}"
            raise InvalidNetwork(f"{table.what} must have a name of its own for every {kind}; got {got}.")
    flat = table._replace(positions=np.repeat(places, len(header)))
    column = pandas().Series(cells.ravel(), dtype=object)
    values = flat.probabilities(column, lambda k: header[k % len(header)]).reshape(cells.shape)
    is_cause, is_finding = labels != LEAK, header != PRIOR
    names, found, matrix = labels[is_cause], header[is_finding], values[is_cause][:, is_finding]
    leak = np.append(values[~is_cause][:, is_finding], np.full((1, len(found)), np.nan), axis=0)[0]
    finding, cause = np.nonzero(matrix.T > 0)
    number = np.append(np.arange(len(found)), finding)
    edges = {
        "finding": found[number],
        "cause": np.append(np.full(len(found), "", object), names[cause]),
        "probability": np.append(leak, matrix[cause, finding]),
    }
    priors = {"cause": names, "prior": values[is_cause][:, ~is_finding].ravel() if causes is None else np.nan}
    return (
        table._replace(frame=pandas().DataFrame(priors), positions=places[is_cause]),
        table._replace(frame=pandas().DataFrame(edges), row="finding", positions=number + 1),
    )


def _name(word: Any) -> str:
    """As it is written, but for empty ones as pandas calls them, and for those that stand beside the matrix."""
    text = str(word).strip()
    return text.lower() if text.lower() in BESIDE else "" if text.startswith("Unnamed: ") else text


def _rows_are_causes(what: str, corner: str, labels: np.ndarray, header: np.ndarray, causes: list[str] | None) -> bool:
    """By the priors, or by the names of the causes; an error where nothing or everything says so."""
    sides = {True: [*labels], False: [*header]}
    if causes is None:
        said = [by_row for by_row, others in ((True, header), (False, labels)) if PRIOR in others]
        wanted = "its priors in a column 'prior' if its rows are causes, or in a row 'prior' if its rows are findings"
        got = "both" if said else f"neither, but the columns {listed(map(repr, header))}"
    else:
        unknown = {by_row: [name for name in names if name not in (*causes, LEAK)] for by_row, names in sides.items()}
        said = [by_row for by_row, names in unknown.items() if not names]
        wanted = (
            "the columns 'finding', 'cause' and 'probability', or be a matrix whose rows or whose columns are causes"
        )
        first = min(unknown.values(), key=len)[:1]
        got = "both" if said else f"{first[0]!r}, which is no cause.{nearest(first[0], causes)}".removesuffix(".")
    if len(said) != 1:
        raise InvalidNetwork(f"{what} must have {wanted}; got {got}{'' if got.endswith('?') else '.'}")
    by_row = said[0]
    misplaced = [name for name in sides[not by_row] if name == LEAK]
    misplaced += [name for name in (*labels, *header) if name == PRIOR and causes is not None]
    misplaced += [corner] if corner.lower() in (FINDING if by_row else CAUSE) else []
    if misplaced:
        raise InvalidNetwork(
            f"{what} has {'causes' if by_row else 'findings'} in its rows, which {misplaced[0]!r} contradicts: leaks "
            "stand beside findings, priors beside causes and in one table, and the first column names the rows."
        )
    return by_row
