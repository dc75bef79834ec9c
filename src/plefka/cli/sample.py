"""`plefka sample`: states drawn from a network, as CSV."""

from typing import Annotated

import typer

from plefka.cli import options, output
from plefka.cli.targets import encode_csv

Count = Annotated[int, typer.Option("--count", "-n", min=1, help="The number of states to draw.")]
Seed = Annotated[int, typer.Option("--seed", "-s", min=0, help="The same seed draws the same states.")]


def sample(
    net: options.Network, count: Count, seed: Seed, evidence: options.Evidence = None, json: options.Json = False
) -> None:
    """Draw states from the network, given the evidence, and print them as CSV."""
    from plefka.cli.source import read_evidence, read_network

    network = read_network(net)
    observed = read_evidence(network, evidence)
    states = network.sample(seed, count, observed)
    if json:
        about = {"network": net, "evidence": observed, "seed": seed, "names": list(network.names)}
        output.print_json({**about, "states": states.tolist()})
    else:
        print(encode_csv(network.names, states).decode(), end="")
