"""What all networks of binary units have in common: units with names, and weights between them."""

import copy
from abc import abstractmethod
from typing import Any, ClassVar, Self, cast

import equinox as eqx
import numpy as np

from plefka.errors import InvalidEvidence, InvalidInput, nearest
from plefka.networks.activations import Activation
from plefka.networks.conditionals import Conditionals, GivenTables
from plefka.networks.fingerprint import fingerprint
from plefka.networks.hierarchy import Hierarchy
from plefka.networks.storage import Storage
from plefka.runtime.plain_module import PlainModule
from plefka.runtime.value_cache import cached_for
from plefka.tables.display import HTML_ROWS, Content, page, text_table


class Network(PlainModule):
    """A network of binary units, or a stack of them with a leading axis, that `infer` takes."""

    storage: eqx.AbstractVar[Storage]
    bias: eqx.AbstractVar[np.ndarray]
    given_names: eqx.AbstractVar[tuple[str, ...] | None]
    activation: ClassVar[Activation | None] = None  # where there is none, the network has no direction
    conditionals: ClassVar[Conditionals | None] = None  # of units that are kept as tables
    layers: ClassVar[tuple[int, ...] | None] = None
    given_states: ClassVar[tuple[tuple[str, str], ...] | None] = None
    given_tables: ClassVar[GivenTables | None] = None
    values: ClassVar[tuple[int, int]] = (0, 1)  # the numbers for off and on
    version: ClassVar[str | None] = None  # of these numbers, by `with_version`: a copy with other numbers has none
    hierarchy: ClassVar[Hierarchy | None] = None  # what implies what, in a belief network
    is_normalised: ClassVar[bool] = False  # whether ln Z without evidence is 0, as it is in a belief network

    @abstractmethod
    def take(self, networks: Any) -> Any:
        """A part of a stack: a single network by its index, or several by a slice or an array of indices."""

    @abstractmethod
    def log_joint(self, S: Any) -> Any:
        """The ln weight of a state (n,), or of each of a batch (B, n), in the network's own values."""

    @abstractmethod
    def in_words(self, most: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        """The header of a table, and a row for each of up to so many units, of a single network."""

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
    def states(self) -> tuple[tuple[str, str], ...]:
        """The words (off, on) for the states of each unit: the numbers for off and on unless words were given."""
        off, on = self.values
        return self.given_states or ((str(off), str(on)),) * self.size

    @property
    def roots(self) -> np.ndarray:
        """Which units have no parents, as a mask (n,): all of them where edges have no direction."""
        return np.ones(self.size, bool)

    @property
    def _names_shown(self) -> str:
        """The first names as they stand in the text of a network: ', a, b, c, ...'."""
        return f", {', '.join(self.names[:3])}{', ...' if self.size > 3 else ''}" if self.given_names else ""

    @property
    def fingerprint(self) -> str:
        """16 hexadecimal digits for the units, names, states, numbers and activation, however weights are stored."""
        return cached_for(self, Network.fingerprint, lambda: fingerprint(self))

    @property
    def identity(self) -> dict[str, str | None]:
        """What answers and files of results say of the network that gave them: its fingerprint and its version."""
        return {"fingerprint": self.fingerprint, "network_version": self.version}

    def with_version(self, version: str | None) -> Self:
        """A copy with a `version` such as "2026-11", which answers, files of results, .json and .npz files carry."""
        if not (version is None or (isinstance(version, str) and version.strip())):
            raise InvalidInput(f"version must be a text that is not empty, or None; got {version!r}.")
        changed = copy.copy(self)
        own = cast(dict[str, Any], changed.__dict__)
        own.pop("version", None)
        own.update({} if version is None else {"version": version})
        return changed

    @property
    def num_edges(self) -> int:
        """The number of weights; all entries of dense blocks count, also those that are 0."""
        return self.storage.num_edges

    @property
    def visible(self) -> slice:
        """The units that the columns of a table without names stand for: of a layered network, the bottom layer."""
        return slice(self.size - self.layers[-1], self.size) if self.layers else slice(0, self.size)

    def _repr_html_(self) -> str:
        """A table for notebooks: what each unit is, of up to 20 units; of a stack, its size."""
        header, rows = self.in_words(HTML_ROWS) if self.stack is None else ((), [])
        return page(Content(repr(self)[1:-1], (), header, rows, self.size if self.stack is None else 0))

    def describe(self, most: int = 40) -> str:
        """A table in words: of each unit, up to `most` of them, its numbers, and the units that these connect it to."""
        text = text_table(*self.in_words(most))
        return text if self.size <= most else f"{text}\n... and {self.size - most:,} more units"

    def masks_as_stored(self, masks: Any) -> Any:
        """Arrays like the weights as `parameters` has them."""
        return masks

    def index(self, unit: str | int) -> int:
        """The index of a unit, which is given by its name or by its index."""
        if self.given_names is not None and isinstance(unit, str):
            known = cached_for(self, Network.index, lambda: {name: k for k, name in enumerate(self.names)})
            position = known.get(unit)
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
