"""From the arguments of the command line to networks and evidence."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import plefka as pf
from plefka.cli.options import names_in, split_at_commas
from plefka.errors import InvalidEvidence, InvalidFile, InvalidInput
from plefka.runtime.extras import pandas

if TYPE_CHECKING:
    import numpy as np

    from plefka.networks.evidence import Evidence
    from plefka.tables.table import NumberTable


def read_network(source: str) -> "pf.BeliefNetwork":
    """The network in a file, or the bundled one that `example:NAME` says."""
    pf.keep_compiled()
    return pf.load(source)


def read_single(source: str, command: str) -> "pf.BeliefNetwork":
    """One network, not a stack."""
    network = read_network(source)
    if network.stack is not None:
        raise InvalidFile(
            f"{source}: {command} takes one network; got a stack of {network.stack}. Save one of them by itself."
        )
    return network


def read_model(
    model: str, command: str, path: Path, id_columns: list[str] | None
) -> "tuple[pf.BeliefNetwork, NumberTable, np.ndarray]":
    """One network, a table of data about it, and the units that the columns of the table are."""
    from plefka.tables.table import read_table, table_units

    network = read_single(model, command)
    table = read_table(path, network, id_columns)
    return network, table, table_units(network, table)


def read_question(
    source: str, options: Sequence[str] | None, command: str
) -> "tuple[pf.BeliefNetwork, dict[str, int | pf.Likelihood]]":
    """One network, not a stack, and what was observed."""
    network = read_single(source, command)
    return network, read_evidence(network, options)


def read_evidence(
    network: "pf.BeliefNetwork", options: Sequence[str] | None, named: str = "evidence"
) -> "dict[str, int | pf.Likelihood]":
    """{unit: 0, 1 or a Likelihood} from ["a=1,b=0", "c=0.9:0.2"], checked against the network before work begins."""
    from plefka.networks.evidence import as_evidence

    texts: dict[str, str] = {}
    for text, unit, state in _assignments(network, options):
        if text and not (unit and state):
            raise InvalidEvidence(
                f"{named} is written UNIT=0 or UNIT=1, with commas between; got {text!r}."
                f"{' Soft evidence is written UNIT=ON:OFF.' if named == 'evidence' else ''}"
            )
        if text and texts.setdefault(unit, state) != state:
            raise InvalidEvidence(f"unit {unit!r} must have one state; got {texts[unit]} and {state}.")
    states = {unit: read_state(network, unit, state) for unit, state in texts.items()}
    observed = {unit: state for unit, state in states.items() if state is not None}
    as_evidence(network, observed)
    return observed


def read_units(network: "pf.BeliefNetwork", options: list[str] | None) -> Any:
    """'all', 'causes' or a list of names; None where nothing is said."""
    names = names_in(options, network.names)
    if names is None or names in (["all"], ["causes"]):
        return names and names[0]
    return [network.names[network.index(name)] for name in names]


def read_conditions(
    network: "pf.BeliefNetwork", do: Sequence[str] | None, exclusive: list[str] | None = None, or_none: bool = False
) -> dict[str, Any]:
    """What is set, and the units of which one is on, as `infer` takes them; nothing where nothing is said."""
    names = names_in(exclusive, network.names)
    if or_none and not names:
        raise InvalidEvidence("--or-none goes with --exclusive, which names the units of which at most one is on.")
    found = {"do": read_evidence(network, do, "--do"), "exclusive": names and [*names, *([None] if or_none else [])]}
    return {name: value for name, value in found.items() if value}


def read_state(network: "pf.BeliefNetwork", unit: str, text: str) -> "int | pf.Likelihood | None":
    """0, 1 or the word for a state, or of ON:OFF how probable what was seen is in either state; None where missing."""
    from plefka.tables import values

    own = None if network.given_states is None else network.given_states[network.index(unit)]
    found = values.meaning(values.as_off_and_on(network, text), own)
    if found != values.NO_STATE:
        return None if found != found else network.values[int(found)]
    try:
        numbers = [float(part) for part in text.split(":")]
    except ValueError:
        numbers = []
    if len(numbers) == 2:
        return pf.Likelihood(*numbers)
    named = "" if own is None else f" ({own[0]} or {own[1]})"
    off, on = network.values
    raise InvalidEvidence(
        f"unit {unit!r} must be {off} or {on}{named}, or ON:OFF as in {unit}=0.9:0.2; got {text}."
        f"{values.advice_on_value(text, own)}"
    )


def _assignments(network: "pf.BeliefNetwork", options: Sequence[str] | None) -> Iterator[tuple[str, str, str]]:
    """UNIT=VALUE, and both parts of it, which are empty where it is not written so."""
    known = dict.fromkeys(network.names)
    for option in options or ():
        for part in split_at_commas(option, lambda text: _split(text, known) is not None, known):
            text = part.strip()
            unit, value = _split(text, known) or [word.strip() for word in text.rpartition("=")[::2]]
            yield text, unit, value


def read_costs(network: "pf.BeliefNetwork", options: Sequence[str] | None) -> Any:
    """{unit: cost} from ["a=2,b=0.5"], or a table from the name of a CSV or Excel file."""
    if options and len(options) == 1 and (path := Path(options[0])).suffix.lower() in (".csv", ".xlsx"):
        try:
            if path.suffix.lower() == ".csv":
                return pandas().read_csv(path, dtype={"finding": str, "unit": str})
            sheets = {name.strip().lower(): sheet for name, sheet in pandas().read_excel(path, sheet_name=None).items()}
            return sheets.get("findings", next(iter(sheets.values())))
        except (OSError, ValueError) as error:
            raise InvalidFile(f"{path}: the table of costs cannot be read: {error}.") from error
    found = {}
    for text, unit, cost in _assignments(network, options):
        if not (unit and cost):
            raise InvalidInput(f"costs are written UNIT=COST, with commas between, or a .csv or .xlsx; got {text!r}.")
        found[unit] = cost
    return found or None


def _split(text: str, known: Collection[str]) -> tuple[str, str] | None:
    """A unit and its state, both of which may have equals signs; None where none of them divides it so."""
    places = [at for at, letter in enumerate(text) if letter == "="]
    pairs = [(text[:at].strip(), text[at + 1 :].strip()) for at in reversed(places)]
    return next(((unit, state) for unit, state in pairs if unit in known and state and "," not in state), None)


def read_rows(
    network: "pf.BeliefNetwork", path: Path, evidence: "Mapping[str, int | pf.Likelihood]", id_columns: list[str] | None
) -> "tuple[Evidence, dict[str, list[Any]]]":
    """One row of evidence for each row of a table, and what the table calls them.

    `evidence` holds for every row, soft evidence too.
    """
    from plefka.networks.evidence import Evidence
    from plefka.scale.evidence_rows import CommonEvidence
    from plefka.tables.table import evidence_of, read_table, table_units

    if network.values != (0, 1):
        raise InvalidEvidence(
            "rows of a table must be 0 and 1, and this machine has values "
            f"{network.values[0]} and {network.values[1]}. "
            "Save machine.converted(), which has values 0 and 1, and use that."
        )
    table = read_table(path, network, id_columns)
    rows = evidence_of(network, table_units(network, table), table.values)
    common = CommonEvidence.of(network, evidence, "--evidence")
    return common.added(Evidence(rows, batched=True), 0, str(path)), table.ids
