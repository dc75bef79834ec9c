"""Promedas as the competition has it: findings as chains of binary ORs in MARKOV files, answered by `plefka uai`.

Each finding is a chain or_k = or_{k-1} or a link from cause k, the leak being part of the first; every factor is
P(child | parents) of at most three variables, and the last of a chain is the finding that was observed.
The networks are looked for in the folder that PLEFKA_DATA names, or in ../shared/data.
"""

import json
import math
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.measure import Row, at_most
from plefka.cli.app import run

DATA = Path(os.environ.get("PLEFKA_DATA") or "../shared/data")
ERROR, SECONDS = 1e-6, 1.0


class Written(NamedTuple):
    """A network file, its evidence, and the number of every variable that had one before."""

    model: str
    evidence: str
    variable: dict[int, int]


def written(content: dict[str, Any]) -> Written:
    """The files of a network of causes and findings."""
    variable: dict[int, int] = {}
    factors: list[tuple[tuple[int, ...], np.ndarray]] = []

    def add(parents: tuple[int, ...], on: Any) -> int:
        factors.append(((*parents, len(factors)), np.stack([1 - np.asarray(on), np.asarray(on)], axis=-1)))
        return len(factors) - 1

    for root in content["roots"]:
        variable[root["id"]] = add((), root["prior"])
    for finding in content["findings"]:
        leak, last = finding["leak"], None
        for parent, p in zip(finding["parents"], finding["p"], strict=True):
            if last is None:
                last = add((variable[parent],), [leak, 1 - (1 - leak) * (1 - p)])
            else:
                last = add((last, variable[parent]), [[0.0, p], [1.0, 1.0]])
        variable[finding["id"]] = add((), leak) if last is None else last
    scopes = (" ".join(map(str, (len(scope), *scope))) for scope, _ in factors)
    tables = (f"\n{table.size}\n {' '.join(map(repr, table.ravel().tolist()))}" for _, table in factors)
    header = ("MARKOV", str(len(factors)), " ".join("2" * len(factors)), str(len(factors)))
    observed = [(variable[int(unit)], state) for unit, state in content["evidence"].items()]
    evidence = " ".join(map(str, (len(observed), *(number for pair in observed for number in pair))))
    return Written("\n".join((*header, *scopes, *tables)) + "\n", evidence + "\n", variable)


def answer(model: Path, task: str) -> list[float]:
    """The numbers of a solution file."""
    if run(["uai", str(model), f"{model}.evid", task]):
        raise RuntimeError(f"{model}: {task} ended with an error")
    said, *numbers = Path(f"{model}.{task}").read_text().split()
    if said != task:
        raise RuntimeError(f"{model}: the solution begins with {said}")
    return list(map(float, numbers))


def rows() -> Iterator[Row]:
    """The largest errors, and CPU seconds of each task, after the first, which imports; the median and the longest."""
    wrong, seconds = {"PR": [], "MAR": []}, {"PR": [], "MAR": []}
    names = sorted((DATA / "promedas").glob("*.json"))
    with tempfile.TemporaryDirectory() as folder:
        for path in (names[0], *names):
            content = json.loads(path.read_text())
            files, model = written(content), Path(folder) / f"{path.stem}.uai"
            model.write_text(files.model)
            Path(f"{model}.evid").write_text(files.evidence)
            for task in wrong:
                start = time.process_time()
                numbers = answer(model, task)
                seconds[task].append(time.process_time() - start)
                if task == "PR":
                    wrong[task].append(abs(numbers[0] * math.log(10) - content["lnZ_exact"]))
                else:
                    on, known = np.array(numbers[1:]).reshape(-1, 3)[:, 2], content["posterior_exact"]
                    wrong[task].append(max(abs(on[files.variable[int(u)]] - p) for u, p in known.items()))
    for task in wrong:
        took = sorted(seconds[task][1:])
        yield at_most(f"Promedas as chains, {task}: largest error", max(wrong[task]), "", ERROR, {})
        yield at_most(f"Promedas as chains, {task}: median", took[len(took) // 2], "s of CPU", SECONDS, {})
        details = {"above a second": sum(s > SECONDS for s in took), "networks": len(took)}
        yield at_most(f"Promedas as chains, {task}: longest", took[-1], "s of CPU", SECONDS, details)
