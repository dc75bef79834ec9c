"""The policies of the solver side by side on the same networks: monotone, the paper's, and one unit at a time."""

from collections.abc import Mapping
from dataclasses import replace

from plefka.paper import tables_1_2
from plefka.paper.experiment_settings import Column
from plefka.paper.report import ReportTable, Section, Text
from plefka.paper.store import StoredRows
from plefka.paper.summary import Key, Summary, percent, signed, summaries

PAPER, SEQUENTIAL = "[policy=paper]", "[policy=sequential]"
COMPARED_POLICIES = {"": "monotone", PAPER: "paper", SEQUENTIAL: "sequential"}
POLICY_COLUMNS = tuple(
    replace(column, methods=tuple(method + policy for method in column.methods for policy in COMPARED_POLICIES))
    for column in tables_1_2.TABLE_COLUMNS
)
LARGE_SIGMOID = (Column(tables_1_2.TABLE1[1].ensemble, "off", ("G11" + SEQUENTIAL, "G12" + SEQUENTIAL)),)
ABOUT_POLICIES = (
    "The paper iterates the fixed point equations. When the means alternate between two points, it starts again from "
    "the best point between them. It does not say whether all means are replaced at once or one after another: `paper` "
    "does the first, and `sequential` the second, in the order of the units and without a rule for cycles. The default "
    "policy of plefka, `monotone`, never lets the free energy rise, so it cannot cycle. Steps are evaluations of the "
    "free energy, without those of the search between two points; a step of `sequential` is a sweep, with an "
    "evaluation for each hidden unit. Their number is limited for all policies. Means are shown both over the networks "
    "on which a policy converged, which are the easier ones, and over all networks, wherever the steps ended."
)


def render(everything: Mapping[str, StoredRows]) -> Section:
    found = summaries(everything["policies"])
    networks, steps = (everything["policies"].settings[name] for name in ("networks", "max_steps"))
    header = (
        "networks", "scheme", "policy", "converged", "steps", "met a cycle", "restarts per network",
        "mean of 𝓔 where converged", "mean of 𝓔 over all",
    )  # fmt: skip
    caption = f"The policies on {networks:,} networks of each kind, with at most {steps:,} steps"
    parts = [Text(ABOUT_POLICIES), ReportTable(caption, header, [_row(key, each) for key, each in found.items()])]
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


def _row(key: Key, found: Summary) -> tuple[str, ...]:
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
