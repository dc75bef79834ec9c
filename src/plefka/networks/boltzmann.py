"""Boltzmann machines: P(S) is proportional to exp(-E(S) / T), with an energy that is quadratic in the states (3)."""

from collections.abc import Sequence
from typing import Any, cast

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import scipy.sparse as sp
from jaxtyping import PyTree

from plefka.errors import InvalidNetwork, listed
from plefka.networks import checks
from plefka.networks.activations import namespace
from plefka.networks.blocks import Blocks
from plefka.networks.checks import as_float, bias_of
from plefka.networks.couplings import check_block, check_temperature, check_values, constant_of, stored_once
from plefka.networks.edges import Edges
from plefka.networks.fields import log_weights
from plefka.networks.network import Network
from plefka.networks.storage import Storage
from plefka.runtime.late_binding import SAMPLE_MACHINE, supplied
from plefka.runtime.plain_module import replaced
from plefka.runtime.precision import is_traced


class BoltzmannMachine(Network):
    """P(S) = exp(-E(S) / T) / Z, E(S) = -sum_{i<j} weights[i, j] S_i S_j - sum_i bias[i] S_i.

    A Boltzmann machine, also called an Ising model: binary units with symmetric couplings. See also `restricted`, for
    couplings between two layers only. `infer` gives ln Z with the evidence clamped as `solution.log_partition`.

    **Arguments:**

    - `weights`: a symmetric matrix with zeros on its diagonal, dense or of scipy.sparse. A leading axis, or a list of
        sparse matrices, makes a stack of machines. Inside a JAX trace the numbers are not checked: the mean of
        `weights[i, j]` and `weights[j, i]` counts, and the diagonal does not.
    - `bias`: a number for each unit.
    - `temperature`: what the energy is divided by.
    - `values`: the numbers for off and on, (0, 1) or (-1, 1). Weights, biases, evidence, `log_joint` and `sample` are
        in this convention; `solution.means` are probabilities to be on, whatever the convention.
    - `names`: a name for each unit. Without names, units are identified by their index.
    - `constant`: a number that is added to -E(S) / T, and so to ln Z.

    **Example:**

    >>> import plefka as pf
    >>> machine = pf.BoltzmannMachine([[0, 1.5], [1.5, 0]], [-1.0, 0.2], names=["rain", "wet"])
    >>> machine
    <BoltzmannMachine: 2 units of 0 and 1, 1 coupling, rain, wet>
    >>> solution = pf.infer(machine, {"wet": 1})
    >>> print(f"P(rain | wet) = {solution['rain']:.3f}, ln Z = {solution.log_partition:.3f}")
    P(rain | wet) = 0.622, ln Z = 1.174
    """

    storage: Storage  # every coupling once
    bias: np.ndarray
    constant: float | np.ndarray  # one for each machine of a stack
    temperature: float = eqx.field(static=True)
    values: tuple[int, int] = eqx.field(static=True)
    given_names: tuple[str, ...] | None = eqx.field(static=True)
    layers: tuple[int, ...] | None = eqx.field(static=True)  # (visible, hidden) of a restricted machine

    def __init__(
        self,
        weights: Any,
        bias: Any,
        temperature: float = 1.0,
        values: tuple[int, int] = (0, 1),
        names: Sequence[str] | None = None,
        *,
        constant: Any = 0.0,
        layers: tuple[int, ...] | None = None,
    ):
        self.values, self.temperature = check_values(values), check_temperature(temperature)  # pyright: ignore
        given = None if names is None else tuple(names)
        self.storage = weights if isinstance(weights, Storage) else stored_once(weights, given)
        self.bias = bias_of(self.storage, bias)
        self.given_names = checks.check_names(given, self.size)
        if not is_traced(self.bias):
            checks.check_bias(self)
        self.constant = constant_of(constant, self.stack)
        self.layers = layers  # pyright: ignore

    @classmethod
    def restricted(
        cls,
        weights: Any,
        visible_bias: Any,
        hidden_bias: Any,
        temperature: float = 1.0,
        values: tuple[int, int] = (0, 1),
        names: Sequence[str] | None = None,
        *,
        constant: Any = 0.0,
    ) -> "BoltzmannMachine":
        """A restricted machine, with couplings between visible and hidden units only.

        **Arguments:**

        - `weights`: an array of shape (visible units, hidden units), or a stack of them. No larger matrix is made.
        - `visible_bias`, `hidden_bias`: a number for each unit. Units are numbered visible ones first.
        - `temperature`, `values`, `names`, `constant`: as for `BoltzmannMachine`.

        **Example:**

        >>> import plefka as pf
        >>> pf.BoltzmannMachine.restricted([[1.0, -2.0], [0.5, 1.0], [0.0, 1.0]], [0.1, 0.2, 0.3], [0.0, -1.0])
        <BoltzmannMachine: restricted, 3 x 2 units of 0 and 1, 6 couplings>
        """
        W, visible, hidden = (
            as_float(z, what)
            for z, what in ((weights, "weights"), (visible_bias, "visible_bias"), (hidden_bias, "hidden_bias"))
        )
        check_block(W, visible, hidden)
        lead, xp = W.shape[:-2], namespace(W, visible, hidden)
        bias = xp.concatenate([xp.broadcast_to(h, (*lead, h.shape[-1])) for h in (visible, hidden)], axis=-1)
        layers = (visible.shape[-1], hidden.shape[-1])
        block = W.swapaxes(-1, -2) if is_traced(W) else np.ascontiguousarray(W.swapaxes(-1, -2))
        storage = Blocks.layered([block], layers)
        return cls(storage, bias, temperature, values, names, constant=constant, layers=layers)

    @property
    def is_restricted(self) -> bool:
        """Whether it has couplings between visible and hidden units only, stored as one rectangular block."""
        return self.layers is not None

    @property
    def weights(self) -> Any:
        """The weights as they were given: a symmetric array or CSR array, or (visible, hidden) of a restricted one."""
        if self.layers is not None:
            return self.storage.original()[0].swapaxes(-1, -2)
        L = self.storage.original()
        if isinstance(L, list):
            return [half + half.T for half in L]
        return L + (L.T if sp.issparse(L) else L.swapaxes(-1, -2))

    @property
    def parameters(self) -> tuple[PyTree, np.ndarray]:
        """What is learned and differentiated by: the weights as stored, with every coupling once, and the bias."""
        return self.storage.parameters, self.bias

    def with_parameters(self, parameters: tuple[Any, Any]) -> "BoltzmannMachine":
        """A copy of the machine with these weights and biases, in the shapes of `parameters`."""
        weights, bias = parameters
        return replaced(self, storage=self.storage.with_parameters(weights), bias=bias)

    @property
    def num_couplings(self) -> int:
        """The number of pairs of units whose coupling is not 0; in a stack, in any of its machines.

        Inside a trace, where numbers are not known, it is the number of those that are stored.
        """
        if not is_traced(self.storage):
            return len(self.storage.edge_list()[0])
        is_matrix = isinstance(self.storage, Blocks) and self.storage.is_dense
        return self.size * (self.size - 1) // 2 if is_matrix else self.num_edges

    def converted(self, values: tuple[int, int] = (0, 1), temperature: float = 1.0) -> "BoltzmannMachine":
        """A machine with other values and another temperature, but this distribution over on and off and this ln Z.

        **Example:**

        >>> import plefka as pf
        >>> machine = pf.BoltzmannMachine([[0, 0.5], [0.5, 0]], [0.1, -0.3], temperature=2.0, values=(-1, 1))
        >>> other = machine.converted()
        >>> float(other.weights[0, 1]), other.values, other.temperature
        (1.0, (0, 1), 1.0)
        >>> abs(pf.infer(machine).log_partition - pf.infer(other).log_partition) < 1e-12
        True
        """
        values, temperature = check_values(values), check_temperature(temperature)
        if values == self.values and temperature == self.temperature:
            return self
        scale = 1.0 if temperature == self.temperature else temperature / self.temperature
        xp = jnp if is_traced(self) else np
        storage, h, added = self.storage, xp.asarray(self.bias, float), 0.0
        if values != self.values:
            weight, field, mixed, sign = (4.0, 2.0, -2.0, -1) if values == (0, 1) else (0.25, 0.5, 0.25, 1)
            sums = storage.neighbour_sums(xp)(xp.ones((self.size, self.stack or 1))).T.reshape(h.shape)
            couplings, fields = sums.sum(-1) / 2, h.sum(-1)
            added = (couplings - fields if sign < 0 else couplings / 4 + fields / 2) / self.temperature
            storage, h = storage.map_weights(lambda w: weight * xp.asarray(w)), field * h + mixed * sums
        storage = storage if scale == 1 else storage.map_weights(lambda w: scale * xp.asarray(w))
        return BoltzmannMachine(
            storage, scale * h, temperature, values, self.given_names, constant=self.constant + added,
            layers=self.layers,
        )  # fmt: skip

    @property
    def visible(self) -> slice:
        """The units that the columns of a table without names stand for: of a restricted machine, the visible ones."""
        return slice(0, self.layers[0] if self.layers else self.size)

    def masks_as_stored(self, masks: Any) -> Any:
        """Of a restricted machine weights are given as (visible, hidden), and stored the other way round."""
        return masks if masks is None or self.layers is None else [np.swapaxes(np.asarray(masks), -1, -2)]

    def take(self, networks: Any) -> "BoltzmannMachine":
        return BoltzmannMachine(
            self.storage.take(networks), self.bias[networks], self.temperature, self.values, self.given_names,
            constant=cast(Any, self.constant)[networks], layers=self.layers,
        )  # fmt: skip

    def log_joint(self, S: Any) -> Any:
        """-E(S) / T + constant of a state (n,) or of each of a batch: ln P(S) + ln Z, so it is not normalised.

        States have the machine's own values. `log_joint(S) - infer(machine).log_partition` is ln P(S).
        """
        return log_weights(self, S)

    def sample(self, seed: int, count: int, evidence: Any = None, *, sweeps: int = 1000) -> np.ndarray:
        """Draw `count` states (count, n) given the evidence, in the machine's own values.

        Draws are exact where up to 2^16 states are to be summed over. In other machines each draw is the end of a
        chain of Gibbs sampling that is annealed from independent units over half of `sweeps`: an approximation that
        improves with `sweeps`.

        **Example:**

        >>> import plefka as pf
        >>> machine = pf.ensembles.ising_grid(3, 3, coupling=0.4)
        >>> machine.sample(seed=0, count=2).shape
        (2, 9)
        """
        return supplied(SAMPLE_MACHINE)(self, seed, count, evidence, sweeps)

    def in_words(self, most: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
        if self.stack is not None:
            raise InvalidNetwork("a single machine can be described; got a stack. Take one of them: machine.take(0).")
        L = self.storage.to_sparse()
        W, names = sp.csr_array(L + L.T), self.names
        found = []
        for unit in range(min(most, self.size)):
            here = slice(W.indptr[unit], W.indptr[unit + 1])
            near = (f"{names[j]} {w:.4g}" for j, w in zip(W.indices[here], W.data[here], strict=True))
            found.append((names[unit], f"{self.bias[unit]:.4g}", listed(near)))
        return ("unit", "bias", "coupled to"), found

    def __repr__(self) -> str:
        stacked = f"{self.stack:,} machines of " if self.stack is not None else ""
        shape = f"restricted, {' x '.join(map(str, self.layers))}" if self.layers else f"{self.size:,}"
        kind = "sparse " if isinstance(self.storage, Edges) else ""
        count = self.num_edges if self.layers else self.num_couplings
        heat = "" if self.temperature == 1 else f", temperature {self.temperature:g}"
        couplings = f"{count:,} {kind}coupling{'' if count == 1 else 's'}"
        units = f"units of {self.values[0]} and {self.values[1]}"
        return f"<BoltzmannMachine: {stacked}{shape} {units}, {couplings}{heat}{self._names_shown}>"
