"""What `plefka fit` starts with: other processes, a network, rows in memory or in Parquet files, and free names.

`plefka fit` imports it when it runs, as it loads JAX.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

import plefka as pf
from plefka.cli.exits import PROCESS_LOST
from plefka.cli.source import read_single
from plefka.cli.targets import check_new, check_target
from plefka.errors import InvalidFile, InvalidInput, ProcessLost
from plefka.files import NATIVE
from plefka.learning.parameters import adam
from plefka.learning.patterns import as_patterns
from plefka.learning.stream import is_streamed
from plefka.tables.dataset import Dataset, as_dataset, is_dataset
from plefka.tables.table import NumberTable, read_table
from plefka.tables.table_files import input_errors_name

ROWS_IN_MEMORY = 2**16  # whose frequencies the visible units start from
LAYERS, ACTIVATION = "1x8", "sigmoid"
MACHINES = {"restricted": 64, "full": 0}  # and their hidden units unless given


@contextmanager
def joined(coordinator: str | None, processes: int | None, process: int | None) -> Iterator[None]:
    """Inside, this process is one of several, if the options say so."""
    options = {"--coordinator": coordinator, "--processes": processes, "--process": process}
    missing = [name for name, value in options.items() if value is None]
    if coordinator is None or processes is None or process is None:
        if len(missing) < len(options):
            raise InvalidInput(
                f"--coordinator HOST:PORT, --processes N and --process K belong together; add {' and '.join(missing)}."
            )
        yield
        return
    pf.join_processes(coordinator, processes, process)
    try:
        yield
    except ProcessLost as error:
        print(f"plefka: {error}", file=sys.stderr, flush=True)
        os._exit(PROCESS_LOST)  # the ordinary way out would wait for the process that is lost


class NewMachine(NamedTuple):
    """A Boltzmann machine to begin with."""

    restricted: bool
    hidden: int

    @classmethod
    def of(cls, kind: str | None, hidden: int | None) -> "NewMachine | None":
        if kind is None:
            if hidden is not None:
                raise InvalidInput("--hidden is for --machine; a belief network takes --layers, as in --layers 1x8.")
            return None
        if kind not in MACHINES:
            raise InvalidInput(f"--machine must be restricted or full; got {kind!r}.")
        if kind == "restricted" and hidden == 0:
            raise InvalidInput("--hidden must be 1 or more for a restricted machine; without hidden units pass full.")
        return cls(kind == "restricted", MACHINES[kind] if hidden is None else hidden)


class Beginning(NamedTuple):
    """A network of the user's, or the sizes of the hidden layers of a new one, or a new machine."""

    network: Any  # a BeliefNetwork or BoltzmannMachine, or None
    hidden: tuple[int, ...]
    activation: Any
    machine: NewMachine | None = None

    @property
    def is_machine(self) -> bool:
        """Whether it is a Boltzmann machine that is learned."""
        return self.machine is not None or (self.network is not None and not self.network.is_normalised)

    @classmethod
    def of(
        cls, path: Path | None, layers: str | None, activation: str | None, machine: NewMachine | None
    ) -> "Beginning":
        hidden = sizes(layers or LAYERS, "--layers")
        if machine is not None and (path or layers or activation):
            other = f"{path} has its own kind" if path else "--layers and --activation are for belief networks"
            raise InvalidInput(f"--machine begins with a new Boltzmann machine; {other}. Leave one of them out.")
        if path is None:
            return cls(None, hidden, activation or ACTIVATION, machine)
        if layers or activation:
            raise InvalidInput(f"--layers and --activation are for a new network; {path} has its own. Leave them out.")
        network = read_single(str(path), "fit")
        return cls(network, hidden, network.activation)

    def start(self, rows: "TrainingRows", train: Any, seed: int) -> pf.BeliefNetwork:
        """The network to learn; a new one has units hidden0, hidden1, ... and one named after each column."""
        if self.network is not None:
            return self.network
        if self.machine is not None:
            restricted, hidden = self.machine
            return cast(Any, pf.ensembles.machine_to_learn(hidden, train, seed, restricted=restricted))
        visible = rows.names or [f"visible{k}" for k in range(rows.width)]
        some = train if rows.streamed else train.values[:: 1 + len(train.values) // ROWS_IN_MEMORY]
        network = pf.ensembles.to_learn(self.hidden, some, seed, self.activation)
        with input_errors_name(rows.path):
            return network if rows.streamed and rows.names else pf.ensembles.named(network, visible)


def sizes(text: str, option: str) -> tuple[int, ...]:
    """(1, 8) from '1x8'."""
    if not re.fullmatch(r"[1-9][0-9]{0,8}(x[1-9][0-9]{0,8})*", text):
        raise InvalidInput(f"{option} must be whole numbers with x between, as in 1x8; got {text!r}.")
    return tuple(int(size) for size in text.split("x"))


class TrainingRows(NamedTuple):
    """A table, or files that are streamed."""

    path: Path
    found: NumberTable | Dataset
    streamed: bool

    @property
    def names(self) -> list[str] | None:
        return self.found.names

    @property
    def width(self) -> int:
        found: Any = self.found
        return len(found.columns) if self.streamed else found.values.shape[1]

    def split(self, fraction: float, held_out: Path | None, seed: int) -> tuple[Any, Any]:
        """The training rows and the validation rows, a table of their own or drawn by the seed; None without any."""
        if fraction and held_out:
            raise InvalidInput("--validation and --validation-rows both hold rows out; leave one of them out.")
        if fraction and self.streamed:
            raise InvalidInput(
                f"{self.path}: --validation draws from a table in memory, and this one is streamed. Write the rows to "
                "hold out to a file of their own and pass --validation-rows FILE, or --no-stream."
            )
        table: Any = self.found
        if not fraction:
            return table, held_out
        train, held = split(table, fraction, seed)
        return table._replace(values=train), table._replace(values=held)

    def counts(self, network: pf.BeliefNetwork, train: Any) -> tuple[int, int | None]:
        """How many rows there are to learn from, and how many of them differ, where that is known."""
        if self.streamed:
            return len(train), None
        patterns = as_patterns(network, train)
        return int(patterns.total), len(patterns)


def read_rows(
    path: Path, network: pf.BeliefNetwork | None, id_columns: list[str] | None, stream: bool | None
) -> TrainingRows:
    """The rows of a file, or of Parquet files."""
    if not is_dataset(path):
        if stream:
            raise InvalidInput(f"--stream is for Parquet files; got {path}.")
        return TrainingRows(path, read_table(path, network, id_columns), False)
    files = as_dataset(path, network, id_columns)
    streamed = is_streamed(files, stream)
    return TrainingRows(path, files if streamed else files.table(), streamed)


def split(table: NumberTable, fraction: float, seed: int) -> tuple[Any, Any]:
    """The training rows and the validation rows, drawn by the seed."""
    count = len(table.values)
    held_out = max(1, round(fraction * count))
    if held_out >= count:
        raise InvalidFile(f"{table.path}: {count} rows are too few to hold out a fraction of {fraction:g}.")
    order = np.random.default_rng(seed).permutation(count)
    return table.values[np.sort(order[held_out:])], table.values[np.sort(order[:held_out])]


def check_targets(
    out: Path, inputs: list[Path], force: bool, checkpoint: Path | None, pictures: list[Path | None]
) -> None:
    """Refuse before learning what would fail after hours of it."""
    if out.suffix.lower() not in NATIVE:
        raise InvalidFile(f"{out}: the name of a network must end with {' or '.join(NATIVE)}.")
    targets = [path for path in (out, checkpoint, *pictures) if path is not None]
    for path in targets:
        check_target(path)
    places = [path.resolve() for path in targets]
    for twice in (path for k, path in enumerate(targets) if places[k] in places[:k]):
        raise InvalidFile(f"{twice}: every output must have a file of its own; two options name this one.")
    for path in filter(None, (out, *pictures)):
        check_new(path, inputs, force=force)
    if any(pictures):
        from plefka.plots.style import check_name

        for path in filter(None, pictures):
            check_name(path)


def adam_of(learning_rate: float) -> Any:
    if not 0 < learning_rate < float("inf"):
        raise InvalidInput(f"--learning-rate must be a positive number; got {learning_rate:g}.")
    return adam(learning_rate)


def image_shape_of(width: int, shape: str | None) -> tuple[int, int]:
    """The height and width of the images that --features draws."""
    from plefka.plots.learning_curves import image_shape

    return image_shape(width, sizes(shape, "--shape") if shape else None)
