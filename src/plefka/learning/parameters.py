"""From the free numbers that an optimiser moves to the parameters of a network, and back.

Where fields must not be negative (noisy-or), weights and leaks are softplus of the free numbers, so that no step can
leave the domain. At its ends nothing moves: a leak, a prior or a weight of 0 says that something is impossible, an
infinite one that it is certain, and no amount of data makes the other of it. Parameters that are fixed keep the very
value they had; parameters that are shared move as one. What moves them, unless the user says otherwise, is Adam of
optax.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from plefka.errors import InvalidInput, InvalidNetwork
from plefka.networks.activations import namespace, softplus
from plefka.networks.blocks import Blocks
from plefka.runtime import extras

STEP_SIZE = 0.05
HALVED_AFTER = 200  # steps of Adam, where they become shorter
MIDDLE = 0.03  # of steps whose size a trial may choose
SHORTER_AFTER = 200  # of these steps
FULL_AFTER = 40  # of them, which are short while states are drawn from means that say nothing yet
DESCENT, DESCENT_HALVED_AFTER = 0.3, 2000  # of plain steps
NOTHING_MOVES = {
    False: "masks and frozen leave no parameter that may move.",
    True: "masks and frozen leave no parameter that may move, or all others are 0 or infinite, and stay so. "
    "Start from small positive numbers.",
}


class Parametrisation(eqx.Module):
    """What may move, and how; trees of arrays like `network.parameters`."""

    moves: Any  # bool, of one network; where the numbers of a network let them
    groups: Any  # int, of one network: equal numbers from 1 on are shared, 0 is alone
    positive: bool = eqx.field(static=True)
    num_groups: int = eqx.field(static=True)
    zeros_are_absent: bool = eqx.field(static=True)  # each network of a stack has edges of its own

    def free(self, parameters: Any) -> Any:
        """The numbers to start from."""
        return jax.tree.map(lambda p: _inverse_softplus(p) if self.positive else np.asarray(p, float), parameters)

    def parameters(self, free: Any, fixed: Any) -> Any:
        """The parameters of one network, inside a trace; what does not move is as in `fixed`."""
        moves = self.moves_in(fixed)
        if self.num_groups:
            free = _shared(free, self.groups, moves, self.num_groups)
        values = jax.tree.map(softplus, free) if self.positive else free
        return jax.tree.map(jnp.where, moves, values, fixed)

    def moves_in(self, fixed: Any) -> Any:
        """What moves in a network, or in each of a stack, with these parameters: nothing at the end of its domain.

        Nor the edges that it starts without, as to learn one could close a cycle.
        """
        weights, bias = jax.tree.map(lambda p: namespace(p).isfinite(p), fixed)
        if self.zeros_are_absent or self.positive:
            weights = jax.tree.map(lambda can, w: can & (w != 0), weights, fixed[0])
        if self.positive:
            bias = bias & (fixed[1] != 0)
        return jax.tree.map(lambda move, can: move & can, self.moves, (weights, bias))

    @property
    def is_plain(self) -> bool:
        """Whether parameters are the free numbers themselves, each by itself."""
        return not self.positive and not self.num_groups and not self.zeros_are_absent

    def penalty(self, parameters: Any, l1: Any, l2: Any) -> Any:
        """l1 sum |w| + l2 sum w^2 / 2 over the weights that move; biases have none."""
        weights, moves = jax.tree.leaves(parameters[0]), jax.tree.leaves(self.moves_in(parameters)[0])
        moving = [jnp.where(move, w, 0.0) for w, move in zip(weights, moves, strict=True)]
        return l1 * sum(jnp.abs(w).sum() for w in moving) + 0.5 * l2 * sum((w**2).sum() for w in moving)


def parametrisation(network: Any, masks: Any, frozen: Any, shared: Any) -> Parametrisation:
    """The rules for a network: where there is an edge, what is frozen, what is shared."""
    f: Any = network.activation
    low, high = getattr(f, "domain", (-np.inf, np.inf))
    if (low, high) not in ((-np.inf, np.inf), (0.0, np.inf)):
        raise InvalidNetwork(
            f"fit keeps fields in (-inf, inf) or [0, inf); {f.name} needs ({low}, {high}). "
            "Write the activation with one of these domains."
        )
    one = _of_one_network(network)
    moves = _edges(network, one)
    if masks is not None:
        moves = (jax.tree.map(np.logical_and, moves[0], _like(one[0], masks, "masks")), moves[1])
    if frozen is not None:
        if isinstance(frozen, str) and frozen not in ("weights", "bias"):
            raise InvalidInput(f"frozen must be 'weights', 'bias' or a pair of arrays; got {frozen!r}.")
        if isinstance(frozen, str):
            kept = [jax.tree.map(lambda p: np.zeros(np.shape(p), bool), part) for part in moves]
            moves = (kept[0], moves[1]) if frozen == "weights" else (moves[0], kept[1])
        else:
            moves = jax.tree.map(lambda m, f: m & ~f, moves, _like(one, frozen, "frozen"))
    groups = jax.tree.map(lambda p: np.zeros(np.shape(p), int), one)
    if shared is not None:
        groups = jax.tree.map(lambda g: np.asarray(g, int), _like(one, shared, "shared"))
        if min(int(np.min(g, initial=0)) for g in jax.tree.leaves(groups)) < 0:
            raise InvalidInput("shared must be whole numbers: 0 for a parameter of its own, 1, 2, ... for groups.")
    num_groups = max(int(np.max(g, initial=0)) for g in jax.tree.leaves(groups))
    zeros_are_absent = network.layers is None and network.is_normalised
    found = Parametrisation(jax.tree.map(np.asarray, moves), groups, low == 0.0, num_groups, zeros_are_absent)
    parameters = jax.tree.map(np.asarray, network.parameters)
    moving = list(zip(jax.tree.leaves(found.moves_in(parameters)), jax.tree.leaves(parameters), strict=True))
    if not any(np.any(m) for m, _ in moving):
        raise InvalidInput(f"there is nothing to learn: {NOTHING_MOVES[found.positive]}")
    if found.positive and any(np.any(p[m] < 0) for m, p in moving):
        raise InvalidNetwork(
            f"weights and leaks of {network.activation.name} units must not be negative where they are learned; "
            "freeze inhibiting edges, or start from non-negative weights."
        )
    return found


def masked(network: Any, masks: Any) -> Any:
    """The network without the edges that the masks leave out."""
    if masks is None:
        return network
    weights, bias = network.parameters
    kept = _like(_of_one_network(network)[0], masks, "masks")
    return network.with_parameters((jax.tree.map(lambda w, keep: np.where(keep, w, 0.0), weights, kept), bias))


def _of_one_network(network: Any) -> Any:
    return jax.tree.map(lambda p: np.asarray(p)[0] if network.stack is not None else np.asarray(p), network.parameters)


def _edges(network: Any, one: Any) -> Any:
    """Where parameters exist in any network: zeros in a square matrix are no edges, but may be couplings."""
    everything = jax.tree.map(lambda p: np.ones(np.shape(p), bool), one)
    if isinstance(network.storage, Blocks) and network.storage.is_dense:
        W = np.asarray(network.storage.weights[0])
        W = W if network.is_normalised else np.tril(np.ones(W.shape), -1)
        there = (W != 0).any(0) if W.ndim == 3 else W != 0
        return jax.tree.map(lambda p: there, one[0]), everything[1]
    return everything


def _like(tree: Any, given: Any, what: str) -> Any:
    """The given arrays in the shape of the parameters of one network; None stands for zeros."""
    leaves, structure = jax.tree.flatten(tree)
    if len(leaves) == 1 and not isinstance(given, list | tuple):
        given = [given]
    try:
        parts = jax.tree.leaves(given, is_leaf=lambda x: x is None or isinstance(x, np.ndarray))
        parts = [np.zeros(p.shape) if x is None else np.asarray(x) for x, p in zip(parts, leaves, strict=True)]
    except (ValueError, TypeError):
        parts = []
    if [p.shape for p in parts] != [p.shape for p in leaves]:
        raise InvalidInput(
            f"{what} must be arrays of the shapes {', '.join(str(p.shape) for p in leaves)}, as in network.parameters; "
            f"got {', '.join(str(p.shape) for p in parts) or type(given).__name__}."
        )
    return jax.tree.unflatten(structure, [p if what == "shared" else p.astype(bool) for p in parts])


def _inverse_softplus(p: Any) -> np.ndarray:
    """Of what cannot move, or is negative and must not, any number will do."""
    p = np.where(np.isfinite(p) & (np.asarray(p) > 0), p, 1.0)
    return p + np.log(-np.expm1(-p))


def _shared(free: Any, groups: Any, moves: Any, count: int) -> Any:
    """Members of a group at the mean of those that move."""
    flat, labels, moving = (jnp.concatenate([jnp.ravel(x) for x in jax.tree.leaves(z)]) for z in (free, groups, moves))
    sums, sizes = (
        jax.ops.segment_sum(jnp.where(moving, x, 0.0), labels, count + 1) for x in (flat, jnp.ones_like(flat))
    )
    means = sums / jnp.maximum(sizes, 1)
    return jax.tree.map(lambda x, g: jnp.where(g > 0, means[g], x), free, groups)


@lru_cache
def adam(step_size: float = STEP_SIZE) -> Any:
    """Adam: the gradient's size changes a thousandfold between a start near zero and the end, and between schemes.

    One and the same for a step size, as a program is compiled for each optimiser.
    """
    return extras.optax().adam(step_size)


@lru_cache
def adam_of_any_size() -> Any:
    """Steps that fall as 1 / sqrt(1 + t / 200): on Plants they lead further than those that fall as 1 / t do."""
    return extras.optax().inject_hyperparams(_slowing)(learning_rate=MIDDLE)


def _slowing(learning_rate: Any) -> Any:
    optax = extras.optax()
    return optax.chain(
        optax.scale_by_adam(),
        optax.scale_by_schedule(lambda t: -jnp.minimum(1, (1 + t) / FULL_AFTER) / jnp.sqrt(1 + t / SHORTER_AFTER)),
        optax.scale(learning_rate),
    )


def with_step_size(state: Any, size: Any) -> Any:
    """The state of the optimiser with another size, of a stack one for each network."""
    sizes = np.broadcast_to(size, np.shape(state.hyperparams["learning_rate"])).astype(float)
    return state._replace(hyperparams=state.hyperparams | {"learning_rate": sizes})


@lru_cache
def slowing_adam(step_size: float = STEP_SIZE) -> Any:
    """Adam with steps that fall as 1 / (1 + t / 200): random gradients do not settle with steps of one size."""
    return extras.optax().adam(lambda count: step_size / (1 + count / HALVED_AFTER))


class SlowingDescent(NamedTuple):
    """Plain gradient steps that fall as 1 / (1 + t / 2000), for machines with hidden units that learn by chains.

    Averages of units lie between 0 and 1, so that one size of steps does for most. On digits they lead further than
    Adam, which takes the noise of a small gradient for its size. Steps may be large, as the machine that is learned is
    an average of those that they lead to. An optimiser as those of optax, of arrays of NumPy too: compiled programs
    take longer to call than steps of chains do.
    """

    step_size: float = DESCENT

    def init(self, parameters: Any) -> Any:
        """How many steps were taken."""
        return np.array(0)

    def update(self, gradient: Any, count: Any, parameters: Any = None) -> tuple[Any, Any]:
        """The change of the parameters, and the number of steps after it."""
        size = self.step_size / (1 + count / DESCENT_HALVED_AFTER)
        return jax.tree.map(lambda g: -size * g, gradient), count + 1
