"""A case on two printed pages: what was seen, what is probable and why, what to look at next, and how sure that is."""

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any, cast

import numpy as np

from plefka.errors import InvalidInput, PlefkaError, listed
from plefka.inference.infer import DEFAULT_METHOD, infer
from plefka.inference.ranking import CAUSES, causes_first
from plefka.inference.solution import Solution
from plefka.inference.solution_text import answer_lines, probability_table, with_bars
from plefka.methods.method import Method
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence, Likelihood
from plefka.networks.network import Network
from plefka.questions.ask import ask
from plefka.questions.candidate_costs import costs_of
from plefka.questions.explain import explain
from plefka.questions.most_probable import most_probable
from plefka.questions.sensitivity import sensitivity
from plefka.reduction.relevant import narrowed
from plefka.runtime.version import __version__
from plefka.tables.display import Content
from plefka.tables.html_page import Section, Text, html_page

ROWS_SHOWN, NAMES_SHOWN = 5, 50  # rows of a table, and names of a list
EXPLAINED_SECONDS, LEAST_BUDGET = 10.0, 0.02  # of an explanation, whose rows share them, and of a row
PROBABLE = "The probability of each cause given all that was seen, beside its prior: the probability before."
TOGETHER = "The most probable states of all causes together: those that are each probable need not go together."
WHY = "How far each observation moved the log-odds of this cause: those with all evidence, less those without it."
NEXT = "What was not seen, by how much seeing it is expected to tell about the causes, for its cost."
SENSITIVE = "The numbers of the network that matter most, each changed by itself while all others stay."
MEANING = "An exact number is that of this network up to rounding; 95 of 100 intervals of estimates contain it."
CAVEAT = "All numbers are those of the network named above, and as good as its structure and its probabilities are."
MOST_CAUSES = 16  # of a part of the network that answers further questions, where those of all would take too long
OF_SOME = " Among the {} most probable causes, with all others off, as all of them would take too long."
TOO_LATE = "Left out: the time for this report was over before this part began."


def report(
    network: Network, evidence: Any = None, method: str | Method | None = None, *,
    title: str = "Report of a case", count: int = 8, costs: Any = None, seconds: float = 60.0,
) -> str:  # fmt: skip
    """One page of HTML about a case, which needs nothing else and prints on two pages.

    What was seen, the first `count` causes with their intervals, which go together, why, what to look at next, how far
    the first one depends on the numbers of the network, and how sure that is. Without an exact answer, parts that would
    take too long are about the 16 most probable causes. A part that cannot be had says so, and none is begun after so
    many `seconds`. The `evidence` is that of one row, as for `infer`, and `costs` are as for
    `ask`.

    >>> import plefka as pf
    >>> "Why stale_beans" in pf.report(pf.example("espresso"), {"slow_flow": 1, "thin_crema": 1}, title="Machine 7")
    True
    """
    start = time.monotonic()
    solution = infer(network, evidence, method or DEFAULT_METHOD)
    if solution.is_batch:
        raise InvalidInput(f"a report is about one case; got {solution.num_rows:,} rows. Take one of them.")
    if isinstance(network, BeliefNetwork):
        costs_of(network, costs)  # wrong ones are refused, and not left out
    sections = [Section("What was seen", _seen(solution, evidence))]
    sections.append(Section("What is probable", [Text(PROBABLE), _ranking(solution, count)]))
    for heading, about, question in _questions(solution, method, costs):
        try:
            part = question() if time.monotonic() - start < seconds else Text(TOO_LATE)
        except (PlefkaError, MemoryError) as error:
            part = Text(f"Left out: {error or 'there was not enough memory.'}")
        sections.append(Section(heading, [Text(about), part]))
    taken = f"computed in {time.monotonic() - start:.1f} s by plefka {__version__}"
    sections.append(Section("How sure", [Text(f"{'; '.join([*answer_lines(solution), taken])}."), Text(MEANING)]))
    known = f"version {network.version or 'not given'}, fingerprint {network.fingerprint}"
    return html_page(title, [f"{repr(network)[1:-1]}; {known}; {datetime.now():%Y-%m-%d %H:%M}"], sections, [CAVEAT])


