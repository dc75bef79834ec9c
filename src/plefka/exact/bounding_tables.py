"""A row of a question as tables of few units whose product is never below its weight; mostly it is the weight itself.

A noisy-or unit of many parents is a chain of tables: whether some of them have switched it on yet, then the next. A
sigmoid unit of many parents is bounded by tangents of the concave function ln sigma (Jaakkola and Jordan 1999):

    ln sigma(x) <= t x - H(t),    0 <= t <= 1,    H(t) = -t ln t - (1 - t) ln(1 - t)

with +x for the state on and -x for off. That is linear in the states of the parents: each adds a table of its own state
and, where the unit is hidden, that of the unit, both states of which have a t of their own. The bound is convex in t,
so that all t are searched for together with the shifts and weights of mini-buckets. Any other unit of too many parents
is left out: no probability is above one.
"""

from dataclasses import dataclass, field

import numpy as np

from plefka.exact.log_factors import LogFactors, Switch, factors_of
from plefka.exact.mini_buckets import Axes
from plefka.networks.activations import Sigmoid, numpy_sigmoid, numpy_softplus
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import bits
from plefka.reduction.question import PairModel, Question

WIDEST_UNIT = 16  # axes of the table of a unit that is neither noisy-or nor sigmoid


@dataclass(frozen=True, eq=False)
class Tangents:
    """Bounds ln P of a sigmoid unit by a table for each parent: of its state and, if hidden, that of the unit."""

    scopes: list[Axes]
    field: np.ndarray  # (states,): without any parent, with the sign of the unit's state
    added: np.ndarray  # (states, parents): what each of these adds to that, where it is on

    def logs(self, z: np.ndarray) -> list[np.ndarray]:
        """The tables, where t = sigma(z); what belongs to no parent is in the first."""
        t = numpy_sigmoid(z)
        tables = np.stack([np.zeros(self.added.shape), t[:, None] * self.added])
        tables[:, :, 0] += t * self.field - (numpy_softplus(z) - t * z)
        return list(np.moveaxis(tables, 2, 0).reshape(-1, *(2,) * len(self.scopes[0])))

    def gradient(self, z: np.ndarray, chances: list[np.ndarray]) -> np.ndarray:
        """Of a bound with respect to z, given that with respect to the entries of the tables."""
        pairs = np.stack([chance.reshape(2, -1) for chance in chances], axis=2)
        slope = pairs[:, :, 0].sum(axis=0) * (self.field + z) + (pairs[1] * self.added).sum(axis=1)
        return slope * numpy_sigmoid(z) * numpy_sigmoid(-z)


@dataclass(frozen=True, eq=False)
class BoundingTables:
    """ln weight(S) <= constant + the sum of all tables at S, those of tangents last; chains have axes of their own."""

    constant: float = 0.0
    is_exact: bool = True  # but for units with tangents
    factors: LogFactors | None = None  # of a belief network
    scopes: list[Axes] = field(default_factory=list)
    logs: list[np.ndarray] = field(default_factory=list)
    tangents: list[Tangents] = field(default_factory=list)
    leaks: dict[int, tuple[int, np.ndarray]] = field(default_factory=dict)  # d table / d leak of noisy-or units

    def add(self, axes: Axes, log: np.ndarray) -> None:
        """One more table."""
        self.scopes.append(axes)
        self.logs.append(log.reshape((2,) * len(axes)))

    def add_chain(self, unit: int, leak: float, switches: dict[Switch, float], last: Axes, axis: int, most: int) -> int:
        """Whether a noisy-or unit is on before some switches and after them; returns the next axis that is not in use.

        `leak`, `switches`: ln of the chances to leave it off; `last`: the unit, or nothing where it is observed on.
        """
        edges, before = list(switches.items()), ()
        pieces = [edges[k : k + max(1, most - 2)] for k in range(0, len(edges), max(1, most - 2))]
        for number, piece in enumerate(pieces):
            states = bits(np.arange(2 ** len(piece)), np.arange(len(piece))[::-1])
            off = np.full(2 ** len(piece), 0.0 if before else leak)
            for (switch, stay), on in zip(piece, states, strict=True):
                off = off + np.where(on == switch.state, stay, 0.0)
            with np.errstate(divide="ignore", over="ignore"):
                table = np.stack([off, np.log(-np.expm1(off))])
                slope = np.stack([np.full(off.shape, -1.0), 1 / np.expm1(-off)])
            if before:
                table = np.stack([table, np.stack([np.full(off.shape, -np.inf), np.zeros(off.shape)])], axis=1)
            after = last if number == len(pieces) - 1 else (axis,)
            seen = slice(None) if after else 1
            if not before:
                self.leaks[unit] = len(self.logs), np.where(np.isfinite(slope), slope, 0.0)[seen].ravel()
            self.add((*after, *before, *(switch.parent for switch, _ in piece)), table[seen])
            before, axis = after, axis + 1
        return axis


def bounding_tables(question: Question, most: int) -> BoundingTables:
    """Of a question with a single row; tables of noisy-or and sigmoid units have so many axes at most, or three."""
    edges, free, f = EdgeList.of(question.storage), question.free[:, 0], question.model.activation
    h, weight = np.broadcast_to(question.model.h, question.free.shape)[:, 0], edges.weight[:, 0]
    if isinstance(question.model, PairModel):
        machine = BoundingTables()
        for unit in np.flatnonzero(free).tolist():
            machine.add((unit,), np.array([0.0, h[unit] + question.tilt[unit, 0]]))
        for edge in np.flatnonzero(free[edges.child] & free[edges.parent] & (weight != 0)).tolist():
            machine.add((int(edges.child[edge]), int(edges.parent[edge])), np.array([0.0, 0.0, 0.0, weight[edge]]))
        return machine
    counted = question.model.counted[:, 0]
    live = free[edges.parent] & counted[edges.child] & (weight != 0)
    axes, is_sigmoid = np.bincount(edges.child[live], minlength=question.size) + free, type(f) is Sigmoid
    wide = counted & ~np.broadcast_to(f.is_linear_off(h), h.shape) & (axes > (most if is_sigmoid else WIDEST_UNIT))
    factors = factors_of(question.with_model(counted=question.model.counted & ~wide[:, None]), edges, np.array([0]))
    found = BoundingTables(float(factors.constant[0]), is_sigmoid or not wide.any(), factors)
    for unit, log in factors.prior.items():
        found.add((unit,), log[:, 0])
    for scope, log in zip(factors.structure.tables, factors.tables, strict=True):
        found.add(scope, log[..., 0])
    into: dict[int, dict[Switch, float]] = {unit: {} for unit in factors.leak}
    for switch, log in factors.strength.items():
        into[switch.child][switch] = float(log[0, 0])
    axis = question.size
    for unit, switches in into.items():
        last = (unit,) if free[unit] else ()
        axis = found.add_chain(unit, float(factors.leak[unit][0, 0]), switches, last, axis, most)
    for unit in np.flatnonzero(wide & is_sigmoid).tolist():
        known = (edges.child == unit) & ~free[edges.parent] & (question.values[edges.parent, 0] == 1)
        into_unit = (edges.child == unit) & live
        signs = np.array([-1.0, 1.0]) if free[unit] else 2 * question.values[[unit], 0] - 1
        scopes = [(parent, unit) if free[unit] else (parent,) for parent in edges.parent[into_unit].tolist()]
        x = h[unit] + weight[known].sum()
        found.tangents.append(Tangents(scopes, signs * x, np.outer(signs, weight[into_unit])))
    return found
