"""Equations (76) and (77) to the letter: what the paper prints as G22. docs/misprints.md has the right one.

As printed, the brackets do not balance. This is the reading with the fewest changes:

- the bracket that (76) leaves open ends after sigma(M_l), and the one that (77) lacks begins before u_i / f_i - 1;
- w_il with l > i is read as w_li, since weights run from a unit to a later one, and the printed one would be zero;
- everything else stands as it is: sigma(M_l) where sigma(M_i) is meant, M_i under the sum over l as well,
  log(1 + e^M) as the logit of a noisy-or, the square on w_ij, the factor that is missing in the last sum of (77);
- G12, to which it is added, is the right one.
"""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.activations import Activation, Sigmoid, sigmoid, softplus
from plefka.experiments.settings import AS_PRINTED
from plefka.free_energies.functional import Functional
from plefka.free_energies.taylor import Taylor
from plefka.methods import MeanField
from plefka.networks.blocks import OpenBlocks
from plefka.question import Question
from plefka.recovery import solved

RIGHT_G12 = Taylor(1, 2)


@dataclass(frozen=True)
class AsPrinted(MeanField):
    """A method for `infer`, but none of the library's."""

    name: str = AS_PRINTED

    @property
    def functional(self) -> Functional:
        return PrintedSecondOrder()

    def answer(self, network, evidence, *, prune: bool, dtype: str):
        """On all units of the network: what is printed counts units, so that exact reductions would change it."""
        return solved(self, network, evidence, prune=False, dtype=dtype)

    def __str__(self) -> str:
        return self.name


class PrintedSecondOrder(Functional):
    """G12 and the printed second order term: (76) for the sigmoid, (77) for noisy-or."""

    @property
    def is_bound(self) -> bool:
        return False

    def powers(self, activation: Activation) -> int:
        return RIGHT_G12.powers(activation)

    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        return size + size**2

    def network_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        model = question.model
        W = dense(model.weights, u.shape[1])
        x = model.activation.off_poles(jnp.einsum("ijr,jr->ir", W, u) + model.h)
        second = sigmoid_sums if isinstance(model.activation, Sigmoid) else noisy_or_sums
        return RIGHT_G12.network_energy(question, u) - 0.5 * second(W, x, u)


def dense(weights, rows: int) -> Float[Array, "units units rows"]:
    """w_ij for every network of a stack of layers."""
    assert isinstance(weights, OpenBlocks)
    W = jnp.zeros((weights.size, weights.size, rows), weights.powers[0][0].dtype)
    for block, child, parent in zip(weights.powers[0], weights.child_spans, weights.parent_spans, strict=True):
        W = W.at[slice(*child), slice(*parent)].set(block if block.ndim == 3 else block[:, :, None])
    return W


def sigmoid_sums(W, x, u):
    """The three sums of (76), between the outer brackets."""
    v, s = u * (1 - u), sigmoid(x)
    later = jnp.arange(len(u))[::-1, None]  # how many l > i there are
    D = jnp.einsum("jir,jr->ir", W, u - s)
    along = jnp.einsum("ilr,lr,lr,ir->r", W, v, x, u) - jnp.einsum("ilr,lr,lr,lr->r", W, v, x, s)
    along += jnp.einsum("ilr,lr,ir->r", W**2, v, v)
    return along + (v * D**2).sum(0) - (v * D * (D + later * x)).sum(0)


def noisy_or_sums(W, x, u):
    """The three sums of (77), between the outer brackets."""
    v, f = u * (1 - u), -jnp.expm1(-x)
    e, logit = u / f - 1, softplus(x)  # log(1 + e^M), as printed
    D = jnp.einsum("jir,jr->ir", W, e)
    along = jnp.einsum("ijr,jr,ir->r", W**2, v, v / f**2) + jnp.einsum("ijr,jr,ir->r", W**2, v * logit, e)
    return along + (v * D**2).sum(0) - (v * (D * W.sum(0) + D * logit)).sum(0)
