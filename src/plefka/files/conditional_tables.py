"""Networks of conditional probability tables, as most formats keep them: what must hold, and which state is on."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np
from jaxtyping import Float

from plefka.errors import InvalidFile, PlefkaWarning, listed, nearest
from plefka.files.linear_fits import NOISY_OR
from plefka.networks.checks import NUMBERED
from plefka.networks.graph import Graph, cycle_text

SUM_TOLERANCE = 1e-5  # how far the probabilities of all states may be from adding up to one
WARNED_FROM = 1e-9  # a difference that a warning mentions
MOST_VARIABLES = 2**20  # of a network in tables
MOST_READ_PARENTS = 16  # of a unit whose table is written, or filled in by a default
MOST_PARENTS_READ = 20
MOST_EXCHANGED = 10  # of a noisy-or of other states than those that are on, which becomes a table
WITHOUT_TABLES = "Keep this network in plefka's own format (.json or .npz), which needs no tables."
ON_WORDS = "yes y true t present on 1 positive pos active enabled abnormal high"
OFF_WORDS = "no n false f absent off 0 negative neg inactive disabled normal low none"


class TableUnit(NamedTuple):
    """A unit with the probability that it is on for each state of its parents."""

    name: str
    states: tuple[str, str]  # what off and on are called
    parents: tuple[int, ...]
    table: Float[np.ndarray, "..."]  # shape (2,) * len(parents), 1 where a parent is on
    linear: tuple[str, float, np.ndarray] | None = None  # kind, bias and weights of a unit without a table


@dataclass(frozen=True)
class TableNetwork:
    """Binary units with a table each; `named` says whether their names are more than their numbers."""

    units: tuple[TableUnit, ...]
    named: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(unit.name for unit in self.units)

    @property
    def states(self) -> tuple[tuple[str, str], ...] | None:
        """What off and on are called in each unit; None where all go by their numbers."""
        states = tuple(unit.states for unit in self.units)
        return None if all(pair == NUMBERED for pair in states) else states


class Variable(NamedTuple):
    """A variable as a file declares it; `place` is where, for messages."""

    name: str
    states: tuple[str, ...]
    place: str = ""


class Conditional(NamedTuple):
    """A table as a file has it: the states of parents and child in the order of the file, the child's last."""

    child: str
    parents: tuple[str, ...]
    values: Float[np.ndarray, "..."]
    place: str = ""
    are_weights: bool = False  # which are divided by their sum, whatever it is


class IndependentCauses(NamedTuple):
    """A noisy-or of other programs: parents in their state `active` turn the child into `effect`, if they do not fail.

    States go by their places.
    """

    child: str
    parents: tuple[str, ...]
    effect: int
    active: tuple[int, ...]
    leak: float
    failures: Float[np.ndarray, " parent"]
    place: str = ""

    @property
    def values(self) -> Float[np.ndarray, "..."]:
        """The table, the states of the child last."""
        quiet = np.array(1 - self.leak)
        for state, failure in zip(self.active, self.failures, strict=True):
            quiet = np.multiply.outer(quiet, [failure, 1.0] if state == 0 else [1.0, failure])
        return np.stack([1 - quiet, quiet] if self.effect == 0 else [quiet, 1 - quiet], -1)


Local = Conditional | IndependentCauses


def network_from(variables: Sequence[Variable], conditionals: Sequence[Local], named: bool = True) -> TableNetwork:
    """The network that a file describes, or what is wrong with it; the variables are known to be binary and unique."""
    if not variables:
        raise InvalidFile("a network must have at least one variable; got none. Was the file cut off?")
    position = {variable.name: k for k, variable in enumerate(variables)}
    by_child = _by_child(conditionals, position)
    on = _on_states(variables, [table for table in by_child.values() if isinstance(table, IndependentCauses)])
    missing = next((variable.name for variable in variables if variable.name not in by_child), None)
    if missing is not None:
        raise InvalidFile(
            f"every variable must have a table; there is none for {missing!r}. Add it. Was the file cut off?"
        )
    units = tuple(_unit(variable, by_child[variable.name], position, on) for variable in variables)
    cycle = Graph.of_parents([unit.parents for unit in units]).cycle()
    if cycle is not None:
        path = cycle_text(list(position), cycle)
        raise InvalidFile(f"a network must be acyclic; got the cycle {path}. Remove one of these edges.")
    tables = {child: table.values for child, table in by_child.items() if isinstance(table, Conditional)}
    off = {child: float(np.abs(values.sum(-1) - 1).max()) for child, values in tables.items()}
    several = [child for child, error in off.items() if error > WARNED_FROM]
    if several:
        message = f"the probabilities of {listed(several)} did not add up to one, by up to {max(off.values()):.2g}, and"
        warnings.warn(f"{message} were divided by their sum.", PlefkaWarning, stacklevel=4)
    return TableNetwork(units, named)


