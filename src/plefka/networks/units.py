"""Units one by one: from a list of units to a network, from a network to its units, and in words."""

from collections.abc import Callable, Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from jaxtyping import Array

from plefka.errors import InvalidNetwork, listed, nearest
from plefka.networks.activations import Activation, Table, as_activation
from plefka.networks.conditionals import TABLE_CODE

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


MOST_SHOWN = 8  # numbers of a unit in words


class Unit(NamedTuple):
    """A unit of a network: its name, its parents, and how it depends on them.

    - `name`: the name of the unit, or None if units are identified by their index.
    - `parents`: the names or indices of its parents.
    - `kind`: a `Table`, or an activation: "sigmoid", "noisy_or" or a `Custom`.
    - `weights`, `bias`: a weight for each parent, and the bias. A `Table` needs neither.

    `BeliefNetwork.of_units` makes a network from a list of units, and `network.units` lists them.

    **Example:**

    >>> import plefka as pf
    >>> flu, fever = pf.Unit("flu", [], "noisy_or", [], 0.05), pf.Unit("fever", ["flu"], "noisy_or", [1.6], 0.02)
    >>> pf.BeliefNetwork.of_units([flu, fever]).names
    ('flu', 'fever')
    """

    name: str | None
    parents: Sequence[str | int]
    kind: str | Activation | Table | Callable[[Array], Array]  # a name, what it names, a table, or a function
    weights: Sequence[float] = ()
    bias: float = 0.0


def units_of(network: "BeliefNetwork") -> Iterator[Unit]:
    """All units of a network, one after another."""
    if network.stack is not None:
        raise InvalidNetwork(
            "units can only be listed for a single network; got a stack. Take one of them: network.take(0).units."
        )
    W = network.storage.to_sparse()
    names, bias = network.names, np.asarray(network.bias)
    given = network.conditionals
    place = {} if given is None else {int(unit): k for k, unit in enumerate(given.units)}
    kind = network.activation if given is None else given.with_fields
    for unit in range(network.size):
        here = slice(W.indptr[unit], W.indptr[unit + 1])
        parents = [names[parent] if network.given_names else int(parent) for parent in W.indices[here]]
        name = names[unit] if network.given_names else None
        if given is None or unit not in place:
            yield Unit(name, tuple(parents), kind, tuple(W.data[here].tolist()), float(bias[unit]))
            continue
        k = place[unit]
        numbers = np.asarray(given.numbers[given.starts[k] : given.starts[k + 1]])
        if given.kind[k] == TABLE_CODE:
            yield Unit(name, tuple(parents), Table(numbers.reshape((2,) * len(parents))))
        else:
            own, *weights = numbers.tolist()
            yield Unit(name, tuple(parents), given.kinds[given.kind[k]], tuple(weights), own)


def network_parts(given: Sequence[Unit | tuple]) -> tuple[sp.csr_array, np.ndarray, list, tuple[str, ...] | None]:
    """From units to weights, bias, kinds and names; the parents of a unit may come in any order, and after it."""
    units = [unit if isinstance(unit, Unit) else _unit(unit) for unit in given]
    if not units:
        raise InvalidNetwork("a network must have at least one unit; got an empty list.")
    named = [unit.name for unit in units if unit.name is not None]
    if named and len(named) < len(units):
        raise InvalidNetwork(
            f"either all units or none must have names; got {len(named)} names for {len(units)} units."
        )
    position = {name: at for at, name in enumerate(named)}
    rows, columns, values, kinds = [], [], [], []
    for at, unit in enumerate(units):
        parents = [_position(parent, position, len(units), unit.name or str(at)) for parent in unit.parents]
        weights, kind = _ordered(unit, parents, unit.name or str(at))
        rows.append(np.full(len(parents), at))
        columns.append(np.sort(parents))
        values.append(weights)
        kinds.append(kind)
    where = np.concatenate(rows).astype(int), np.concatenate(columns).astype(int)
    W = sp.csr_array((np.concatenate(values), where), shape=(len(units), len(units)))
    return W, np.array([unit.bias for unit in units], float), kinds, tuple(named) or None


