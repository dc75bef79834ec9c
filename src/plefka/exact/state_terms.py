"""ln P of the states of hidden units, as a sum of terms: each of few units, or of a field of many.

The most probable states are looked for by several ways, and all of them start from these terms of one row of evidence.
"""

from typing import NamedTuple

import numpy as np

from plefka.exact.log_factors import LogFactors, Structure, TooManyParents
from plefka.exact.table_networks import at_known_states, families_of
from plefka.networks.activations import Activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.edge_list import CERTAIN_WEIGHT, EdgeList
from plefka.networks.evidence import Evidence
from plefka.networks.fields import bits, field_in_domain, log_terms
from plefka.networks.index_arrays import places_of
from plefka.networks.network import Network

WIDEST_TERM, MOST_ENTRIES = 16, 2.0**22  # units of a term that is written as a table, and entries of all of these
Table = tuple[tuple[int, ...], np.ndarray]  # units, and ln of what belongs to their states, with an axis for each


def units_above(network: Network, some: np.ndarray) -> np.ndarray:
    """These units (units,) and all that they depend on; of a machine, all units."""
    if not isinstance(network, BeliefNetwork):
        return np.ones(network.size, bool)
    families = families_of(network)
    if families is None:
        return np.asarray(EdgeList.of(network.storage).with_ancestors(some[:, None]))[:, 0]
    found, waiting = some.copy(), np.flatnonzero(some).tolist()
    while waiting:  # a table may have parents that say nothing, which are no edges
        new = [parent for parent in families[waiting.pop()][0] if not found[parent]]
        found[new] = True
        waiting += new
    return found


class FieldTerm(NamedTuple):
    """A unit with free parents: ln P of its state, which depends on its field, bias + weights . states of these."""

    activation: Activation
    unit: int  # its number among the free units; -1 where it was observed
    state: int  # that was observed
    bias: float
    parents: np.ndarray  # numbers of free units
    weights: np.ndarray

    def logs(self, S: np.ndarray) -> np.ndarray:
        """Of states (units, states)."""
        x = self.bias + np.minimum(self.weights, CERTAIN_WEIGHT) @ S[self.parents]
        on = S[self.unit] if self.unit >= 0 else np.full(S.shape[1], self.state)
        return np.asarray(log_terms(self.activation, field_in_domain(self.activation, x), on))

    @property
    def table(self) -> Table:
        """The term as a table."""
        axes = (*([self.unit] if self.unit >= 0 else []), *self.parents.tolist())
        if len(axes) > WIDEST_TERM:
            raise TooManyParents(len(self.parents))
        places = np.arange(len(axes))
        alone = self._replace(unit=min(self.unit, 0), parents=places[len(axes) - len(self.parents) :])
        return axes, alone.logs(bits(np.arange(2 ** len(axes)), places[::-1])).reshape((2,) * len(axes))


