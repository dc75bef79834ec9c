"""`auto`: exact where that is affordable, otherwise belief propagation with as much conditioning as the budget allows.

What an answer will cost is predicted from the network and the evidence, not measured, so that the same question always
gets the same answer. A few rows are then checked by importance sampling: where the draws contradict belief propagation,
the second order takes its place if it is closer to them.
"""

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np

from plefka.certainty import certain
from plefka.errors import MethodDoesNotApply, MissingExtra, PlefkaError
from plefka.evidence import Evidence
from plefka.exact.enumeration import MOST_HIDDEN, num_enumerated
from plefka.free_energies.problem import pose
from plefka.methods import Auto, Conditioned, Method, parse_method
from plefka.posterior import About, Posterior
from plefka.precision import is_traced, precision
from plefka.solvers.loop import IMPOSSIBLE
from plefka.trimming import solved, trim

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.sampling.verdict import Check

IN_A_TRACE = "G1"
FIRST, SECOND = "bethe", "G2"
MOST_CONDITIONED = 8
KEPT = 2  # units that are never conditioned on: with all of them it would be exact inference by another name
FEW_PARENTS = 5
STATES, PASSES_FEW, PASSES_MANY, RATE = 3.0, 1e3, 4e3, 2e8  # work for each edge, and how much of it a second holds
BATCH = 10  # times the budget of a row is what all rows of a batch have together
CHECKED = 4  # rows that are checked
CLOSE = 5e-3  # nats that are no reason to look further


def posterior(method: Auto, network: "BeliefNetwork", evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    """The answer of the method that was chosen, with a note that says which and why."""
    options = {"prune": prune, "dtype": dtype}
    if is_traced(network, evidence.rows):
        found = parse_method(IN_A_TRACE).posterior(network, evidence, **options)
        return _noted(found, parse_method(IN_A_TRACE), "inside a trace, where numbers cannot be looked at")
    bits = num_enumerated(network, evidence, prune)
    seconds = len(evidence.rows) * 2.0**bits * STATES * (network.num_edges + network.size) / RATE
    if method.exact and bits <= MOST_HIDDEN and seconds <= _budget(method, evidence):
        exact = parse_method("exact")
        found = exact.posterior(network, evidence, **options)
        return _noted(found, exact, f"2^{bits} states are affordable")
    why = "exact was forbidden" if not method.exact else f"exact would sum over 2^{bits} states"
    return _approximate(method, network, evidence, why, options)


def _approximate(method: Auto, network: "BeliefNetwork", evidence: Evidence, why: str, options: dict) -> Posterior:
    first = _first(method, network, evidence, options["prune"])
    found = solved(first, network, evidence, **options)
    rows, checks = _checks(network, evidence, found)
    if not checks:
        return _noted(found, first, why)
    reliable = np.array([check.reliable for check in checks])
    why = f"{why}; on {reliable.sum()} of {len(checks)} checked rows draws are reliable"
    if not reliable.any():
        return _noted(found, first, why)
    rows, sure = rows[reliable], [check for check in checks if check.reliable]
    draws = np.array([check.log_likelihood for check in sure])
    off, error = _off(found, rows, draws), float(np.mean([check.standard_error for check in sure]))
    if off <= CLOSE + 2 * error:
        return _noted(found, first, f"{why} and agree with it")
    differ = f"{why} but differ from it by {off:.2g} (+- {error:.1g})"
    if not reliable.all():
        return _noted(found, first, differ)
    second = replace(first, inner=parse_method(SECOND)) if isinstance(first, Conditioned) else parse_method(SECOND)
    other = _tried(second, network, evidence, options)
    if other is None or _off(other, rows, draws) >= off or (other.status[rows] != found.status[rows]).any():
        return _noted(found, first, f"{differ}, and nothing better was found")
    closer = f"and are closer to it ({_off(other, rows, draws):.2g} away) than to {first} ({off:.2g})"
    return _noted(other, second, f"{why} {closer}")


def _first(method: Auto, network: "BeliefNetwork", evidence: Evidence, prune: bool) -> Method:
    """Belief propagation, with as much conditioning as the budget and the network allow."""
    plain = parse_method(FIRST)
    cut = trim(plain, network, evidence) if prune else None
    if cut is not None:
        network, evidence = cut.network, cut.evidence
    k = affordable(method, network, evidence, prune)
    conditioned = Conditioned("conditioned", inner=plain, k=k)
    try:
        conditioned.check(network)
    except MethodDoesNotApply:
        return plain
    return conditioned if k else plain


def _tried(method: Method, network: "BeliefNetwork", evidence: Evidence, options: dict) -> Posterior | None:
    try:
        method.check(network)
        return solved(method, network, evidence, **options)
    except PlefkaError:
        return None


def affordable(method: Auto, network: "BeliefNetwork", evidence: Evidence, prune: bool) -> int:
    """How many units can be conditioned on within the budget, in every row."""
    passes = PASSES_FEW if network.storage.most_parents() <= FEW_PARENTS else PASSES_MANY
    seconds = len(evidence.rows) * passes * (network.num_edges + network.size) / RATE
    room = int(np.floor(np.log2(max(_budget(method, evidence) / seconds, 1.0))))
    return max(0, min(room, MOST_CONDITIONED, num_free(network, evidence, prune) - KEPT))


def _budget(method: Auto, evidence: Evidence) -> float:
    """For all rows together."""
    return method.budget * min(len(evidence.rows), BATCH)


def num_free(network: "BeliefNetwork", evidence: Evidence, prune: bool) -> int:
    """How many units are left to be found, in the row that has most of them."""
    with precision("float64"):
        free = _free(network.storage, network.bias, network.activation, evidence.rows, evidence.tilt, prune=prune)
        return int(np.asarray(free).sum(axis=0).max())


@partial(jax.jit, static_argnames=("prune",))
def _free(storage, bias, activation, rows, tilt, *, prune):
    tilt = None if tilt is None else jnp.asarray(tilt)
    return pose(storage, jnp.asarray(bias), activation, jnp.asarray(rows), 1, pairs=False, prune=prune, tilt=tilt).free


def _checks(network, evidence: Evidence, found: Posterior) -> tuple[np.ndarray, list["Check"]]:
    """Checks of a few possible rows, evenly spread; none where what they need is not installed."""
    from plefka.sampling.checking import check_row

    possible = np.flatnonzero((found.status != IMPOSSIBLE) & ~certain(network, evidence.rows).impossible)
    rows = possible[np.unique(np.linspace(0, len(possible) - 1, CHECKED).astype(int))] if len(possible) else possible
    try:
        checks = [check_row(network, evidence, found, row, seed=row) for row in rows.tolist()]
    except MissingExtra:
        return rows, []
    finite = [np.isfinite(check.log_likelihood) for check in checks]
    return rows[finite], [check for check in checks if np.isfinite(check.log_likelihood)]


def _off(found: Posterior, rows: np.ndarray, draws: np.ndarray) -> float:
    """How far ln P(evidence) is from that of the draws, on average."""
    return float(np.abs(-found.free_energy[rows] - draws).mean())


def _noted(found: Posterior, chosen: Method, why: str) -> Posterior:
    about = found.about or About(is_bound=chosen.is_bound)
    bound = chosen.is_bound if about.is_bound is None else about.is_bound
    notes = (f"auto chose {chosen}: {why}", *about.notes)
    return found._replace(about=About(bound, notes, chosen.name == "exact", about.proposals))
