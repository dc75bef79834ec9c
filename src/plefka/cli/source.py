"""From the arguments of the command line to networks and evidence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from plefka.cache import keep_compiled
from plefka.cli.options import check_single
from plefka.errors import InvalidEvidence
from plefka.evidence import Evidence, Likelihood, as_evidence
from plefka.rows.common import Common
from plefka.rows.sources import whole

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


def read_network(source: str) -> "BeliefNetwork":
    """The network in a file, or the bundled one that `example:NAME` says."""
    from plefka.formats import load

    keep_compiled()
    return load(source)


def read_question(
    source: str, options: Sequence[str] | None, command: str
) -> "tuple[BeliefNetwork, dict[str, int | Likelihood]]":
    """One network, not a stack, and what was observed."""
    network = read_network(source)
    check_single(network, source, command)
    return network, read_evidence(network, options)


def read_evidence(network: "BeliefNetwork", options: Sequence[str] | None) -> "dict[str, int | Likelihood]":
    """{unit: 0, 1 or a Likelihood} from ["a=1,b=0", "c=0.9:0.2"], checked against the network before work begins."""
    texts: dict[str, str] = {}
    for unit, state in _assignments(options or ()):
        if texts.setdefault(unit, state) != state:
            raise InvalidEvidence(f"unit {unit!r} must have one state; got {texts[unit]} and {state}.")
    observed = {unit: _state(network, unit, state) for unit, state in texts.items()}
    as_evidence(network, observed)
    return observed


def _state(network: "BeliefNetwork", unit: str, text: str) -> "int | Likelihood":
    """0, 1 or the word for a state, or of ON:OFF how probable what was seen is in either state."""
    words = network.states[network.index(unit)]
    if text in words:
        return words.index(text)
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) == 2:
        return Likelihood(*numbers)
    if numbers not in ([0], [1]):
        named = f" ({words[0]} or {words[1]})" if network.given_states else ""
        raise InvalidEvidence(f"unit {unit!r} must be 0 or 1{named}, or ON:OFF as in {unit}=0.9:0.2; got {text}.")
    return int(numbers[0])


def _assignments(options: Iterable[str]) -> Iterator[tuple[str, str]]:
    for text in (part.strip() for option in options for part in option.split(",")):
        unit, equals, state = (part.strip() for part in text.rpartition("="))
        if text and not (equals and unit and state):
            raise InvalidEvidence(
                f"evidence is written UNIT=0 or UNIT=1, with commas between; got {text!r}. "
                "Soft evidence is written UNIT=ON:OFF."
            )
        if text:
            yield unit, state


def read_rows(network: "BeliefNetwork", path: str, evidence: "Mapping[str, int | Likelihood]") -> Evidence:
    """One row of evidence for each row of a table, whose columns have the names of units.

    `evidence` holds for every row, soft evidence too.
    """
    rows = whole(network, Path(path))
    return Common.of(network, evidence, "--evidence").added(Evidence(rows, batched=True), 0, path)
