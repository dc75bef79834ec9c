"""Networks whose units are of different kinds, in both native formats: unit by unit; docs/formats.md has the schema."""

import reprlib
from typing import Any

import numpy as np

from plefka.errors import InvalidFile
from plefka.files import given_lists, json_layout, stored
from plefka.files.archive import Archive
from plefka.files.stored import GivenActivation
from plefka.files.strict_json import Place
from plefka.networks.activations import ACTIVATIONS, MOST_PARENTS, Activation, Table, as_activation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.units import Unit

TABLE_KIND = "table"
CUSTOM = "custom:"  # and the name, in an archive
UNIT_ENTRIES = ("format", "version", "names", "states", "kinds", "kind", "num_parents", "parents", "numbers")


# ---- text ------------------------------------------------------------------------------------------------------------


def text(network: BeliefNetwork) -> str:
    """A line for each unit."""
    return json_layout.lines(map(_unit_text, network.units))


def _unit_text(unit: Unit) -> str:
    parents = [json_layout.quoted(parent) if isinstance(parent, str) else str(parent) for parent in unit.parents]
    fields = {} if unit.name is None else {"name": json_layout.quoted(unit.name)}
    fields["parents"] = f"[{', '.join(parents)}]"
    if isinstance(unit.kind, Table):
        fields["table"] = json_layout.numbers(unit.kind.probabilities.ravel().tolist())
    else:
        kind = as_activation(unit.kind)
        name = json_layout.quoted(kind.name)
        fields["kind"] = name if stored.is_builtin(kind) else f'{{"custom": {name}}}'
        fields |= {"bias": json_layout.numbers(unit.bias), "weights": json_layout.numbers(list(unit.weights))}
    return f"{{{', '.join(f'{json_layout.quoted(key)}: {value}' for key, value in fields.items())}}}"


def from_text(place: Place, given: GivenActivation, states: list[list[str]] | None = None) -> BeliefNetwork:
    """The network of a list of units, and of what off and on are called in them."""
    count = len(place.items(of="units"))
    units = [_unit(place.at(k), given) for k in range(count)]
    _check_given(given, [unit.kind for unit in units])
    return BeliefNetwork.of_units(units, states=states)


def _unit(place: Place, given: GivenActivation) -> Unit:
    is_table = isinstance(place.value, dict) and "table" in place.value
    fields = place.fields(("parents", "table") if is_table else ("parents", "kind", "bias", "weights"), ("name",))
    name = fields["name"].word() if "name" in fields else None
    parents = [_parent(fields["parents"].at(k)) for k in range(len(fields["parents"].items(of="parents")))]
    if is_table:
        return Unit(name, parents, _table(fields["table"].numbers((_states(len(parents), place.path),)), len(parents)))
    kind, bias = stored.activation_in_text(fields["kind"], given), fields["bias"].number()
    return Unit(name, parents, kind, fields["weights"].numbers((len(parents),)).tolist(), bias)


def _parent(place: Place) -> str | int:
    if type(place.value) not in (str, int):
        raise place.refuse("the name of a unit, or the index of one where units have no names")
    return place.value


# ---- archives --------------------------------------------------------------------------------------------------------


def arrays(network: BeliefNetwork) -> dict[str, Any]:
    """Kinds, parents and numbers of all units, one behind the other."""
    units = network.units
    words = [_word(unit.kind if isinstance(unit.kind, Table) else as_activation(unit.kind)) for unit in units]
    kinds = list(dict.fromkeys(words))
    parents = [[network.index(parent) for parent in unit.parents] for unit in units]
    return {
        "kinds": np.array(kinds),
        "kind": np.array([kinds.index(word) for word in words]),
        "num_parents": np.array(list(map(len, parents))),
        "parents": np.concatenate([np.zeros(0, int), *parents]).astype(int),
        "numbers": np.concatenate([_numbers(unit) for unit in units]),
    }


def _word(kind: Activation | Table) -> str:
    if isinstance(kind, Table):
        return TABLE_KIND
    return kind.name if stored.is_builtin(kind) else CUSTOM + kind.name


def _numbers(unit: Unit) -> np.ndarray:
    return unit.kind.probabilities.ravel() if isinstance(unit.kind, Table) else np.array([unit.bias, *unit.weights])


def from_archive(archive: Archive, given: GivenActivation) -> BeliefNetwork:
    """The network of such arrays."""
    archive.check_names((*UNIT_ENTRIES, *given_lists.TABLE_ENTRY_NAMES))
    words = archive.texts("kinds")
    kinds = [None if word == TABLE_KIND else _kind(word, given) for word in words]
    _check_given(given, kinds)
    number = archive.indices("kind", (None,), "the number of a kind for each unit")
    counts = archive.indices("num_parents", (len(number),), "how many parents each unit has")
    if np.any((number < 0) | (number >= len(kinds))) or np.any(counts < 0) or len(number) == 0:
        raise InvalidFile("entries 'kind' and 'num_parents' must be those of units; got other numbers or none.")
    parents = archive.indices("parents", (int(counts.sum()),), "the parents of all units")
    names = archive.texts("names") if "names" in archive else [None] * len(number)
    if len(names) != len(number):
        raise InvalidFile(f"entry 'names' must have a name for each of the {len(number)} units; got {len(names)}.")
    is_table = [kinds[kind] is None for kind in number]
    sizes = [_states(count, f"unit {k}") if is_table[k] else count + 1 for k, count in enumerate(map(int, counts))]
    numbers = archive.numbers("numbers", (sum(sizes),), "the numbers of all units")
    columns = names, (kinds[kind] for kind in number), _cut(numbers, sizes), _cut(parents, counts)
    states = archive.pairs("states", len(number)) if "states" in archive else None
    return BeliefNetwork.of_units([_unit_of(*column) for column in zip(*columns, strict=True)], states=states)


def _cut(values: np.ndarray, sizes: Any) -> list[np.ndarray]:
    return np.split(values, np.cumsum(sizes)[:-1])


def _unit_of(name: str | None, kind: Activation | None, numbers: np.ndarray, parents: np.ndarray) -> Unit:
    if kind is None:
        return Unit(name, parents.tolist(), _table(numbers, len(parents)))
    return Unit(name, parents.tolist(), kind, numbers[1:].tolist(), float(numbers[0]))


def _kind(word: str, given: GivenActivation) -> Activation:
    if word.startswith(CUSTOM):
        return stored.custom_activation(word.removeprefix(CUSTOM), given)
    return stored.builtin_activation(word, None)


# ---- both ------------------------------------------------------------------------------------------------------------


def _states(num_parents: int, where: str) -> int:
    if num_parents > MOST_PARENTS:
        raise InvalidFile(f"{where}: a table must have at most {MOST_PARENTS} parents; got {num_parents}.")
    return 2**num_parents


def _table(probabilities: np.ndarray, num_parents: int) -> Table:
    return Table(probabilities.reshape((2,) * num_parents))


def _check_given(given: GivenActivation, kinds: list) -> None:
    """An activation is given for a file that names one."""
    builtin = tuple(ACTIVATIONS.values())
    if given is not None and all(kind is None or isinstance(kind, (*builtin, Table)) for kind in kinds):
        raise InvalidFile(
            f"activation is only for files that name an activation of your own, and this one does not; "
            f"got {reprlib.repr(given)}. "
            "Load it without `activation`."
        )
