"""Belief networks of the form (4): each unit is on with probability f(weighted sum of its parents + bias)."""

import copy
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from plefka.errors import InvalidNetwork
from plefka.networks import checks, neighbourhood
from plefka.networks.activations import Activation, Table, namespace
from plefka.networks.blocks import Blocks
from plefka.networks.checks import as_float, as_storage, bias_of, single_activation
from plefka.networks.conditionals import Conditionals, GivenTables, encoded
from plefka.networks.diagnosis import diagnosis
from plefka.networks.edges import Edges
from plefka.networks.fields import log_joint
from plefka.networks.hierarchy import Hierarchy
from plefka.networks.index_arrays import mask_of
from plefka.networks.neighbourhood import Edge
from plefka.networks.network import Network
from plefka.networks.storage import Storage
from plefka.networks.units import Unit, network_parts, unit_in_words, units_of
from plefka.runtime.late_binding import SAMPLE_BELIEFS, supplied
from plefka.runtime.precision import is_traced


class BeliefNetwork(Network):
    """P(S) = prod_i f(x_i)^S_i (1 - f(x_i))^(1 - S_i), x_i = sum_j weights[i, j] S_j + bias[i].                  (4)

    A belief network of binary units. Unit i is on with probability f(x_i), where the field x_i is a weighted sum of the
    parents that are on, plus a bias. See also `layered`, `diagnosis`, `of_units` and `from_tables`, which make
    networks from other descriptions, and `pf.load`, which reads them from files.

    **Arguments:**

    - `weights`: the weight of the edge from parent j to child i is `weights[i, j]`. A dense array or a matrix of
        scipy.sparse. Units may be in any order as long as the graph is acyclic. A leading axis, or a list of sparse
        matrices, makes a stack of networks with the same shape.
    - `bias`: a number for each unit. For a noisy-or unit it sets the leak, which is 1 - exp(-bias).
    - `activation`: "sigmoid", "noisy_or" or a `Custom`. A list gives each unit its own activation, which may also be a
        `Table`. The parents of a table are the units with a nonzero weight to it; the values of these weights and its
        bias are ignored.
    - `names`: a name for each unit. Without names, units are identified by their index.
    - `states`: a pair of words (off, on) for each unit, such as ("no", "yes"). Evidence may use these words.
    - `tolerance`: how far a field may lie outside the domain of the activation because of rounding. Up to this limit
        the bias is corrected, with a warning; beyond it the network is refused.

    **Example:**

    >>> import plefka as pf
    >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [-1.0, 0.0], "sigmoid", names=["rain", "wet"])
    >>> net
    <BeliefNetwork: 2 sigmoid units, 4 weights, rain, wet>
    >>> solution = pf.infer(net, {"wet": 1})
    >>> print(f"P(rain | wet) = {solution.means[net.index('rain')]:.3f}")
    P(rain | wet) = 0.393
    """

    storage: Storage
    bias: np.ndarray  # inside a trace, one of JAX
    activation: Activation  # pyright: ignore[reportIncompatibleVariableOverride]
    given_names: tuple[str, ...] | None = eqx.field(static=True)
    layers: tuple[int, ...] | None = eqx.field(static=True)
    conditionals: Conditionals | None  # of units that are kept as tables, where units are of different kinds
    given_states: tuple[tuple[str, str], ...] | None = eqx.field(static=True)
    given_tables: GivenTables | None = eqx.field(static=True)  # as a file has them, rounded, where there is one
    hierarchy: Hierarchy | None = eqx.field(static=True)  # pyright: ignore
    is_normalised: ClassVar[bool] = True

    def __init__(
        self,
        weights: Any,
        bias: Any,
        activation: str | Activation | Callable | Sequence[Any] = "sigmoid",
        names: Sequence[str] | None = None,
        *,
        layers: tuple[int, ...] | None = None,
        states: Sequence[Sequence[str]] | None = None,
        tolerance: float = checks.PROBABILITY_TOLERANCE,
    ):
        self.storage = weights if isinstance(weights, Storage) else as_storage(weights)
        self.bias = bias_of(self.storage, bias)
        self.given_names = checks.check_names(names, self.size)
        if isinstance(activation, list | tuple | np.ndarray):
            found = encoded(self.storage, self.bias, list(activation), self.names)
            self.storage, self.bias, self.activation, self.conditionals = found
        else:
            self.activation, self.conditionals = single_activation(activation), None  # pyright: ignore
        self.layers = None if self.conditionals is not None else layers  # pyright: ignore
        self.given_states = checks.check_states(states, self.names)  # pyright: ignore
        self.given_tables = self.hierarchy = None  # pyright: ignore
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
        tolerance: float = checks.PROBABILITY_TOLERANCE,
    ) -> "BeliefNetwork":
        """A network of layers, in which the parents of each unit are the units of the layer above.

        **Arguments:**

        - `weights`: one array for each layer but the first, top layer first. `weights[l]` has shape (units of layer
            l + 1, units of layer l), that is (children, parents).
        - `bias`: one array for each layer.
        - `activation`, `names`, `states`, `tolerance`: as for `BeliefNetwork`.

        **Example:**

        >>> import plefka as pf
        >>> pf.BeliefNetwork.layered([[[1.6, 0.3], [0.8, 1.0]]], [[0.06, 0.2], [0.02, 0.1]], "noisy_or")
        <BeliefNetwork: 2 x 2 noisy_or units, 4 weights>
        """
        weights = [as_float(W, "weights") for W in weights]
        bias = [as_float(h, "bias") for h in bias]
        layers = checks.check_layers(weights, bias)
        stack = max((W.shape[0] for W in weights if W.ndim == 3), default=None)
        if stack is not None:
            bias = [np.broadcast_to(h, (stack, h.shape[-1])) if h.ndim == 1 else h for h in bias]
        joined = namespace(*bias).concatenate(bias, axis=-1)
        return cls(
            Blocks.layered(weights, layers),
            joined,
            activation,
            names,
            layers=layers,
            states=states,
            tolerance=tolerance,
        )

    @classmethod
    def diagnosis(cls, causes: Any, findings: Any = None, *, leak: float = 0.0, implies: Any = None) -> "BeliefNetwork":
        """A noisy-or network of causes and findings from two tables of probabilities, or from a matrix.

        **Arguments:**

        - `causes`: a DataFrame, or anything that pandas can turn into one, with the columns `cause` (or `name`,
            `disease`) and `prior` (or `probability`, `p`).
        - `findings`: a table with a row for each edge and the columns `finding` (or `symptom`), `cause` (or `disease`)
            and `probability` (or `p`). The probability is that with which the cause alone switches the finding on; 1
            means that it always does. The leak, the probability that a finding is on without any of its causes, is
            given in a column `leak`, or as the probability of a row without a cause. A finding may be the cause of
            other findings. It may also be a matrix of probabilities with causes in rows and findings in columns, or the
            other way round, names of rows in the first column or the index, and leaks in a row or column `leak`. A
            matrix with a column or row `prior` is a network by itself, given as `causes`.
        - `leak`: the leak of findings that do not state one.
        - `implies`: what follows from a finding by definition, as a mapping {finding: more general finding, or a list}
            or a table with the columns `finding` and `implies` (or `parent`); `findings` may have a column `implies`
            instead. A cause that switches a finding on switches all that it implies on, at least as often. Evidence
            follows the hierarchy, see `with_implies`.

        Probabilities may be text: 10%, 0,1. The units are all causes, followed by all findings in the order in which
        they first appear. Other columns are ignored, but not in a matrix.

        **Example:**

        >>> import plefka as pf
        >>> causes = {"cause": ["flu", "cold"], "prior": [0.06, 0.2]}
        >>> findings = {"finding": ["fever", "cough"], "cause": ["flu", "cold"], "probability": [0.8, 0.6]}
        >>> pf.BeliefNetwork.diagnosis(causes, findings, leak=0.02)
        <BeliefNetwork: 4 noisy_or units, 2 edges, flu, cold, fever, ...>
        """
        return diagnosis(cls, causes, findings, leak=leak, implies=implies)

    @classmethod
    def of_units(
        cls, units: Sequence[Unit | tuple], *, states: Sequence[Sequence[str]] | None = None
    ) -> "BeliefNetwork":
        """A network from a list of its units, each a `pf.Unit` or a tuple (name, parents, kind, weights, bias).

        Parents are given by name or by index, in any order. The kind is "sigmoid", "noisy_or" or a `Custom`, with a
        weight for each parent and a bias; or a `Table`, with an axis for each parent. Units without names have None
        as their name, all of them.

        **Example:**

        >>> import plefka as pf
        >>> units = [("flu", [], "noisy_or", [], 0.05), ("fever", ["flu"], pf.Table([0.02, 0.8]))]
        >>> pf.BeliefNetwork.of_units(units)
        <BeliefNetwork: 2 units (1 table, 1 noisy_or), 1 edges, flu, fever>
        """
        return cls(*network_parts(units), states=states)

    @classmethod
    def from_tables(
        cls, parents: Sequence[Sequence[str | int]], tables: Sequence[Any], names: Sequence[str] | None = None
    ) -> "BeliefNetwork":
        """A network of probability tables.

        **Arguments:**

        - `parents`: the parents of each unit, by name or by index.
        - `tables`: for each unit, P(on | parents) as an array of shape `(2,) * len(parents[i])`. Axis k belongs to the
            k-th parent. The table of a unit without parents is a single number.
        - `names`: a name for each unit.

        **Example:**

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork.from_tables([[], ["rain"]], [0.2, [0.1, 0.9]], names=["rain", "wet"])
        >>> net.units[1].kind
        Table([0.1, 0.9])
        """
        counts = [len(given) for given in (parents, tables, names) if given is not None]
        if len({*counts}) > 1:
            raise InvalidNetwork(f"parents, tables and names must have one entry for each unit; got {counts} entries.")
        kinds = [table if isinstance(table, Table) else Table(table) for table in tables]
        return cls.of_units(list(zip(names or [None] * len(kinds), parents, kinds, strict=True)))

    @property
    def units(self) -> list[Unit]:
        """The units as a list of `pf.Unit`; `BeliefNetwork.of_units(network.units)` makes the same network."""
        return list(units_of(self))

    def in_words(self, most: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        units = zip(self.names[:most], units_of(self), strict=False)
        header, rows = ("unit", "kind", "parents", "numbers"), [(name, *unit_in_words(unit)) for name, unit in units]
        if self.given_states is None:
            return header, rows
        words = (f"{on} (not {off})" for off, on in self.given_states)
        return (*header, "on is"), [(*row, word) for row, word in zip(rows, words, strict=False)]

    def parents(self, unit: str | int) -> list[str]:
        """The names of a unit's parents, in the order of the network's units.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", ["flu", "fever"])
        >>> net.parents("fever"), net.children("flu")
        (['flu'], ['fever'])
        """
        return neighbourhood.neighbours(self, unit, "parents")

    def children(self, unit: str | int) -> list[str]:
        """The names of a unit's children, in the order of the network's units."""
        return neighbourhood.neighbours(self, unit, "children")

    def edges(self) -> list[Edge]:
        """All edges as (parent, child, weight), by name; the weight is None where the child is a table.

        `pandas.DataFrame(net.edges())` has the columns parent, child and weight.

        >>> import plefka as pf
        >>> net = pf.BeliefNetwork([[0, 0], [2.0, 0]], [0.1, 0.05], "noisy_or", ["flu", "fever"])
        >>> net.edges()
        [Edge(parent='flu', child='fever', weight=2.0)]
        """
        return neighbourhood.edges_of(self)

    def subnetwork(self, around: str | int | Sequence[str | int], hops: int = 1) -> "BeliefNetwork":
        """The part of the network within `hops` edges of a unit, or of several, in either direction.

        It is a network like any other, with the names and states of its units. Parents that lie outside count as off:
        their weights are left out, and of a table the part is kept in which they are off. Its answers are therefore
        not those of the whole network, unless nothing is cut or what is cut is observed to be off.

        >>> import plefka as pf
        >>> part = pf.example("espresso").subnetwork(around="slow_flow", hops=1)
        >>> "slow_flow" in part.names and part.size < pf.example("espresso").size
        True
        """
        return neighbourhood.subnetwork(self, around, hops)

    @property
    def weights(self) -> Any:
        """The weights as they were given: an array, a CSR array, or a block for each layer but the first."""
        return self.storage.original()

    @property
    def roots(self) -> np.ndarray:
        """Which units have no parents, as a mask (n,). In a diagnosis network these are the causes."""
        return ~mask_of(self.storage.edge_list()[0], self.size)

    @property
    def parameters(self) -> tuple[PyTree, np.ndarray]:
        """The parameters that can be learned: the weights as stored, and the bias."""
        return self.storage.parameters, self.bias

    def with_parameters(self, parameters: tuple[Any, Any]) -> "BeliefNetwork":
        """A copy of the network with these weights and biases, in the shapes of `parameters`."""
        weights, bias = parameters
        return self._changed(self.storage.with_parameters(weights), bias)

    def take(self, networks: Any) -> "BeliefNetwork":
        """A part of a stack: a single network by its index, or several by a slice or an array of indices."""
        return self._changed(self.storage.take(networks), self.bias[networks])

    def _changed(self, storage: Storage, bias: Any) -> "BeliefNetwork":
        changed = eqx.tree_at(lambda net: (net.storage, net.bias), self, (storage, bias))
        return changed.with_tables(None)

    @property
    def implies(self) -> list[tuple[str, str]]:
        """What follows from what by definition: pairs (unit, more general unit), by name."""
        pairs = () if self.hierarchy is None else self.hierarchy.pairs.tolist()
        return [(self.names[unit], self.names[general]) for unit, general in pairs]

    def with_implies(self, pairs: Sequence[tuple[str | int, str | int]]) -> "BeliefNetwork":
        """A copy in which units imply more general ones: pairs (unit, more general unit), in place of those before.

        A unit that is observed on implies that all more general ones are on, and one that is off that all more specific
        ones are off. These are shown as observed. Only the most specific units that are on and the most general ones
        that are off enter the likelihood, as the others follow from them. Where a unit is off although a more specific
        one is on, what is on counts, and a warning says so. Weights and biases stay as they are.

        >>> import plefka as pf
        >>> net = pf.example("espresso").with_implies([("slow_flow", "thin_crema")])
        >>> pf.infer(net, {"slow_flow": 1})["thin_crema"]
        1.0
        """
        changed = self.with_version(None)
        places = [(self.index(unit), self.index(general)) for unit, general in pairs]
        object.__setattr__(changed, "hierarchy", Hierarchy.of(places, self.names))
        return changed

    def with_tables(self, tables: GivenTables | None) -> "BeliefNetwork":
        """A copy that keeps the tables it was read from, which `exact` uses instead of the rounded fields."""
        if tables is self.given_tables:
            return self
        changed = copy.copy(self)
        object.__setattr__(changed, "given_tables", tables)
        return changed

    def log_joint(self, S: Any) -> Any:
        """ln P(S) of a state (n,), or of each state of a batch (B, n)."""
        return log_joint(self, S)

    def sample(self, seed: int, count: int, evidence: Any = None) -> np.ndarray:
        """Draw `count` states (count, n) from the network, given the evidence, by ancestral sampling.

        **Example:**

        >>> import plefka as pf
        >>> pf.example("espresso").sample(seed=0, count=3).shape
        (3, 15)
        """
        return supplied(SAMPLE_BELIEFS)(self, seed, count, evidence)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self.layers)) if self.layers else f"{self.size:,}"
        stacked = f"{self.stack:,} networks of " if self.stack is not None else ""
        kind = "edges" if isinstance(self.storage, Edges) else "weights"
        kinds = None if self.conditionals is None else self.conditionals.in_words(self.size)
        units = f"units ({kinds})" if kinds else f"{self.activation.name} units"
        return f"<BeliefNetwork: {stacked}{shape} {units}, {self.num_edges:,} {kind}{self._names_shown}>"
