"""Causes and findings in two CSV files, NET.causes.csv and NET.findings.csv; docs/formats.md has their columns."""

import io
import warnings
from functools import partial
from pathlib import Path

from plefka.errors import InvalidFile, listed
from plefka.files.probability_tables import CAUSES, FINDINGS, NAMES, check_activation, frames_of
from plefka.files.stored import GivenActivation
from plefka.networks.belief import BeliefNetwork
from plefka.networks.diagnosis import diagnosis
from plefka.networks.probabilities import ProbabilityFrame
from plefka.runtime.extras import pandas

ENDINGS = tuple(f"{table}.csv" for table in (CAUSES, FINDINGS))


def files(path: Path) -> tuple[Path, Path]:
    """The two files that a name stands for: causes and findings.

    NET.csv, NET.causes.csv and NET.findings.csv all stand for the last two, and a folder for causes.csv and
    findings.csv in it.
    """
    if path.is_dir():
        return path / ENDINGS[0], path / ENDINGS[1]
    ending = next((ending for ending in ENDINGS if path.name.lower().endswith(ending)), None)
    start = path.name[: -len(ending)] if ending else f"{path.stem}."
    return path.with_name(start + ENDINGS[0]), path.with_name(start + ENDINGS[1])


def loads(causes: bytes, findings: bytes, activation: GivenActivation = None) -> BeliefNetwork:
    """The network in a pair of files."""
    check_activation(activation)
    return diagnosis(BeliefNetwork, _read(causes, CAUSES), _read(findings, FINDINGS))


def dumps(network: BeliefNetwork) -> tuple[bytes, bytes]:
    """The two files of a network."""
    frames = frames_of(network)
    causes, findings = (frames[table].to_csv(index=False, lineterminator="\n") for table in (CAUSES, FINDINGS))
    return causes.encode(), findings.encode()


def _read(content: bytes, what: str) -> ProbabilityFrame:
    """Names as text, even where they are numbers or the word NA."""
    read = partial(pandas().read_csv, encoding="utf-8-sig", keep_default_na=False, na_values=[""])
    header = ()
    try:
        header = read(io.BytesIO(content), nrows=0).columns
        names = {name: str for name in header if name.strip().lower() in NAMES}
        with warnings.catch_warnings():
            warnings.simplefilter("error", pandas().errors.ParserWarning)  # of values beyond the last column
            frame = read(io.BytesIO(content), dtype=names, index_col=False, skip_blank_lines=False)
    except pandas().errors.ParserWarning:
        raise InvalidFile(
            f"{what} must have a value for each of the columns {listed(map(repr, header))}; got a line with more. "
            "Write numbers with a decimal point, and text that has commas in quotation marks."
        ) from None
    except ValueError as error:
        raise InvalidFile(f"{what} cannot be read as CSV: {str(error).strip().removesuffix('.')}.") from error
    return ProbabilityFrame(frame, what, row="line", first=2)
