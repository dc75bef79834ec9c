"""Sensitivity and counterfactual rankings: CPU seconds, and how far they are from exact inference."""

import time
from collections.abc import Callable, Iterator

import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.diagnoses import CAUSES, drawn, large_network, patients
from benchmarks.measure import Row, at_most
from plefka.questions.sensitivity_answer import SensitiveNumber


def rows() -> Iterator[Row]:
    yield from sensitivity_rows()
    yield from counterfactual_rows()


def cpu_seconds(function: Callable[[], object]) -> float:
    """Of one call, on all cores."""
    start = time.process_time()
    function()
    return time.process_time() - start


def sensitivity_rows() -> Iterator[Row]:
    """All numbers of 570 causes and 4,075 findings: the first call, later ones, and those beside exact inference."""
    network = large_network()
    cases = patients(network, 20, seed=1)
    targets = [int(np.argmax(pf.infer(network, row, "exact").means[:CAUSES])) for row in cases]
    each = [
        cpu_seconds(lambda row=row, k=k: pf.sensitivity(network, row, k)) for row, k in zip(cases, targets, strict=True)
    ]
    about = {"numbers": len(pf.sensitivity(network, cases[0], targets[0]).value), "cases": len(cases)}
    yield at_most("sensitivity, 570 x 4,075: first call", each[0], "CPU s", 2.0, about)
    yield at_most("sensitivity, 570 x 4,075: slowest of 20 cases", max(each), "CPU s", 2.0, about)
    slopes, ends = _errors(network, cases[0], targets[0], count=40)
    yield at_most("sensitivity: derivatives beside differences", slopes, "of 1e-6 relative or 1e-10", 1.0, about)
    yield at_most("sensitivity: ranges beside exact inference", ends, "", 1e-10, about)


def _errors(network: pf.BeliefNetwork, row: np.ndarray, target: int, count: int) -> tuple[float, float]:
    """The largest errors of derivatives, in units of what is allowed, and of ends, of the numbers that matter most."""
    found, slopes, ends = pf.sensitivity(network, row, target), [], []
    for number in found.top(count):
        step = 1e-4 * min(number.value, 1 - number.value)
        values = (number.value - step, number.value + step, number.low, number.high)
        below, above, low, high = (
            pf.infer(changed(network, number, value), row, "exact").means[target] for value in values
        )
        difference = (above - below) / (2 * step)
        slopes.append(abs(number.derivative - difference) / max(1e-6 * abs(difference), 1e-10))
        ends += [abs(number.at_low - low), abs(number.at_high - high)]
    return max(slopes), max(ends)


def changed(network: pf.BeliefNetwork, number: SensitiveNumber, probability: float) -> pf.BeliefNetwork:
    """The noisy-or network with another value of one of its probabilities."""
    weights, bias = sp.lil_array(network.weights), np.array(network.bias)
    if number.parent is None:
        bias[network.index(number.unit)] = -np.log1p(-probability)
    else:
        weights[network.index(number.unit), network.index(number.parent)] = -np.log1p(-probability)
    return pf.BeliefNetwork(weights.tocsr(), bias, "noisy_or")


def counterfactual_rows() -> Iterator[Row]:
    """1,000 causes of 40 findings, of which 12 are on."""
    rng = np.random.default_rng(0)
    network = pf.BeliefNetwork(*drawn(rng, 1000, np.full(40, 60)), "noisy_or")
    row = np.r_[np.full(1000, np.nan), np.ones(12), np.zeros(28)]
    each = [cpu_seconds(lambda: pf.counterfactuals(network, row)) for _ in range(3)]
    yield at_most("counterfactuals, 1,000 causes: first call", each[0], "CPU s", 1.0, {"findings on": 12})
