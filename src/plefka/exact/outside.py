"""What all else says of every factor of a sum: one elimination, there and back, gives all of them.

A sum Z is linear in each entry of each factor. What multiplies an entry is what all else says of it, and here it is
divided by Z. Nothing is divided by the entry itself, so that an entry may be 0.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plefka.exact.elimination import EliminationRun, by_rows
from plefka.exact.elimination_steps import STRENGTH, Act, Multiply
from plefka.exact.log_factors import LogFactors, Structure, Switch, factors_of
from plefka.exact.ordering import greedy_plan
from plefka.exact.plans import WANTED_FACTORS, Cluster, Plan
from plefka.exact.question_elimination import BeliefElimination
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.reduction.reduce import masked
from plefka.reduction.summing import Given, whole

ALL_FACTORS = (*WANTED_FACTORS, "prior", "table", STRENGTH)


class Outside(NamedTuple):
    """ln of what all else says of the entries of each factor, divided by Z, (entries..., rows)."""

    log_z: np.ndarray  # (rows,)
    means: dict[int, np.ndarray]  # of free units, (rows,)
    prior: dict[int, np.ndarray]  # of free units: off, on
    leak: dict[int, np.ndarray]  # of noisy-or units with free parents: it fails, it switches the unit on
    strength: dict[Switch, np.ndarray]  # the same of an edge, where its parent acts; and that the unit was on before
    table: dict[int, np.ndarray]  # of other units with free parents, in their order: itself, if free, and its parents


@dataclass(frozen=True, eq=False)
class ParameterElimination(BeliefElimination):
    """A row of evidence and all units that it depends on, of which none is summed out by hand: no number is lost.

    The row is there several times, each time with other free units in one state `only`.
    """

    only: tuple[dict[int, int], ...]  # units and their states

    @classmethod
    def of(
        cls, network: BeliefNetwork, evidence: Evidence, kept: np.ndarray, only: tuple[dict[int, int], ...]
    ) -> "ParameterElimination":
        """`kept`: units (units,) that count with all above them, whether something is known of them or not."""
        edges, h = EdgeList.of(network.storage), np.asarray(network.bias, float)[:, None]
        some = evidence.take(np.zeros(len(only), int))
        known = np.asarray(some.rows, float).T
        tilt = np.zeros(known.shape) if some.tilt is None else np.asarray(some.tilt, float).T
        given = Given(edges, h, network.activation, known, tilt)
        counted = edges.with_ancestors(given.informed | kept[:, None])
        return cls(masked(network.storage, given, whole(given)._replace(counted=counted)), only)

    def factors(self, rows: np.ndarray) -> LogFactors:
        found = factors_of(self.question, self.edges, rows, apart=True)
        self.restrict(found.prior.__getitem__)
        return found

    def restrict(self, logs_of: Callable[[int], np.ndarray]) -> None:
        """Exclude the other state of the units that are in one only, from what (2, rows) is said of them."""
        for row, restricted in enumerate(self.only):
            for unit, state in restricted.items():
                logs_of(unit)[1 - state, row] = -np.inf

    def plan(self, structure: Structure) -> Plan:
        """With what edges will need on the way back."""
        plan = greedy_plan(structure)
        more = [sum(math.prod(s.shape) / 2 for s in c.steps if isinstance(s, Act)) for c in plan.clusters]
        clusters = tuple(c._replace(stored=c.stored + z) for c, z in zip(plan.clusters, more, strict=True))
        return Plan.of(clusters, plan.width, plan.entries + sum(more), plan.peak + sum(more))

    def outside(self) -> Outside:
        """Of all factors of all rows, nan in rows that are impossible; nothing may be refused."""
        found = [_outside(each.factors, each.order, each.units) for each, _ in self._in_chunks()]
        first, *fields = zip(*found, strict=True)
        joined = ({name: np.concatenate([each[name] for each in of], axis=-1) for name in of[0]} for of in fields)
        return Outside(np.concatenate(first), *joined)


class _OutsideRun(EliminationRun):
    """Says what it found of every factor, cluster by cluster, as a cluster has a scale of its own on the way back."""

    def __init__(self, factors: LogFactors, *others: Any):
        super().__init__(factors, *others)
        self.relative: dict[tuple, np.ndarray] = {}

    def _backwards(self, k: int, cluster: Cluster) -> None:
        super()._backwards(k, cluster)
        first = next(step for step in cluster.steps if isinstance(step, Multiply))
        log_z = self.a.to_log(self.a.plus.reduce(self._entries(first), axis=0))
        for step in cluster.steps:
            name = (STRENGTH, step.switch) if isinstance(step, Act) else getattr(step, "factor", ("none",))
            if name[0] not in ("prior", "leak", "table", STRENGTH):
                continue
            with np.errstate(invalid="ignore"):
                found = self.a.to_log(self.outside[name]) - log_z
            if isinstance(step, Multiply):
                order = step.order or tuple(range(self.factors[name].ndim - 1))
                found = found.reshape(*(2,) * len(order), -1).transpose(*np.argsort(order), len(order))
            self.relative[name] = found


def _outside(factors: LogFactors, plan: Plan, units: np.ndarray) -> Outside:
    """`units`: which units of the network those of the factors are."""

    def ask(run: _OutsideRun) -> list[np.ndarray]:
        log_z, means, _ = run.answer()
        return [log_z, means, *(run.relative[name] for name in sorted(run.relative))]

    run, (log_z, means, *found) = by_rows(factors, plan, ask, ALL_FACTORS, _OutsideRun)
    given = {"prior": factors.prior, "leak": factors.leak, "table": dict(enumerate(factors.tables))}
    by_kind: dict[str, dict] = {"prior": {}, "leak": {}, "table": {}, STRENGTH: {}}
    for (kind, name), logs in zip(sorted(run.relative), found, strict=True):
        if kind == STRENGTH:
            place = Switch(int(units[name.parent]), int(units[name.child]), name.state)
        else:
            scale = given[kind][name].max(axis=tuple(range(logs.ndim - 1)))  # by which a run has divided the factor
            logs = logs - np.where(np.isfinite(scale), scale, 0.0)
            place = name if kind == "table" else int(units[name])
        by_kind[kind][place] = logs
    return Outside(log_z, dict(zip(units[run.units].tolist(), means, strict=True)), **by_kind)