def check_binary(variable: Variable) -> None:
    name, states, place = variable
    if len(states) != 2:
        raise InvalidFile(
            f"{place}variables must have two states; {name!r} has {len(states)}: {listed(states) or 'none'}. "
            "Merge states until there are two, or use a library for variables of many values."
        )
    if states[0] == states[1]:
        raise InvalidFile(f"{place}the states of {name!r} must differ; got {states[0]!r} twice.")
    odd = next((word for word in (name, *states) if not (word.strip() and word.isprintable())), None)
    if odd is not None:
        raise InvalidFile(f"{place}names of variables and states must be printable words; got {odd!r}.")


def refuse_kind(place: str, name: str, kind: str) -> NoReturn:
    raise InvalidFile(
        f"{place}nodes must be discrete, with a table or a noisy-or of their parents; {name!r} is of the kind "
        f"{kind!r}. Remove it, or give it a table in the program that wrote the file."
    )


def check_variable_count(count: int) -> None:
    if count > MOST_VARIABLES:
        raise InvalidFile(f"a network of tables must have at most {MOST_VARIABLES:,} variables; got {count:,}.")


def add_variable(variable: Variable, known: dict[str, Variable]) -> None:
    """One more of a file, which must have another name, and two states whose names differ."""
    check_variable_count(len(known) + 1)
    if variable.name in known:
        raise InvalidFile(
            f"{variable.place}the names of variables must be unique; got {variable.name!r} twice. Rename one."
        )
    check_binary(variable)
    known[variable.name] = variable


def find_variable(name: str, known: Iterable[str], place: str, role: str) -> None:
    """A name that a table mentions must be declared."""
    if name not in known:
        hint = nearest(name, known) or " Declare it, or remove it here."
        raise InvalidFile(f"{place}{role} must be a variable of the file; got {name!r}.{hint}")


def table_size(parents: int, place: str, child: str) -> int:
    """How many probabilities a table has: one for each state of the parents and of the child."""
    if parents > MOST_PARENTS_READ:
        raise InvalidFile(
            f"{place}a table must have at most {MOST_PARENTS_READ} parents; {child!r} has {parents}. {WITHOUT_TABLES}"
        )
    return 2 ** (parents + 1)


def check_total(count: int, expected: int, place: str, child: str) -> None:
    if count != expected:
        raise InvalidFile(
            f"{place}the table of {child!r} must have {expected} probabilities, one for each state of it and its "
            f"parents; got {count}."
        )


def whole_table(child: Variable, parents: tuple[str, ...], entries: Any, are_weights: bool = False) -> Conditional:
    """From all numbers, those of the child fastest, or from the state of the child for each state of its parents."""
    name, states, place = child
    if len(entries) and isinstance(entries[0], str):
        if not {*entries} <= {*states}:
            raise InvalidFile(f"{place}{name!r} must have its states {listed(states)} here; got {listed(entries)}.")
        entries = [float(word == state) for word in entries for state in states]
    check_total(len(entries), table_size(len(parents), place, name), place, name)
    values = np.array(entries, float).reshape((2,) * (len(parents) + 1))
    return Conditional(name, parents, values, place, are_weights)


