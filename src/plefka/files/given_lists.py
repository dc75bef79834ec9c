"""The tables of a file that a network was read from, in both native formats, beside its compact units.

Numbers of a file are rounded, and a compact unit is off by as much: without its tables, `exact` would find other
numbers for a network that was saved and loaded again. docs/formats.md has the schema.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from plefka.errors import InvalidFile
from plefka.files import json_layout
from plefka.files.archive import Archive
from plefka.files.conditional_tables import MOST_READ_PARENTS
from plefka.files.strict_json import Place
from plefka.networks.belief import BeliefNetwork
from plefka.networks.conditionals import GivenTables
from plefka.networks.graph import Graph, cycle_text

TABLES_KEY = "tables"  # in a text
TABLE_ENTRY_NAMES = ("table_num_parents", "table_parents", "table_numbers")  # in an archive
Family = tuple[list[int], np.ndarray]  # the parents of a unit, and P(on) in each of their states


def text(network: BeliefNetwork) -> dict[str, str]:
    """A line for each unit; nothing where the network has no tables."""
    given = network.given_tables
    if given is None:
        return {}
    label = list(map(json_layout.quoted, network.names)) if network.given_names else network.names
    families = zip(given.parents, given.on, strict=True)
    return {
        TABLES_KEY: json_layout.lines(_family_text([label[unit] for unit in parents], on) for parents, on in families)
    }


def _family_text(parents: Sequence[str], on: np.ndarray) -> str:
    return f'{{"parents": [{", ".join(parents)}], "on": {json_layout.numbers(np.ravel(on).tolist())}}}'


def from_text(place: Place, network: BeliefNetwork) -> BeliefNetwork:
    """The network with the tables of a text."""
    place.items(network.size, "tables, one for each unit")
    position = {unit: at for at, unit in enumerate(network.given_names or range(network.size))}
    return _with(network, [_family(place.at(k), position) for k in range(network.size)], place.path)


def _family(place: Place, position: dict) -> Family:
    fields = place.fields(("parents", "on"))
    count = _checked_count(len(fields["parents"].items(of="parents")), place.path)
    parents = [_parent(fields["parents"].at(k), position) for k in range(count)]
    return parents, fields["on"].numbers((2**count,))


def _parent(place: Place, position: dict) -> int:
    if isinstance(place.value, bool) or not isinstance(place.value, str | int) or place.value not in position:
        raise place.refuse("the name of a unit, or the index of one where units have no names")
    return position[place.value]


def arrays(network: BeliefNetwork) -> dict[str, Any]:
    """The parents and the numbers of all units, one behind the other; nothing where the network has no tables."""
    given = network.given_tables
    if given is None:
        return {}
    counts = np.array(list(map(len, given.parents)))
    parents = np.concatenate([np.zeros(0, int), *given.parents]).astype(int)
    return dict(zip(TABLE_ENTRY_NAMES, (counts, parents, np.concatenate(list(map(np.ravel, given.on)))), strict=True))


def from_archive(archive: Archive, network: BeliefNetwork) -> BeliefNetwork:
    """The network with the tables of an archive, if it has any."""
    if not any(name in archive for name in TABLE_ENTRY_NAMES):
        return network
    first, second, third = TABLE_ENTRY_NAMES
    counts = archive.indices(first, (network.size,), f"how many parents each of the {network.size} units has").tolist()
    sizes = [2 ** _checked_count(count, f"{first}[{unit}]") for unit, count in enumerate(counts)]
    parents = archive.indices(second, (sum(counts),), "the parents of all units")
    if np.any((parents < 0) | (parents >= network.size)):
        raise InvalidFile(f"entry {second!r} must have indices of units, from 0 to {network.size - 1}; got others.")
    numbers = archive.numbers(third, (sum(sizes),), "P(on) in each state of the parents, unit by unit")
    cut = (np.split(values, np.cumsum(lengths)[:-1]) for values, lengths in ((parents, counts), (numbers, sizes)))
    return _with(network, [(some.tolist(), on) for some, on in zip(*cut, strict=True)], third)


def _checked_count(count: int, where: str) -> int:
    if not 0 <= count <= MOST_READ_PARENTS:
        raise InvalidFile(f"{where}: a table must have at most {MOST_READ_PARENTS} parents; got {count}.")
    return count


def _with(network: BeliefNetwork, families: list[Family], where: str) -> BeliefNetwork:
    """Probabilities, of parents that differ from each other and make no cycle."""
    for unit, (parents, on) in enumerate(families):
        if not np.all((on >= 0) & (on <= 1)):
            raise InvalidFile(f"{where}: a table must have probabilities; got others for unit {network.names[unit]!r}.")
        if len({*parents}) < len(parents):
            raise InvalidFile(f"{where}: parents must differ; got one twice for unit {network.names[unit]!r}.")
    if network.stack is not None:
        raise InvalidFile(f"{where}: a stack of networks has no tables; got some. Remove them.")
    _check_acyclic(network, families, where)
    given = GivenTables(
        tuple(tuple(parents) for parents, _ in families),
        tuple(on.reshape((2,) * len(parents)) for parents, on in families),
    )
    return network.with_tables(given)


def _check_acyclic(network: BeliefNetwork, families: list[Family], where: str) -> None:
    children = np.repeat(np.arange(network.size), [len(parents) for parents, _ in families])
    all_parents = np.concatenate([np.zeros(0, int), *(parents for parents, _ in families)]).astype(int)
    cycle = Graph(children, all_parents, network.size).cycle()
    if cycle is not None:
        raise InvalidFile(f"{where}: parents must make no cycle; got {cycle_text(network.names, cycle)}.")
