"""What notebooks show of a network."""

from typing import TYPE_CHECKING

from plefka.networks.units import rows_in_words
from plefka.tables.html import HTML_ROWS, Content, page

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.networks.boltzmann import BoltzmannMachine


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
