"""Rows of a question as a product of factors, the logarithms of which are arrays (2, ..., 2, rows).

A unit has an axis for its state. A noisy-or unit with free parents has another one: whether anything has switched it on
yet, which its leak and then its parents may do, one after another. So no table over all parents is needed, and every
term is positive. A parent with a negative weight acts when it is off, and the leak is the lowest field.
"""

from typing import NamedTuple

import numpy as np

from plefka.exact.cost import MOST_PARENTS_OF_A_TABLE
from plefka.networks.edge_list import EdgeList
from plefka.networks.fields import bits
from plefka.networks.index_arrays import mask_of
from plefka.reduction.question import Question


class Switch(NamedTuple):
    """An edge into a noisy-or unit: its parent may switch it on when the parent is in this state."""

    parent: int
    child: int
    state: int


class Structure(NamedTuple):
    """Which factors there are: all that an order of elimination depends on. Units have the numbers of the question."""

    size: int
    free: tuple[int, ...]
    switched: tuple[int, ...]  # noisy-or units with free parents, whose first factor is their leak
    switches: tuple[Switch, ...]
    tables: tuple[tuple[int, ...], ...]  # units of the other factors
    priors: tuple[int, ...]  # free units with a factor of their own

    def waiting(self, unit: int) -> int:
        """The axis that says whether a unit has been switched on yet."""
        return self.size + unit


class LogFactors(NamedTuple):
    """The rows of a question that have the same structure."""

    rows: np.ndarray
    structure: Structure
    prior: dict[int, np.ndarray]  # of free units: ln of what belongs to their state alone
    leak: dict[int, np.ndarray]  # of switched units: ln of the chances to stay off, and to be switched on
    strength: dict[Switch, np.ndarray]  # the same for each edge
    tables: tuple[np.ndarray, ...]
    constant: np.ndarray  # (rows,)
    fields: np.ndarray  # (units, rows), without free parents

    def take(self, rows: slice | np.ndarray) -> "LogFactors":
        """Some of the rows."""
        prior, leak = ({unit: _of_rows(log, rows) for unit, log in logs.items()} for logs in (self.prior, self.leak))
        strength = {switch: _of_rows(log, rows) for switch, log in self.strength.items()}
        tables = tuple(_of_rows(table, rows) for table in self.tables)
        constant, fields = self.constant[rows], self.fields[:, rows]
        return LogFactors(self.rows[rows], self.structure, prior, leak, strength, tables, constant, fields)

    @staticmethod
    def joined(several: "list[LogFactors]") -> "LogFactors":
        """The rows of all of them, which have the same structure; without fields."""
        first = several[0]
        if len(several) == 1:
            return first

        def of_all(logs: list[np.ndarray]) -> np.ndarray:
            return np.concatenate(
                [np.broadcast_to(log, (*log.shape[:-1], len(f.rows))) for log, f in zip(logs, several, strict=True)], -1
            )

        prior, leak, strength = (
            {name: of_all([getattr(f, field)[name] for f in several]) for name in getattr(first, field)}
            for field in ("prior", "leak", "strength")
        )
        tables = tuple(of_all(list(logs)) for logs in zip(*(f.tables for f in several), strict=True))
        rows, constant = (np.concatenate([getattr(f, field) for f in several]) for field in ("rows", "constant"))
        return LogFactors(rows, first.structure, prior, leak, strength, tables, constant, np.zeros((0, len(rows))))

    def numbered(self) -> "tuple[LogFactors, np.ndarray]":
        """With units numbered through, and which these are: rows of the same form then share a plan."""
        s = self.structure
        units = sorted({*s.free, *s.switched})
        new = {unit: number for number, unit in enumerate(units)}
        strength = {
            Switch(new[parent], new[child], state): log for (parent, child, state), log in self.strength.items()
        }
        prior, leak = ({new[unit]: log for unit, log in logs.items()} for logs in (self.prior, self.leak))
        free, switched, priors = (tuple(new[unit] for unit in some) for some in (s.free, s.switched, s.priors))
        tables = tuple(tuple(new[unit] for unit in table) for table in s.tables)
        structure = Structure(len(units), free, switched, tuple(strength), tables, priors)
        return self._replace(structure=structure, prior=prior, leak=leak, strength=strength), np.array(units, int)


class TooManyParents(Exception):
    """A unit with so many free parents that its table would not fit."""

    def __init__(self, parents: int):
        self.parents = parents


def factors_of(question: Question, edges: EdgeList, rows: np.ndarray, *, apart: bool = False) -> LogFactors:
    """The factors of rows of the same pattern.

    `apart`: every number stays in a factor of its own: tables of the same units are not multiplied, and edges into
    units that others switch on for certain are kept.
    """
    return FactorWriter(question, edges, rows, apart).written()


def patterns(question: Question) -> list[np.ndarray]:
    """Rows with the same free units and, for noisy-or, the same observed states, together."""
    pattern = np.concatenate([question.free, question.model.counted])
    if question.model.activation.has_linear_log_off:
        pattern = np.concatenate([pattern, question.model.counted & (question.values == 1)])
    return grouped(pattern)


def grouped(pattern: np.ndarray) -> list[np.ndarray]:
    """The columns that are equal, together."""
    groups: dict[bytes, list[int]] = {}
    for column, key in enumerate(np.packbits(pattern.T, axis=1)):
        groups.setdefault(key.tobytes(), []).append(column)
    return [np.array(columns) for columns in groups.values()]


