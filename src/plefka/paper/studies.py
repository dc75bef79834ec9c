"""Beside the tables, on the same networks: the misprints, the solver's policies, and what the paper does not say."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

from plefka.paper.beside_printed import Cell, Variant, cells, closest, decimals, printed_mean, variants
from plefka.paper.experiment_settings import AS_PRINTED, BY_73, Column
from plefka.paper.store import StoredRows
from plefka.paper.summary import Key, Summary, percent, signed, summaries, wide
from plefka.paper.tables_and_figures import TABLE1, TABLE_COLUMNS
from plefka.tables.html_page import ReportTable, Section, Text

PRINTED_METHODS = ("G11", BY_73, "G12", AS_PRINTED, "G22", "G221")
MISPRINT_COLUMNS = tuple(replace(column, methods=PRINTED_METHODS) for column in TABLE_COLUMNS)
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


def render_misprints(everything: Mapping[str, StoredRows]) -> Section:
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
        "networks", "scheme", "paper", "mean of 𝓔 ± standard error", "mean of |𝓔|", "converged", "mean of 𝓔 over all",
    )  # fmt: skip
    caption = f"The effect of the misprints, on {networks:,} networks of each kind"
    return Section("The misprints of (73), (76) and (77)", [Text(ABOUT_MISPRINTS), ReportTable(caption, header, rows)])


PAPER, SEQUENTIAL = "[policy=paper]", "[policy=sequential]"
COMPARED_POLICIES = {"": "monotone", PAPER: "paper", SEQUENTIAL: "sequential"}
POLICY_COLUMNS = tuple(
    replace(column, methods=tuple(method + policy for method in column.methods for policy in COMPARED_POLICIES))
    for column in TABLE_COLUMNS
)
LARGE_SIGMOID = (Column(TABLE1[1].ensemble, "off", ("G11" + SEQUENTIAL, "G12" + SEQUENTIAL)),)
ABOUT_POLICIES = (
    "The paper iterates the fixed point equations. When the means alternate between two points, it starts again from "
    "the best point between them. It does not say whether all means are replaced at once or one after another: `paper` "
    "does the first, and `sequential` the second, in the order of the units and without a rule for cycles. The default "
    "policy of plefka, `monotone`, never lets the free energy rise, so it cannot cycle. Steps are evaluations of the "
    "free energy, without those of the search between two points; a step of `sequential` is a sweep, with an "
    "evaluation for each hidden unit. Their number is limited for all policies. Means are shown both over the networks "
    "on which a policy converged, which are the easier ones, and over all networks, wherever the steps ended."
)


def render_policies(everything: Mapping[str, StoredRows]) -> Section:
    found = summaries(everything["policies"])
    networks, steps = (everything["policies"].settings[name] for name in ("networks", "max_steps"))
    header = (
        "networks", "scheme", "policy", "converged", "steps", "met a cycle", "restarts per network",
        "mean of 𝓔 where converged", "mean of 𝓔 over all",
    )  # fmt: skip
    caption = f"The policies on {networks:,} networks of each kind, with at most {steps:,} steps"
    parts = [
        Text(ABOUT_POLICIES),
        ReportTable(caption, header, [_policy_row(key, each) for key, each in found.items()]),
    ]
    if "sequential" in everything:
        parts.append(Text(one_at_a_time(everything["sequential"])))
    return Section("The fixed point policies", parts)


def one_at_a_time(rows: StoredRows) -> str:
    """What one unit at a time gives on the large sigmoid weights, in as many networks as the table has."""
    found = "; ".join(
        f"{key.method.partition('[')[0]} {signed(each.mean, 4)} ± {each.standard_error:.4f} where it converged "
        f"({percent(each.converged)}), and {signed(each.mean_of_all, 4)} ± {each.standard_error_of_all:.4f} over all"
        for key, each in summaries(rows).items()
    )
    count, steps = rows.settings["networks"], rows.settings["max_steps"]
    return (
        f"One unit at a time on the {count:,} networks of Table 1 with weights and biases from [-5, 5], with at most "
        f"{steps:,} sweeps, the mean of 𝓔 is: {found}."
    )


def _policy_row(key: Key, found: Summary) -> tuple[str, ...]:
    scheme, _, options = key.method.partition("[")
    policy = COMPARED_POLICIES["[" + options if options else ""]
    by_cycles = (percent(found.cycled), f"{found.cycles:.1f}") if policy == "paper" else ("", "")
    means = (found.mean, found.mean_of_all)
    return (
        key.column,
        scheme,
        policy,
        percent(found.converged),
        f"{found.steps:.1f}",
        *by_cycles,
        *("" if mean != mean else signed(mean, 4) for mean in means),
    )


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


def _variant_columns() -> Iterator[Column]:
    for column in TABLE_COLUMNS:
        schemes = tuple(method for method in column.methods if method in PRINTED_SCHEMES)
        yield replace(column, methods=tuple(scheme + STARTS for scheme in schemes))
        for biases in BIASES[column.ensemble.name]:
            yield Column(replace(column.ensemble, biases=biases), column.observed, schemes)


VARIANT_COLUMNS = tuple(_variant_columns())


def render_variants(everything: Mapping[str, StoredRows]) -> Section:
    rows = []
    for table in ("table1", "table2"):
        for cell in cells(everything[table]) if table in everything else ():
            tried = list(variants(cell, everything)) if cell.printed is not None else []
            if tried:
                rows += _variant_rows(cell, tried)
    header = (
        "networks", "scheme", "paper", "variant", "mean of 𝓔 ± standard error", "converged", "over all", "closest",
    )  # fmt: skip
    caption = "Every variant beside the printed mean, over the networks that converged and over all of them"
    return Section("Variants: what the paper does not say", [Text(ABOUT_VARIANTS), ReportTable(caption, header, rows)])


def _variant_rows(cell: Cell, tried: list[Variant]) -> list[tuple[str, ...]]:
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
