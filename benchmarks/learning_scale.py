"""Learning from rows that stay in their files: the cost of a row, memory, and two devices or processes over one."""

import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.measure import Row, at_most, in_a_process, peak_memory

SIZES = (1_000, 10_000, 100_000, 1_000_000)
COLUMNS, HIDDEN, BATCH = 64, (8,), 500
SECONDS = 3600  # for one size
EPOCHS, ROWS = 2, 20_000  # of one device over two


def write_rows(path: Path, count: int) -> str:
    """Random rows in groups of 20,000."""
    import pyarrow
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    frequencies = rng.random(COLUMNS)
    names = [f"v{k}" for k in range(COLUMNS)]
    schema = pyarrow.schema([(name, pyarrow.int8()) for name in names])
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        for first in range(0, count, 20_000):
            values = (rng.random((min(20_000, count - first), COLUMNS)) < frequencies).astype(np.int8)
            writer.write_table(pyarrow.table(dict(zip(names, values.T, strict=True)), schema=schema))
    return str(path)


def one_epoch(path: str, small: str) -> dict:
    """CPU seconds of the first reading and of an epoch after that, and the memory that they needed."""
    import plefka as pf
    from plefka.learning import by_free_energy
    from plefka.tables.dataset import as_dataset

    by_free_energy.OPTIMISED_AFTER = 1  # the program that a long run uses
    start = pf.ensembles.to_learn(HIDDEN, small, 0, "noisy_or")
    run = {"method": "G12", "epochs": 1, "batch_size": BATCH, "seed": 0, "stream": True}
    pf.fit(start, small, **run)
    before, begin = peak_memory(), time.process_time()
    files = as_dataset(path, start)
    assert files.survey.observed.all()
    read = time.process_time()
    pf.fit(start, files, **run)
    return {
        "rows": len(files), "reading": read - begin, "epoch": time.process_time() - read, "memory": peak_memory(),
        "memory_before": before,
    }  # fmt: skip


def straight_line() -> Iterator[Row]:
    """CPU seconds of an epoch, by rows, and the memory that it needs."""
    with tempfile.TemporaryDirectory() as folder:
        small = write_rows(Path(folder) / "small.parquet", 2 * BATCH)
        paths = [write_rows(Path(folder) / f"{count}.parquet", count) for count in SIZES]
        found = [in_a_process(one_epoch, path, small, seconds=SECONDS) for path in paths]
    for each in found:
        cost = 1e6 * each["epoch"] / each["rows"]
        name = f"epoch of {each['rows']:,} streamed rows x {COLUMNS}, G12, {HIDDEN[0]} hidden units"
        yield Row(name, cost, "CPU microseconds per row", "a straight line", True, each)
    costs = [each["epoch"] / each["rows"] for each in found[1:]]
    yield at_most("the same: largest over smallest from 10,000 rows on", max(costs) / min(costs), "x", 1.3, {})
    grown = (found[-1]["memory"] - found[-2]["memory"]) / 2**20
    yield at_most("memory: 1,000,000 rows over 100,000", grown, "MiB more", 100, {})
    share = found[-1]["reading"] / found[-1]["epoch"]
    yield Row("reading all rows once over an epoch", share, "x", "beside", True, {})


LEARN = """
import sys, time
import numpy as np
import plefka as pf
from plefka.learning.process_group import join
if len(sys.argv) > 2:
    join(sys.argv[2], 2, int(sys.argv[3]))
from plefka.learning import by_free_energy
by_free_energy.OPTIMISED_AFTER = 1
start = pf.ensembles.to_learn({hidden}, sys.argv[1], 0, "noisy_or")
at = [(time.perf_counter(), time.process_time())]
note = lambda entry: at.append((time.perf_counter(), time.process_time()))
pf.fit(start, sys.argv[1], "G12", epochs={epochs} + 1, batch_size={batch}, seed=0, stream=True, callback=note)
print(*np.subtract(at[-1], at[1]) / {epochs})
"""


def devices_and_processes() -> Iterator[Row]:
    """Wall seconds of an epoch on two devices, and in two processes, over one device."""
    code = LEARN.format(hidden=HIDDEN, epochs=EPOCHS, batch=BATCH)
    with tempfile.TemporaryDirectory() as folder:
        path = write_rows(Path(folder) / "rows.parquet", ROWS)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            address = f"127.0.0.1:{probe.getsockname()[1]}"
        one = _ended(_started(code, path))
        two = _ended(_started(code, path, devices=2))
        pair = [_started(code, path, address, str(k)) for k in range(2)]
        both = [_ended(each) for each in pair]
    details = {"one": one, "two_devices": two, "two_processes": both}
    yield Row("epoch on two devices over one", two[0] / one[0], "x", "below 1 on idle cores", two[0] < one[0], details)
    yield Row("CPU time on two devices over one", two[1] / one[1], "x", "1", True, details)
    wall, work = max(each[0] for each in both), sum(each[1] for each in both)
    yield Row("epoch in two processes over one", wall / one[0], "x", "below 1 on idle cores", wall < one[0], details)
    yield Row("CPU time in two processes over one", work / one[1], "x", "1", True, details)


def _started(code: str, *arguments: str, devices: int = 1) -> subprocess.Popen:
    flags = {"XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=os.environ | flags, stdout=subprocess.PIPE, text=True)


def _ended(process: subprocess.Popen) -> list[float]:
    """(wall, CPU) seconds of an epoch."""
    output, _ = process.communicate(timeout=SECONDS)
    return [float(word) for word in output.split()]


def rows() -> Iterator[Row]:
    """All of them."""
    yield from straight_line()
    yield from devices_and_processes()
