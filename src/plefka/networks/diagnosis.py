"""Networks of causes and findings from two tables of probabilities: noisy-or, without -ln(1 - p) by hand.

P(finding off | causes) = (1 - leak) prod_j (1 - p_j)^S_j, so that the weight of an edge is -ln(1 - p), and a bias is
-ln(1 - prior) or -ln(1 - leak).
"""

from collections.abc import Mapping
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Float, Int

from plefka.errors import InvalidInput, InvalidNetwork, listed, nearest
from plefka.networks.cause_matrix import is_matrix, tables_of_matrix
from plefka.networks.frames import (
    CAUSE,
    COUNT,
    FINDING,
    IMPLIES,
    ITS_CAUSE,
    LEAK,
    LEAK_COUNT,
    PRIOR,
    PROBABILITY,
    Names,
    ProbabilityFrame,
    is_empty,
)
from plefka.networks.hierarchy import Hierarchy
from plefka.runtime.extras import pandas

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


class FindingEdges(NamedTuple):
    """Rows of the table of findings: which finding, which cause, and with what probability it switches it on."""

    finding: Int[np.ndarray, " row"]  # in order of their first appearance
    cause: Int[np.ndarray, " row"]  # a unit; -1 where a row has no cause and its probability is the leak
    probability: Float[np.ndarray, " row"]


def diagnosis(
    kind: type["BeliefNetwork"], causes: Any, findings: Any = None, *, leak: float = 0.0, implies: Any = None
) -> "BeliefNetwork":
    """The network of two tables, or of a matrix; see `BeliefNetwork.diagnosis`."""
    if not isinstance(leak, int | float | np.number) or not 0 <= leak < 1:
        raise InvalidInput(f"leak must be a probability of at least 0 and below 1; got {leak!r}.")
    if findings is None:
        causes, findings = tables_of_matrix(ProbabilityFrame.of(causes, "matrix"))
    causes, findings = ProbabilityFrame.of(causes, "causes"), ProbabilityFrame.of(findings, "findings")
    names, prior = _causes(causes.filled(CAUSE, PRIOR))
    if is_matrix(findings):
        _, findings = tables_of_matrix(findings, names)
    pairs = _implied(findings, IMPLIES) if findings.column(IMPLIES) is not None else []
    pairs += [] if implies is None else _implied(_table_of_pairs(implies), (*IMPLIES, "parent"))
    findings = findings.filled(FINDING, ITS_CAUSE, PROBABILITY, LEAK)
    units, edges = _edges(findings, names)
    leaks = _leaks(findings, edges, units[len(names) :], leak)
    _check_distinct(findings, edges, units)
    there = (edges.cause >= 0) & (edges.probability > 0)
    child, cause, p = edges.finding[there] + len(names), edges.cause[there], edges.probability[there]
    units = list(dict.fromkeys([*units, *chain.from_iterable(pairs)]))  # some are on only as others imply them
    if not units:
        raise InvalidNetwork("there must be at least one cause or finding; got empty tables. Add a line with a name.")
    chance = np.concatenate([prior, leaks, np.full(len(units) - len(prior) - len(leaks), leak)])
    place = {name: unit for unit, name in enumerate(units)}
    hierarchy = Hierarchy.of([(place[unit], place[general]) for unit, general in pairs], units)
    if hierarchy is not None:
        child, cause, p = hierarchy.closed(child, cause, p)
        chance = hierarchy.closed(np.arange(len(units)), np.zeros(len(units), int), chance)[2]
    weights = sp.csr_array((field(p), (child, cause)), shape=(len(units), len(units)))
    return kind(weights, field(chance), "noisy_or", units).with_implies(pairs)


def _implied(table: ProbabilityFrame, columns: Names) -> list[tuple[str, str]]:
    """The pairs (finding, more general finding) of a table."""
    unit, general = table.words((*FINDING, "term"), "the name of a finding"), table.words(columns, "what it implies")
    table.refuse_where((unit == "") & (general != ""), lambda row: "what implies another finding must have a name")
    return [(one, other) for one, other in zip(unit, general, strict=True) if other]


def _table_of_pairs(implies: Any) -> ProbabilityFrame:
    """From a table, or from a mapping {finding: more general finding, or a list of these}."""
    if not isinstance(implies, Mapping) or {*FINDING, "term"} & {*implies}:
        return ProbabilityFrame.of(implies, "implies")
    several = {unit: [some] if isinstance(some, str) else list(some) for unit, some in implies.items()}
    pairs = [(unit, general) for unit, some in several.items() for general in some]
    return ProbabilityFrame(pandas().DataFrame(pairs, columns=[FINDING[0], IMPLIES[0]]), "implies")


