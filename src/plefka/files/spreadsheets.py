"""Spreadsheets of causes and findings: two CSV files, or one of Excel; docs/formats.md has their columns.

One file or one sheet alone is a matrix of both.
"""

import io
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.errors import InvalidFile, InvalidInput, PlefkaWarning, listed
from plefka.files.native_schema import GivenActivation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import ProbabilityFrame, diagnosis
from plefka.runtime.extras import pandas
from plefka.tables.delimited import NumberedLines, delimited_lines
from plefka.tables.workbooks import read_sheets, workbook

if TYPE_CHECKING:
    import pandas as pd

CAUSES, FINDINGS = "causes", "findings"
LARGEST_PROBABILITY = np.nextafter(1.0, 0.0)  # the largest probability that is not certain
ENDINGS = tuple(f"{table}.csv" for table in (CAUSES, FINDINGS))


def check_activation(given: GivenActivation) -> None:
    """Tables of causes and findings have one activation only."""
    if given is not None and getattr(given, "name", None) != "noisy_or":
        raise InvalidFile(
            "tables of causes and findings always define a noisy-or network. Load them without `activation`."
        )


def frames_of(network: BeliefNetwork) -> dict[str, "pd.DataFrame"]:
    """Units without parents and their priors; the edges of the others, with the leak in the first row of each."""
    if network.activation.name != "noisy_or" or network.stack is not None:
        kind = network.activation.name if network.stack is None else f"a stack of {network.stack}"
        raise InvalidInput(
            f"tables of causes and findings store a single noisy-or network; got {kind}. Save it as .json or .npz."
        )
    if any((weights < 0).any() for weights in network.storage.leaves()):
        raise InvalidInput(
            "tables of causes and findings store probabilities, and a negative weight is not one. "
            "Save the network as .json or .npz."
        )
    spaced = next((name for name in network.names if name != name.strip()), None)
    if spaced is not None:
        raise InvalidInput(f"names in a spreadsheet must not begin or end with a space; got {spaced!r}. Rename it.")
    edges = network.storage.to_sparse().tocoo()
    child, parent = edges.coords
    names, probability = np.array(network.names, dtype=object), _probability(np.asarray(network.bias, float))
    roots = network.roots
    first = np.diff(child, prepend=-1) != 0
    leak = np.where(first, probability[child], np.nan)
    findings = {"finding": names[child], "cause": names[parent], "probability": _probability(edges.data), "leak": leak}
    findings = pandas().DataFrame(findings)
    if network.hierarchy is not None:  # a unit that no cause switches on and that implies others is a finding too
        unit, general = network.hierarchy.pairs.T
        if roots[unit[np.isin(unit, parent)]].any():
            raise InvalidInput("in a spreadsheet only findings imply others, and not causes. Save it as .json or .npz.")
        alone = np.where(roots[unit], probability[unit], np.nan)
        roots[unit] = False
        pairs = pandas().DataFrame({"finding": names[unit], "leak": alone, "implies": names[general]})
        findings = pandas().concat([findings, pairs])
    causes = {"cause": names[roots], "prior": probability[roots]}
    return {CAUSES: pandas().DataFrame(causes), FINDINGS: findings}


def _probability(fields: Any) -> np.ndarray:
    """1 - exp(-x); what is not certain stays so where it rounds to 1."""
    return np.where(np.isinf(fields), 1.0, np.minimum(-np.expm1(-fields), LARGEST_PROBABILITY))


# ---- CSV -------------------------------------------------------------------------------------------------------------


