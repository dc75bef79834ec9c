"""From the arguments of the command line to networks and evidence."""

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from plefka.cache import keep_compiled
from plefka.cli.data_files import states_in
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
    observed = {unit: _state(unit, state) for unit, state in texts.items()}
    as_evidence(network, observed)
    return {unit: state if isinstance(state, Likelihood) else int(float(state)) for unit, state in observed.items()}


def _state(unit: str, text: str) -> "str | Likelihood":
    """0 or 1 as it is written, or ON:OFF, how probable what was seen is in either state."""
    if ":" not in text:
        return text
    try:
        on, off = map(float, text.split(":"))
    except ValueError:
        raise InvalidEvidence(
            f"soft evidence is written UNIT=ON:OFF, two numbers, as in {unit}=0.9:0.2; got {unit}={text}."
        ) from None
    return Likelihood(on, off)


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
    """One row of evidence for each line of a CSV file: names of units in the header, nothing for hidden ones.

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
    import numpy as np

    header, *lines = _read_csv(path)
    units = [_column(network, path, name.strip()) for name in header]
    if len(set(units)) < len(units):
        raise InvalidFile(f"{path}: line 1: each unit has one column at most; got {','.join(header)}.")
    columns = [f"unit {name.strip()!r}" for name in header]
    rows = np.full((len(lines), network.size), np.nan)
    try:
        rows[:, units] = [states_in(words, line, columns, "hidden") for line, words in enumerate(lines, start=2)]
    except ValueError as error:
        raise InvalidFile(f"{path}: {error}") from None
    for unit, state in evidence.items():
        _fill(path, rows, network.index(unit), unit, state)
    return rows


def _column(network: "BeliefNetwork", path: str, name: str) -> int:
    try:
        return network.index(name)
    except InvalidEvidence as error:
        raise InvalidFile(f"{path}: line 1: {error}") from None


def _read_csv(path: str) -> list[list[str]]:
    try:
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidFile(f"{path}: cannot be read as CSV: {getattr(error, 'strerror', None) or error}.") from error
    if len(lines) < 2:
        raise InvalidFile(
            f"{path}: must have a header with names of units and at least one row; got {len(lines)} lines."
        )
    return lines


def _fill(path: str, rows: "np.ndarray", unit: int, name: str, state: int) -> None:
    """Observe a unit in all rows; an error where the file has the other state."""
    column = rows[:, unit]
    conflicts = column == 1 - state
    if conflicts.any():
        line = int(conflicts.argmax()) + 2
        raise InvalidEvidence(f"{path}: line {line}: unit {name!r} is {1 - state} here, but {state} in --evidence.")
    column[:] = state
