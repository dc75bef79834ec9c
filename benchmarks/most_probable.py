"""The most probable states on real networks: CPU seconds, and how many are proven. Part of the suite `questions`."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_least, at_most, in_a_process
from benchmarks.real_networks import MEDICINE, TABLES, cases_of, path_of

MEDIAN, WORST, OTHERS = 0.05, 0.5, 5.0  # CPU seconds of Promedas networks, and of all others
ROUNDED = 1e-3  # of what toulbar2 prints
TEN, WITHIN = 45, 2.0  # Promedas networks whose ten best states are proven within these CPU seconds


def rows(folder: Path) -> Iterator[Row]:
    """Of the folder with real networks."""
    found = in_a_process(diagnoses, folder / "promedas", 1)
    seconds, proven = np.array(found["seconds"]), np.array(found["proven"])
    details = {"seconds": found["seconds"]}
    yield at_least("most_probable, Promedas: proven", int(proven.sum()), "networks", len(proven), details)
    yield at_most("most_probable, Promedas: median", float(np.median(seconds)), "CPU s", MEDIAN, details)
    yield at_most("most_probable, Promedas: worst", float(seconds.max()), "CPU s", WORST, details)
    found = in_a_process(diagnoses, folder / "promedas", 10)
    quick = (np.array(found["seconds"]) <= WITHIN) & found["proven"]
    details = {"seconds": found["seconds"], "proven": found["proven"]}
    yield at_least("most_probable, Promedas: ten best proven in 2 s", int(quick.sum()), "networks", TEN, details)
    for name in (*TABLES[3:], *MEDICINE):
        for units in ("all", "causes"):
            found = in_a_process(of_tables, name, units)
            aim = at_most if units == "all" else _noted
            yield aim(f"most_probable, {name}, {units}: slowest case", max(found["seconds"]), "CPU s", OTHERS, found)
    if shutil.which("toulbar2") is None:
        print("toulbar2 is left out: it is not installed (Debian's package toulbar2)", file=sys.stderr)
        return
    below = {name: beside_toulbar2(name) for name in (*TABLES, "BN_80", "BN_82")}
    worst = max(gap for gaps in below.values() for gap in gaps)
    yield at_most("most_probable: how far ln P is below that of toulbar2, at most", worst, "nats", ROUNDED, below)


def beside_toulbar2(name: str) -> list[float]:
    """Of every case, ln P of toulbar2's state minus that of ours; toulbar2 prints three decimals."""
    network, gaps = pf.load(path_of(name)), []
    for evidence, _, _ in cases_of(name, network):
        known = pf.infer(network, evidence, throw=False).evidence.rows[0]
        seen = [f"{unit} {state:.0f}" for unit, state in enumerate(known) if state == state]
        with tempfile.TemporaryDirectory() as folder:
            model, observed = Path(folder) / "network.uai", Path(folder) / "network.evid"
            pf.save(network, model)
            observed.write_text(" ".join([str(len(seen)), *seen]))
            command = ["toulbar2", str(model), str(observed), "-timer=60"]
            printed = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False).stdout
        energy = re.search(r"Optimum: \S+ energy: (\S+)", printed)
        if energy is not None:
            gaps.append(-float(energy[1]) - float(pf.most_probable(network, evidence).log_joint[0]))
    return gaps


def _noted(name: str, value: float, unit: str, most: float, details: dict) -> Row:
    """For the record: where units are summed out, not all are proven."""
    gap = max(details["gap"])
    return Row(f"{name}, gap {gap:.2g}", value, unit, "none", True, details)


def diagnoses(folder: Path, count: int) -> dict:
    """CPU seconds of every Promedas network, and whether all states are proven."""
    seconds, proven = [], []
    for path in sorted(folder.glob("*.json")):
        network, evidence = _diagnosis(json.loads(path.read_text()))
        start = time.process_time()
        found = pf.most_probable(network, evidence, count=count)
        seconds.append(time.process_time() - start)
        proven.append(bool(found.proven.all()))
    return {"seconds": seconds, "proven": proven}


def _diagnosis(content: dict) -> tuple[pf.BeliefNetwork, dict]:
    def field(p: float) -> float:
        return float("inf") if p == 1 else -float(np.log1p(-p))

    units = [(str(each["id"]), [], "noisy_or", [], field(each["prior"])) for each in content["roots"]]
    for each in content["findings"]:
        parents, weights = map(str, each["parents"]), [field(p) for p in each["p"]]
        units.append((str(each["id"]), list(parents), "noisy_or", weights, field(each["leak"])))
    return pf.BeliefNetwork.of_units(units), content["evidence"]


def of_tables(name: str, units: str) -> dict:
    """CPU seconds and gap of every case of a network of tables."""
    network, seconds, gaps = pf.load(path_of(name)), [], []
    for evidence, _, _ in cases_of(name, network):
        start = time.process_time()
        found = pf.most_probable(network, evidence, units)
        seconds.append(time.process_time() - start)
        gaps.append(float(found.gap[0]))
    return {"seconds": seconds, "gap": gaps}
