"""Many rows from files to a dataset: a digits network of 64 pixels by G12, and patients of a network of QMR's size.

`python -m benchmarks many_rows` runs all of it, which takes long. `PLEFKA_ROWS=100000` in the environment makes the
largest number of rows smaller. What is measured runs in processes of their own, so that peak memory is that of a run
alone. Ratios are of CPU time, that of worker processes included, as other work on the machine does not count there; the
start of processes and compilation are left out by taking the difference of two runs.
"""

import json
import math
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import plefka as pf
from benchmarks.diagnoses import large_network, patients
from benchmarks.measure import Row, at_least, at_most, in_a_process, peak_memory

PIXELS, HIDDEN = 64, 8
MOST = int(float(os.environ.get("PLEFKA_ROWS", "1e6")))  # rows of the digits network
PATIENTS = MOST // 10
SMALL, LARGE = 32_768, 98_304  # rows of the runs whose difference is taken; both are enough for two workers
OVERHEAD, PEAK, STRAIGHT = 1.1, 2.0, 1.25  # times the plain loop; GB; how far the cost of a row may grow
LIMIT = 7200  # seconds of a part


def digits() -> pf.BeliefNetwork:
    """Eight hidden units above 64 pixels, as in the tutorial on digits, with weights as learning leaves them."""
    rng = np.random.default_rng(0)
    weights = rng.gamma(0.5, 1.0, (PIXELS, HIDDEN))
    bias = [rng.uniform(0.2, 1.0, HIDDEN), rng.uniform(0.02, 0.3, PIXELS)]
    names = [*(f"hidden{k}" for k in range(HIDDEN)), *(f"pixel{k}" for k in range(PIXELS))]
    return pf.BeliefNetwork.layered([weights], bias, "noisy_or", names)


def write_digits(folder: Path, count: int) -> None:
    """Images that the network draws, with some pixels missing, in Parquet files of 100,000 rows."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    network, folder = digits(), Path(folder)
    folder.mkdir()
    for number, first in enumerate(range(0, count, 100_000)):
        rows = min(100_000, count - first)
        states = network.sample(seed=number, count=rows)[:, HIDDEN:]
        missing = np.random.default_rng(number).random(states.shape) < 0.05
        columns = {
            name: pa.array(states[:, k].astype(np.int8), mask=missing[:, k])
            for k, name in enumerate(network.names[HIDDEN:])
        }
        pq.write_table(pa.table({"image": np.arange(first, first + rows), **columns}), folder / f"{number:04}.parquet")


def write_patients(path: Path, count: int) -> None:
    """A line for each patient with 42 findings."""
    network = large_network()
    with open(path, "w", encoding="utf-8") as file:
        for seed in range(-(-count // 500)):
            for row in patients(network, 500, seed):
                seen = np.flatnonzero(~np.isnan(row))
                file.write(json.dumps({str(unit): int(row[unit]) for unit in seen.tolist()}) + "\n")


# ---- what runs in a process of its own -------------------------------------------------------------------------------


def cpu() -> float:
    """Seconds of this process and of those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def loop(folder: str) -> dict:
    """The plain loop: read a block, `infer`, write a file. No digest, no manifest, nothing to resume from."""
    import pandas as pd
    import pyarrow.dataset as ds

    network, start, count = digits(), cpu(), 0
    out = Path(folder).with_name(f"{Path(folder).name}-loop")
    out.mkdir()
    for number, batch in enumerate(ds.dataset(folder).to_batches(batch_size=8192)):
        frame = batch.to_pandas()
        solution = pf.infer(network, frame.drop(columns="image"), "G12", throw=False)
        table = pd.DataFrame(solution.means, columns=network.names)
        table.insert(0, "image", frame["image"])
        table.insert(1, "status", [status.name for status in solution.status])
        table.insert(2, "log_likelihood", solution.log_likelihood)
        table.to_parquet(out / f"{number}.parquet")
        count += len(frame)
    return {"cpu": cpu() - start, "rows": count}


