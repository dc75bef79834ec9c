"""Networks whose units are of different kinds: from what each unit is to weights, biases and one activation, and back.

Units of one kind keep their fields: the kind that has units with more than 16 parents, or else the most frequent one.
All others become tables (see plefka.networks.activations.mixed), which is exact, and are remembered as they were given.
So are the tables of a file, beside the compact units that they were recognised as.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
import scipy.sparse as sp
from jaxtyping import Float

from plefka.errors import InvalidNetwork
from plefka.networks.activations import MOST_PARENTS, Activation, AnyArray, Mixed, Sigmoid, Table, as_activation
from plefka.networks.activations.mixed import FIRST_ROW, MOST_TABLE_ROWS
from plefka.networks.edges import Edges
from plefka.networks.fields import fields_of_states
from plefka.networks.incidence import SUMMED_WIDTHS
from plefka.networks.storage import Storage
from plefka.runtime.precision import is_traced

FEWEST_ROWS = 256  # tables are filled up to this times a power of 4, so that networks share programs
FEW_PARENTS = 8  # whose states are always summed over
TABLE_CODE = -1  # in the place of a kind

Kind = Activation | Table


class Conditionals(eqx.Module):
    """The units of a network that are kept as tables, as they were given."""

    units: AnyArray  # (tabulated,), in increasing order
    kind: AnyArray  # (tabulated,): which of the kinds; TABLE for a table
    starts: AnyArray  # (tabulated + 1,): where the numbers of each begin
    numbers: AnyArray  # the probabilities of a table, or the bias and the weights
    kinds: tuple[Activation, ...]
    with_fields: Activation  # the kind of all other units

    def in_words(self, size: int) -> str:
        """'3 noisy_or, 2 table'."""
        names = [*(kind.name for kind in self.kinds), "table"]
        counts = Counter(names[kind] for kind in np.asarray(self.kind))
        counts[self.with_fields.name] += size - len(self.kind)
        return ", ".join(f"{count} {name}" for name, count in counts.items() if count)


@dataclass(frozen=True, eq=False)
class GivenTables:
    """The tables of a file, of every unit in the order of the network.

    Numbers of a file are rounded, and a compact unit is off by as much. Exact inference takes the tables.
    """

    parents: tuple[tuple[int, ...], ...]
    on: tuple[Float[np.ndarray, "..."], ...]  # P(on), with an axis for each parent


Encoded = tuple[Storage, np.ndarray, Activation, Conditionals | None]  # storage, bias and what else a network holds


def encoded(storage: Storage, bias: Any, kinds: Sequence[Any], names: Sequence[str]) -> Encoded:
    """Units of these kinds, one for each; the parents of a table are those with a weight, whatever it is."""
    if is_traced(storage, bias):
        raise InvalidNetwork(
            "a network with units of different kinds cannot be created inside a JAX trace. Create it outside."
        )
    if storage.stack is not None:
        raise InvalidNetwork(
            "in a stack all units must have the same activation; got a list of them. Use single networks instead."
        )
    if len(kinds) != storage.size:
        raise InvalidNetwork(f"there must be one activation for each of the {storage.size} units; got {len(kinds)}.")
    bias = np.array(bias, float)
    number, distinct = _numbered(kinds)
    if len(distinct) == 1 and TABLE_CODE not in number:
        return storage, bias, distinct[0], None
    W = storage.to_sparse()
    main = _with_fields(number, distinct, np.diff(W.indptr), names)
    return _tabulated(W, bias, kinds, number, distinct, main, names)


def _numbered(kinds: Sequence[Any]) -> tuple[np.ndarray, list[Activation]]:
    """Which of the distinct kinds each unit is, and these."""
    known: dict[Activation, int] = {}
    words = {kind: as_activation(kind) for kind in {kind for kind in kinds if isinstance(kind, str)}}
    number = np.full(len(kinds), TABLE_CODE)
    for unit, kind in enumerate(kinds):
        if not isinstance(kind, Table):
            found = words[kind] if isinstance(kind, str) else as_activation(kind)
            number[unit] = known.setdefault(found, len(known))
    return number, list(known)


def _with_fields(number: np.ndarray, kinds: list[Activation], parents: np.ndarray, names: Sequence[str]) -> int:
    """The kind whose units keep their fields."""
    large = parents > MOST_PARENTS
    wide = np.unique(number[large & (number != TABLE_CODE)])
    if len(wide) > 1:
        examples = [np.flatnonzero(large & (number == kind))[0] for kind in wide]
        got = ", ".join(f"{names[unit]} ({kinds[number[unit]].name}, {parents[unit]} parents)" for unit in examples)
        raise InvalidNetwork(
            f"all units with more than {MOST_PARENTS} parents must be of the same kind; got {got}. "
            "Use one kind for these units, or fewer parents."
        )
    if len(wide):
        return int(wide[0])
    counts = Counter(number[number != TABLE_CODE].tolist())
    return max(counts, key=lambda kind: counts[kind], default=0)


def _tabulated(
    W: sp.csr_array, bias: np.ndarray, kinds: Sequence[Any], number: np.ndarray, distinct: list[Activation], main: int,
    names: Sequence[str],
) -> Encoded:  # fmt: skip
    units = np.flatnonzero((number != main) | (number == TABLE_CODE))
    weights, h, parents = W.data.copy(), bias.copy(), np.diff(W.indptr)
    rows, numbers, first = [np.zeros((2, 0))], [np.zeros(0)], 0
    total = int(np.sum(2.0 ** parents[units]))
    if total > MOST_TABLE_ROWS:
        raise InvalidNetwork(
            f"all tables of a network together must have at most {MOST_TABLE_ROWS:,} rows; got {total:,}. "
            "Write units with many parents as noisy-or or sigmoid."
        )
    for unit in units.tolist():
        here = slice(W.indptr[unit], W.indptr[unit + 1])
        kind = kinds[unit] if number[unit] == TABLE_CODE else distinct[number[unit]]
        given = _numbers(kind, bias[unit], W.data[here], names[unit])
        rows.append(unit_logs(kind, given, names[unit]))
        numbers.append(given)
        h[unit], weights[here] = -(FIRST_ROW + first), -(2.0 ** np.arange(parents[unit])[::-1])
        first += rows[-1].shape[1]
    _check_fields(bias, W, np.delete(np.arange(len(bias)), units), names)
    size = FEWEST_ROWS
    while size < first:
        size *= 4
    logs = np.concatenate([*rows, np.full((2, size - first), -np.log(2))], axis=1)
    starts = np.cumsum([0, *map(len, numbers[1:])])
    with_fields = distinct[main] if distinct else Sigmoid()
    remembered = Conditionals(units, number[units], starts, np.concatenate(numbers), tuple(distinct), with_fields)
    matrix = sp.csr_array((weights, W.indices, W.indptr), shape=W.shape)
    widest = max(int(parents[units].max(initial=0)), FEW_PARENTS)  # below that it is not worth a program of its own
    activation = Mixed(with_fields, logs, next(width for width in SUMMED_WIDTHS if width >= widest))
    return Edges.from_scipy(matrix, SUMMED_WIDTHS), h, activation, remembered


def _numbers(kind: Kind, bias: float, weights: np.ndarray, name: str) -> np.ndarray:
    """What is remembered of a unit."""
    if not isinstance(kind, Table):
        return np.concatenate([[bias], weights])
    if kind.num_parents != len(weights):
        raise InvalidNetwork(
            f"the table of unit {name} must have one axis for each of its {len(weights)} parents; "
            f"got {kind.num_parents}. The parents are the units with a weight other than 0."
        )
    return kind.probabilities.ravel()


def unit_logs(kind: Kind, given: np.ndarray, name: str) -> np.ndarray:
    """ln P(on) and ln P(off) in all states of the parents, (2, states); the first parent varies slowest."""
    with np.errstate(divide="ignore"):
        if isinstance(kind, Table):
            return np.stack([np.log(given), np.log1p(-given)])
        x = fields_of_states(given[0], given[1:]).ravel()
        low, high = kind.domain
        allowed = np.isfinite(given[0]) & ((x >= low - 1e-9 * (1 + np.abs(x))) & (x <= high + 1e-9)).all()
        if not allowed or (np.isinf(x).any() and not kind.allows_certain_edges):
            raise InvalidNetwork(
                f"fields of the {kind.name} unit {name} must be finite numbers from {low:g} to {high:g}; got fields "
                f"from {x.min():g} to {x.max():g}. Change its bias or its weights."
            )
        x = kind.clip(x)
        return np.stack([np.asarray(kind.log_on(x)), np.asarray(kind.log_off(x))])


def _check_fields(bias: np.ndarray, W: sp.csr_array, units: np.ndarray, names: Sequence[str]) -> None:
    child = np.repeat(np.arange(len(bias)), np.diff(W.indptr))
    lowest = bias + np.bincount(child, np.minimum(W.data, 0.0), len(bias))
    low = units[lowest[units] < -FIRST_ROW / 4]
    if len(low):
        raise InvalidNetwork(
            f"fields must be above {-FIRST_ROW / 4:,.0f} in a network with tables; got {lowest[low[0]]:,.0f} at unit "
            f"{names[low[0]]}. Use smaller weights."
        )
