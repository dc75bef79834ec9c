"""What all networks of binary units have in common: units with names, and weights between them."""

from abc import abstractmethod
from typing import Any

import equinox as eqx
import numpy as np

from plefka.errors import InvalidEvidence, nearest
from plefka.networks.activations import Activation
from plefka.networks.arguments import positions
from plefka.networks.storage import Storage
from plefka.runtime.plain_module import PlainModule


class Network(PlainModule):
    """A network of binary units, or a stack of them with a leading axis, that `infer` takes."""

    storage: eqx.AbstractVar[Storage]
    bias: eqx.AbstractVar[np.ndarray]
    activation: eqx.AbstractVar[Activation | None]
    given_names: eqx.AbstractVar[tuple[str, ...] | None]
    layers: eqx.AbstractVar[tuple[int, ...] | None]
    given_states: eqx.AbstractVar[tuple[tuple[str, str], ...] | None]
    values: eqx.AbstractVar[tuple[int, int]]

    @property
    @abstractmethod
    def is_normalised(self) -> bool:
        """Whether ln Z without evidence is 0, as it is in a belief network."""

    @abstractmethod
    def take(self, networks: Any) -> Any:
        """A part of a stack: a single network by its index, or several by a slice or an array of indices."""

    @abstractmethod
    def log_joint(self, S: Any) -> Any:
        """The ln weight of a state (n,), or of each of a batch (B, n), in the network's own values."""

    @property
    def size(self) -> int:
        """The number of units."""
        return self.storage.size

    @property
    def stack(self) -> int | None:
        """The number of networks in a stack, or None for a single network."""
        return self.storage.stack

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the units; without names, their indices as text."""
        return self.given_names or tuple(map(str, range(self.size)))

    @property
    def num_edges(self) -> int:
        """The number of weights; all entries of dense blocks count, also those that are 0."""
        return self.storage.num_edges

    @property
    def visible(self) -> slice:
        """The units that the columns of a table without names stand for: of a layered network, the bottom layer."""
        return slice(self.size - self.layers[-1], self.size) if self.layers else slice(0, self.size)

    def masks_as_stored(self, masks: Any) -> Any:
        """Arrays like the weights as `parameters` has them."""
        return masks

    def index(self, unit: str | int) -> int:
        """The index of a unit, which is given by its name or by its index."""
        if self.given_names is not None and isinstance(unit, str):
            position = positions(self.given_names).get(unit)
            if position is None:
                raise InvalidEvidence(f"there is no unit {unit!r} in this network." + nearest(unit, self.given_names))
            return position
        try:
            position = int(unit)
        except (TypeError, ValueError, OverflowError):
            unit, position = repr(unit), -1
        if isinstance(unit, bool) or position != (float(unit) if not isinstance(unit, str) else position):
            position = -1
        if not 0 <= position < self.size:
            known = "units have names" if self.given_names else "units are identified by their index"
            raise InvalidEvidence(f"there is no unit {unit!r}: {known}, and indices run from 0 to {self.size - 1}.")
        return position
