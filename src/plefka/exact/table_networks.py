"""Exact inference from the tables of a network's units, by elimination; nothing is encoded, and nothing reduced first.

This is the way of networks that came in tables, and of units of different kinds with few parents.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plefka.exact.enumeration import status_of
from plefka.exact.exact_method import Exact
from plefka.exact.groups import Elimination, elimination_notes
from plefka.exact.log_factors import LogFactors, Structure, grouped
from plefka.methods.posterior import EXACT, RowAnswers, accuracy_of_rows
from plefka.networks.activations import MOST_PARENTS, Table, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.conditionals import unit_logs
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.networks.units import units_of
from plefka.reduction.reduce import reduce
from plefka.runtime.value_cache import cached_for

Family = tuple[tuple[int, ...], np.ndarray]  # a unit and its parents, and ln P(unit | parents), an axis for each


def families_of(network: BeliefNetwork) -> list[Family] | None:
    """Of all units, listed once; None for a network that has no tables, or too large ones."""
    if network.given_tables is None and network.conditionals is None:
        return None
    return cached_for(network, families_of, lambda: _families(network))


def _families(network: BeliefNetwork) -> list[Family] | None:
    given = network.given_tables
    if given is None and network.storage.most_parents() > MOST_PARENTS:
        return None
    pairs = _of_units(network) if given is None else map(_of_table, given.parents, given.on)
    return [((unit, *parents), logs) for unit, (parents, logs) in enumerate(pairs)]


def _of_table(parents: tuple[int, ...], on: np.ndarray) -> tuple[tuple[int, ...], np.ndarray]:
    with np.errstate(divide="ignore"):
        return parents, np.stack([np.log1p(-on), np.log(on)])


def _of_units(network: BeliefNetwork) -> Iterator[tuple[tuple[int, ...], np.ndarray]]:
    for unit in units_of(network):
        parents = tuple(network.index(parent) for parent in unit.parents)
        if isinstance(unit.kind, Table):
            yield _of_table(parents, np.asarray(unit.kind.probabilities))
        else:
            on, off = unit_logs(as_activation(unit.kind), np.array([unit.bias, *unit.weights]), str(unit.name))
            yield parents, np.stack([off, on]).reshape((2,) * (1 + len(parents)))


@dataclass(frozen=True, eq=False)
class TableElimination(Elimination):
    """Rows of evidence of a network of tables: all its units, barren ones too, or some with all that are above them."""

    families: list[Family]
    evidence: Evidence
    units: np.ndarray | None = None  # (units,): those that are summed over, as far as they are hidden; None: all

    @property
    def num_rows(self) -> int:
        return len(self.evidence.rows)

    @property
    def dearest(self) -> "TableElimination":
        """All of it is one part."""
        return self

    def __str__(self) -> str:
        return self.refusal or "elimination"

    @property
    def unseen(self) -> np.ndarray:
        """(rows, units): what was not observed."""
        return np.isnan(self.evidence.rows)

    @cached_property
    def hidden(self) -> np.ndarray:
        """(units, rows): what is summed over."""
        return self.unseen.T if self.units is None else self.unseen.T & self.units[:, None]

    def patterns(self) -> list[np.ndarray]:
        """Rows with the same free units; of those with soft evidence in any of them, all have a factor."""
        return grouped(self.hidden)

    def factors(self, rows: np.ndarray) -> LogFactors:
        """The tables at the states that were observed."""
        known, free = np.asarray(self.evidence.rows[rows], float).T, self.hidden[:, rows[0]].tolist()
        constant, prior = self._soft(known, rows)
        tables: dict[tuple[int, ...], np.ndarray] = {}
        for scope, log in self.families:
            if self.units is not None and not self.units[scope[0]]:
                continue
            left, found = at_known_states(scope, log, known, free)
            if not left:
                constant = constant + found
            elif len(left) == 1:
                prior[left[0]] = prior.get(left[0], 0.0) + found
            else:
                tables[left] = tables[left] + found if left in tables else found
        prior = {unit: np.broadcast_to(log, (2, len(rows))) for unit, log in prior.items()}
        units = tuple(unit for unit, is_free in enumerate(free) if is_free)
        structure = Structure(len(free), units, (), (), tuple(tables), tuple(prior))
        return LogFactors(rows, structure, prior, {}, {}, tuple(tables.values()), constant, known)

    def _soft(self, known: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, dict]:
        """What soft evidence says: of units that are observed as well, and of free ones."""
        if self.evidence.tilt is None:
            return np.zeros(len(rows)), {}
        tilt = np.asarray(self.evidence.tilt[rows], float).T
        free = np.isnan(known)
        units = np.flatnonzero((free & (tilt != 0)).any(axis=1)).tolist()
        prior = {unit: np.stack([np.zeros(len(rows)), tilt[unit]]) for unit in units}
        return np.where(free, 0.0, tilt * known).sum(axis=0), prior

    def answer(self, method: Exact, network: Network, evidence: Evidence, dtype: str) -> RowAnswers:
        """The exact posterior of all rows."""
        means, log_z = np.array(evidence.rows, float), np.zeros(self.num_rows)
        for some, found in self.answers():
            log_z[some.rows] = found.log_z
            means[some.rows[:, None], found.units] = np.clip(found.means.T, 0.0, 1.0)
        impossible = np.isneginf(log_z)
        if impossible.any():
            means[impossible] = evidence.rows[impossible]
            if not evidence.batched:
                reduce(network, evidence)  # says which observations contradict each other
        steps = np.zeros(self.num_rows, int)
        return RowAnswers(
            means.astype(dtype), -log_z.astype(dtype), status_of(-log_z, np.where), steps, steps, steps * 0.0,
            accuracy_of_rows(self.num_rows, is_exact=True), np.full(means.shape, EXACT),
            predicted=np.zeros(means.shape, bool), notes=elimination_notes(self.width),
        )  # fmt: skip


def at_known_states(
    scope: tuple[int, ...], log: np.ndarray, known: np.ndarray, free: list[bool]
) -> tuple[tuple[int, ...], np.ndarray]:
    """The units of a table that are free, and the table (2, ..., 2, rows) at the states of the others."""
    left = tuple(unit for unit in scope if free[unit])
    if len(left) == len(scope):
        return left, log[..., None]
    if known.shape[1] == 1:
        index = tuple(slice(None) if free[unit] else int(known[unit, 0]) for unit in scope)
        return left, log[index][..., None]
    seen = [axis for axis, unit in enumerate(scope) if not free[unit]]
    rest = [axis for axis, unit in enumerate(scope) if free[unit]]
    states = tuple(known[scope[axis]].astype(int) for axis in seen)
    return left, np.moveaxis(log.transpose(*seen, *rest)[states], 0, -1)
