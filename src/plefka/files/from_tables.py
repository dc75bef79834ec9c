"""From tables to a network, of compact units where they fit, and back to tables."""

import warnings
from collections import defaultdict
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from plefka.errors import InvalidFile, InvalidInput, PlefkaWarning, listed
from plefka.files.conditional_tables import MOST_READ_PARENTS, WITHOUT_TABLES, TableNetwork, TableUnit
from plefka.files.linear_fits import NEGATED, NOISY_OR, SCALES, SIGMOID, TOLERANCE
from plefka.files.recognition import Candidates, Form, check_approximate, probabilities
from plefka.networks.activations import Table
from plefka.networks.belief import BeliefNetwork
from plefka.networks.checks import NUMBERED
from plefka.networks.conditionals import GivenTables
from plefka.networks.fields import fields_of_states
from plefka.networks.units import Unit

Choice = tuple[int, bool]  # a unit, and whether its states are exchanged
ACTIVATIONS = {NOISY_OR: "noisy_or", SIGMOID: "sigmoid"}


def network_of(tables: TableNetwork, approximate: float | None = None) -> BeliefNetwork:
    """The network whose units are all noisy-or, or all sigmoid, if need be after exchanging on and off in some units.

    Where neither can be, units are of different kinds: each what it is recognised as, or a table.

    With `approximate`, forms may differ from the tables by up to that; a warning says by how much they do.
    """
    limit = check_approximate(approximate)
    candidates = [Candidates(unit, limit) for unit in tables.units]
    for kind in ACTIVATIONS:
        forms = _all_of_kind(candidates, kind)
        if forms is not None:
            return _built(tables, forms, approximate)
    flips = flips_for_noisy_or(candidates)
    if flips is not None:
        relabelled = flipped(tables, flips)
        forms = _all_of_kind([Candidates(unit, limit) for unit in relabelled.units], NOISY_OR)
        if forms is not None:
            return _built(relabelled, forms, approximate)
    return _built(tables, [each.best for each in candidates], approximate)


def _all_of_kind(candidates: Sequence[Candidates], kind: str) -> list[Form] | None:
    """All units in this form with the polarity of their parents; None as soon as one does not fit."""
    forms = []
    for candidate in candidates:
        form = candidate.form(kind)
        if form is None or form.negated_parents.any():
            return None
        forms.append(form)
    return forms


def tables_of(network: BeliefNetwork) -> TableNetwork:
    """The table of every unit."""
    if not isinstance(network, BeliefNetwork):
        raise InvalidInput(f"a network must be a BeliefNetwork; got {type(network).__name__}.")
    if network.stack is not None:
        raise InvalidInput(
            f"formats of tables store one network; got a stack of {network.stack}. Save one of them: network.take(0)."
        )
    if network.hierarchy is not None:
        warnings.warn(
            "tables cannot hold what units imply: `network.implies` is left out. Save it as .json or .npz to keep it.",
            PlefkaWarning, stacklevel=3,
        )  # fmt: skip
    weights = network.storage.to_sparse()
    ends = zip(weights.indptr[:-1], weights.indptr[1:], strict=True)
    families = [(weights.indices[first:last], weights.data[first:last]) for first, last in ends]
    called = zip(network.names, np.asarray(network.bias, float), families, strict=True)
    fields = [_fields(name, bias, values) for name, bias, (_, values) in called]
    activation = network.activation
    on = np.clip(activation.probability(activation.clip(np.concatenate(fields))), 0.0, 1.0)
    tables = np.split(on, np.cumsum([len(part) for part in fields])[:-1])
    units = [
        TableUnit(name, states, tuple(map(int, parents)), table.reshape((2,) * len(parents)))
        for name, states, (parents, _), table in zip(network.names, network.states, families, tables, strict=True)
    ]
    return TableNetwork(tuple(units), network.given_names is not None)


def tabled(tables: TableNetwork) -> TableNetwork:
    """With a table for every compact unit."""
    units = list(tables.units)
    for position, (name, _, parents, _, linear) in enumerate(units):
        if linear is not None:
            on = SCALES[linear[0]].probability(_fields(name, *linear[1:]))
            units[position] = units[position]._replace(table=on.reshape((2,) * len(parents)), linear=None)
    return TableNetwork(tuple(units), tables.named)