def answering(source: str, out: str, kind: str, method: str, options: dict) -> dict:
    """Seconds, CPU seconds and memory from files to a dataset."""
    network = digits() if kind == "digits" else large_network()
    about = {"id_columns": "image"} if kind == "digits" else {"units": "causes", "top": 10}
    start, used = time.perf_counter(), cpu()
    done = pf.infer_rows(network, source, out, method, **about, **options)
    seconds = time.perf_counter() - start
    return {
        "rows": done.rows, "converged": done.converged, "seconds": seconds, "cpu": cpu() - used, "peak": peak_memory(),
        "per_second": done.rows / seconds, "per_cpu_second": done.rows / (cpu() - used),
    }  # fmt: skip


# ---- rows ------------------------------------------------------------------------------------------------------------


def slope(small: dict, large: dict, *, of: str = "cpu") -> float:
    """CPU seconds of a row, or seconds, without what each run does once."""
    if of not in small or of not in large:
        return math.inf
    return (large[of] - small[of]) / (large["rows"] - small["rows"])


def overhead(folder: Path) -> Iterator[Row]:
    """With this process, one worker and two, over the plain loop."""
    sources = {}
    for count in (SMALL, LARGE):
        sources[count] = folder / f"digits-{count}"
        write_digits(sources[count], count)
    plain = slope(*(in_a_process(loop, str(source), seconds=LIMIT) for source in sources.values()))
    for name, options in {"this process": {}, "1 worker": {"workers": 1}, "2 workers": {"workers": 2}}.items():
        runs = [
            in_a_process(answering, str(source), f"{source}-{name}", "digits", "G12", options, seconds=LIMIT)
            for source in sources.values()
        ]
        ratio = slope(*runs) / plain
        yield at_most(f"digits by G12, {name} / plain loop, CPU time of a row", ratio, "x", OVERHEAD, {"runs": runs})


def straight_line(folder: Path) -> Iterator[Row]:
    """The cost of a row from a thousand rows to all."""
    found = {}
    for count in [10**k for k in range(3, 8) if 10**k <= MOST]:
        source = folder / f"line-{count}"
        write_digits(source, count)
        found[count] = in_a_process(answering, str(source), f"{source}-out", "digits", "G12", {}, seconds=LIMIT)
        print(f"{count:,} rows: {found[count]}", flush=True)
    first, *_, before, last = found
    kinds = ("seconds", "cpu")
    growth = [slope(found[before], found[last], of=of) / slope(found[first], found[before], of=of) for of in kinds]
    name = f"digits by G12: a row of {last:,} / a row of {before:,}"
    yield at_most(f"{name}, seconds", growth[0], "x", STRAIGHT, found)
    yield Row(f"{name}, CPU time", growth[1], "x", "beside: reading and solving overlap in long runs", True, {})
    yield at_most(f"digits by G12, {last:,} rows: peak memory", found[last].get("peak", math.inf) / 1e9, "GB", PEAK, {})
    yield at_least(f"digits by G12, {last:,} rows", found[last].get("per_cpu_second", 0), "per CPU s", 1, found[last])


def many_patients(folder: Path) -> Iterator[Row]:
    for method, count in (("bethe", PATIENTS), ("exact", PATIENTS // 10)):
        source = folder / f"patients-{count}.jsonl"
        write_patients(source, count)
        found = in_a_process(answering, str(source), f"{folder}/{method}", "qmr", method, {}, seconds=LIMIT)
        print(f"{count:,} patients by {method}: {found}", flush=True)
        name = f"{count:,} QMR patients by {method}"
        yield at_least(name, found.get("per_cpu_second", 0), "per CPU s", 1, found)
        yield at_most(f"{name}: peak memory", found.get("peak", math.inf) / 1e9, "GB", PEAK, found)


PARTS = {"overhead": overhead, "line": straight_line, "patients": many_patients}


def rows() -> Iterator[Row]:
    """All of them, or those that PLEFKA_PARTS names."""
    with tempfile.TemporaryDirectory() as folder:
        for name in os.environ.get("PLEFKA_PARTS", ",".join(PARTS)).split(","):
            yield from PARTS[name](Path(folder))
