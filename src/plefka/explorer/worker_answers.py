"""From a question to its answer in plain words and numbers, by the public interface. This runs in the workers."""

import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from functools import cached_property, partial
from pathlib import PurePath
from typing import Any

import numpy as np

import plefka as pf
from plefka.errors import InvalidEvidence, InvalidFile, InvalidInput
from plefka.explorer import opened_files
from plefka.explorer.catalogue import Served
from plefka.explorer.fault_ranking import PRIOR_DECIMALS, FaultsAsked, fault_ranking
from plefka.explorer.outcomes import FAILED, MOST_CELLS, NO_MEMORY, Failure, UnknownUnit, answered, encoded, not_open
from plefka.inference.ranking import CAUSES
from plefka.inference.solution_tables import OF_CHECK
from plefka.inference.solution_words import frequency
from plefka.networks.evidence import Evidence, as_evidence
from plefka.questions.case_interview import LATER

MOST_TARGETS = 50  # names in an answer
QuestionFields = Mapping[str, Any]
WARM_SECONDS = 30.0  # after which no further question is asked in advance
MOST_OPENED = 4  # networks that a worker holds besides its first one
RAW = ("compare", "priors")  # answers that the service goes on to work with


class Answers:
    """All questions that can be asked about one network."""

    def __init__(self, network: Served):
        self.network: Any = network  # each question of the library refuses the networks that it is not for
        self.known = frozenset(network.names)
        self.expected: dict[str, frozenset[str] | None] = {}  # of the last interview, by its options

    @cached_property
    def without_evidence(self) -> pf.Solution:
        """Computed once."""
        return pf.infer(self.network, {}, throw=False)

    @cached_property
    def priors(self) -> dict[str, float]:
        """Of every unit without evidence; none where that fails."""
        found = self.without_evidence
        return dict(zip(found.names, found.means.tolist(), strict=True)) if found.converged else {}

    def answer(self, kind: str, questions: list[QuestionFields]) -> list[Any]:
        """One answer or failure for each question; several together are of the same kind and method."""
        if kind == "infer" and len(questions) > 1 and (together := self._together(questions)) is not None:
            return together
        return [answered(self._answering(kind), each) for each in questions]

    def _answering(self, kind: str) -> Callable[[QuestionFields], Any]:
        if kind in ("save", "tables"):
            return partial(getattr(opened_files, kind), self.network)
        if kind.startswith("table_"):
            from plefka.explorer import row_tables  # needs an extra, and a worker starts earlier without it

            return partial(getattr(row_tables, kind), self)
        return getattr(self, f"_{kind}" if kind in RAW else kind)

    def _priors(self, _: QuestionFields) -> list[float]:
        return list(self.priors.values())

    # ---- what was asked ----------------------------------------------------------------------------------------------

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse a name that no unit has."""
        for name in (each for each in names if each not in self.known):
            try:
                self.network.index(name)
            except InvalidEvidence as error:
                raise UnknownUnit(str(error)) from None

    def evidence(self, given: Mapping[str, Any], others: Iterable[str] = ()) -> dict[str, Any]:
        """Evidence as `infer` takes it, 0 for off in every network; the names of other units are checked first."""
        self.check_names([*others, *given])
        off = self.network.values[0]
        return {
            name: pf.Likelihood(**state) if isinstance(state, Mapping) else off if state == 0 else state
            for name, state in given.items()
            if state is not None
        }

    def _rows(self, given: list[Mapping[str, Any]], *, of_causes: bool) -> Evidence:
        """A row each; findings that nothing depends on take no time where only causes are ranked."""
        rows = as_evidence(self.network, [self.evidence(row) for row in given])
        return (
            rows._replace(wanted=np.asarray(self.network.roots)) if of_causes and self.network.is_normalised else rows
        )

    def conditions(self, fields: QuestionFields) -> dict[str, Any]:
        """What is set, and of which units one is on, as `infer` takes them."""
        do, exclusive = fields.get("do"), fields.get("exclusive")
        group = () if exclusive == "causes" else exclusive or ()
        self.check_names([*(do or ()), *(name for name in group if name is not None)])
        return {"do": do, "exclusive": exclusive}

    def usually_on(self, names: Iterable[str]) -> list[str]:
        """Those whose fault is the state off, as in `fault_ranking`."""
        return [name for name in names if round(self.priors.get(name, 0), PRIOR_DECIMALS) > 0.5]

    def faults(self, fields: QuestionFields) -> FaultsAsked:
        """What is ranked, and how."""
        asked = FaultsAsked(**{name: fields[name] for name in FaultsAsked._fields if name in fields})
        self.check_names(asked.names)
        return asked

    # ---- answers -----------------------------------------------------------------------------------------------------

    def infer(self, fields: QuestionFields) -> dict[str, Any]:
        return self._batch([fields])[1][0]

    def _together(self, questions: list[QuestionFields]) -> list[dict[str, Any]] | None:
        """Questions with the same method in one batch; None if they must be answered one by one.

        That is so where one of them is not valid, or where methods of different kinds answered.
        """
        try:
            solution, contents = self._batch(questions)
        except (InvalidInput, MemoryError):
            return None
        return contents if solution.is_exact or len(set(solution.methods)) == 1 else None

    def _batch(self, questions: list[QuestionFields]) -> tuple[pf.Solution, list[dict[str, Any]]]:
        """All questions as rows of one batch, in which impossible evidence is an answer, not an error."""
        start, first = time.perf_counter(), questions[0]
        faults = [self.faults(each) for each in questions]
        check, conditions = first["check"], self.conditions(first)
        of_causes = not check and all(each.units == CAUSES for each in faults)
        evidence = self._rows([each["evidence"] for each in questions], of_causes=of_causes)
        solution = pf.infer(self.network, evidence, first["method"], throw=False, check=check, **conditions)
        rows = [solution.row(k) for k in range(len(questions))]
        contents = [
            {
                **self._content(row, each["top"], ranked),
                "check": None if row.checked is None else {name: getattr(row.checked, name) for name in OF_CHECK},
                "seconds": (time.perf_counter() - start) / len(questions),
            }
            for row, each, ranked in zip(rows, questions, faults, strict=True)
        ]
        return solution, contents

    def rows(self, fields: QuestionFields) -> dict[str, Any]:
        start = time.perf_counter()
        faults = self.faults(fields)
        evidence = self._rows(fields["rows"], of_causes=faults.units == CAUSES)
        solution = pf.infer(self.network, evidence, fields["method"], throw=False, **self.conditions(fields))
        contents = [self._content(solution.row(k), fields["top"], faults) for k in range(solution.num_rows)]
        return {"rows": contents, "seconds": time.perf_counter() - start}

    def _content(self, solution: pf.Solution, top: int, faults: FaultsAsked) -> dict[str, Any]:
        clamped = {"log_partition": solution.log_partition, "log_partition_kind": kind_of(solution, "log_partition")}
        (ranking, total, order), status = fault_ranking(solution, self.without_evidence, faults, top), solution.status
        return {
            "log_likelihood": solution.log_likelihood,
            "interval": solution.log_likelihood_interval,
            "kind": kind_of(solution),
            "frequency": frequency(solution)[2:],
            **({} if self.network.is_normalised else clamped),
            "method": str(solution.methods[0]),
            "status": status.name.lower(),
            "status_text": status.value,
            "converged": solution.converged,
            "notes": [note for note in solution.notes if "rows" not in note],  # others are about a whole batch
            "warnings": list(solution.warnings),
            "ranking": ranking,
            "order": order,
            "units_total": total,
            "contradiction": solution.contradiction() if status is pf.Status.IMPOSSIBLE else None,
        }

    def explain(self, fields: QuestionFields) -> dict[str, Any]:
        evidence = self.evidence(fields["evidence"], [fields["unit"]])
        found = pf.explain(self.network, evidence, fields["unit"], fields["method"], top=fields["top"])
        return {**asdict(found), "log_odds": found.log_odds, "prior_log_odds": found.prior_log_odds}

    def ask(self, fields: QuestionFields) -> dict[str, Any]:
        candidates, targets = fields["candidates"], fields["targets"]
        named = [*(candidates or ()), *(targets or ()), *(fields.get("costs") or ()), *fields.get("without", ())]
        evidence = self.evidence(fields["evidence"], named)
        names = {"top", "costs", "together", "stop_below", "certain_above", "without"} & fields.keys()
        options = {name: fields[name] for name in names} | self.conditions(fields)
        found = pf.ask(self.network, evidence, candidates, targets, fields["method"], **options)
        targets = {"targets": found.targets[:MOST_TARGETS], "targets_total": len(found.targets)}
        return {**asdict(found), **targets, "usually_on": self.usually_on(found.targets)}

    def interview(self, fields: QuestionFields) -> dict[str, Any]:
        unknown, later = fields["unknown"], fields["later"]
        evidence, group = self.evidence(fields["evidence"], [*unknown, *later]), self.conditions(fields)["exclusive"]
        answers = *((unit, None) for unit in unknown), *((unit, LATER) for unit in later)
        options = {"method": fields["method"], "exclusive": group}
        rules = fields["stop_below"], fields["certain_above"]
        found = pf.Interview(self.network, evidence, options, *rules, answers, self.expected.get(str(options)))
        self.expected = {str(options): found.expected}
        known = found.advice or found.solution
        return found.next._asdict() | {"method": str(known.method), "notes": known.notes, "is_exact": known.is_exact}

    def joint(self, fields: QuestionFields) -> dict[str, Any]:
        units, evidence = fields["units"], self.evidence(fields["evidence"], fields["units"])
        found = pf.joint(self.network, evidence, units, fields["method"])
        return {**found.to_dict(), "usually_on": self.usually_on(units)}

    def sensitivity(self, fields: QuestionFields) -> dict[str, Any]:
        evidence = self.evidence(fields["evidence"], [fields["target"]])
        found = pf.sensitivity(self.network, evidence, fields["target"], factor=fields["factor"])
        return {**found.to_dict(fields["top"]), "usually_on": self.usually_on([found.target])}

    def most_probable(self, fields: QuestionFields) -> dict[str, Any]:
        units, do = fields["units"], self.conditions(fields)["do"]
        evidence = self.evidence(fields["evidence"], () if isinstance(units, str) else units)
        found = pf.most_probable(self.network, evidence, units, fields["count"], fields["method"], do=do)
        return {**found.to_dict(), "usually_on": self.usually_on(found.units)}

    def _compare(self, fields: QuestionFields) -> dict[str, Any]:
        """One method, with the means of all units and the most probable faults."""
        evidence, start = self._rows([fields["evidence"]], of_causes=True), time.perf_counter()
        solution = pf.infer(self.network, evidence, fields["method"], throw=False).row(0)
        return {
            "method": fields["method"],
            "log_likelihood": solution.log_likelihood,
            "kind": kind_of(solution),
            "status": solution.status.name.lower(),
            "status_text": solution.status.value,
            "seconds": time.perf_counter() - start,
            "means": solution.means,
            "accuracy": solution.codes.means,
            "ranking": fault_ranking(solution, self.without_evidence, self.faults(fields), fields["top"])[0],
        }

    def sample(self, fields: QuestionFields) -> dict[str, Any]:
        count = fields["count"]
        if count * self.network.size > MOST_CELLS:
            most = MOST_CELLS // self.network.size
            raise InvalidInput(
                f"count must be at most {most:,} for a network of {self.network.size:,} units; got {count:,}. Ask "
                "several times, with other seeds."
            )
        states = self.network.sample(fields["seed"], count, self.evidence(fields["evidence"]))
        return {"names": self.network.names, "rows": np.asarray(states).astype(int).tolist()}


def kind_of(solution: pf.Solution, number: str = "log_likelihood") -> str:
    """What ln P, or ln Z, is: "exact", "lower_bound", "upper_bound" or "estimate"."""
    return str(getattr(solution, f"{number}_accuracy")).replace(" ", "_")


def prepared(network: Served | None, warm: list[tuple[str, QuestionFields]]) -> "Worker":
    """What a worker answers questions with, after typical ones: nothing is compiled while somebody waits."""
    warnings.simplefilter("ignore")
    pf.keep_compiled()
    worker = Worker({} if network is None else {"": Answers(network)})
    start = time.perf_counter()
    for kind, asked in warm:
        if time.perf_counter() - start < WARM_SECONDS:
            worker(kind, [asked])
    return worker


class Worker:
    """Answers about the network that it was started with, and about others by their files."""

    def __init__(self, answers: dict[str, Answers]):
        self.answers = answers

    def __call__(self, kind: str, asked: list[QuestionFields]) -> list[Any]:
        """One answer or failure for each question; several together are of the same kind, method and network."""
        try:
            if kind == "open":
                return [answered(opened_files.open_files, each) for each in asked]
            file = asked[0].get("network", "")
            try:
                answers = self._about(file)
            except InvalidFile:  # it had to make room in the meantime
                return [not_open(PurePath(file).stem)] * len(asked)
            found, told = answers.answer(kind, asked), answers.network.identity
            return found if kind in RAW else [z if isinstance(z, Failure) else encoded(z | told) for z in found]
        except MemoryError:
            self.answers = {file: each for file, each in self.answers.items() if not file}  # others may fill it
            return [NO_MEMORY] * len(asked)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            return [FAILED] * len(asked)

    def _about(self, file: str) -> Answers:
        """Of the networks that visitors opened, the ones that were asked about last are kept."""
        found = self.answers.pop(file, None) or Answers(pf.load(file))
        self.answers[file] = found
        others = [each for each in self.answers if each]
        if len(others) > MOST_OPENED:
            del self.answers[others[0]]
        return found