def _built(tables: TableNetwork, forms: Sequence[Form], approximate: float | None) -> BeliefNetwork:
    """The network, with its tables unless it is meant to differ from them or has units without one."""
    network = _network(tables, forms)
    costs = [f"{form.unit.name} {form.error:.2g}" for form in forms if form.error > TOLERANCE]
    if approximate is not None and costs:
        warnings.warn(
            f"with approximate={approximate:g}, {len(costs)} of {len(forms)} units were replaced by a noisy-or or a "
            f"sigmoid that differs from their table. The largest error of a probability of each: {listed(costs, 20)}.",
            PlefkaWarning, stacklevel=4,
        )  # fmt: skip
    if approximate is not None or any(unit.linear for unit in tables.units):
        return network
    units = tables.units
    return network.with_tables(GivenTables(tuple(u.parents for u in units), tuple(u.table for u in units)))


def _network(tables: TableNetwork, forms: Sequence[Form]) -> BeliefNetwork:
    units = []
    for name, form in zip(tables.names, forms, strict=True):
        is_compact = form.kind in ACTIVATIONS and not form.negated_parents.any()
        kind = ACTIVATIONS[form.kind] if is_compact else Table(probabilities(form))
        weights, bias = (form.weights.tolist(), form.bias) if is_compact else ((), 0.0)
        units.append(Unit(name if tables.named else None, form.parents, kind, weights, bias))
    return BeliefNetwork.of_units(units, states=tables.states)


def _fields(name: str, bias: float, weights: Float[np.ndarray, " parent"]) -> Float[np.ndarray, " states"]:
    """The fields of a unit for all states of its parents, the last of them fastest."""
    if len(weights) > MOST_READ_PARENTS:
        raise InvalidFile(
            f"a table must have at most {MOST_READ_PARENTS} parents, because it has 2^parents entries; "
            f"unit {name!r} has {len(weights)}. {WITHOUT_TABLES}"
        )
    return fields_of_states(bias, weights).ravel()


# ---- which states to exchange so that all tables become a noisy-or ---------------------------------------------------
#
# Exchanging on and off in a unit turns its noisy-or into the negated form. Its parents are free, but for those that
# decide alone: these must do so by being on. So either choice for a unit implies choices for some of its parents. This
# is a problem of two-literal clauses: assume a choice, follow what it implies, and take the other if that contradicts.


def flips_for_noisy_or(candidates: Sequence[Candidates]) -> list[bool] | None:
    """Which units to exchange, as few as follow from keeping the first; None where no choice fits all."""
    implied: dict[Choice, set[Choice]] = defaultdict(set)
    for unit, candidate in enumerate(candidates):
        is_numbered = set(candidate.unit.states) == {*NUMBERED}
        forms = [candidate.form(NOISY_OR), None if is_numbered else candidate.form(NEGATED)]
        if candidate.unit.linear or forms == [None, None]:
            return None
        for flip, form in zip((False, True), forms, strict=True):
            if form is None:
                implied[unit, flip].add((unit, not flip))
                continue
            for parent, weight, negated in zip(form.parents, form.weights, form.negated_parents, strict=True):
                if np.isinf(weight):  # it decides alone
                    implied[unit, flip].add((parent, bool(negated)))
                    implied[parent, not negated].add((unit, not flip))
    chosen: dict[int, bool] = {}
    for unit in range(len(candidates)):
        if unit not in chosen:
            follow = (_follow((unit, flip), implied, chosen) for flip in (False, True))
            found = next(filter(None, follow), None)
            if found is None:
                return None
            chosen |= found
    return [chosen[unit] for unit in range(len(candidates))]


def flipped(tables: TableNetwork, flips: Sequence[bool]) -> TableNetwork:
    """The tables of the network with on and off exchanged in some units; its distribution does not change."""
    units = []
    for unit, flip in zip(tables.units, flips, strict=True):
        table = np.flip(unit.table, tuple(axis for axis, parent in enumerate(unit.parents) if flips[parent]))
        off, on = unit.states
        units.append(TableUnit(unit.name, (on, off) if flip else (off, on), unit.parents, 1 - table if flip else table))
    return TableNetwork(tuple(units), tables.named)


def _follow(start: Choice, implied: dict[Choice, set[Choice]], chosen: dict[int, bool]) -> dict[int, bool] | None:
    """All that a choice implies, or None where that contradicts itself or what was chosen."""
    found: dict[int, bool] = {}
    pending = [start]
    while pending:
        unit, flip = pending.pop()
        known = chosen.get(unit, found.get(unit))
        if known not in (None, flip):
            return None
        if known is None:
            found[unit] = flip
            pending += implied.get((unit, flip), ())
    return found