def _unit(parts: tuple) -> Unit:
    try:
        return Unit(*parts)
    except TypeError:
        raise InvalidNetwork(f"a unit must be (name, parents, kind, weights, bias); got {parts!r}.") from None


def _ordered(unit: Unit, parents: list[int], name: str) -> tuple[np.ndarray, Any]:
    """Weights and kind with the parents in the order of their indices."""
    repeated = [unit.parents[k] for k, parent in enumerate(parents) if parent in parents[:k]]
    if repeated:
        raise InvalidNetwork(f"the parents of unit {name} must be distinct; got {repeated[0]!r} twice.")
    order = np.argsort(parents, kind="stable")
    if isinstance(unit.kind, Table):
        if unit.kind.num_parents != len(parents):
            raise InvalidNetwork(
                f"the table of unit {name} must have one axis for each of its {len(parents)} parents "
                f"({listed(unit.parents)}); got {unit.kind.num_parents}."
            )
        return np.ones(len(parents)), unit.kind.reordered(order)
    weights = np.asarray(unit.weights, float)
    if weights.shape != (len(parents),):
        raise InvalidNetwork(
            f"unit {name} must have a weight for each of its {len(parents)} parents; got {len(unit.weights)}."
        )
    return weights[order], unit.kind


def _position(parent: str | int, names: dict[str, int], size: int, child: str) -> int:
    if isinstance(parent, str) and parent in names:
        return names[parent]
    if isinstance(parent, int | np.integer) and not isinstance(parent, bool) and 0 <= parent < size:
        return int(parent)
    raise InvalidNetwork(
        f"unit {child} must have parents of this network; got {parent!r}." + nearest(str(parent), names)
    )


# ---- in words --------------------------------------------------------------------------------------------------------


def kinds_of(network: Any) -> list[str]:
    """Of each unit "sigmoid", "noisy_or", "table", the name of a custom activation, "boltzmann" or "markov"."""
    if network.activation is None:
        return ["markov" if hasattr(network, "factors") else "boltzmann"] * network.size
    given = network.conditionals
    if given is None:
        return [network.activation.name] * network.size
    kinds = [given.with_fields.name] * network.size
    words = [*(kind.name for kind in given.kinds), "table"]  # TABLE is -1, the last
    for unit, kind in zip(np.asarray(given.units), np.asarray(given.kind), strict=True):
        kinds[unit] = words[kind]
    return kinds


def unit_numbers(unit: Unit) -> dict[tuple[str, str], float]:
    """Its numbers by what they are and parent, if any: probabilities, or the weights of what has none."""
    if isinstance(unit.kind, Table):
        states = product("01", repeat=len(unit.parents))
        given = (", ".join(f"{parent}={s}" for parent, s in zip(unit.parents, state, strict=True)) for state in states)
        names = (f"P(on | {text})" if text else "prior" for text in given)
        return {(name, ""): p for name, p in zip(names, unit.kind.probabilities.ravel().tolist(), strict=True)}
    own, link, numbers = "bias", "weight", np.array([unit.bias, *unit.weights], float)
    if as_activation(unit.kind).has_linear_log_off and numbers.min() >= 0:
        own, link, numbers = "leak" if unit.parents else "prior", "strength", -np.expm1(-numbers)
    keys = [(own, ""), *((link, str(parent)) for parent in unit.parents)]
    return dict(zip(keys, numbers.tolist(), strict=True))


def unit_in_words(unit: Unit) -> tuple[str, str, str]:
    """Its kind, its parents and its numbers."""
    if isinstance(unit.kind, Table):
        name, numbers = "table", unit.kind.probabilities.ravel().tolist()
        return name, listed(unit.parents), "P(on) = " + _short(numbers)
    ((own, _), number), *others = unit_numbers(unit).items()
    more = f"; {others[0][0][0]}s {_short([z for _, z in others])}" if others else ""
    return as_activation(unit.kind).name, listed(unit.parents), f"{own} {number:.4g}{more}"


def _short(numbers: Sequence[float]) -> str:
    return listed((f"{number:.4g}" for number in numbers), MOST_SHOWN)
