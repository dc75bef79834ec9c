"""A batch of patients beside the loop over them: rows of one call must never take longer than calls one by one.

Every patient has other findings, and of many findings nothing is known, so that their means are predicted. Times are of
the processor, as what runs beside it matters less then; plans are forgotten before each, so that neither side finds
those of the other.
"""

import time
from collections.abc import Iterator

import numpy as np

import plefka as pf
from benchmarks.measure import Row, at_most
from plefka.exact.ordering import large_plan, small_plan
from plefka.networks.diagnosis import field

SIZES = {  # causes, findings, and how many of these were looked at
    "30 x 12": (30, 12, 6),
    "80 x 20": (80, 20, 8),
    "80 x 20, 14 known": (80, 20, 14),
    "200 x 25": (200, 25, 8),
}
METHODS = ("auto", "exact")
PATIENTS, REPEATS = 40, 3
MOST_A_ROW = 0.05  # seconds


def rows() -> Iterator[Row]:
    for name, (causes, findings, known) in SIZES.items():
        network, patients = dense(causes, findings, known)
        for method in METHODS:
            pf.infer(network, patients[0], method)
            pairs = [(seconds(network, [patients], method), seconds(network, patients, method)) for _ in range(REPEATS)]
            batch, loop = (min(side) for side in zip(*pairs, strict=True))
            details = {"batch": batch, "loop": loop, "patients": PATIENTS}
            yield at_most(f"dense {name}, {method}, batch over loop", batch / loop, "x", 1, details)
            yield at_most(f"dense {name}, {method}, a row of a batch", batch / PATIENTS, "CPU s", MOST_A_ROW, details)


def dense(causes: int, findings: int, known: int) -> tuple[pf.BeliefNetwork, np.ndarray]:
    """Every cause above every finding, and patients of whom some findings are known."""
    rng = np.random.default_rng(0)
    weights, prior, leak = (
        field(rng.uniform(*ends, shape))
        for ends, shape in (((0.02, 0.6), (findings, causes)), ((0.005, 0.05), causes), ((0.001, 0.05), findings))
    )
    patients = np.full((PATIENTS, causes + findings), np.nan)
    for row in patients:
        row[causes + rng.permutation(findings)[:known]] = rng.random(known) < 0.5
    return pf.BeliefNetwork.layered([weights], [prior, leak], "noisy_or"), patients


def seconds(network: pf.BeliefNetwork, calls: list[np.ndarray] | np.ndarray, method: str) -> float:
    """Of the processor, for all calls one after another."""
    small_plan.cache_clear()
    large_plan.cache_clear()
    start = time.process_time()
    for evidence in calls:
        pf.infer(network, evidence, method)
    return time.process_time() - start
