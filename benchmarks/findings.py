"""Real diagnoses without exact inference: `auto[exact=no]` on the Promedas networks, beside the truth and the check.

The networks do not come with the library: they are in the folder that PLEFKA_DATA names, or beside the repository.
"""

import sys
import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import pytest
from tests.data import names_in
from tests.test_real_networks import diagnosis, errors

import plefka as pf
from benchmarks.measure import Row, at_most

METHOD = "auto[exact=no]"
OFF = 0.1  # nats from which on a check must not trust an answer


class Case(NamedTuple):
    """One network: how far ln P and the worst posterior are off, what a second call takes, and the check."""

    name: str
    log_p: float
    worst: float
    seconds: float
    cpu: float  # seconds of all cores together, which other work on the machine does not lengthen
    flagged: bool


def rows() -> Iterator[Row]:
    try:
        cases = [_case(name) for name in names_in("promedas")]
    except pytest.skip.Exception as missing:
        print(missing, file=sys.stderr)
        return
    log_p, worst, seconds, cpu = (np.array([getattr(case, field) for case in cases]) for field in Case._fields[1:5])
    flagged = [case.name for case in cases if case.flagged]
    missed = [case.name for case in cases if case.log_p > OFF and not case.flagged]
    about, each = f"{METHOD}, {len(cases)} diagnoses: ", {"cases": [case._asdict() for case in cases]}
    yield at_most(f"{about}mean error of ln P", log_p.mean(), "nats", 0.03, each)
    yield at_most(f"{about}largest error of ln P", log_p.max(), "nats", OFF, {})
    yield at_most(f"{about}mean of the worst posterior's error", worst.mean(), "", 0.02, {})
    yield at_most(f"{about}largest error of a posterior", worst.max(), "", 0.1, {})
    yield at_most(f"{about}median time of a second call", float(np.median(seconds)), "s", 1.0, {})
    yield at_most(f"{about}longest time of a second call", seconds.max(), "s", 2.0, {})
    yield at_most(f"{about}median CPU time of a second call", float(np.median(cpu)), "s", 1.0, {})
    yield at_most(f"{about}longest CPU time of a second call", cpu.max(), "s", 2.0, {})
    yield at_most(f"{about}off by more than {OFF} and trusted by the check", len(missed), "", 0, {"missed": missed})
    yield at_most(f"{about}flagged by the check", len(flagged), "", len(cases), {"flagged": flagged})


def _case(name: str) -> Case:
    network, evidence, log_z, posterior = diagnosis(name)
    pf.infer(network, evidence, METHOD)
    start = time.perf_counter(), time.process_time()
    found = pf.infer(network, evidence, METHOD)
    seconds, cpu = time.perf_counter() - start[0], time.process_time() - start[1]
    off, worst = abs(found.log_likelihood - log_z), float(np.abs(errors(found, posterior)).max())
    return Case(name, float(off), worst, seconds, cpu, not found.check(seed=0).trusted)
