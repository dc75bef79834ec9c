"""Equations (73), (76) and (77) to the letter. docs/misprints.md has the right ones.

(73), the fixed point of G11 and G12, lacks the factor w_li in its sum over l > i, so that a unit hears from all later
ones, children or not. Here it is iterated for G11, whose last sum is empty.

(76) and (77) are what the paper prints as G22. As printed, the brackets do not balance. This is the reading with the
fewest changes:

- the bracket that (76) leaves open ends after sigma(M_l), and the one that (77) lacks begins before u_i / f_i - 1;
- w_il with l > i is read as w_li, since weights run from a unit to a later one, and the printed one would be zero;
- everything else stands as it is: sigma(M_l) where sigma(M_i) is meant, M_i under the sum over l as well,
  log(1 + e^M) as the logit of a noisy-or, the square on w_ij, the factor that is missing in the last sum of (77);
- G12, to which it is added, is the right one.
"""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.inference.infer import solved
from plefka.mean_field.evaluate import free_energy
from plefka.mean_field.schemes import MeanField
from plefka.mean_field.taylor import Taylor
from plefka.methods.posterior import CONVERGED, OUT_OF_STEPS, Posterior
from plefka.networks.activations import Activation, Sigmoid, numpy_sigmoid, sigmoid, softplus
from plefka.networks.blocks import OpenBlocks
from plefka.paper.experiment_settings import AS_PRINTED, BY_73
from plefka.reduction.question import Question
from plefka.solvers.functional import Functional

RIGHT_G12 = Taylor(1, 2)
PRINTED_STEP = 0.3  # of the way to the printed means, so that the iteration settles


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


@dataclass(frozen=True)
class ByPrintedFixedPoint(MeanField):
    """G11 at the means that solve (73) as it is printed, for a stack of layered networks."""

    name: str = BY_73

    @property
    def functional(self) -> Functional:
        return Taylor(1, 1)

    def answer(self, network, evidence, *, prune: bool, dtype: str):
        hidden = np.isnan(evidence.rows)
        u = np.where(hidden, 0.5, evidence.rows)
        step, residual = 0, np.full(len(u), np.inf)
        while step < self.max_steps and (residual > self.tol).any():
            change = np.where(hidden, numpy_sigmoid(printed_target(network, u)) - u, 0.0)
            step, u, residual = step + 1, u + PRINTED_STEP * change, np.abs(change).max(axis=1)
        status = np.where(residual <= self.tol, CONVERGED, OUT_OF_STEPS)
        G = free_energy(network, evidence.rows, u, "G11", prune=False)
        return Posterior(u, np.atleast_1d(G), status, np.full(len(u), step), np.zeros(len(u), int), residual)

    def __str__(self) -> str:
        return self.name


def printed_target(network, u: np.ndarray) -> np.ndarray:
    """ln f/(1 - f) + sum over l > i of (u_l - f_l) f'_l / (f_l (1 - f_l)), as in (73)."""
    x, slope = np.array(network.bias), np.zeros_like(u)
    ends = np.cumsum((0, *network.layers))
    for k, W in enumerate(network.weights):
        x[:, ends[k + 1] : ends[k + 2]] += np.einsum("bcp,bp->bc", W, u[:, ends[k] : ends[k + 1]])
    if isinstance(network.activation, Sigmoid):
        logit, heard = x, u - numpy_sigmoid(x)
    else:
        f = -np.expm1(-x)
        logit, heard = np.log(np.expm1(x)), u / f - 1
    slope[:, :-1] = np.cumsum(heard[:, :0:-1], axis=1)[:, ::-1]
    return logit + slope


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
