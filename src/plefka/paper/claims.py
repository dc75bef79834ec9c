"""In short: what the numbers say about the paper's claims and ours, each line computed from the rows."""

from collections.abc import Iterator, Mapping

from plefka.paper import figure_10, step_size_sweep
from plefka.paper.beside_printed import Cell, cells_by_column
from plefka.paper.store import StoredRows
from plefka.paper.summary import percent, signed
from plefka.tables.html_page import ReportTable, Section

SMALL_ERROR = 0.0003  # how close small weights should come to Table 1
NOTABLE = 0.02  # a printed mean above this size
FRACTION = 0.25  # should be reproduced to within this fraction of it
Claim = tuple[str, str, str]


def render(everything: Mapping[str, StoredRows]) -> Section:
    claims = [
        *(_table1(everything["table1"]) if "table1" in everything else ()),
        *(_table2(everything["table2"]) if "table2" in everything else ()),
        *(_learning(everything["learning"]) if "learning" in everything else ()),
    ]
    caption = (
        "What was expected, and whether it holds. Means are over the networks on which a solve converged, which are "
        "all of them unless a share stands beside the mean"
    )
    return Section("In short", [ReportTable(caption, ("claim", "holds", "numbers"), claims)])


def _claim(words: str, holds: bool, numbers: str) -> Claim:
    return words, "yes" if holds else "no", numbers


def _mean(cell: Cell) -> str:
    """Our mean, with the share of the networks that it is over where that is not all of them."""
    share = "" if cell.ours.converged == 1 else f" over {percent(cell.ours.converged)}"
    return f"{signed(cell.ours.mean, 4)}{share}"


def _table1(rows: StoredRows) -> Iterator[Claim]:
    columns = cells_by_column(rows)
    small, large = columns["sigmoid [-1, 1]"], columns["sigmoid [-5, 5]"]
    near = [small[method] for method in ("G11", "G12", "SJJ")]
    yield _claim(
        f"Table 1, [-1, 1]: G11, G12 and SJJ are within {SMALL_ERROR} of the printed means",
        all(abs(cell.difference) <= SMALL_ERROR for cell in near),
        ", ".join(f"{cell.key.method} {signed(cell.difference, 5)}" for cell in near),
    )
    right = small["G22"]
    yield _claim(
        "Table 1, [-1, 1]: the correct G22 has a smaller error than the printed one",
        abs(right.ours.mean) < abs(right.printed or 0.0),
        f"{_mean(right)} against {signed(right.printed or 0.0, 4)}",
    )
    yield from _order_and_size("Table 1, [-5, 5]", [[large["G11"], large["G12"]]])


def _order_and_size(where: str, columns: list[list[Cell]]) -> Iterator[Claim]:
    """The order and signs of the means, and their sizes where these are notable."""
    every = [cell for column in columns for cell in column]
    pairs = ", ".join(f"{cell.key.method} {_mean(cell)} ({signed(cell.printed or 0.0, 4)})" for cell in every)
    holds = all(map(_in_order, columns))
    yield _claim(f"{where}: G11 and G12 have the same order and signs as in the paper (in brackets)", holds, pairs)
    notable = [cell for cell in every if abs(cell.printed or 0.0) > NOTABLE]
    deviations = [(cell.key.method, cell.difference / (cell.printed or 1.0)) for cell in notable]
    yield _claim(
        f"{where}: G11 and G12 are within {100 * FRACTION:.0f} % of the printed means whose size is above {NOTABLE}",
        all(abs(deviation) <= FRACTION for _, deviation in deviations),
        ", ".join(f"{method} {'+' if d > 0 else ''}{signed(100 * d, 0)} %" for method, d in deviations),
    )


def _in_order(column: list[Cell]) -> bool:
    ours, printed = [cell.ours.mean for cell in column], [cell.printed or 0.0 for cell in column]
    order = sorted(range(len(column)), key=ours.__getitem__) == sorted(range(len(column)), key=printed.__getitem__)
    return order and all(a * b > 0 for a, b in zip(ours, printed, strict=True))


def _table2(rows: StoredRows) -> Iterator[Claim]:
    columns = list(cells_by_column(rows).values())
    yield _claim(
        "Table 2: G221 has a smaller error than the printed G22 in all columns",
        all(abs(column["G221"].ours.mean) < abs(column["G22"].printed or 0.0) for column in columns),
        _against(columns, lambda column: column["G22"].printed or 0.0),
    )
    wins = sum(abs(column["G221"].ours.mean) < abs(column["G12"].ours.mean) for column in columns)
    yield _claim(
        "Table 2: G221 has a smaller error than G12 in at least three columns",
        wins >= 3,
        f"in {wins} of {len(columns)}: " + _against(columns, lambda column: column["G12"].ours.mean),
    )
    yield from _order_and_size("Table 2", [[column["G11"], column["G12"]] for column in columns])


def _against(columns: list[dict[str, Cell]], other) -> str:
    return ", ".join(f"{_mean(column['G221'])} against {signed(other(column), 4)}" for column in columns)


def _learning(rows: StoredRows) -> Iterator[Claim]:
    for choice, words in step_size_sweep.CHOICES.items():
        others = figure_10.beside_sjj(rows, choice)
        if others:
            best = step_size_sweep.chosen(rows, "sigmoid", choice)
            yield _claim(
                f"Figure 10: SJJ learns worse than every other scheme, with step sizes chosen by {words} "
                f"({step_size_sweep.conditions(rows)})",
                all(other.words == "higher than" for other in others),
                ", ".join(f"{method} {signed(run.mean, 3)}" for method, run in best.items()),
            )
