"""A network in words: the kinds of its units, and tables of them as text and for notebooks."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import listed
from plefka.networks.activations import Table, as_activation
from plefka.networks.units import Unit, units_of
from plefka.tables.display import HTML_ROWS, Content, page, text_table

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine

MOST_SHOWN = 8  # numbers of a unit that are shown


def kinds_of(network: Any) -> list[str]:
    """Of each unit "sigmoid", "noisy_or", "table", the name of a custom activation, or "boltzmann"."""
    if network.activation is None:
        return ["boltzmann"] * network.size
    given = network.conditionals
    if given is None:
        return [network.activation.name] * network.size
    kinds = [given.with_fields.name] * network.size
    words = [*(kind.name for kind in given.kinds), "table"]  # TABLE is -1, the last
    for unit, kind in zip(np.asarray(given.units), np.asarray(given.kind), strict=True):
        kinds[unit] = words[kind]
    return kinds


def description(network: "BeliefNetwork", most: int) -> str:
    """A line for each unit: its kind, its parents and its numbers."""
    text = text_table(("unit", "kind", "parents", "numbers"), rows_in_words(network, most))
    return text if network.size <= most else f"{text}\n... and {network.size - most:,} more units"


def rows_in_words(network: "BeliefNetwork", most: int) -> list[tuple[str, str, str, str]]:
    """The name, kind, parents and numbers of up to so many units."""
    return [
        (network.names[at], *_in_words(unit)) for at, unit in zip(range(min(most, network.size)), units_of(network))
    ]


def _in_words(unit: Unit) -> tuple[str, str, str]:
    if isinstance(unit.kind, Table):
        name, numbers = "table", unit.kind.probabilities.ravel().tolist()
        return name, listed(unit.parents), "P(on) = " + _short(numbers)
    weights = f"; weights {_short(unit.weights)}" if unit.weights else ""
    return as_activation(unit.kind).name, listed(unit.parents), f"bias {unit.bias:.4g}{weights}"


def _short(numbers: Sequence[float]) -> str:
    return listed((f"{number:.4g}" for number in numbers), MOST_SHOWN)


def network_html(network: "BeliefNetwork") -> str:
    """What each unit is; of a stack, its size."""
    title = repr(network).strip("<>")
    rows = [] if network.stack is not None else rows_in_words(network, HTML_ROWS)
    total = 0 if network.stack is not None else network.size
    return page(Content(title, [], ("unit", "kind", "parents", "numbers"), rows, total))


def machine_html(machine: "BoltzmannMachine") -> str:
    """What a Boltzmann machine is, and the biases and neighbours of its first units."""
    rows = [] if machine.stack is not None else machine.rows_in_words(HTML_ROWS)
    return page(Content(repr(machine)[1:-1], (), ("unit", "bias", "coupled to"), rows, len(rows) and machine.size))
