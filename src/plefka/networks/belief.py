"""Belief networks of the form (4): each unit is on with probability f(weighted sum of its parents + bias)."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import numpy as np
import scipy.sparse as sp

from plefka.activations import Activation, Mixed, Table, as_activation
from plefka.errors import InvalidEvidence, InvalidNetwork, nearest
from plefka.networks import checks
from plefka.networks.blocks import Blocks
from plefka.networks.conditionals import Conditionals, encoded
from plefka.networks.edges import Edges
from plefka.networks.given_tables import GivenTables
from plefka.networks.storage import Storage
from plefka.networks.units import Unit, described, put_together, units_of
from plefka.precision import is_traced


class BeliefNetwork(eqx.Module):
    """P(S) = prod_i f(x_i)^S_i (1 - f(x_i))^(1 - S_i), x_i = sum_j weights[i, j] S_j + bias[i].                  (4)

    **Arguments:**

    - `weights`: weights[i, j] leads from parent j to child i; a dense array or anything of scipy.sparse. Any order of
        units is accepted as long as the graph is acyclic. A leading axis, or a list of sparse matrices, makes a stack
        of networks of one shape.
    - `bias`: one number for each unit; the leak of a noisy-or unit.
    - `activation`: "sigmoid", "noisy_or" or a `Custom`; or one for each unit, in a list, each of which may also be a
        `Table`. The parents of a table are the units with a weight to it, and neither these weights nor its bias
        count.
    - `names`: one word for each unit; without names, units are called by their index.
    - `states`: a pair of words for each unit, what off and on are called, as in ("no", "yes"); evidence may use them.
    - `tolerance`: how far fields may lie outside the activation's domain, as those of rounded numbers do. The bias is
        then changed by as much, with a warning; beyond the tolerance it is an error.
    """

    storage: Storage
    bias: Any
    activation: Activation
    given_names: tuple[str, ...] | None = eqx.field(static=True)
    layers: tuple[int, ...] | None = eqx.field(static=True)
    conditionals: Conditionals | None  # of units that are kept as tables, where units are of different kinds
    given_states: tuple[tuple[str, str], ...] | None = eqx.field(static=True)
    given_tables: GivenTables | None = eqx.field(static=True)  # as a file has them, rounded, where there is one

    def __init__(
        self,
        weights: Any,
        bias: Any,
        activation: str | Activation | Callable | Sequence[Any] = "sigmoid",
        names: Sequence[str] | None = None,
        *,
        layers: tuple[int, ...] | None = None,
        states: Sequence[Sequence[str]] | None = None,
        tolerance: float = checks.TOLERANCE,
    ):
        self.storage = weights if isinstance(weights, Storage) else _store(weights)
        self.bias = _bias_of(self.storage, bias)
        self.given_names = checks.check_names(names, self.size)
        if isinstance(activation, list | tuple | np.ndarray):
            found = encoded(self.storage, self.bias, list(activation), self.names)
            self.storage, self.bias, self.activation, self.conditionals = found
        else:
            self.activation, self.conditionals = _single(activation), None
        self.layers = None if self.conditionals is not None else layers
        self.given_states = checks.check_states(states, self.names)
        self.given_tables = None
        if not is_traced(self.storage, self.bias):
            self.bias = checks.check_network(self, tolerance)

    @classmethod
    def layered(
        cls,
        weights: Sequence[Any],
        bias: Sequence[Any],
        activation: str | Activation | Callable | Sequence[Any] = "sigmoid",
        names: Sequence[str] | None = None,
        *,
        states: Sequence[Sequence[str]] | None = None,
        tolerance: float = checks.TOLERANCE,
    ) -> "BeliefNetwork":
        """Layers of units, top layer first: weights[l] is (units of layer l + 1, units of layer l)."""
        weights = [_as_float(W, "weights") for W in weights]
        bias = [_as_float(h, "bias") for h in bias]
        layers = checks.check_layers(weights, bias)
        stack = max((W.shape[0] for W in weights if W.ndim == 3), default=None)
        if stack is not None:
            bias = [np.broadcast_to(h, (stack, h.shape[-1])) if h.ndim == 1 else h for h in bias]
        joined = eqx.filter_jit(_concatenate)(bias) if is_traced(bias) else np.concatenate(bias, axis=-1)
        storage = Blocks.layered(weights, layers)
        return cls(storage, joined, activation, names, layers=layers, states=states, tolerance=tolerance)

    @classmethod
    def diagnosis(cls, causes: Any, findings: Any, *, leak: float = 0.0) -> "BeliefNetwork":
        """A noisy-or network of causes and findings from two tables of probabilities.

        **Arguments:**

        - `causes`: a DataFrame, or what pandas makes one of, with the columns `cause` (or `name`, `disease`) and
            `prior` (or `probability`, `p`).
        - `findings`: the same with a row for each edge: `finding` (or `symptom`), `cause` (or `disease`) and
            `probability` (or `p`), with which the cause by itself switches the finding on; 1 is an edge that is
            certain. The leak of a finding, with which it is on without any cause, stands in a column `leak` or is the
            probability of a row without a cause. A finding may be the cause of others.
        - `leak`: of findings that state none.

        Units are all causes, then all findings in the order in which they first appear. Other columns are ignored.
        """
        from plefka.networks.diagnosis import diagnosis

        return diagnosis(causes, findings, leak=leak)

    @classmethod
    def of_units(
        cls, units: Sequence[Unit | tuple], *, states: Sequence[Sequence[str]] | None = None
    ) -> "BeliefNetwork":
        """A network from what each of its units is: (name, parents, kind, weights, bias), as in `pf.Unit`.

        Parents are given by name or by index, in any order. The kind is "sigmoid", "noisy_or" or a `Custom`, with a
        weight for each parent and a bias; or a `Table`, with an axis for each parent. Names may be None, for all units.
        """
        parts = put_together(units)
        return cls(parts.weights, parts.bias, parts.kinds, parts.names, states=states)

    @classmethod
    def from_tables(
        cls, parents: Sequence[Sequence[str | int]], tables: Sequence[Any], names: Sequence[str] | None = None
    ) -> "BeliefNetwork":
        """A network of tables: tables[i] is P(unit i is on | its parents), an array of shape (2,) * len(parents[i]).

        Its axes are those of parents[i], which are names or indices; a unit without parents has a single number.
        """
        counts = [len(given) for given in (parents, tables, names) if given is not None]
        if len({*counts}) > 1:
            raise InvalidNetwork(f"parents, tables and names must be one for each unit; got {counts} of them.")
        kinds = [table if isinstance(table, Table) else Table(table) for table in tables]
        return cls.of_units(list(zip(names or [None] * len(kinds), parents, kinds, strict=True)))

    @property
    def units(self) -> list[Unit]:
        """What each unit is; `BeliefNetwork.of_units(network.units)` is the same network."""
        return list(units_of(self))

    def describe(self, most: int = 40) -> str:
        """A table in words: of each unit, up to `most` of them, its kind, its parents and its numbers."""
        return described(self, most)

    @property
    def size(self) -> int:
        """How many units there are."""
        return self.storage.size

    @property
    def stack(self) -> int | None:
        """How many networks are stacked, or None for a single one."""
        return self.storage.stack

    @property
    def names(self) -> tuple[str, ...]:
        """What the units are called."""
        return self.given_names or tuple(map(str, range(self.size)))

    @property
    def states(self) -> tuple[tuple[str, str], ...]:
        """What off and on are called in each unit: ("0", "1") unless words were given."""
        return self.given_states or (checks.NUMBERED,) * self.size

    @property
    def weights(self) -> Any:
        """The weights in the form they were given: an array, a CSR array, or one block for each layer but the first."""
        return self.storage.original()

    @property
    def num_edges(self) -> int:
        """How many weights a network has, those of dense blocks all counted."""
        return self.storage.num_edges

    @property
    def roots(self) -> np.ndarray:
        """Which units have no parents, (n,): the causes of a network of diagnosis."""
        found = np.ones(self.size, bool)
        found[self.storage.edge_list()[0]] = False
        return found

    @property
    def parameters(self) -> tuple[Any, Any]:
        """All that can be learned: the weights as stored, and the bias."""
        return self.storage.parameters, self.bias

    def with_parameters(self, parameters: tuple[Any, Any]) -> "BeliefNetwork":
        """The same network with other weights and biases: arrays of the shapes that `parameters` has, traced or not."""
        weights, bias = parameters
        return self._changed(self.storage.with_parameters(weights), bias)

    def take(self, networks: Any) -> "BeliefNetwork":
        """Some networks of a stack, or one of them."""
        return self._changed(self.storage.take(networks), self.bias[networks])

    def _changed(self, storage: Storage, bias: Any) -> "BeliefNetwork":
        changed = eqx.tree_at(lambda net: (net.storage, net.bias), self, (storage, bias))
        return changed.with_tables(None)

    def with_tables(self, tables: GivenTables | None) -> "BeliefNetwork":
        """The same network, of whose units these are the tables; `exact` takes them rather than rounded fields."""
        if tables is self.given_tables:
            return self
        changed = copy.copy(self)
        object.__setattr__(changed, "given_tables", tables)
        return changed

    def index(self, unit: str | int) -> int:
        """The index of a unit that is given by name or by index."""
        if self.given_names is not None and isinstance(unit, str):
            position = _positions(self.given_names).get(unit)
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
            known = "units have names" if self.given_names else "units are called by their index"
            raise InvalidEvidence(f"there is no unit {unit!r}: {known}, and indices run from 0 to {self.size - 1}.")
        return position

    def log_joint(self, S: Any) -> Any:
        """ln P(S) of a state (n,), or of each of a batch of states (B, n)."""
        from plefka.sampling.ancestral import log_joint

        return log_joint(self, S)

    def sample(self, seed: int, count: int, evidence: Any = None) -> np.ndarray:
        """`count` states (count, n) drawn from the network, given the evidence, from the parents to the children."""
        from plefka.sampling.ancestral import sample

        return sample(self, seed, count, evidence)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.layers)) if self.layers else f"{self.size:,}"
        stacked = f"{self.stack:,} networks of " if self.stack is not None else ""
        kind = "edges" if isinstance(self.storage, Edges) else "weights"
        named = f", {', '.join(self.names[:3])}{', ...' if self.size > 3 else ''}" if self.given_names else ""
        kinds = None if self.conditionals is None else self.conditionals.in_words(self.size)
        units = f"units ({kinds})" if kinds else f"{self.activation.name} units"
        return f"<BeliefNetwork: {stacked}{shape} {units}, {self.num_edges:,} {kind}{named}>"


def _single(activation: Any) -> Activation:
    """The activation of all units."""
    if isinstance(activation, Mixed | Table):
        raise InvalidNetwork(
            f"activation must be that of all units; got {type(activation).__name__}. Use a list, one for each unit."
        )
    return as_activation(activation)


def _store(weights: Any) -> Storage:
    if sp.issparse(weights):
        checks.check_square(weights.shape)
        return Edges.from_scipy(weights)
    if isinstance(weights, list | tuple) and any(map(sp.issparse, weights)):
        checks.check_sparse_stack(weights)
        return Edges.from_scipy_stack(weights)
    W = _as_float(weights, "weights")
    checks.check_square(W.shape)
    return Blocks.dense(W)


def _as_float(values: Any, what: str) -> Any:
    if is_traced(values):
        if not hasattr(values, "shape"):
            raise InvalidNetwork(
                f"{what} inside a JAX trace must be an array; got {type(values).__name__}. Use jnp.array."
            )
        return values
    try:
        return np.array(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise InvalidNetwork(
            f"{what} must be numbers in a rectangular array; got {type(values).__name__}: {error}."
        ) from None


def _bias_of(storage: Storage, bias: Any) -> Any:
    h = _as_float(bias, "bias")
    checks.check_bias_shape(h.shape, storage)
    if storage.stack is not None and h.ndim == 1:
        return np.broadcast_to(h, (storage.stack, storage.size))
    return h


def _concatenate(parts):
    import jax.numpy as jnp

    return jnp.concatenate(parts, axis=-1)


_known_positions: dict[int, tuple[tuple[str, ...], dict[str, int]]] = {}
MOST_KNOWN = 4  # networks


def _positions(names: tuple[str, ...]) -> dict[str, int]:
    """Where each name is, listed once: a network of many units is asked about many of them."""
    known = _known_positions.get(id(names))
    if known is None or known[0] is not names:
        while len(_known_positions) >= MOST_KNOWN:
            _known_positions.pop(next(iter(_known_positions)), None)
        known = _known_positions[id(names)] = names, {name: position for position, name in enumerate(names)}
    return known[1]