class FactorWriter:
    """Writes the factors of some rows with the same free units down."""

    def __init__(self, question: Question, edges: EdgeList, rows: np.ndarray, apart: bool):
        first, model = rows[0], question.model
        self.f, self.apart = model.activation, apart
        self.rows, self.size = rows, question.size
        self.free, self.counted = question.free[:, first], model.counted[:, first]
        self.on = model.counted[:, first] & (question.values[:, first] == 1)
        self.values, self.tilt = question.values[:, rows], question.tilt[:, rows]
        weight = edges.weight if edges.weight.shape[1] == 1 else edges.weight[:, rows]
        h = model.h if model.h.shape[1] == 1 else model.h[:, rows]
        self.x = h + self._from_known_parents(edges, weight)
        self.fields = self.f.clip(self.x)  # without free parents
        live = self.free[edges.parent] & self.counted[edges.child] & (weight != 0).any(axis=1)
        live &= apart | ~np.isinf(self.x[edges.child]).all(axis=1)
        self.child, self.parent, self.weight = edges.child[live], edges.parent[live], weight[live]
        self.prior = np.zeros((question.size, 2, len(rows)))
        self.prior[:, 1] = np.where(question.free[:, rows], self.tilt, 0.0)
        self.constant = np.zeros(len(rows))

    def _from_known_parents(self, edges: EdgeList, weight: np.ndarray) -> np.ndarray:
        known = ~self.free[edges.parent] & (self.values[edges.parent] == 1).any(axis=1)
        on = self.values[edges.parent[known]] == 1
        x = np.zeros((self.size, len(self.rows)))
        np.add.at(x, edges.child[known], np.where(on, weight[known], 0.0))
        return x

    def written(self) -> LogFactors:
        tables = self.prepared()
        return self._finished(*self._switched(), tables)

    def prepared(self) -> dict[tuple, np.ndarray]:
        """Tables of units that are not noisy-or; of the others, edges are left into those that are not off."""
        has_parents = mask_of(self.child, self.size)
        self._add_units_without_parents(self.counted & ~has_parents)
        linear = np.broadcast_to(self.f.is_linear_off(self.x), self.x.shape)[:, 0]
        tables = self._tables(np.flatnonzero(has_parents & ~linear))
        self._keep_edges(linear[self.child])
        self._fold(self.counted & has_parents & ~self.free & ~self.on & linear)
        return tables

    def _add_units_without_parents(self, units: np.ndarray) -> None:
        """Units without free parents."""
        x, roots, known = self.fields, units & self.free, units & ~self.free
        self.prior[roots] += self._chances(x[roots])
        logs, on = self._chances(x[known]), self.values[known] == 1
        self.constant += np.where(on, logs[:, 1], logs[:, 0]).sum(axis=0)

    def _fold(self, off: np.ndarray) -> None:
        """Noisy-or units that are off: the product over their parents."""
        self.constant -= self.x[off].sum(axis=0)
        folded = off[self.child]
        np.subtract.at(self.prior[:, 1], self.parent[folded], self.weight[folded])
        self._keep_edges(~folded)

    def _keep_edges(self, kept: np.ndarray) -> None:
        self.child, self.parent, self.weight = (z[kept] for z in (self.child, self.parent, self.weight))

    def _switched(self) -> tuple[dict, dict]:
        lowest = self.x + 0.0
        np.add.at(lowest, self.child, np.minimum(self.weight, 0.0))
        lowest = self.f.clip(lowest)
        units = np.unique(self.child)
        leak = dict(zip(units.tolist(), self._chances(lowest[units]), strict=True))
        strength = {}
        for state, size in ((1, np.maximum(self.weight, 0.0)), (0, np.maximum(-self.weight, 0.0))):
            acts = (size > 0).any(axis=1)
            ends = zip(self.parent[acts].tolist(), self.child[acts].tolist(), strict=True)
            switches = (Switch(parent, child, state) for parent, child in ends)
            strength |= zip(switches, self._chances(size[acts]), strict=True)
        return leak, strength

    def _chances(self, x: np.ndarray) -> np.ndarray:
        """ln P(off) and ln P(on), (units, 2, rows)."""
        return np.stack(np.broadcast_arrays(self.f.log_off(x), self.f.log_on(x)), axis=1)

    def _tables(self, units: np.ndarray) -> dict[tuple, np.ndarray]:
        """By their axes, and where they are apart also by their units."""
        found: dict[tuple, np.ndarray] = {}
        for unit in units.tolist():
            into = self.child == unit
            parents = self.parent[into].tolist()
            if len(parents) > MOST_PARENTS_OF_A_TABLE:
                raise TooManyParents(len(parents))
            states = bits(np.arange(2 ** len(parents)), np.arange(len(parents))[::-1])
            x = self.f.clip(self.x[unit] + np.einsum("pr,ps->sr", self.weight[into], states))
            shape = (2,) * len(parents) + (len(self.rows),)
            off, on = (np.asarray(log(x)).reshape(shape) for log in (self.f.log_off, self.f.log_on))
            if self.free[unit]:
                axes, table = (unit, *parents), np.stack([off, on])
            else:
                axes, table = tuple(parents), np.where(self.values[unit] == 1, on, off)
            name = (axes, unit if self.apart else None)
            found[name] = table if name not in found else found[name] + table
        return found

    def _finished(self, leak: dict, strength: dict, tables: dict[tuple, np.ndarray]) -> LogFactors:
        free = np.flatnonzero(self.free)
        prior = dict(zip(free.tolist(), self.prior[free], strict=True))
        axes = tuple(axes for axes, _ in tables)
        structure = Structure(self.size, tuple(prior), tuple(leak), tuple(strength), axes, tuple(prior))
        several = tuple(tables.values())
        return LogFactors(self.rows, structure, prior, leak, strength, several, self.constant, self.fields)


def _of_rows(log: np.ndarray, rows: slice | np.ndarray) -> np.ndarray:
    """Some of the rows, or what is the same in all of them."""
    return log if log.shape[-1] == 1 else log[..., rows]
