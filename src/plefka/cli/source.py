"""From the arguments of the command line to networks and evidence."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from plefka.cache import keep_compiled
from plefka.cli.data_files import evidence_of, read_table, units_by_name
from plefka.errors import InvalidEvidence, InvalidFile
from plefka.evidence import Evidence, Likelihood, as_evidence

if TYPE_CHECKING:
    import numpy as np

    from plefka.networks.belief import BeliefNetwork

EXAMPLE = "example:"


def read_network(source: str) -> "BeliefNetwork":
    """The network in a file, or the bundled one that `example:NAME` says."""
    keep_compiled()
    if source.startswith(EXAMPLE):
        from plefka.examples import example

        return example(source.removeprefix(EXAMPLE))
    from plefka.formats import load

    return load(source)


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


def read_rows(
    network: "BeliefNetwork", path: str, evidence: "Mapping[str, int | Likelihood]"
) -> "np.ndarray | Evidence":
    """One row of evidence for each row of a table, whose columns have the names of units.

    `evidence` holds for every row, soft evidence too.
    """
    hard = {unit: state for unit, state in evidence.items() if not isinstance(state, Likelihood)}
    rows = _certain_rows(network, path, hard)
    soft = as_evidence(network, {unit: state for unit, state in evidence.items() if isinstance(state, Likelihood)})
    if soft.tilt is None:
        return rows
    for unit in evidence:
        if unit not in hard and (rows[:, network.index(unit)] >= 0).any():
            raise InvalidFile(f"{path}: unit {unit!r} must not have states, as it has soft evidence in --evidence.")
    repeated = soft.take([0] * len(rows))
    fixed = repeated.rows >= 0
    rows[fixed] = repeated.rows[fixed]
    return repeated._replace(rows=rows, batched=True)


def _certain_rows(network: "BeliefNetwork", path: str, evidence: Mapping[str, int]) -> "np.ndarray":
    """The table, and what is observed in all rows; an error where the file has the other state."""
    table = read_table(Path(path), header=True)
    rows = evidence_of(network, units_by_name(network, table), table.values)
    for unit, state in evidence.items():
        column = rows[:, network.index(unit)]
        conflicts = column == 1 - state
        if conflicts.any():
            row = int(conflicts.argmax())
            raise InvalidEvidence(f"{path}: row {row}: unit {unit!r} is {1 - state} here, but {state} in --evidence.")
        column[:] = state
    return rows
