"""The free energy of a mixture of factorial distributions, with smoothing distributions for its mutual information.

For q(S) = sum_a alpha_a q_a(S), by Bishop, Lawrence, Jaakkola and Jordan (1998),

    G = sum_a alpha_a G1[q_a] - I,    I = sum_a alpha_a <ln(q_a / q)>_a  >=  sum_a alpha_a [ <ln r_a>_a - ln <r_a>_q ]

for any r_a(S) > 0, as -ln x >= -lambda x + ln lambda + 1: x is r_a q / (alpha_a q_a), and the best lambda_a is
alpha_a / <r_a>_q. With r_a(S) = exp(rho_a S) everything is a product over units, and each bracket is concave in rho_a.
So G stays an upper bound of -ln P(evidence).
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from plefka.activations import log_one_plus, sigmoid
from plefka.free_energies.problem import LARGEST_THETA, Problem

LOWEST_LOG_SHARE = -30.0  # of a component, relative to the largest one

Tables = Float[Array, "components head rows"]
Shares = Float[Array, "components rows"]


class Variables(eqx.Module):
    """What is searched: every component's natural parameters, its smoothing, and its share."""

    theta: Tables
    rho: Tables
    phi: Shares  # ln alpha, up to a constant

    def stacked(self) -> Float[Array, "variables rows"]:
        """All of them as one column for each row."""
        rows = self.phi.shape[1]
        return jnp.concatenate([self.theta.reshape(-1, rows), self.rho.reshape(-1, rows), self.phi])

    def inside(self) -> "Variables":
        """The same, within the limits of what numbers can tell apart; a common factor of the shares does not matter."""
        largest = -0.5 * jnp.log(jnp.finfo(self.rho.dtype).eps)
        theta = jnp.clip(self.theta, -LARGEST_THETA, LARGEST_THETA)
        phi = jnp.maximum(self.phi - self.phi.max(0), LOWEST_LOG_SHARE)
        return Variables(theta, jnp.clip(self.rho, -largest, largest), phi)


def unstacked(x: Float[Array, "variables rows"], components: int) -> Variables:
    """The variables of one column for each row."""
    tables = x[:-components].reshape(2, components, -1, x.shape[1])
    return Variables(tables[0], tables[1], x[-components:])


def started(problem: Problem, u: Tables, phi: Shares) -> Variables:
    """From means and shares, with the smoothing as if q were factorial: rho_ai = ln of q_a / q for unit i."""
    share = jax.nn.softmax(phi, axis=0)[:, None]
    free = problem.searched
    theta = jnp.where(free, log_odds(u, 1 - u), 0.0)
    rho = jnp.where(free, theta - log_odds((share * u).sum(0), (share * (1 - u)).sum(0)), 0.0)
    return Variables(theta, rho, phi).inside()


def log_odds(on, off):
    """ln on - ln off, finite also where one of them is 0."""
    tiny = jnp.finfo(on.dtype).tiny
    return jnp.log(jnp.maximum(on, tiny)) - jnp.log(jnp.maximum(off, tiny))


def component_means(problem: Problem, theta: Tables) -> Tables:
    """The means of the units that are searched, in every component."""
    return jnp.where(problem.searched, sigmoid(theta), problem.values[: problem.head])


def log_smoothed(u: Tables, rho: Tables) -> Float[Array, "components components rows"]:
    """ln <r_a>_b for all a and b."""
    return jnp.log1p(u * jnp.expm1(rho)[:, None]).sum(2)


def information(u: Tables, rho: Tables, log_alpha: Shares) -> Float[Array, " rows"]:
    """The lower bound of the mutual information between components and states."""
    log_mean = jax.nn.logsumexp(log_alpha + log_smoothed(u, rho), axis=1)  # ln <r_a>_q
    return (jnp.exp(log_alpha) * ((rho * u).sum(1) - log_mean)).sum(0)


def tilted(u: Tables, rho: Tables, log_alpha: Shares) -> tuple[Tables, Tables]:
    """How probable units are to be on, and off, under q r_a / <r_a>_q; at the best rho_a, as probable as under q_a."""
    weight = jax.nn.softmax(log_alpha + log_smoothed(u, rho), axis=1)[:, :, None]
    weight = weight / (1 + u * jnp.expm1(rho)[:, None])
    return jnp.exp(rho) * (weight * u).sum(1), (weight * (1 - u)).sum(1)


def entropies(problem: Problem, theta: Tables) -> Shares:
    """The entropy of every component."""
    e = jnp.exp(-jnp.abs(theta))
    return jnp.where(problem.searched, log_one_plus(theta) + jnp.abs(theta) * e / (1 + e), 0.0).sum(1)


def free_energy(problem: Problem, energy: Callable, u: Tables, entropy: Shares, rho: Tables, phi: Shares):
    """G of every row; the entropy of the components is given beside their means."""
    log_alpha = jax.nn.log_softmax(phi, axis=0)
    R = jax.vmap(lambda u: energy(problem, problem.complete(u)))(u)
    return (jnp.exp(log_alpha) * (R - entropy)).sum(0) - information(u, rho, log_alpha)
