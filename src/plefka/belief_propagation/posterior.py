"""Belief propagation behind `infer`: chunks of rows through one compiled program, as many as fit into memory."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import equinox as eqx
import jax
import jax.numpy as jnp

from plefka.activations import NoisyOr
from plefka.averages import Parents
from plefka.averages.parents import chance, log_odds
from plefka.averages.range import Range, range_for
from plefka.belief_propagation.factors import Factors, Messages, Rows, Units, average_of
from plefka.belief_propagation.free_energy import log_likelihood, with_slope
from plefka.belief_propagation.sweeps import propagate
from plefka.errors import MethodDoesNotApply
from plefka.evidence import Evidence
from plefka.free_energies.problem import known, pose
from plefka.free_energies.untruncated import GAUSSIAN
from plefka.mean_field import MOST_NUMBERS, REACHABLE
from plefka.methods import Bethe
from plefka.networks.arrows import settled_along
from plefka.posterior import About, Posterior, chunks, on_all_cores
from plefka.precision import is_traced, precision, to_numpy
from plefka.reductions import Given, recovered, sums_out
from plefka.solvers.loop import IMPOSSIBLE, NOT_FINITE

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork


def posterior(method: Bethe, network: "BeliefNetwork", evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    """Send messages until they settle, in every row."""
    network = eqx.tree_at(lambda net: net.storage, network, network.storage.prepared(fans=True))
    fields = Range() if isinstance(network.activation, NoisyOr) else range_for(network)
    solve = partial(_compiled, fields=fields, prune=prune)
    options = method.damping, method.tol, method.max_steps
    if is_traced(network, evidence.rows):
        parts = network.storage, network.bias, network.activation, evidence.rows, evidence.tilt
        found = solve(*parts, *options)
    else:
        found = _in_chunks(solve, network, evidence, options, dtype)
    is_exact = average_of(network.activation, network.storage.most_parents(), fields).is_exact
    return found._replace(about=About(notes=() if is_exact else (GAUSSIAN,)))


def _in_chunks(solve: Callable, network: "BeliefNetwork", evidence: Evidence, options, dtype: str) -> Posterior:
    storage, rows = network.storage, evidence.rows
    stacked = network.stack is not None

    def part(index) -> Posterior:
        piece = storage.take(index) if stacked else storage
        bias = network.bias[index] if stacked else network.bias
        tilt = None if evidence.tilt is None else evidence.tilt[index]
        with precision(dtype):
            return to_numpy(solve(piece, bias, network.activation, rows[index], tilt, *options))

    pieces = chunks(len(rows), max(1, MOST_NUMBERS // max(storage.num_edges, network.size)))
    return Posterior.joined(on_all_cores(part, pieces), len(rows))


def _solve(
    storage, bias, activation, rows, tilt, damping, tol, max_steps,
    *, fields: Range, prune: bool,
) -> Posterior:  # fmt: skip
    rows, bias = jnp.asarray(rows, jnp.zeros(()).dtype), jnp.asarray(bias)
    tilt = None if tilt is None else jnp.asarray(tilt, rows.dtype)
    problem = pose(storage, bias, activation, rows, 1, pairs=False, prune=prune, tilt=tilt)
    factors = Factors.of(problem, storage.open(1, jnp.inf).fans(), fields)
    tol = jnp.maximum(jnp.asarray(tol, rows.dtype), REACHABLE * jnp.finfo(rows.dtype).eps)
    ending = propagate(jax.lax.stop_gradient(factors), damping, tol, max_steps)
    messages = jax.lax.stop_gradient(ending.messages)
    given = known(storage, bias, activation, rows, tilt)
    log_z, means = _with_summed(factors, given, messages)
    means = _predicted(*jax.lax.stop_gradient((factors, messages, means)))
    impossible = ending.status == IMPOSSIBLE
    means = jnp.where(impossible & jnp.isnan(given.known), jnp.nan, means)
    wrong = ~impossible & (jnp.isnan(means).any(0) | jnp.isnan(log_z))
    status = jnp.where(wrong, NOT_FINITE, ending.status)
    G = jnp.where(impossible, jnp.inf, -log_z)
    return Posterior(
        _found_by(factors, means).T, G, status, ending.steps, jnp.zeros_like(ending.steps), ending.residual
    )


_compiled = jax.jit(_solve, static_argnames=("fields", "prune"))


def _with_summed(factors: Factors, given: Given, messages: Messages) -> tuple[Rows, Units]:
    """ln Z and the beliefs; those of units that were summed out follow from ln Z."""
    problem = factors.problem
    means = jnp.where(problem.free, chance(factors.hear(messages).total), problem.values)
    if not sums_out(problem.activation):
        return log_likelihood(factors, messages), means
    log_z, slope = with_slope(factors, messages)

    def follow(slope):
        return jnp.where(problem.summed, recovered(given, problem.reduced, slope), means)

    slope = jax.lax.stop_gradient(slope)
    return log_z, jax.lax.cond(jnp.any(problem.summed), follow, lambda _: means, slope)


def _predicted(factors: Factors, messages: Messages, means: Units) -> Units:
    """The means with those of barren units, F under the beliefs about their parents, along the arrows."""
    is_known = factors.problem.known
    beliefs = jnp.where(factors.problem.free, factors.hear(messages).total, log_odds(means))

    def once(_, theta):
        found = factors.chances([Parents.of_log_odds(above) for above in factors.fans.parents(theta)])
        return jnp.where(is_known, beliefs, found.on - found.off)

    def predicted(beliefs):
        return jnp.where(is_known, means, chance(settled_along(once, None, beliefs, least=1.0)))

    return jax.lax.cond(jnp.any(~is_known), predicted, lambda _: means, beliefs)


@jax.custom_vjp
def _found_by(_: Factors, means: Units) -> Units:
    """The means, which depend on all factors, though not in a way that is differentiated here."""
    return means


def _refuse(_, __):
    raise MethodDoesNotApply(
        "bethe does not apply: the derivatives of its means are not computed, only those of log_likelihood. "
        "Use a mean-field method such as G12 instead."
    )


_found_by.defvjp(lambda _, means: (means, None), _refuse)
