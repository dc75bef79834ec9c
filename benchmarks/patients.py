"""Published patients with rare diseases: whether each has an answer, how long that takes, and where the diagnosis is.

Patients are taken evenly from all of them. Seconds are those of the processor. Each patient is kept as a line of
patients.jsonl, from which a run of the same code resumes. The data does not come with the library, see
rare_diseases.py.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_most
from benchmarks.rare_diseases import Patient, RareDiseases
from plefka.errors import PlefkaError
from plefka.runtime import provenance

COUNT, RATIO, TOP = 2000, 10.0, (1, 10, 100)
EVERY = 100  # patients after which progress is printed
BUDGET = 1.0  # seconds, of `auto`


def rows(folder: Path) -> Iterator[Row]:
    """Errors, seconds, and how those of answers that are exact compare with the median."""
    found = list(all_answers(folder / "patients.jsonl"))
    errors = [each["error"] for each in found if "error" in each]
    yield at_most("errors", len(errors), f"of {len(found)} patients", 0, {"errors": errors[:10]})
    right = [each for each in found if "error" not in each]
    seconds, exact, rank = (np.array([each[name] for each in right]) for name in ("seconds", "exact", "rank"))
    median, slowest = float(np.median(seconds)), float(seconds.max())
    details = {
        "median": median,
        "exact": float(exact.mean()),
        "beyond twice the budget": int((seconds > 2 * BUDGET).sum()),
    }
    details |= {
        "slowest exact": float(seconds[exact].max(initial=0.0)),
        "slowest estimate": float(seconds[~exact].max(initial=0.0)),
    }
    details |= {f"diagnosis in top {k}": float((rank <= k).mean()) for k in TOP}
    yield Row("median", median, "s", "information", True, details)
    yield Row("exact", 100 * details["exact"], "% of the patients", "information", True, details)
    yield Row("slowest of all", slowest / median, "times the median", "information", True, details)
    slowest_exact = details["slowest exact"] / median
    yield at_most("slowest that is not called an estimate", slowest_exact, "times the median", RATIO, details)


def all_answers(kept: Path) -> Iterator[dict]:
    """Of every patient, those first that were answered before by the same code."""
    source = provenance.source()
    lines = [json.loads(line) for line in kept.read_text().splitlines()] if kept.is_file() else []
    known = {line["patient"]: line for line in lines if line["source"] == source}
    yield from known.values()
    data = RareDiseases()
    patients = data.patients()
    some = [patients[k] for k in np.linspace(0, len(patients) - 1, COUNT).astype(int)]
    pf.infer(data.network, data.evidence(some[0]))  # imports and programs
    with kept.open("a" if known else "w") as file:
        for number, patient in enumerate((one for one in some if one.name not in known), start=len(known) + 1):
            answer = {"patient": patient.name, "source": source, **answered(data, patient)}
            print(json.dumps(answer), file=file, flush=True)
            if number % EVERY == 0:
                print(f"{number} of {len(some)} patients", file=sys.stderr, flush=True)
            yield answer


def answered(data: RareDiseases, patient: Patient) -> dict:
    """Seconds, whether ln P and all diseases are exact, and the rank of the diagnosis; or what went wrong."""
    evidence, start = data.evidence(patient), time.process_time()
    try:
        solution = pf.infer(data.network, evidence)
    except (PlefkaError, ArithmeticError, ValueError) as error:
        return {"error": f"{patient.name}: {error!r}"}
    seconds, chances = time.process_time() - start, np.asarray(solution.means[: len(data.diseases)])
    place = data.diseases.get_loc(patient.diagnosis)
    of_diseases = solution.accuracy[: len(data.diseases)] == pf.Accuracy.EXACT
    return {
        "present": sum(evidence.values()), "excluded": len(evidence) - sum(evidence.values()), "seconds": seconds,
        "exact": bool(solution.log_partition_accuracy is pf.Accuracy.EXACT and of_diseases.all()),
        "rank": 1 + int((chances > chances[place]).sum()),
        "chance": float(chances[place]), "log_p": float(solution.log_partition), "note": solution.notes[0],
    }  # fmt: skip
