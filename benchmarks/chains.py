"""A noisy-or chain of a hundred thousand units: time in proportion to its length, wherever it is observed."""

import time
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

import plefka as pf
from benchmarks.measure import Row, at_most

LENGTH, SECONDS = 100_000, 5.0


def rows() -> Iterator[Row]:
    ends = np.arange(1, LENGTH), np.arange(LENGTH - 1)
    weights = sp.csr_array((np.full(LENGTH - 1, 1.5), ends), shape=(LENGTH, LENGTH))
    network = pf.BeliefNetwork(weights, np.full(LENGTH, 0.01), "noisy_or")
    pf.infer(pf.example("espresso"))  # imports
    for name, unit in (("nothing", None), ("first", 0), ("middle", LENGTH // 2), ("last", LENGTH - 1)):
        start = time.process_time()
        solution = pf.infer(network, {} if unit is None else {unit: 1})
        seconds = time.process_time() - start
        yield at_most(f"{LENGTH:,} units, observed: {name}", seconds, "s of CPU", SECONDS, {"exact": solution.is_exact})
