"""The devices that share the rows of every batch, in one process or in several that JAX has joined.

Every process has all parameters and comes to the same state. What only one of them knows, they tell each other here.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import zip_longest
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from plefka.errors import InvalidInput, ProcessLost
from plefka.learning.gradient_step import DEVICES, Batch, batch_specs


class Devices:
    """One device, or several with the mesh that they form."""

    def __init__(self, given: Sequence[Any] | None = None):
        if given is not None:
            _check(given)
        found = sorted(jax.devices() if given is None else given, key=lambda device: (device.process_index, device.id))
        self.count = len(found)
        self.processes = sorted({device.process_index for device in found})
        self.mesh = None if found == jax.local_devices()[:1] else Mesh(np.array(found), (DEVICES,))
        self.own = [place for place, device in enumerate(found) if device.process_index == jax.process_index()]

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and speaks for all."""
        return not self.several or jax.process_index() == 0

    @property
    def several(self) -> bool:
        """Whether there are processes to agree with."""
        return len(self.processes) > 1

    # ---- batches -----------------------------------------------------------------------------------------------------

    def share(self, size: int) -> slice:
        """The places of a batch that the devices of this process work on."""
        return slice(self.own[0] * size // self.count, (self.own[-1] + 1) * size // self.count)

    def placed(self, batch: Batch, size: int, *, stacked: bool, stop: bool) -> Batch:
        """The batch of `size` rows of which this process has its share, on the devices."""
        if self.mesh is None:
            return batch
        whole = size, size, None, size, None if batch.noise is None else size, self.count
        own = batch._replace(stop=np.full(len(self.own), float(stop)))
        return Batch(*map(self._array, own, batch_specs(stacked=stacked), whole))

    def _array(self, own: Any, spec: PartitionSpec, size: int | None) -> Any:
        """An array of which each device has a part; every process gives the parts of its devices."""
        if size is None or self.mesh is None:
            return own
        shape = tuple(size if name == DEVICES else length for name, length in zip_longest(spec, own.shape))
        return jax.make_array_from_process_local_data(NamedSharding(self.mesh, spec), own, shape)

    # ---- agreement ---------------------------------------------------------------------------------------------------

    def gathered(self, own: np.ndarray) -> np.ndarray:
        """The arrays of all processes, of one shape, one after the other."""
        if not self.several:
            return own[None]
        from jax.experimental import multihost_utils

        with self.watching():
            return np.asarray(multihost_utils.process_allgather(own)).reshape(-1, *own.shape)

    def messages_of_all(self, own: bytes) -> list[bytes]:
        """What every process says."""
        sizes = self.gathered(np.array(len(own)))
        letters = np.zeros(max(sizes.max(), 1), np.uint8)
        letters[: len(own)] = np.frombuffer(own, np.uint8)
        return [each[:size].tobytes() for each, size in zip(self.gathered(letters), sizes)]

    def from_first(self, own: bytes) -> bytes:
        """What the first process says."""
        if not self.several:
            return own
        from jax.experimental import multihost_utils

        with self.watching():
            size = int(multihost_utils.broadcast_one_to_all(np.array(len(own))))
            letters = np.frombuffer(own, np.uint8) if self.is_first else np.zeros(size, np.uint8)
            return np.asarray(multihost_utils.broadcast_one_to_all(letters)).tobytes()

    @contextmanager
    def together(self) -> Iterator[None]:
        """What fails in one process fails in all, each with the message."""
        message, error = "", None
        try:
            yield
        except Exception as found:
            if not self.several or isinstance(found, ProcessLost):
                raise
            error, message = found, str(found) or type(found).__name__
        messages = [each.decode() for each in self.messages_of_all(message.encode())] if self.several else []
        if error is not None:
            raise error
        for number, text in enumerate(messages):
            if text:
                raise InvalidInput(f"process {number} of {len(messages)} cannot take part: {text}")

    def check_same(self, settings: dict[str, Any]) -> None:
        """An error in all processes where a setting is not the same everywhere."""
        if not self.several:
            return
        first, *others = [json.loads(each) for each in self.messages_of_all(json.dumps(settings).encode())]
        for number, other in enumerate(others, start=1):
            for name, value in first.items():
                if other[name] != value:
                    raise InvalidInput(
                        f"all processes must be given the same; {name} is {value!r} in process 0 and {other[name]!r} "
                        f"in process {number}. Start all of them with the same data and arguments."
                    )

    @contextmanager
    def watching(self) -> Iterator[None]:
        """An error of the network between processes says that one of them is lost."""
        try:
            yield
        except (ValueError, RuntimeError) as error:  # Gloo raises the first, other libraries the second
            if not self.several or isinstance(error, InvalidInput):
                raise
            reason = str(error).strip().splitlines()[0]
            raise ProcessLost(
                f"process {jax.process_index()} of {len(self.processes)}: another process has ended or cannot be "
                f"reached ({reason})."
            ) from error


def _check(given: Sequence[Any]) -> None:
    if not given or not all(isinstance(device, jax.Device) for device in given):
        raise InvalidInput(f"devices must be some of jax.devices(); got {given!r}.")
    processes = sorted({device.process_index for device in given})
    if processes not in ([jax.process_index()], list(range(jax.process_count()))):
        raise InvalidInput(
            f"devices must be those of this process, or include some of every process; got processes {processes} of "
            f"{jax.process_count()}. Pass jax.local_devices(), or leave devices out."
        )
