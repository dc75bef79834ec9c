"""Rows of a file that a browser reads and sends as CSV, some at a time: the answers to them, and their validation."""

import io
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidInput
from plefka.explorer.fault_ranking import FaultsAsked, fault_ranking
from plefka.explorer.outcomes import MOST_CELLS
from plefka.inference.exclusive import with_group
from plefka.networks.evidence import as_evidence
from plefka.networks.intervention import intervened
from plefka.questions.calibration_bins import CalibrationBins
from plefka.runtime import extras
from plefka.scale.answer_parts import write_tables
from plefka.scale.evidence_rows import HIDDEN, CommonEvidence, EvidenceBlock
from plefka.scale.row_files import Reader
from plefka.scale.row_questions import RowQuestion
from plefka.scale.validate import EDGES, TruthReader, Validation, compared
from plefka.tables.columns import VISIT
from plefka.tables.delimited import delimited_lines
from plefka.tables.table import value_errors_as
from plefka.tables.table_files import line_blocks

LISTED = 20  # rows of a file of which it is said what a ranking puts first, and of those that did not converge
CASE_NUMBERS = ("rank", "probability", "ahead", "ties", "first_probability", "right", "log_score", "brier")  # of a case
CASE_KINDS = dict.fromkeys(("case", "truth", "first", "accuracy"), str) | dict.fromkeys(CASE_NUMBERS, float)


class AskedAbout(Protocol):
    """A network, and its solution without evidence, which is computed once."""

    network: Any
    without_evidence: Any


def _block(network: pf.BeliefNetwork, fields: Mapping[str, Any]) -> EvidenceBlock:
    """The states in a table, errors in which have the numbers that lines have in the whole file."""
    with value_errors_as(InvalidEvidence), delimited_lines(io.BytesIO(fields["csv"].encode())) as (_, lines):
        in_file = ((number + fields["line"], cells) for number, cells in lines)
        table = next(line_blocks(in_file, sys.maxsize, network.given_names, []))
        return Reader.of(network, table, fields["ids"]).block(table)


def _asked(network: pf.BeliefNetwork, fields: Mapping[str, Any]) -> RowQuestion:
    if not isinstance(network, pf.BeliefNetwork):
        raise InvalidInput(f"rows of a table are answered by one BeliefNetwork; got {type(network).__name__}.")
    network, given = intervened(network, as_evidence(network, None), fields["do"])
    common = CommonEvidence(network, with_group(network, given, fields["exclusive"]))
    method, units, top = pf.parse_method(fields["method"]), fields["units"], fields["top"]
    return RowQuestion.of(network, method, common, units, top, fields["ids"])


def table_case(about: AskedAbout, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What the first row observes, if all rows can be read."""
    block, names = _block(about.network, fields), about.network.names
    states = zip(block.units, block.states[0], strict=True) if block.num_rows else ()
    return {"evidence": {names[unit]: int(state) for unit, state in states if state != HIDDEN}}


def table_rows(about: AskedAbout, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The answers to all rows, as `infer_rows` writes them; or these rows beside their truth."""
    network, truth, first, file = about.network, fields["truth"], fields["row"], io.BytesIO()
    labels = [name for name in truth if name in set(network.names)]
    ids = list(dict.fromkeys([*fields["ids"], *(name for name in truth if name not in labels)]))
    block, wanted = _block(network, {**fields, "ids": ids}), {"units": "causes", "top": 1} if truth else {}
    asked = _asked(network, {**fields, "ids": ids, **wanted})
    if block.num_rows * (asked.top or len(asked.units)) > MOST_CELLS:
        raise InvalidInput(f"a table of answers may have {MOST_CELLS:,} numbers; got more. Send fewer rows, or top=10.")
    if truth:
        reader = TruthReader(asked, labels, None if labels else truth[0], iter(()))
        cases, bins = compared(asked, reader, block, first)
        told = {"known": [reader.known], "ignored": list(reader.ignored), "unknown": list(reader.unknown)}
        return {"csv": cases.to_csv(index=False), "sums": [bins.sums.tolist()], **told}
    solution, _ = solved = asked.solution(block, first)
    answers = asked.answered(block, first, solved)
    if fields["visits"]:
        with value_errors_as():
            answers = answers.add_column(1 + len(ids), VISIT, [fields["visits"]])
    write_tables(file, ".csv", answers.schema, [answers])
    faults = FaultsAsked("causes" if isinstance(fields["units"], str) else fields["units"], "rarer", "auto")
    listed = [row for row, is_sure in enumerate(solution.converged) if first + row < LISTED or not is_sure]
    ranked = ((row, fault_ranking(solution.row(row), about.without_evidence, faults, 1)[0]) for row in listed)
    return {"csv": file.getvalue().decode(), "first": {row: best for row, ranking in ranked for best in ranking}}


def table_validation(answers: AskedAbout, fields: Mapping[str, Any]) -> dict[str, Any]:
    """All rows that were compared with their truth as one validation, and its page."""
    asked = _asked(answers.network, {**fields, "units": "causes", "top": 1, "ids": [], "do": {}, "exclusive": None})
    reader, about = TruthReader(asked, [], None, iter(())), {"method": str(asked.method), **answers.network.identity}
    reader.known = sum(fields["known"])
    reader.ignored, reader.unknown = (dict.fromkeys(fields[names]) for names in ("ignored", "unknown"))
    with value_errors_as(), tempfile.TemporaryDirectory(dir=fields.get("own")) as folder:
        cases = extras.pandas().read_csv(
            io.StringIO(fields["csv"]), usecols=list(CASE_KINDS), dtype=CASE_KINDS, keep_default_na=False,
            na_values={name: [""] for name in CASE_NUMBERS}, float_precision="round_trip",
        )  # fmt: skip
        bins = CalibrationBins(EDGES, np.array(fields["sums"], float).reshape(-1, 3, len(EDGES) - 1).sum(axis=0))
        found, page = Validation(cases, bins, about, reader.notes(len(cases))), Path(folder) / "page.html"
        found.page(page)
        return {"measures": found.measures, "notes": found.notes, "page": page.read_text(encoding="utf-8")}
