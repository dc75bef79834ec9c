"""Published patients with rare diseases: whether each has an answer, how long that takes, and where the diagnosis is.

Patients are taken evenly from all of them. Seconds are those of the processor. The data does not come with the library,
see rare_diseases.py.
"""

import time
from collections.abc import Iterator

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_most
from benchmarks.rare_diseases import Patient, RareDiseases
from plefka.errors import PlefkaError

COUNT, RATIO, TOP = 2000, 10.0, (1, 10, 100)


def rows() -> Iterator[Row]:
    data = RareDiseases()
    patients = data.patients()
    some = [patients[k] for k in np.linspace(0, len(patients) - 1, COUNT).astype(int)]
    pf.infer(data.network, data.evidence(some[0]))  # imports and programs
    found = [answered(data, patient) for patient in some]
    errors = [each["error"] for each in found if "error" in each]
    yield at_most("errors", len(errors), f"of {len(found)} patients", 0, {"errors": errors[:10]})
    right = [each for each in found if "error" not in each]
    seconds, exact = (np.array([each[name] for each in right]) for name in ("seconds", "exact"))
    median, slowest = float(np.median(seconds)), float(seconds.max())
    details = {"median": median, "slowest exact": float(seconds[exact].max(initial=0.0)), "exact": float(exact.mean())}
    details |= {f"diagnosis in top {k}": float(np.mean([each["rank"] <= k for each in right])) for k in TOP}
    yield Row("median", median, "s", "information", True, details)
    yield Row("slowest of all", slowest / median, "times the median", "information", True, details)
    slowest_exact = details["slowest exact"] / median
    yield at_most("slowest that is not called an estimate", slowest_exact, "times the median", RATIO, details)


def answered(data: RareDiseases, patient: Patient) -> dict:
    """Seconds, whether the answer is exact, and the rank of the diagnosis; or what went wrong."""
    start = time.process_time()
    try:
        solution = pf.infer(data.network, data.evidence(patient))
    except (PlefkaError, ArithmeticError, ValueError) as error:
        return {"error": f"{patient.name}: {error!r}"}
    seconds, chances = time.process_time() - start, np.asarray(solution.means[: len(data.diseases)])
    rank = 1 + int((chances > chances[data.diseases.get_loc(patient.diagnosis)]).sum())
    return {"seconds": seconds, "exact": bool(solution.is_exact), "rank": rank}
