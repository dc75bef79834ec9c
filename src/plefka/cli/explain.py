"""`plefka explain`: why a unit is believed to be on or off."""

from dataclasses import asdict
from typing import Annotated

import typer

from plefka.cli import completion, options, output


def explain(
    net: options.Network,
    unit: Annotated[
        str, typer.Argument(metavar="UNIT", help="The hidden unit to explain.", autocompletion=completion.units)
    ],
    evidence: options.Evidence = None,
    method: options.Method = None,
    candidate: options.Candidates = None,
    top: Annotated[int, typer.Option(min=1, help="The number of further observations to show.")] = 5,
    json: options.Json = False,
) -> None:
    """Show how much each observation changed the log-odds of a unit, and which further ones would change them most."""
    import plefka as pf
    from plefka.cli.source import read_question

    network, observed = read_question(net, evidence, "explain")
    found = pf.explain(network, observed, unit, method, candidates=options.names_in(candidate, network.names), top=top)
    if json:
        log_odds = {"log_odds": found.log_odds, "prior_log_odds": found.prior_log_odds}
        output.print_json({"network": net, "evidence": output.as_json(observed), **asdict(found), **log_odds})
    else:
        print(f"{output.state_text(observed)}\n\n{found}")
