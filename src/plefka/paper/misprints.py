"""The effect of the misprints in (73), (76) and (77): as printed beside the correct ones, on the same networks."""

from collections.abc import Mapping
from dataclasses import replace

from plefka.paper import tables_1_2
from plefka.paper.experiment_settings import AS_PRINTED, BY_73
from plefka.paper.printed import decimals, printed_mean
from plefka.paper.report import ReportTable, Section, Text
from plefka.paper.store import StoredRows
from plefka.paper.summary import percent, signed, summaries, wide

PRINTED_METHODS = ("G11", BY_73, "G12", AS_PRINTED, "G22", "G221")
MISPRINT_COLUMNS = tuple(replace(column, methods=PRINTED_METHODS) for column in tables_1_2.TABLE_COLUMNS)
PRINTED_AS = {AS_PRINTED: "G22", BY_73: "G11"}
ABOUT_MISPRINTS = (
    "The fixed point (73) lacks the factor w_li in the sum over l > i, and uses i twice, for the unit and in the last "
    "sum. To the letter every unit hears from all later ones, whether they are its children or not. G11 is shown at "
    "the means that solve it so, beside G11 at its own solution. "
    "The second order terms of (76) and (77) cannot be evaluated to the letter, because brackets do not balance and "
    "w_il with l > i would be zero. The reading used here has the fewest changes. The bracket that (76) leaves open "
    "ends after σ(M_l). The bracket that is missing in (77) begins before u_i / f_i − 1. w_il with l > i is read as "
    "w_li. Everything else is as printed, including σ(M_l) for σ(M_i) and log(1 + e^M) for the logit of the noisy-or. "
    "These terms are added to the correct G12. All schemes solve the same networks, the first ones of the tables "
    "above. The corrected (76) and (77) are G221."
)


def render(everything: Mapping[str, StoredRows]) -> Section:
    found = summaries(everything["misprints"])
    rows = []
    for key, ours in found.items():
        table = "table1" if key.ensemble.startswith("sigmoid") else "table2"
        printed = printed_mean(table, key.ensemble, key.observed, PRINTED_AS.get(key.method, key.method))
        rows.append(
            (
                key.column,
                key.method,
                "" if printed is None else signed(printed, decimals(table)),
                ours.spelled(4),
                f"{ours.size:.4f}",
                percent(ours.converged),
                wide(ours.mean_of_all, 4),
            )
        )
    networks = next(iter(found.values())).networks
    header = (
        "networks",
        "scheme",
        "paper",
        "mean of 𝓔 ± standard error",
        "mean of |𝓔|",
        "converged",
        "mean of 𝓔 over all",
    )
    caption = f"The effect of the misprints, on {networks:,} networks of each kind"
    return Section("The misprints of (73), (76) and (77)", [Text(ABOUT_MISPRINTS), ReportTable(caption, header, rows)])