def _seen(solution: Solution, evidence: Any) -> list[Text]:
    """What was observed, what follows from that, and what is uncertain."""
    network, given = cast(BeliefNetwork, solution.network), evidence if isinstance(evidence, Mapping) else {}
    told, states, groups = {network.index(unit) for unit in given}, network.states, defaultdict(list)
    for k in np.flatnonzero(solution.observed).tolist():
        word = f"{solution.names[k]} = {states[k][int(solution.means[k] > 0.5)]}"
        groups["Observed" if k in told or not given else "Implied by these"].append(word)
    soft = {unit: z for unit, z in given.items() if isinstance(z, Likelihood)}
    groups["Uncertain"] = [f"{unit} ({z.on:g} if on, {z.off:g} if off)" for unit, z in soft.items()]
    found = [Text(f"{name}: {listed(some, NAMES_SHOWN)}.") for name, some in groups.items() if some]
    return found or [Text("Nothing was observed.")]


def _ranking(solution: Solution, count: int) -> Content:
    header, rows, total = probability_table(solution, count, CAUSES, 4)
    (header, rows), (low, high) = with_bars(header, rows), solution.intervals()
    ends = [f"{low[k]:.4f} to {high[k]:.4f}" if low[k] < high[k] else "" for k in causes_first(solution, CAUSES)[0]]
    rows = [(*row, end) for row, end in zip(rows, ends)]
    return Content("causes, most changed first", (), (*header, "95 % interval"), rows, total, CAUSES)


def _manageable(solution: Solution) -> tuple[Any, Evidence, str]:
    """The network and its evidence; if no sum over all causes is exact, without the improbable ones, which is said."""
    network, given = solution.network, solution.evidence
    causes = network.roots & ~solution.observed if isinstance(network, BeliefNetwork) else np.zeros(0, bool)
    if solution.is_exact or causes.sum() <= MOST_CAUSES:
        return network, given, ""
    kept = np.array(solution.observed)
    kept[np.argsort(np.where(causes, -solution.means, 0.0), kind="stable")[:MOST_CAUSES]] = True
    kept = EdgeList.of(network.storage).graph.with_descendants(kept)
    part = cast(BeliefNetwork, network).subnetwork(np.flatnonzero(kept).tolist(), hops=0)
    return part, narrowed(given, np.flatnonzero(kept)), OF_SOME.format(MOST_CAUSES)


def _questions(solution: Solution, method: Any, costs: Any) -> Iterator[tuple[str, str, Any]]:
    """Headings, what they mean, and functions that give what stands below them."""
    network, evidence, of_some = _manageable(solution)
    method = None if of_some else method
    first = [solution.names[k] for k in causes_first(solution, CAUSES)[0][:2].tolist()]
    rows = 4 + int(solution.evidence.informed.sum())  # of an explanation
    quick = method or f"auto[budget={np.clip(EXPLAINED_SECONDS / rows, LEAST_BUDGET, 1.0):.2g}s]"

    def explanation(unit: str) -> Content:
        found = explain(network, evidence, unit, quick, candidates=[])
        moved = [(z.unit, z.state, f"{z.shift:+.3f}", f"{z.probability:.4f}", z.accuracy) for z in found.observations]
        header = ("observed", "state", "moved log-odds by", f"P({unit} on) without it", "accuracy")
        title = f"P({unit} on | evidence) = {found.probability:.4f} ({found.accuracy}), prior {found.prior:.4f}"
        return Content(title, (), header, moved[:ROWS_SHOWN], len(moved), "observations")

    yield "Which together", TOGETHER + of_some, lambda: most_probable(network, evidence, CAUSES, 3)._content()
    yield from ((f"Why {name}", WHY + of_some, partial(explanation, name)) for name in first if rows > 4)
    yield (
        "What next",
        NEXT + of_some,
        lambda: ask(network, evidence, method=method, costs=costs, top=ROWS_SHOWN)._content(),
    )
    if first:
        yield (f"What {first[0]} depends on", SENSITIVE + of_some,
               lambda: sensitivity(network, evidence, first[0])._content(ROWS_SHOWN))  # fmt: skip
