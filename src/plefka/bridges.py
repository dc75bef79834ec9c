"""Networks of other libraries: pgmpy, pyAgrum and NetworkX (`pip install 'plefka[networks]'`).

>>> import plefka as pf
>>> graph = pf.bridges.to_networkx(pf.example("espresso"))  # doctest: +SKIP
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from plefka.errors import InvalidInput
from plefka.files.conditional_tables import (
    MOST_READ_PARENTS,
    Conditional,
    TableNetwork,
    TableUnit,
    Variable,
    add_variable,
    is_first_on,
    network_from,
)  # fmt: skip
from plefka.files.from_tables import network_of, tables_of
from plefka.files.linear_fits import NOISY_OR, SCALES, SIGMOID, TOLERANCE
from plefka.networks.belief import BeliefNetwork
from plefka.networks.intervention import without_parents
from plefka.runtime.extras import imported

PROBES = 64  # states at which a compact unit of pyAgrum is compared with what it was taken for


def from_pgmpy(model: Any, approximate: float | None = None) -> BeliefNetwork:
    """The network of a pgmpy `DiscreteBayesianNetwork`; `approximate` as in `plefka.load`."""
    cpds = model.get_cpds()
    variables = _checked(Variable(str(c.variable), tuple(map(str, c.state_names[c.variable]))) for c in cpds)
    tables = [
        Conditional(str(c.variable), tuple(map(str, c.variables[1:])), np.moveaxis(np.asarray(c.values, float), 0, -1))
        for c in cpds
    ]
    return network_of(network_from(variables, tables), approximate)


def to_pgmpy(network: BeliefNetwork) -> Any:
    """A pgmpy `DiscreteBayesianNetwork` with the same distribution, its tables expanded."""
    models, factors = _library("pgmpy.models"), _library("pgmpy.factors.discrete")
    tables = tables_of(network)
    model = models.DiscreteBayesianNetwork()
    model.add_nodes_from(tables.names)
    model.add_edges_from((tables.names[parent], unit.name) for unit in tables.units for parent in unit.parents)
    for unit in tables.units:
        family = [unit, *(tables.units[parent] for parent in unit.parents)]
        on = unit.table.ravel()
        model.add_cpds(
            factors.TabularCPD(
                unit.name,
                2,
                np.stack([1 - on, on]).tolist(),
                [parent.name for parent in family[1:]],
                [2] * len(unit.parents),
                state_names={member.name: list(member.states) for member in family},
            )
        )
    return model


def from_pyagrum(model: Any, approximate: float | None = None) -> BeliefNetwork:
    """The network of a pyAgrum `BayesNet`; noisy-or and logit nodes stay compact, however many parents they have."""
    names = [model.variable(node).name() for node in model.nodes()]
    variables = _checked(Variable(name, tuple(model.variable(name).labels())) for name in names)
    wide = [name for name in names if len(model.parents(name)) > MOST_READ_PARENTS]
    known = {name: _wide_unit(model, variables, name) for name in wide}
    tables = []
    for name in names:
        if (
            name not in known
        ):  # the axes come in reverse order, the child last; only `tolist` is right for compact nodes
            table = model.cpt(name)
            tables.append(Conditional(name, tuple(reversed(table.names[1:])), np.array(table.tolist(), float)))
    tables += [Conditional(name, (), np.array([0.5, 0.5])) for name in known]  # in their place
    units = tuple(known.get(unit.name, unit) for unit in network_from(variables, tables).units)
    return network_of(TableNetwork(units), approximate)


def to_pyagrum(network: BeliefNetwork) -> Any:
    """A pyAgrum `BayesNet` with the same distribution; noisy-or units of more than 16 parents become compact nodes."""
    gum = _library("pyagrum")
    weights = sp.csr_array(network.storage.to_sparse()) if network.stack is None else sp.csr_array((0, 0))
    degrees = np.diff(weights.indptr)
    wide = [unit for unit in np.flatnonzero(degrees > MOST_READ_PARENTS).tolist() if weights[[unit]].data.min() >= 0]
    compact = wide if network.activation.name == "noisy_or" else []
    is_compact = np.isin(np.arange(network.size), compact)  # without their parents all others have tables
    tables = tables_of(without_parents(network, is_compact, network.bias) if compact else network)
    model = gum.BayesNet()
    for position, unit in enumerate(tables.units):
        variable = gum.LabelizedVariable(unit.name, unit.name, list(unit.states))
        if position in compact:
            model.addNoisyORNet(variable, float(unit.table))
        else:
            model.add(variable)
    for position, unit in enumerate(tables.units):
        if position in compact:
            row = weights[[position]].tocoo()
            for parent, weight in zip(row.coords[1], row.data, strict=True):
                model.addWeightedArc(tables.names[parent], unit.name, float(-np.expm1(-weight)))
        else:
            for parent in unit.parents:
                model.addArc(tables.names[parent], unit.name)
            table, parents = model.cpt(unit.name), [tables.names[parent] for parent in unit.parents]
            on = np.transpose(unit.table, [parents.index(name) for name in reversed(table.names[1:])]).ravel()
            table.fillWith(np.stack([1 - on, on], axis=1).ravel().tolist())
    return model


def to_networkx(network: BeliefNetwork) -> Any:
    """A NetworkX `DiGraph`: units with `bias` and `states` (off, on), edges from parent to child with `weight`."""
    nx = _library("networkx")
    if not isinstance(network, BeliefNetwork):
        raise InvalidInput(f"to_networkx takes a BeliefNetwork; got {type(network).__name__}.")
    if network.stack is not None:
        raise InvalidInput(f"to_networkx takes one network; got a stack of {network.stack}. Take one of them.")
    graph = nx.DiGraph(activation=network.activation.name)
    for name, states, bias in zip(network.names, network.states, np.asarray(network.bias, float), strict=True):
        graph.add_node(name, bias=float(bias), states=states)
    for child, parent, weight in zip(*network.storage.edge_list(), strict=True):
        graph.add_edge(network.names[parent], network.names[child], weight=float(weight[0]))
    return graph


def _checked(variables: Iterable[Variable]) -> list[Variable]:
    known: dict[str, Variable] = {}
    for variable in variables:
        add_variable(variable, known)
    return list(known.values())


def _library(module: str) -> Any:
    return imported(module, "networks", f"a bridge to {module.partition('.')[0]}")


def _wide_unit(model: Any, variables: Sequence[Variable], name: str) -> TableUnit:
    """What a node of many parents computes, from its values with at most one of them on, and tested at others."""
    on = {variable.name: 0 if is_first_on(variable.states) else 1 for variable in variables}
    table = model.cpt(name)
    position = {variable.name: k for k, variable in enumerate(variables)}
    parents = list(table.names[1:])
    rng, count = np.random.default_rng(0), len(parents)
    probes = [rng.random((PROBES // 4, count)) < density for density in (1.5 / count, 0.2, 0.5, 1.0)]
    states = np.vstack([np.zeros((1, count), int), np.eye(count, dtype=int), *probes])
    gum, found = _library("pyagrum"), np.empty(len(states))
    for number, state in enumerate(states.tolist()):
        at = gum.Instantiation(table)
        at.chgVal(name, on[name])
        for parent, value in zip(parents, state, strict=True):
            at.chgVal(parent, on[parent] if value else 1 - on[parent])
        found[number] = table.get(at)
    variable = variables[position[name]]
    words = variable.states if on[name] else variable.states[::-1]
    for kind in (NOISY_OR, SIGMOID):
        scale = SCALES[kind]
        with np.errstate(divide="ignore", invalid="ignore"):
            fields = scale.field(found)
            weights = fields[1 : len(parents) + 1] - fields[0]
            error = np.abs(scale.probability(np.where(states == 1, weights, 0.0).sum(1) + fields[0]) - found).max()
        if np.isfinite(fields[0]) and error <= TOLERANCE:
            places = tuple(position[parent] for parent in parents)
            return TableUnit(name, (words[0], words[1]), places, np.array(found[0]), (kind, float(fields[0]), weights))
    raise InvalidInput(
        f"a unit of more than {MOST_READ_PARENTS} parents must be a noisy-or or a logit node; "
        f"{name!r} has {len(parents)} and is neither."
    )