def counts_in(_: Any, causes: Any, findings: Any = ()) -> dict[tuple[str, str | None], float]:
    """How many cases priors, links and leaks are worth, by (unit, parent): the columns `count` and `leak_count`."""
    causes, findings = ProbabilityFrame.of(causes, "causes"), ProbabilityFrame.of(findings, "findings")
    parts = (causes, CAUSE, None, COUNT), (findings, FINDING, ITS_CAUSE, COUNT), (findings, FINDING, None, LEAK_COUNT)
    found: dict[tuple[str, str | None], float] = {}
    for table, unit, parent, names in parts:
        if (column := table.column(names)) is None:
            continue
        counts = pandas().to_numeric(column, errors="coerce").to_numpy(float, na_value=np.nan)
        wrong = ~(counts >= 0) & ~is_empty(column)
        table.refuse_where(wrong, lambda row, z=column: f"{z.name} must be 0 cases or more; got {z.iloc[row]!r}")
        parents = [""] * len(counts) if parent is None else table.words(parent, "what may switch it on")
        rows = zip(table.words(unit, "the name of a unit"), parents, counts.tolist(), strict=True)
        found |= {(word, above or None): count for word, above, count in rows if count >= 0}
    if not found:
        raise InvalidInput("prior needs tables with a column 'count', the number of cases that a probability is worth.")
    return found


def field(probability: np.ndarray) -> np.ndarray:
    """-ln(1 - p): what switches a noisy-or unit on with probability p."""
    with np.errstate(divide="ignore"):
        return -np.log1p(-probability)


def _causes(table: ProbabilityFrame) -> tuple[list[str], np.ndarray]:
    words = table.words(CAUSE, "the name of a cause")
    prior = table.numbers(PRIOR, "its probability to be on", open_end=True)
    table.refuse_where(words == "", lambda row: "every cause must have a name; got none")
    table.refuse_where(np.isnan(prior), lambda row: f"cause {words.iloc[row]!r} must have a prior; got none")
    table.refuse_where(
        words.duplicated(), lambda row: f"every cause must have a single row; got a second one for {words.iloc[row]!r}"
    )
    return words.tolist(), prior


def _edges(table: ProbabilityFrame, causes: list[str]) -> tuple[list[str], FindingEdges]:
    """The names of all units, causes first, and the rows with names replaced by numbers."""
    words, cause = table.words(FINDING, "the name of a finding"), table.words(ITS_CAUSE, "what may switch it on")
    probability = table.numbers(PROBABILITY, "to be on if the cause is on and nothing else is")
    table.refuse_where(words == "", lambda row: "every row must name a finding; got none")
    number, names = pandas().factorize(words)
    units = [*causes, *names.tolist()]
    both = pandas().Index(names).isin(causes)
    if both.any():
        raise InvalidNetwork(
            f"a unit must be a cause with a prior or a finding; got both for {listed(map(repr, names[both]))}. "
            "Leave it out of causes, and give its prior as its leak."
        )
    at = pandas().Index(units).get_indexer(cause)
    at = np.where(cause == "", -1, np.where(at < 0, -2, at))
    table.refuse_where(
        at == -2,
        lambda row: (
            f"there is no cause {cause.iloc[row]!r}; add it to causes with its prior.{nearest(cause.iloc[row], units)}"
        ).removesuffix("."),
    )
    table.refuse_where(
        np.isnan(probability) & (at >= 0),
        lambda row: f"finding {words.iloc[row]!r} must have a probability for its cause {cause.iloc[row]!r}; got none",
    )
    return units, FindingEdges(number, at, probability)


def _leaks(table: ProbabilityFrame, edges: FindingEdges, findings: list[str], otherwise: float) -> np.ndarray:
    """Of every finding: from the column, from its row without a cause, or `otherwise`."""
    column = table.numbers(LEAK, "", optional=True, open_end=True)
    alone = edges.cause < 0
    table.refuse_where(
        alone & (edges.probability == 1),
        lambda row: "a leak must be below 1; got 1. A finding that is always on carries no information",
    )
    said = pandas().Series(
        np.concatenate([edges.probability[alone], column]), np.concatenate([edges.finding[alone], edges.finding])
    )
    of_findings = said.dropna().groupby(level=0)
    lowest, highest = of_findings.min(), of_findings.max()
    several = lowest.index[lowest < highest]
    if len(several):
        k = several[0]
        raise InvalidNetwork(
            f"a finding must have one leak; got {lowest[k]:g} and {highest[k]:g} for {findings[k]!r}. Keep one of them."
        )
    return lowest.reindex(range(len(findings)), fill_value=otherwise).to_numpy()


def _check_distinct(table: ProbabilityFrame, edges: FindingEdges, units: list[str]) -> None:
    """Every cause of a finding once."""
    again = pandas().DataFrame({"finding": edges.finding, "cause": edges.cause}).duplicated() & (edges.cause >= 0)
    first = len(units) - edges.finding.max(initial=-1) - 1
    table.refuse_where(
        again,
        lambda row: (
            f"every edge must have a single row; got a second one from cause {units[edges.cause[row]]!r} to finding "
            f"{units[first + edges.finding[row]]!r}"
        ),
    )