class StateTerms:
    """All terms of a single row; units are numbered through.

    - `units`: those of the network. `number`: where they are among these.
    - `prior`: (2, units), ln of what belongs to the state of each alone. `fields`, `tables`, `constant`: all else.
    """

    def __init__(self, network: Network, evidence: Evidence, used: np.ndarray):
        """`used`: the units whose probability counts, and the others are summed out."""
        self.row = np.asarray(evidence.rows[0], float)
        self.free = np.isnan(self.row)
        tilt = np.zeros(len(self.row)) if evidence.tilt is None else np.asarray(evidence.tilt[0], float)
        self.units = np.flatnonzero(self.free & used)
        self.number = places_of(self.units, len(self.row))
        self.prior = np.stack([np.zeros(len(self.units)), tilt[self.units]])
        self.fields: list[FieldTerm] = []
        self.tables: dict[tuple[int, ...], np.ndarray] = {}
        self.constant = float(tilt @ np.nan_to_num(self.row))
        self.constant += 0.0 if evidence.offset is None else float(evidence.offset[0])
        if isinstance(network, BoltzmannMachine):
            self._write_machine(network.converted())
        else:
            assert isinstance(network, BeliefNetwork)
            self._write_beliefs(network, np.flatnonzero(used))

    def log_joint(self, S: np.ndarray) -> np.ndarray:
        """ln P (states,) of states (units, states), the evidence included."""
        S = np.asarray(S, int)
        with np.errstate(divide="ignore"):
            found = self.constant + np.where(S == 1, self.prior[1][:, None], self.prior[0][:, None]).sum(axis=0)
            for axes, log in self.tables.items():
                found = found + log[tuple(S[list(axes)])]
            for term in self.fields:
                found = found + term.logs(S)
        return found

    def factors(self) -> LogFactors:
        """As tables of a single row, for an elimination; may raise `TooManyParents`."""
        entries = sum(2 ** (1 + len(term.parents)) for term in self.fields)  # of whole numbers, which do not overflow
        if entries > MOST_ENTRIES:
            raise TooManyParents(max(len(term.parents) for term in self.fields))
        tables = {axes: log[..., None] for axes, log in self.tables.items()}
        for term in self.fields:
            axes, log = term.table
            tables[axes] = log[..., None] + tables.get(axes, 0.0)
        prior = {unit: self.prior[:, unit, None] for unit in range(len(self.units))}
        structure = Structure(len(prior), tuple(prior), (), (), tuple(tables), tuple(prior))
        constant = np.array([self.constant])
        return LogFactors(np.arange(1), structure, prior, {}, {}, tuple(tables.values()), constant, np.zeros((0, 1)))

    def _write_machine(self, machine: BoltzmannMachine) -> None:
        """A field for each unit and a table for each coupling."""
        edges, on = EdgeList.of(machine.storage), np.nan_to_num(self.row)
        weight, free = edges.weight[:, 0], self.free
        h = np.asarray(machine.bias, float) + 0.0
        for one, other in ((edges.child, edges.parent), (edges.parent, edges.child)):
            np.add.at(h, one, np.where(free[other], 0.0, weight * on[other]) / np.where(free[one], 1.0, 2.0))
        self.constant += float((h * on)[~free].sum()) + float(machine.constant)
        self.prior[1] += h[free]
        both = free[edges.child] & free[edges.parent] & (weight != 0)
        ends = zip(self.number[edges.child[both]].tolist(), self.number[edges.parent[both]].tolist(), strict=True)
        for pair, w in zip(ends, weight[both].tolist(), strict=True):
            self._add_table(pair, np.array([[0.0, 0.0], [0.0, w]]))

    def _write_beliefs(self, network: BeliefNetwork, units: np.ndarray) -> None:
        """ln P of these units given their parents."""
        families = families_of(network)
        if families is not None:
            known, free = self.row[:, None], self.free.tolist()
            for unit in units.tolist():
                family, logs = families[unit]
                scope, log = at_known_states(family, logs, known, free)
                self._add_table(tuple(self.number[list(scope)].tolist()), log[..., 0])
            return
        W, bias, f = network.storage.to_sparse(), np.asarray(network.bias, float), network.activation
        linear = np.broadcast_to(f.is_linear_off(bias), bias.shape)
        alone = self.free[units] & (np.diff(W.indptr)[units] == 0)
        x = field_in_domain(f, bias[units[alone]])
        self.prior[:, self.number[units[alone]]] += np.stack([log_terms(f, x, state) for state in (0, 1)])
        for unit in units[~alone].tolist():
            here = slice(W.indptr[unit], W.indptr[unit + 1])
            self._write_field(f, unit, float(bias[unit]), W.indices[here], W.data[here], is_linear=bool(linear[unit]))

    def _write_field(
        self, f: Activation, unit: int, bias: float, parents: np.ndarray, weights: np.ndarray, *, is_linear: bool
    ) -> None:
        free, state = self.free[parents], self.row[unit]
        bias += float(weights[~free][self.row[parents[~free]] == 1].sum())
        live = free & (weights != 0) & ~np.isinf(bias)  # a parent of probability one that is on says it all
        parents, weights = self.number[parents[live]], weights[live]
        if is_linear and state == 0:
            self.constant -= bias
            np.subtract.at(self.prior[1], parents, weights)
            return
        term = FieldTerm(f, int(self.number[unit]), 0 if np.isnan(state) else int(state), bias, parents, weights)
        if len(parents):
            self.fields.append(term)
        else:
            self._add_table(*term.table)

    def _add_table(self, axes: tuple[int, ...], log: np.ndarray) -> None:
        if not axes:
            self.constant += float(log)
        elif len(axes) == 1:
            self.prior[:, axes[0]] += log
        else:
            self.tables[axes] = self.tables.get(axes, 0.0) + log
