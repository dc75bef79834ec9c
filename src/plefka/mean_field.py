"""Mean-field methods behind `infer`: chunks of rows through one compiled solve, starting point after starting point."""

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from plefka.activations import Sigmoid
from plefka.errors import listed
from plefka.evidence import Evidence
from plefka.free_energies.functional import Functional
from plefka.free_energies.orders import Orders
from plefka.free_energies.problem import head_of, known, pose, predict
from plefka.free_energies.sjj import SaulJaakkolaJordan
from plefka.free_energies.taylor import Taylor
from plefka.free_energies.untruncated import Untruncated
from plefka.methods import MeanField, does_not_apply
from plefka.posterior import About, Posterior, chunks, on_all_cores
from plefka.precision import is_traced, precision, to_numpy
from plefka.reductions import sums_out
from plefka.solvers.implicit import after, differentiable
from plefka.solvers.loop import CONVERGED, IMPOSSIBLE, NOT_FINITE, WITHOUT_LEAK, Policy, minimise
from plefka.solvers.monotone import Monotone
from plefka.solvers.paper import Paper

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork

FUNCTIONALS: dict[str, Functional] = {
    **{f"G1{degree}": Taylor(1, degree) for degree in range(5)},
    "G21": Taylor(2, 1, 1),
    "G22": Taylor(2, 2, 2),
    "G221": Taylor(2, 2, 1),
    "G212": Taylor(2, 1, 2),
    "SJJ": SaulJaakkolaJordan(),
    "G1": Untruncated(1),
    "G2": Untruncated(2),
    "G3": Orders(3),
    "G4": Orders(4),
}
POLICIES: dict[str, Policy] = {"monotone": Monotone(), "paper": Paper()}
MOST_PAIRS = 200_000_000  # what fits in memory for one row
MOST_NUMBERS = 2**26  # held at once for a chunk of rows, per array
LACKING = "without leak: unit "
REACHABLE = 64  # a residual of so many roundings is as small as it gets


def functional_of(name: str) -> Functional:
    """The free energy of a scheme."""
    return FUNCTIONALS[name]


def check(method: MeanField, network: "BeliefNetwork") -> None:
    """SJJ is for the sigmoid, and the pairs of G22 must fit in memory."""
    if method.name == "SJJ" and not isinstance(network.activation, Sigmoid):
        raise does_not_apply(
            method,
            f"its bound is for sigmoid networks, and this one is {network.activation.name}",
            "G1, a bound for every activation,",
        )
    if method.functional.needs_pairs and network.storage.num_pairs() > MOST_PAIRS:
        pairs = f"{network.storage.num_pairs():,} pairs of parents"
        raise does_not_apply(method, f"it would sum over {pairs}, and {MOST_PAIRS:,} is the most", "G221")


class Scheme(NamedTuple):
    """The functional that is minimised, and the one that is evaluated at the minimum, where that is another one."""

    solved: Functional
    evaluated: Functional | None = None

    def prepare(self, network: "BeliefNetwork") -> "BeliefNetwork":
        """The network with all that the functionals look up."""
        last = self.evaluated or self.solved
        storage = network.storage.prepared(
            pairs=last.needs_pairs or self.solved.needs_pairs, fans=last.needs_fans or self.solved.needs_fans
        )
        return eqx.tree_at(lambda net: net.storage, network, storage)


def scheme_of(method: MeanField, network: "BeliefNetwork", evidence: Evidence, *, prune: bool) -> Scheme:
    """What a method minimises and evaluates on a network."""
    last = method.functional.fitted(network, evidence, prune=prune)
    if method.solved_by == method.name:
        return Scheme(last)
    return Scheme(functional_of(method.solved_by).fitted(network, evidence, prune=prune), last)


def posterior(method: MeanField, network: "BeliefNetwork", evidence: Evidence, *, prune: bool, dtype: str) -> Posterior:
    """Solve every row, from every starting point, and keep the lowest free energy that converged."""
    scheme = scheme_of(method, network, evidence, prune=prune)
    network = scheme.prepare(network)
    solve = _traced if is_traced(network, evidence.rows) else partial(_in_chunks, dtype=dtype)
    best = None
    for start in _starts(method, evidence.rows.shape):
        found = solve(method, scheme, network, evidence, start, prune)
        best = found if best is None else _better(best, found)
    assert best is not None
    last = scheme.evaluated or scheme.solved
    notes = last.notes
    if not is_traced(best) and len(best.status) == 1 and best.status[0] == WITHOUT_LEAK:
        notes = (*notes, f"{LACKING}{_lacking(network, evidence, last, prune)}")
    return best._replace(about=About(is_bound=last.is_bound, notes=notes))


def _lacking(network: "BeliefNetwork", evidence: Evidence, functional: Functional, prune: bool) -> str:
    """The units for lack of whose leak there is no answer."""
    with precision("float64"):
        tilt = None if evidence.tilt is None else jnp.asarray(evidence.tilt)
        rows, bias = jnp.asarray(evidence.rows), jnp.asarray(network.bias)
        problem = pose(network.storage, bias, network.activation, rows, 1, pairs=False, prune=prune, tilt=tilt)
        return listed(repr(network.names[unit]) for unit in np.flatnonzero(functional.lacking(problem)[:, 0]))