def probability_of_on(
    values: Float[np.ndarray, "*parents 2"], first_is_on: bool, place: str, child: str
) -> Float[np.ndarray, "*parents"]:
    """From the probabilities of both states, in the order of the file, to that of being on."""
    outside = ~((values >= 0) & (values <= 1 + SUM_TOLERANCE))  # nan too
    if outside.any():
        worst = values[tuple(np.argwhere(outside)[0])]
        raise InvalidFile(f"{place}probabilities must be between 0 and 1; got {worst:g} in the table of {child!r}.")
    total = values.sum(-1)
    off = np.abs(total - 1)
    if off.max() > SUM_TOLERANCE:
        row = tuple(map(int, np.unravel_index(int(off.argmax()), off.shape)))
        where = f" in row {row} of its parents' states, counted from 0" if row else ""
        others = (values.reshape(2, -1).sum(0), np.moveaxis(values, -1, 0).reshape(-1, 2).sum(1))
        hint = " Correct them."
        if values.ndim > 1 and min(np.abs(other - 1).max() for other in others) <= SUM_TOLERANCE:
            hint = (
                " They would if the states of the child came first and not last (or the other way round): "
                "the program that wrote the file has another order of tables than the format."
            )
        raise InvalidFile(
            f"{place}the probabilities of all states must add up to one; those of {child!r} add up to {total[row]:.9g}"
            f"{where}.{hint}"
        )
    on = values[..., 0 if first_is_on else 1]
    return np.where(off > 1e-15, np.minimum(on / total, 1.0), on)


def is_first_on(states: tuple[str, ...]) -> bool:
    """By the word for it; where words do not tell, the second state is on."""
    words = [state.strip().casefold() for state in states]
    on, off = ([word in known.split() for word in words] for known in (ON_WORDS, OFF_WORDS))
    return on == [True, False] or (on == [False, False] and off == [False, True])


def _on_states(variables: Sequence[Variable], causal: Sequence[IndependentCauses]) -> dict[str, int]:
    """Which state is on: by its word, otherwise what a noisy-or brings about or acts in one, otherwise the second."""
    acting = {parent: state for unit in causal for parent, state in zip(unit.parents, unit.active, strict=True)}
    acting |= {unit.child: unit.effect for unit in causal}
    return {
        name: 0 if is_first_on(states) else 1 if is_first_on(states[::-1]) else acting.get(name, 1)
        for name, states, _ in variables
    }


def _by_child(conditionals: Iterable[Local], known: Iterable[str]) -> dict[str, Local]:
    found: dict[str, Local] = {}
    for table in conditionals:
        find_variable(table.child, known, table.place, "the child of a table")
        if table.child in found:
            raise InvalidFile(f"{table.place}a variable must have one table; got a second one for {table.child!r}.")
        for parent in table.parents:
            find_variable(parent, known, table.place, f"a parent of {table.child!r}")
        if len(set(table.parents)) < len(table.parents):
            raise InvalidFile(f"{table.place}the parents of {table.child!r} must differ; got {listed(table.parents)}.")
        found[table.child] = table
    return found


def _unit(variable: Variable, table: Local, position: dict[str, int], on_states: dict[str, int]) -> TableUnit:
    parents = tuple(position[parent] for parent in table.parents)
    name, (first, second), _ = variable
    first_is_on = on_states[name] == 0
    states = (second, first) if first_is_on else (first, second)
    if isinstance(table, IndependentCauses):
        acting = zip((name, *table.parents), (table.effect, *table.active), strict=True)
        if table.leak < 1 and all(on_states[unit] == state for unit, state in acting):
            with np.errstate(divide="ignore"):
                linear = (NOISY_OR, -float(np.log1p(-table.leak)), -np.log(table.failures))
            return TableUnit(name, states, parents, np.array(table.leak), linear)
        if len(parents) > MOST_EXCHANGED:
            raise InvalidFile(
                f"{table.place}in the noisy-or {name!r} of {len(parents)} parents, what is on must come from parents "
                "that are on; got other states. Exchange or rename them."
            )
    values = table.values
    if isinstance(table, Conditional) and table.are_weights:
        with np.errstate(invalid="ignore"):
            values = values / values.sum(-1, keepdims=True)
    on = probability_of_on(values, first_is_on, table.place, name)
    for axis, parent in enumerate(table.parents):
        on = np.flip(on, axis) if on_states[parent] == 0 else on
    return TableUnit(name, states, parents, np.array(on, float))
