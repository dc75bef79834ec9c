"""Networks of binary units, and how their weights are stored."""

from plefka.networks.belief import BeliefNetwork as BeliefNetwork
