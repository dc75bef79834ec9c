"""Joint answers about two and about twelve causes of a network of 570 causes and 4,075 findings, in CPU seconds."""

import time
from collections.abc import Iterator
from typing import Any

import plefka as pf
from benchmarks import diagnoses
from benchmarks.measure import Row, at_most, in_a_process

FIRST, AGAIN, MANY = 1.0, 0.2, 2.0  # CPU seconds: two causes for the first time and again, and twelve
NUMBER = {"joint, two causes": (2, AGAIN), "joint, twelve causes": (12, MANY)}


def rows() -> Iterator[Row]:
    found = in_a_process(seconds)
    for name, (count, most) in NUMBER.items():
        first, again, exact = found[count]
        yield at_most(f"{name}: first call", first, "CPU s", max(FIRST, most), {"exact": exact})
        yield at_most(f"{name}: once more", again, "CPU s", most, {"exact": exact})
    yield at_most("covariance of 570 causes, exact", found["covariance"], "CPU s", MANY, {})


def seconds() -> dict[Any, Any]:
    network = diagnoses.large_network()
    (row,) = diagnoses.patients(network, 1, 0)
    causes = [network.names[unit] for unit in range(570)]
    found: dict[Any, Any] = {}
    for count, _ in NUMBER.values():
        taken, tables = [], []
        for _ in range(4):
            start = time.process_time()
            tables.append(pf.joint(network, row, causes[:count]))
            taken.append(time.process_time() - start)
        found[count] = taken[0], min(taken[1:]), str(tables[0].accuracy) == "exact"
    solution = pf.infer(network, row)
    start = time.process_time()
    solution.covariance(units=causes)
    return found | {"covariance": time.process_time() - start}
