"""What the paper does not say: other starts and other biases, to see what comes closest to its numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from plefka.paper import tables_1_2
from plefka.paper.beside_printed import Cell, Variant, cells, closest, variants
from plefka.paper.experiment_settings import Column
from plefka.paper.printed import decimals
from plefka.paper.report import ReportTable, Section, Text
from plefka.paper.store import StoredRows
from plefka.paper.summary import percent, signed, wide

STARTS = "[restarts=4,seed=0]"
BIASES = {
    "sigmoid [-1, 1]": ((0, 0),),
    "sigmoid [-5, 5]": ((0, 0), (-1, 1)),
    "noisy-or [0, 0.25]": ((0.05, 0.05), (0, 1)),
    "noisy-or [0.2, 0.8]": ((0, 0.25), (0, 1)),
}
PRINTED_SCHEMES = ("G11", "G12", "G22", "SJJ")
ABOUT_VARIANTS = (
    "The paper leaves some choices open. For each printed mean, the table lists the variants that were tried: biases "
    "from other ranges, the lowest free energy of five starts, and the paper's own policy over the networks on which "
    "it converged. The tables above refer to these variants."
)


def _columns() -> Iterator[Column]:
    for column in tables_1_2.TABLE_COLUMNS:
        schemes = tuple(method for method in column.methods if method in PRINTED_SCHEMES)
        yield replace(column, methods=tuple(scheme + STARTS for scheme in schemes))
        for biases in BIASES[column.ensemble.name]:
            yield Column(replace(column.ensemble, biases=biases), column.observed, schemes)


VARIANT_COLUMNS = tuple(_columns())


def render(everything: Mapping[str, StoredRows]) -> Section:
    rows = []
    for table in ("table1", "table2"):
        for cell in cells(everything[table]) if table in everything else ():
            tried = list(variants(cell, everything)) if cell.printed is not None else []
            if tried:
                rows += _rows(cell, tried)
    header = (
        "networks",
        "scheme",
        "paper",
        "variant",
        "mean of 𝓔 ± standard error",
        "converged",
        "over all",
        "closest",
    )
    caption = "Every variant beside the printed mean, over the networks that converged and over all of them"
    return Section("Variants: what the paper does not say", [Text(ABOUT_VARIANTS), ReportTable(caption, header, rows)])


def _rows(cell: Cell, tried: list[Variant]) -> list[tuple[str, ...]]:
    base = Variant("as in the tables", cell.ours)
    best = closest(cell, [base, *tried])
    digits = decimals(cell.table)
    return [
        (
            cell.key.column,
            cell.key.method,
            signed(cell.printed or 0.0, digits),
            variant.label,
            variant.summary.spelled(digits + 1),
            percent(variant.summary.converged),
            wide(variant.summary.mean_of_all, digits + 1),
            "closest" if variant is best else "",
        )
        for variant in (base, *tried)
    ]
