"""Learning in one process and in two, by the same functions: `python -m tests.learning.pair PROCESS PORT FOLDER`."""

import os
import signal
import sys
from pathlib import Path
from typing import Any

import numpy as np

import plefka as pf
from plefka.errors import PlefkaError
from plefka.learning import by_free_energy as loop
from plefka.learning.process_group import join_processes

EPOCHS = 20
MACHINES = ("exact", "persistent")  # methods


def rows(seed: int = 0, count: int = 40) -> np.ndarray:
    """Of four units, a tenth of the values missing."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (count, 4)).astype(float)
    return np.where(rng.random(values.shape) < 0.1, np.nan, values)


def network(activation: str = "sigmoid") -> pf.BeliefNetwork:
    return pf.ensembles.to_learn((1, 3), rows(), 0, activation)


def learn(data: Any = None, activation: str = "sigmoid", **options: Any) -> pf.Fitted:
    """Batches of 7 rows, the last of which is not full; with all that the result could depend on."""
    given: dict[str, Any] = {"epochs": EPOCHS, "batch_size": 7, "seed": 3, "l2": 0.01, "validation": rows(1, 9)}
    given |= {"patience": 10**6, **options}
    return pf.fit(network(activation), rows() if data is None else data, "G12", **given)


def learn_machine(method: str) -> pf.Fitted:
    """With missing values by exact, and without them by chains, as those of rows are other ones in each process."""
    data = rows() if method == "exact" else np.nan_to_num(rows())
    start = pf.ensembles.machine_to_learn(2, data, seed=0, spread=0.5)
    return pf.fit(start, data, method, epochs=5, batch_size=7, seed=3, l2=0.01, validation=data[:9], verbose=False)


def numbers(fitted: pf.Fitted) -> np.ndarray:
    """All that was learned, and how."""
    history = (fitted.history[name] for name in ("objective", "validation", "converged", "solved"))
    return np.concatenate([fitted.network.bias, *(w.ravel() for w in fitted.network.weights), *history])


def write_files(folder: Path) -> str:
    """The rows in two Parquet files of several groups."""
    import pandas as pd

    folder.mkdir(exist_ok=True)
    frame = pd.DataFrame(rows(), columns=list(network().names[-4:]))
    frame[:25].to_parquet(folder / "a.parquet", row_group_size=10)
    frame[25:].to_parquet(folder / "b.parquet", row_group_size=10)
    return str(folder / "*.parquet")


def message(**options: Any) -> str:
    try:
        learn(epochs=1, **options)
    except PlefkaError as error:
        return str(error)
    return "nothing was wrong"


def interrupted_in_the_midst(path: Path, here: bool) -> pf.Fitted:
    """Ctrl-C in the second batch of the second epoch."""
    original, calls = loop.step, []

    def step(*arguments: Any, **options: Any) -> Any:
        calls.append(1)
        if here and len(calls) == 6:
            signal.raise_signal(signal.SIGINT)
        return original(*arguments, **options)

    loop.step = step
    try:
        return learn(checkpoint=path)
    finally:
        loop.step = original


def die(entry: dict) -> None:
    if entry["epoch"] == 5:
        os.kill(os.getpid(), signal.SIGKILL)


def all_cases(process: int, folder: Path) -> None:
    """What two processes do together, one after the other; the results are a file for each process."""
    found: dict[str, Any] = {name: numbers(learn(activation=name)) for name in ("sigmoid", "noisy_or")}
    found |= {name: numbers(learn_machine(name)) for name in MACHINES}
    found["stream"] = numbers(learn(str(folder / "files" / "*.parquet"), stream=True))
    found["other seed"] = message(seed=3 + process)
    found["other rows"] = message(data=rows(process))
    found["bad rows"] = message(data=rows() if process == 0 else rows() + 2)
    found["no folder"] = message(checkpoint=folder / "nowhere" / "c.npz")
    found["stopped"] = learn(callback=lambda entry: process == 1 and entry["epoch"] == 2).epochs
    stopped = interrupted_in_the_midst(folder / "interrupted.npz", process == 1)
    found["interrupted"] = np.array([stopped.epochs, stopped.stopped is pf.Stopped.INTERRUPTED])
    found["resumed"] = numbers(learn(checkpoint=folder / "interrupted.npz"))
    np.savez(folder / f"process{process}.npz", **found)


def dying(process: int, folder: Path, victim: int) -> None:
    """One process is killed after five epochs."""
    learn(checkpoint=folder / f"victim{victim}.npz", checkpoint_every=0.0, callback=die if process == victim else None)


if __name__ == "__main__":
    number, place = int(sys.argv[1]), Path(sys.argv[3])
    join_processes(f"127.0.0.1:{sys.argv[2]}", 2, number, timeout=600)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    dying(number, place, int(sys.argv[4])) if len(sys.argv) > 4 else all_cases(number, place)
