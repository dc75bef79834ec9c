"""A matrix of probabilities, causes by findings or the other way round, as two tables with a row for each entry.

The priors of causes stand beside it in a column or row `prior`, the leaks of findings in a row or column `leak`. Which
side the causes are on is not guessed: the priors say it, or the names in a table of causes.
"""

from collections.abc import Iterable

import numpy as np

from plefka.errors import InvalidNetwork, first_repeated, listed, nearest
from plefka.networks.frames import CAUSE, FINDING, IMPLIES, ITS_CAUSE, PROBABILITY, ProbabilityFrame, words_in
from plefka.runtime.extras import pandas

BESIDE = ITS_PRIOR, ITS_LEAK = "prior", "leak"


def is_matrix(table: ProbabilityFrame) -> bool:
    """Whether it has at most one of the columns of a table with a row for each edge."""
    known = [names for names in (FINDING, ITS_CAUSE, PROBABILITY, IMPLIES) if table.column(names) is not None]
    return len(known) < 2 and table.frame.shape[1] > 1


def tables_of_matrix(
    table: ProbabilityFrame, causes: list[str] | None = None
) -> tuple[ProbabilityFrame, ProbabilityFrame]:
    """The tables of causes and of findings; the first is of no use where `causes` are known."""
    if table.frame.shape[1] < 2:
        got = "one column" if table.frame.shape[1] else "an empty table"
        raise InvalidNetwork(f"{table.what} must have causes and findings in its rows and columns; got {got}.")
    labels, header = _names(words_in(table.frame.iloc[:, 0])), _names(table.frame.columns)[1:]
    cells, places = table.frame.to_numpy(object)[:, 1:], np.arange(len(labels))
    blank = pandas().isna(cells) | (cells == "")
    rows, columns = (labels != "") | ~blank.all(1), (header != "") | ~blank.all(0)
    labels, header, cells = labels[rows], header[columns], cells[rows][:, columns]
    places = (places if table.positions is None else table.positions)[rows]
    if not _rows_are_causes(table, labels, header, causes):
        labels, header, cells, places = header, labels, cells.T, np.flatnonzero(columns) + 2
        table = table._replace(row="column")
    for names, kind in ((labels, "cause"), (header, "finding")):
        if "" in names or first_repeated(names) or not {*names} - {*BESIDE}:
            got = f"{first_repeated(names)!r} twice" if first_repeated(names) else "one without, or none"
            raise InvalidNetwork(f"{table.what} must have a name of its own for every {kind}; got {got}.")
    column, width = pandas().Series(cells.ravel(), dtype=object), len(header)
    flat = table._replace(positions=np.repeat(places, width))
    values = flat.probabilities(column, lambda k: header[k % width]).reshape(cells.shape)
    named = pandas().DataFrame(values, labels, header)
    leak = named.reindex([ITS_LEAK]).drop(columns=ITS_PRIOR, errors="ignore").iloc[0]
    prior = named.reindex(columns=[ITS_PRIOR])[ITS_PRIOR].drop(ITS_LEAK, errors="ignore")
    edges = named.loc[prior.index, leak.index].T.stack()
    edges = pandas().concat([leak.set_axis([(name, "") for name in leak.index]), edges[edges > 0]])
    finding, cause = zip(*edges.index, strict=True)
    found = {"finding": finding, "cause": cause, "probability": edges.to_numpy()}
    return (
        table._replace(
            frame=pandas().DataFrame({"cause": prior.index, "prior": prior.to_numpy()}),
            positions=places[labels != ITS_LEAK],
        ),
        table._replace(frame=pandas().DataFrame(found), row="entry", positions=None),
    )


def _names(words: Iterable[object]) -> np.ndarray:
    """As they are written, but for those beside the matrix, and for empty ones as pandas calls them."""
    texts = ["" if str(word).startswith("Unnamed: ") else str(word).strip() for word in words]
    return np.array([text.lower() if text.lower() in BESIDE else text for text in texts], object)


def _rows_are_causes(table: ProbabilityFrame, labels: np.ndarray, header: np.ndarray, causes: list[str] | None) -> bool:
    """By the priors, or by the names of the causes; an error where neither or both sides have them."""
    by_row, by_column = ITS_PRIOR in header, ITS_PRIOR in labels
    hint = ""
    if causes is not None:
        unknown = [[name for name in names if name not in (*causes, ITS_LEAK)] for names in (labels, header)]
        by_row, by_column = (not names for names in unknown)
        hint = "".join(nearest(name, causes) for name in min(unknown, key=len)[:1])
    others, corner = header if by_row else labels, str(table.frame.columns[0]).strip().lower()
    contradiction = ITS_LEAK in others or (causes is not None and ITS_PRIOR in others)
    if by_row == by_column or contradiction or corner in (FINDING if by_row else CAUSE):
        beside = "a column 'prior' and a row 'leak'" if causes is None else "a row 'leak', and no priors"
        raise InvalidNetwork(
            f"{table.what} must have the columns 'finding', 'cause' and 'probability', or be a matrix with causes in "
            f"rows, {beside}, or the other way round; got the rows {listed(map(repr, labels))} and the columns "
            f"{listed(map(repr, table.frame.columns))}.{hint}"
        )
    return by_row