def _starts(method: MeanField, shape: tuple[int, int]):
    """Natural parameters to start from: u = 1/2, then u uniform at random."""
    yield np.zeros(shape)
    rng = np.random.default_rng(method.seed)
    for _ in range(method.restarts):
        u = rng.uniform(1e-6, 1 - 1e-6, shape)
        yield np.log(u) - np.log1p(-u)


def _better(a: Posterior, b: Posterior) -> Posterior:
    """Row by row the one that converged, or of two such the one with the lower minimum of what was solved."""
    use = jnp.where if is_traced(a, b) else np.where
    done_a, done_b = a.status == CONVERGED, b.status == CONVERGED
    b_wins = (done_b & ~done_a) | ((done_a == done_b) & (b.about < a.about))
    chosen = [use(b_wins[:, None] if x.ndim == 2 else b_wins, y, x) for x, y in zip(a.arrays, b.arrays, strict=True)]
    steps, cycles = a.num_steps + b.num_steps, a.num_cycles + b.num_cycles
    return Posterior(*chosen, about=use(b_wins, b.about, a.about))._replace(num_steps=steps, num_cycles=cycles)


def _in_chunks(method, scheme: Scheme, network, evidence: Evidence, start, prune, *, dtype) -> Posterior:
    storage, rows = network.storage, evidence.rows
    last = scheme.evaluated or scheme.solved
    work = last.row_work(network.size, storage.num_edges, storage.num_pairs() if last.needs_pairs else 0)
    if prune and sums_out(network.activation):
        work = max(work, storage.num_edges)
    head = head_of(network.layers, np.isnan(rows).any(axis=0))

    def solve(index) -> Posterior:
        stacked = network.stack is not None
        piece = storage.take(index) if stacked else storage
        bias = network.bias[index] if stacked else network.bias
        tilt = None if evidence.tilt is None else evidence.tilt[index]
        with precision(dtype):
            found = _compiled(
                piece, bias, network.activation, rows[index], tilt, start[index], method.tol, method.max_steps,
                scheme=scheme, policy=POLICIES[method.policy], prune=prune, head=head,
            )  # fmt: skip
            return to_numpy(found)

    pieces = chunks(len(rows), max(1, MOST_NUMBERS // work))
    parts = on_all_cores(solve, pieces)
    lowest = np.concatenate([part.about for part in parts])[: len(rows)]
    return Posterior.joined(parts, len(rows))._replace(about=lowest)


def _traced(method, scheme: Scheme, network, evidence: Evidence, start, prune) -> Posterior:
    """Inside a trace of the user's: in its precision, and with derivatives; the jit remembers what was traced."""
    return _compiled(
        network.storage, network.bias, network.activation, evidence.rows, evidence.tilt, start,
        method.tol, method.max_steps, scheme=scheme, policy=POLICIES[method.policy], prune=prune,
        traced=True,
    )  # fmt: skip


def _solve(
    storage, bias, activation, rows, tilt, start, tol, max_steps,
    *, scheme, policy, prune, head=None, traced=False,
) -> Posterior:  # fmt: skip
    functional, last = scheme.solved, scheme.evaluated or scheme.solved
    degree = functional.powers(activation)
    rows, bias = jnp.asarray(rows, jnp.zeros(()).dtype), jnp.asarray(bias)
    tilt = None if tilt is None else jnp.asarray(tilt, rows.dtype)
    problem = pose(
        storage, bias, activation, rows, degree,
        pairs=last.needs_pairs, prune=prune, tilt=tilt, head=head,
    )  # fmt: skip
    given = known(storage, bias, activation, rows, tilt)
    theta = jnp.where(problem.searched, jnp.asarray(start, rows.dtype).T[: problem.head], 0.0)
    frozen = jax.lax.stop_gradient(problem)
    tol = jnp.maximum(jnp.asarray(tol, rows.dtype), REACHABLE * jnp.finfo(rows.dtype).eps)
    ending = minimise(frozen, functional.energy, policy, theta, tol, max_steps)
    if traced:
        means, G = differentiable(problem, given, scheme, ending.point.theta)
    else:
        means, G = problem.means(ending.point.theta), ending.point.G
        if scheme.evaluated is not None:
            G, means = after(problem, scheme, means)
        means = predict(problem, last.with_summed(problem, given, means), last.chance)
    status = jnp.where(jnp.isnan(means).any(0) | jnp.isnan(G), NOT_FINITE, ending.status)
    lacking = last.lacking(problem).any(0)
    status, G = jnp.where(lacking, WITHOUT_LEAK, status), jnp.where(lacking, jnp.inf, G)
    status = jnp.where(_impossible(frozen, last, jnp.isposinf(G) & ~lacking), IMPOSSIBLE, status)
    lowest = jax.lax.stop_gradient(jnp.where(lacking, jnp.inf, ending.point.G))  # by this restarts are compared
    return Posterior(means.T, G, status, ending.steps, ending.cycles, ending.point.residual, lowest)


def _impossible(problem, functional: Functional, doubtful):
    """Of the doubtful rows those where nothing is free and the energy is infinite, which then is -ln P(evidence)."""
    doubtful = doubtful & ~problem.free.any(0)

    def by_energy(problem):
        return doubtful & jnp.isposinf(functional.energy(problem, problem.values))

    return jax.lax.cond(doubtful.any(), by_energy, lambda _: doubtful, problem)


solve_traced = partial(_solve, traced=True)
_compiled = jax.jit(_solve, static_argnames=("scheme", "policy", "prune", "head", "traced"))
