"""Diagnosis at the size of a hospital's knowledge: causes and findings from CSV files, and many patients from a file.

What is measured runs in processes of their own, with the limits of `measure.py`.
"""

import json
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_least, at_most, in_a_process, peak_memory

CAUSES, FINDINGS, PARENTS = 20_000, 100_000, 20  # two million edges
SECONDS, PATIENTS, PER_SECOND, PEAK = 20, 10_000, 200, 3  # to load; patients, of them in a second, and GB
SEEN = {1: 12, 0: 30}  # of a patient's findings, how many that are on and that are off
METHODS = ("exact", "bethe")
ONE = 1  # seconds for one patient, after loading


def write_tables(folder: Path) -> None:
    """A pair of CSV files as a person would keep them: names and rounded probabilities."""
    import pandas as pd

    rng = np.random.default_rng(0)
    causes = np.array([f"cause {k}" for k in range(CAUSES)])
    prior = rng.uniform(1e-4, 2e-3, CAUSES).round(6)
    pd.DataFrame({"cause": causes, "prior": prior}).to_csv(folder / "causes.csv", index=False)
    parents = np.concatenate([rng.choice(CAUSES, PARENTS, replace=False) for _ in range(FINDINGS)])
    finding = np.repeat(np.arange(FINDINGS), PARENTS)
    first = np.arange(len(finding)) % PARENTS == 0
    columns = {
        "finding": np.array([f"finding {k}" for k in range(FINDINGS)])[finding],
        "cause": causes[parents],
        "probability": rng.uniform(0.05, 0.95, len(finding)).round(3),
        "leak": np.where(first, rng.uniform(1e-4, 1e-2, len(finding)).round(6), np.nan),
    }
    pd.DataFrame(columns).to_csv(folder / "findings.csv", index=False)


def write_patients(folder: Path) -> None:
    """Of states drawn from the network, some findings that are on and some that are off; a line for each patient."""
    network, rng = pf.load(folder), np.random.default_rng(1)
    by_cause, leak = network.weights[CAUSES:, :CAUSES].tocsc(), -np.expm1(-network.bias[CAUSES:])
    with open(folder / "patients.jsonl", "w", encoding="utf-8") as file:
        for number in range(PATIENTS):
            on = rng.random(FINDINGS) < leak
            for cause in np.flatnonzero(rng.random(CAUSES) < -np.expm1(-network.bias[:CAUSES])):
                part = slice(by_cause.indptr[cause], by_cause.indptr[cause + 1])
                strength = -np.expm1(-by_cause.data[part])
                on[by_cause.indices[part]] |= rng.random(len(strength)) < strength
            seen = {
                f"finding {finding}": state
                for state, count in SEEN.items()
                for finding in rng.choice(np.flatnonzero(on == state), count, replace=False)
            }
            file.write(json.dumps({"patient": number, **seen}) + "\n")


# ---- what runs in a process of its own -------------------------------------------------------------------------------


def loading(folder: str) -> dict:
    """Seconds to load the pair of files, imports aside."""
    import pandas as pd

    pd.DataFrame({"p": [0.5]}).to_csv()
    pf.BeliefNetwork([[0.0]], [0.1], "noisy_or")
    start = time.perf_counter()
    network = pf.load(folder)
    return {"seconds": time.perf_counter() - start, "peak": peak_memory(), "edges": network.num_edges}


def one_patient(folder: str) -> dict:
    """Seconds of the first patient after loading, and of the next."""
    network = pf.load(folder)
    with open(Path(folder) / "patients.jsonl", encoding="utf-8") as lines:
        patients = [json.loads(next(lines)) for _ in range(2)]
    seconds, cpu, exact, notes = [], [], [], ()
    for patient in patients:
        del patient["patient"]
        start, cpu_start = time.perf_counter(), time.process_time()
        solution = pf.infer(network, patient)
        seconds.append(time.perf_counter() - start)
        cpu.append(time.process_time() - cpu_start)
        exact.append(solution.is_exact)
        notes = solution.notes
    return {"seconds": seconds[0], "next": seconds[1], "cpu": cpu, "exact": exact, "notes": notes}


def answering(folder: str, method: str) -> dict:
    """Patients a second from a file to a file, compilation and all, and the memory of it, loading and all."""
    network, out = pf.load(folder), Path(folder) / "posteriors.parquet"
    patients, cpu = Path(folder) / "patients.jsonl", time.process_time()
    done = pf.infer_rows(network, patients, out, method, id_columns="patient", units="causes", top=10, force=True)
    return {
        "per_second": done.rows / done.seconds, "peak": peak_memory(), "seconds": done.seconds, "method": done.method,
        "cpu": time.process_time() - cpu,
        "rows": done.rows, "converged": done.converged, "mean_log_likelihood": done.mean_log_likelihood,
    }  # fmt: skip


# ---- rows ------------------------------------------------------------------------------------------------------------


def rows() -> Iterator[Row]:
    """All of them, one after another."""
    with tempfile.TemporaryDirectory() as folder:
        write_tables(Path(folder))
        found = in_a_process(loading, folder)
        name = f"{CAUSES:,} causes x {FINDINGS:,} findings, {FINDINGS * PARENTS:,} edges from CSV"
        yield at_most(name, found.get("seconds", math.inf), "s", SECONDS, found)
        write_patients(Path(folder))
        found = in_a_process(one_patient, folder)
        yield at_most("one patient of it, the first after loading", found.get("seconds", math.inf), "s", ONE, found)
        for method in METHODS:
            found = in_a_process(answering, folder, method)
            name = f"{PATIENTS:,} patients of it, 12 findings on and 30 off, by {method}, from a file to a file"
            yield at_least(name, found.get("per_second", 0), "per s", PER_SECOND, found)
            yield at_most(f"{name}: peak memory", found.get("peak", math.inf) / 1e9, "GB", PEAK, found)