def csv_files(path: Path) -> tuple[Path, ...]:
    """The two files that a name stands for, causes and findings; or one that is a matrix of both.

    NET.csv, NET.causes.csv and NET.findings.csv all stand for the last two, and a folder for causes.csv and
    findings.csv in it. NET.csv stands for itself where it exists.
    """
    if path.is_dir():
        return path / ENDINGS[0], path / ENDINGS[1]
    ending = next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), None)
    start = path.name[: -len(ending)] if ending else f"{path.stem}."
    pair = path.with_name(start + ENDINGS[0]), path.with_name(start + ENDINGS[1])
    if ending or not path.is_file():
        return pair
    if any(file.exists() for file in pair):
        raise InvalidFile(
            f"a network must be in {path.name} or in {pair[0].name} and {pair[1].name}; got both. Remove one "
            f"of them, or name {pair[0].name} for the pair."
        )
    return (path,)


def loads_csv(*given: Any, make: Any = diagnosis) -> Any:
    """The network in the contents of a pair of files, or in a matrix; an activation may follow them."""
    contents = [content for content in given if isinstance(content, bytes)]
    check_activation(next((other for other in given if not isinstance(other, bytes)), None))
    names = (CAUSES, FINDINGS) if len(contents) > 1 else ("matrix",)
    return make(BeliefNetwork, *map(_read_csv, contents, names))


def dumps_csv(network: BeliefNetwork) -> tuple[bytes, bytes]:
    """The two files of a network."""
    frames = frames_of(network)
    causes, findings = (frames[table].to_csv(index=False, lineterminator="\n") for table in (CAUSES, FINDINGS))
    return causes.encode(), findings.encode()


def _read_csv(content: bytes, what: str) -> ProbabilityFrame:
    try:
        with delimited_lines(io.BytesIO(content)) as (note, lines):
            found = _frame(lines, what, "line")
    except InvalidFile:
        raise
    except ValueError as error:
        raise InvalidFile(f"{what} {error}") from error
    if note:
        warnings.warn(f"{what}: {note}", PlefkaWarning, stacklevel=2)
    return found


def _frame(lines: NumberedLines, what: str, row: str) -> ProbabilityFrame:
    """Text stays text, even where it is a number or the word NA."""
    header = ["" if word is None else str(word) for word in next(lines, (0, []))[1]]
    positions, rows, width = [], [], len(header)
    for number, cells in lines:
        if len(cells) != width:
            if any(cell not in ("", None) for cell in cells[width:]):
                raise InvalidFile(
                    f"{what} must have a value for each of the columns {listed(map(repr, header))}; got more in {row} "
                    f"{number}. Write numbers with a decimal point, and text that has commas in quotation marks."
                )
            cells = [*cells[:width], *[None] * (width - len(cells))]
        positions.append(number)
        rows.append(cells)
    frame = pandas().DataFrame(rows, columns=header, dtype=object)
    return ProbabilityFrame(frame, what, row=row, positions=np.array(positions, int))


# ---- Excel -----------------------------------------------------------------------------------------------------------


def loads_excel(content: bytes, activation: GivenActivation = None, make: Any = diagnosis) -> Any:
    """The network in a file, or what else is made of its tables."""
    check_activation(activation)
    pair = {CAUSES, FINDINGS}
    found = read_sheets(content, lambda titles: [name for name in titles if name.strip().lower() in pair] or titles)
    sheets = {title.strip().lower(): rows for title, rows in found.items()}
    filled = [title for title, rows in found.items() if rows]
    if not pair & {*sheets} and len(filled) == 1:
        return make(BeliefNetwork, _frame(iter(found[filled[0]]), f"sheet {filled[0]}", "row"))
    for name in (CAUSES, FINDINGS):
        if name not in sheets:
            there = listed(map(repr, sheets)) or "none"
            raise InvalidFile(f"there must be a sheet {name!r}; got {there}. Rename one.")
    return make(BeliefNetwork, *(_frame(iter(sheets[name]), f"sheet {name}", "row") for name in (CAUSES, FINDINGS)))


def dumps_excel(network: BeliefNetwork) -> bytes:
    """The file of a network."""
    frames = frames_of(network).items()
    sheets = {name: (list(frame.columns), frame.itertuples(index=False, name=None)) for name, frame in frames}
    return workbook(sheets, ".csv or .npz")
