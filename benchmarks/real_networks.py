"""Networks that people made, read from their tables: what units became, and how far methods are from the truth.

`python -m benchmarks.real_networks RESULTS.json` prints the tables of the documentation from what a run has kept. The
networks do not come with the library: they are in the folder that PLEFKA_DATA names, or beside the repository.
"""

import json
import math
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_most, in_a_process
from plefka.errors import PlefkaError

BESIDE = Path(__file__).parents[2] / "shared" / "data"
FOLDER = Path(os.environ.get("PLEFKA_DATA") or BESIDE)
TABLES = ("asia", "cancer", "earthquake", "win95pts", "andes")
MEDICINE = ("BN_80", "BN_82", "BN_86", "BN_88")
METHODS = ("exact", "bethe", "G1", "conditioned", "mixture")
MEDICAL_METHODS = ("exact", "bethe", "conditioned", "G2")
CASES = 3  # of a network: the prior, and evidence
EXACT, FIRST = 1e-8, 2.0  # what exact may be off, and seconds of its first answer
COLUMNS = ("network", "method", "error of ln P", "worst error of a mean", "first answer (s)", "later (s)", "")
CHECKED = {True: "confirmed by `check`", False: "not confirmed by `check`"}
CPU = time.process_time


def cases_of(name: str, network: pf.BeliefNetwork) -> list[tuple[dict, float, np.ndarray]]:
    """Evidence, ln P of it, and the means of all units."""
    if name in MEDICINE:
        found = json.loads((FOLDER / f"cpcs/{name}.reference.json").read_text())
        evidence = {int(unit): state for unit, state in found["evidence"].items()}
        return [(evidence, found["ln_p_evidence"], np.array(found["p1"]))]
    found = json.loads((FOLDER / f"bif/{name}.reference.json").read_text())
    keeps = [found["states"][unit][1] == on for unit, (_, on) in zip(network.names, network.states, strict=True)]
    return [
        (case["evidence"], case["ln_p_evidence"], np.where(keeps, second, 1 - second))
        for case in found["cases"][:CASES]
        for second in [np.array([case["p_second_state"][unit] for unit in network.names])]
    ]


def path_of(name: str) -> Path:
    return FOLDER / (f"cpcs/{name}.erg.gz" if name in MEDICINE else f"bif/{name}.bif.gz")


def answered(name: str, method: str) -> dict:
    """In a process of its own: CPU seconds to load, of the first answer and of later ones, and errors."""
    pf.infer(pf.BeliefNetwork([[0.0]], [0.1], "noisy_or"))  # imports
    start = CPU()
    network = pf.load(path_of(name))
    loading = CPU() - start
    cases = cases_of(name, network)
    seconds, errors, solution = [], [], None
    for _ in range(2):
        for evidence, log_p, means in cases:
            start = CPU()
            try:
                solution = pf.infer(network, evidence, method, throw=False)
            except PlefkaError as error:
                return {"loading": loading, "refused": str(error)}
            seconds.append(CPU() - start)
            errors.append((abs(solution.log_likelihood - log_p), float(np.abs(solution.means - means).max())))
    assert solution is not None
    later = float(np.median(seconds[len(cases) :]))
    said = "" if name not in MEDICINE or method == "exact" else CHECKED[solution.check(seed=0).trusted]
    worst = [float(worst) for worst in np.max(errors, axis=0)]
    status = str(solution.status.name)
    found = {"loading": loading, "first": seconds[0], "later": later, "log_p": worst[0], "mean": worst[1]}
    return {**found, "check": said, "status": status, "name": name, "method": method}


def kinds(name: str) -> dict:
    """How many units became which kind."""
    forms = pf.recognised(pf.load_tables(path_of(name)))
    return dict(Counter(form.kind for form in forms))


def rows() -> Iterator[Row]:
    """Exact must be exact and quick; what the others are off is for the record."""
    if not FOLDER.is_dir():
        sys.exit(f"there is no {FOLDER}: real networks do not come with the library; PLEFKA_DATA names their folder")
    for names, methods in ((TABLES, METHODS), (MEDICINE, MEDICAL_METHODS)):
        for name in names:
            became = kinds(name)
            for method in methods:
                found = {**in_a_process(answered, name, method), "name": name, "method": method, "kinds": became}
                limit = EXACT if method == "exact" else math.inf
                yield at_most(f"{name}, {method}: worst error of ln P", found.get("log_p", math.inf), "", limit, found)
                if method == "exact":
                    yield at_most(f"{name}, exact: first answer", found.get("first", math.inf), "CPU s", FIRST, found)


def markdown(path: Path) -> str:
    """The tables of the documentation."""
    details = [row["details"] for row in json.loads(path.read_text())["rows"] if "worst error" in row["name"]]
    lines = ["| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    for found in details:
        why = found.get("refused") or found.get("unfinished")
        answers = "log_p" in found and math.isfinite(found["log_p"])
        numbers = [f"{found[key]:.2g}" if answers else "" for key in ("log_p", "mean", "first", "later")]
        ended = found.get("status", "CONVERGED")
        said = why[:60] if why else found["check"] if ended == "CONVERGED" else f"status {ended}"
        lines.append("| " + " | ".join([found["name"], f"`{found['method']}`", *numbers, said]) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown(Path(sys.argv[1])))
