"""Exact means of the units of chains of ORs that were folded into findings (reduction/or_chains.py).

A unit of a chain is off where no link of its causes acts, nor a leak before it. P(unit off, evidence) is therefore the
sum of P(evidence) in which these links only fail, and with every unit along the chain one more of them. All of these
are one elimination along the plan of P(evidence), whose tables have a row for each number of failed links that they
contain, and only as long as the finding is open: what all else says of the finding then is the same for all.
No term is negative, and every probability is a ratio of two sums of the same kind.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from plefka.exact.cost import ONE_WAY
from plefka.exact.elimination import EliminationRun
from plefka.exact.elimination_steps import LOGARITHMS, OBSERVED_ON, PLAIN_NUMBERS, Act, Multiply, Observe, Workspace
from plefka.exact.exact_method import Exact
from plefka.exact.groups import Planned
from plefka.exact.log_factors import Switch
from plefka.exact.plans import WANTED_FACTORS, Cluster
from plefka.exact.question_elimination import BeliefElimination
from plefka.methods.posterior import CONVERGED, RowAnswers
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.reduction.or_chains import FoldedChains
from plefka.reduction.reduce import ReducedTogether, reduce
from plefka.reduction.summing import Roots, explained

Links = dict[int, list[Switch]]  # by the number of a chain: links from free causes that fail one after another


class FindingSums(NamedTuple):
    """ln of sums over all else, of a finding that is not yet on, and on, without its leak; and on, with its leak."""

    versions: np.ndarray  # (2, versions)
    total: float


NOTHING_ACTS = FindingSums(np.array([[0.0], [-np.inf]]), 0.0)


class ChainRun:
    """An elimination of one row on whose way there links fail: tables have a row for the sum itself, and then versions.

    A chain has a version of a table for each number of its links in that table that fail, from none to all.
    """

    def __init__(self, planned: Planned, finding: dict[int, int], links: Links):
        self.plan, self.finding, self.links = planned.order, finding, links
        wanted = (*WANTED_FACTORS, OBSERVED_ON)
        for arithmetic in (PLAIN_NUMBERS, LOGARITHMS):
            self.base = EliminationRun(planned.factors, self.plan, arithmetic, wanted)
            self.base.answer()
            if not len(self.base.doubtful):
                break
        self.a = self.base.a
        self.messages: dict[int, tuple[Links, np.ndarray]] = {}  # with the links that they contain

    def sums(self) -> dict[int, FindingSums]:
        """By the number of a chain."""
        found: dict[int, FindingSums] = {}
        for k, cluster in enumerate(self.plan.clusters):
            here = self._links_of(cluster)
            chain, failed = _versions(here)
            w = Workspace(self.a, len(chain))
            table, w.factors = w.one, self.base.factors | w.factors
            for step in cluster.steps:
                if isinstance(step, Multiply):
                    w.factors[step.factor] = self._factor(step.factor, here, chain)
                elif isinstance(step, Act):
                    fails = self._fails(step.switch, here, chain, failed)
                    stay, go = np.broadcast_to(self.base.strength[step.switch], (2, len(chain)))
                    w.strength[step.switch] = np.stack([stay, np.where(fails, self.a.zero, go)])
                    on = table.reshape(*step.shape, -1)[step.on]
                    on[..., fails] = self.a.times(on[..., fails], stay[fails])  # what is on already does not hide it
                elif isinstance(step, Observe):
                    after = self.base.outside[OBSERVED_ON, step.unit].reshape(step.shape[0], 1, step.shape[2], 1)
                    seen = self.a.times(table.reshape(*step.shape, -1), after)
                    both = self.a.to_log(self.a.plus.reduce(seen, axis=(0, 2)))
                    closed = [number for number in here if self.finding[number] == step.unit]
                    found |= {number: FindingSums(both[:, chain == number], both[1, 0]) for number in closed}
                    here = {number: links for number, links in here.items() if number not in closed}
                    table = table[:, ~np.isin(chain, closed)]
                table = step.forwards(w, table)
            scale = self.a.from_log(-self.base.log_of_top(table[:, :1]))
            self.messages[k] = here, self.a.times(table, scale)
        return found

    def _links_of(self, cluster: Cluster) -> Links:
        """The chains whose findings are open in a cluster, and those of their links that it contains."""
        acts = {step.switch for step in cluster.steps if isinstance(step, Act)}
        inside = [self.messages[k][0] for _, k in cluster.messages()]
        names = [step.factor for step in cluster.steps if isinstance(step, Multiply)]
        open_here = {name[1] for name in names if name[0] == "leak"} | {switch.child for switch in acts}
        found = {}
        for chain, links in self.links.items():
            if self.finding[chain] in open_here or any(chain in message for message in inside):
                seen = acts.union(*(message.get(chain, ()) for message in inside))
                found[chain] = [switch for switch in links if switch in seen]
        return found

    def _factor(self, name: tuple, here: Links, chain: np.ndarray) -> np.ndarray:
        """With a column for each row: the leak of a finding is left out of the versions of its own chains."""
        if name[0] == "message":
            contained, message = self.messages.pop(name[1])
            of_message, index = _versions(contained)[0], np.zeros(len(chain), int)
            for number, links in contained.items():
                inside = set(links)
                failed = np.cumsum([0, *(switch in inside for switch in here[number])])
                index[chain == number] = np.argmax(of_message == number) + failed
            return message[:, index]
        factor = self.base.factors[name]
        if name[0] != "leak":
            return factor
        own = [number for number in here if self.finding[number] == name[1]]
        return np.where(np.isin(chain, own), self.a.from_log(NOTHING_ACTS.versions), factor)

    def _fails(self, switch: Switch, here: Links, chain: np.ndarray, failed: np.ndarray) -> np.ndarray:
        """The rows in which a link fails."""
        places = ((number, links.index(switch)) for number, links in here.items() if switch in links)
        return sum(((chain == number) & (failed > place) for number, place in places), np.zeros(len(chain), bool))


def _versions(links: Links) -> tuple[np.ndarray, np.ndarray]:
    """Of each row of a table the number of its chain, -1 for none, and how many links have failed."""
    counts = [len(some) + 1 for some in links.values()]
    chain = np.repeat([-1, *links], [1, *counts]).astype(int)
    return chain, np.concatenate([[0], *map(np.arange, counts)]).astype(int)


def chain_means(folded: FoldedChains) -> Iterator[tuple[list[int], np.ndarray]]:
    """The units of all chains, and their means."""
    reduction = cast(ReducedTogether, reduce(folded.network, folded.evidence))
    (part,) = reduction.parts
    planned = cast(Planned, BeliefElimination(part.question).group(np.arange(1)).planned)
    unit_of = part.units[planned.units].tolist()
    number, factors = {unit: k for k, unit in enumerate(unit_of)}, planned.factors
    finding = {k: number[chain.finding] for k, chain in enumerate(folded.chains) if chain.finding in number}
    links: Links = {}
    for k, end in finding.items():
        failing = [(r, number[cause]) for cause, r in folded.chains[k].rank_of_cause.items() if cause in number]
        ordered = [Switch(cause, end, 1) for r, cause in sorted(failing) if r < len(folded.chains[k].units)]
        links[k] = [link for link in ordered if link in factors.strength]
    found = ChainRun(planned, finding, links).sums()
    given, left = reduction.given, reduction.left
    roots, edges = Roots.of(given, left), given.edges
    w, of = edges.weight[:, 0], edges.parent
    leaks = explained(np, w, roots.log_p[of, 0], roots.log_not_p[of, 0])  # of causes that were summed out
    leaks = np.where(given.known[of, 0] == 1, w, leaks * left.summed[of, 0])
    for k, chain in enumerate(folded.chains):
        into = np.flatnonzero(edges.child == chain.finding)
        place = np.array(
            [*(rank for rank, _ in chain.leaks), *(chain.rank_of_cause[cause] for cause in of[into].tolist())]
        )
        field, at = np.concatenate([[field for _, field in chain.leaks], leaks[into]]), np.arange(len(chain.units))
        ranks = [chain.rank_of_cause[unit_of[link.parent]] for link in links.get(k, ())]
        sums = found.get(k, NOTHING_ACTS)
        not_yet, on = sums.versions[:, np.searchsorted(ranks, at, side="right")]
        before, after = (np.where(place <= at[:, None], *pair).sum(axis=1) for pair in ((field, 0.0), (0.0, field)))
        scale = factors.leak[finding[k]].max() if k in found else np.log(-np.expm1(-field.sum()))
        with np.errstate(divide="ignore"):
            log_off = np.logaddexp(on, not_yet + np.log(-np.expm1(-after))) - before - sums.total - scale
        yield chain.units, np.clip(-np.expm1(log_off), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class WithoutChains:
    """A row of evidence whose chains of ORs are folded; `inner` is how the rest of the network is summed over."""

    folded: FoldedChains
    inner: Any  # ReducedRows

    @property
    def dearest(self) -> Any:
        """The part that says what was done."""
        return self.inner.dearest

    @property
    def asks_for_means(self) -> bool:
        """Whether units of chains are asked for."""
        wanted = self.folded.evidence.wanted
        return bool(self.folded.chains) and (wanted is None or bool(np.any(wanted)))

    @property
    def row_seconds(self) -> np.ndarray:
        """(rows,): that of the sum, and of all versions of it, of which a table has a quarter on average."""
        units = sum(len(chain.units) for chain in self.folded.chains) * self.asks_for_means
        ways = [way.elimination for way in self.inner.ways if not way.enumerates]
        further_row = sum(way.seconds_for(2) - way.seconds for way in ways)
        return self.inner.row_seconds + ONE_WAY * units * further_row / 4

    def answer(self, method: Exact, network: Network, evidence: Evidence, dtype: str) -> RowAnswers:
        """The exact posterior of all units."""
        found = self.inner.answer(method, self.folded.network, self.folded.evidence, dtype)
        if found.status[0] != CONVERGED or not self.asks_for_means:
            return found
        means = np.array(found.means)
        for units, of_units in chain_means(self.folded):
            means[0, units] = of_units
        return replace(found, means=means)
