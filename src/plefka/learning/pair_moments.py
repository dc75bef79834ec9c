"""Means and second moments of a Boltzmann machine: <S_i> and <S_i S_j> along every coupling, by a method.

They are what a machine is learned by: d ln Z / dh_i = <S_i> and d ln Z / dW_ij = <S_i S_j>. Independent units have
<S_i S_j> = u_i u_j, and units that are known or solved do. What coupled units have beyond that, their covariance, is

    exact              that of the sum over states;
    G1, G2, bethe      linear response, the inverse Hessian of the free energy at its solution (Kappen and Rodriguez);
                       of more than 2,048 units bethe has that of the belief of each pair.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial, reduce
from typing import Any, NamedTuple

import jax
import numpy as np

from plefka.exact.exact_method import Exact
from plefka.exact.log_factors import grouped
from plefka.exact.question_elimination import PairElimination
from plefka.exact.state_sum import state_moments
from plefka.inference.machine_response import (
    HESSIANS,
    MOST_PAIRED,
    both_on,
    minimised,
    question_matrix,
    response,
)
from plefka.methods.method import Method, does_not_apply
from plefka.methods.posterior import CONVERGED, OUT_OF_STEPS, Posterior
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.evidence import Evidence
from plefka.networks.storage import Storage
from plefka.reduction.machine_reduction import ReducedPairs, answer_without_free_units
from plefka.reduction.question import Part, Question
from plefka.reduction.recovery import exact_rows, reductions

LINEAR_RESPONSE = ("G1", "G2")
PAIRS_AT_ONCE = 2**22  # numbers of the Hessians, or of the couplings of rows, at once


class Moments(NamedTuple):
    """Sums over rows, each with its weight; rows without a solution do not count. Units are 0 and 1."""

    counted: float  # the weights of the rows that count
    converged: float  # of those that converged
    log_partition: float
    first: np.ndarray  # (units,): <S_i>
    second: Any  # like the parameters of the machine's storage: <S_i S_j>
    exact: float = 0.0  # of those whose ln Z is exact

    @property
    def is_exact(self) -> bool:
        """Whether ln Z of all rows that count is."""
        return bool(self.exact == self.counted)


def moments(machine: BoltzmannMachine, rows: np.ndarray, weights: np.ndarray, method: Method) -> Moments:
    """Of rows (rows, units) of 0, 1 and nan for hidden units, for one machine."""
    machine = machine.converted()
    chunks = reductions(method, machine, Evidence(rows, batched=True), prune=True)
    found = (_of_chunk(machine, reduction, weights[index], method) for index, reduction in chunks)
    return reduce(partial(jax.tree.map, np.add), found)


def _of_chunk(machine: BoltzmannMachine, reduction: Any, weights: np.ndarray, method: Method) -> Moments:
    (part,) = reduction.parts
    found = answer_without_free_units(part.question)
    states = None
    if found is None:
        states = state_moments(part) if isinstance(method, Exact) else None
        found = method.posterior(part, dtype="float64") if states is None else states.posterior
    usable = ((found.status == CONVERGED) | (found.status == OUT_OF_STEPS)) & np.isfinite(found.free_energy)
    c = np.where(usable, weights, 0.0)
    u = np.where(usable, reduction.restored(part, found.means, None)[0], 0.0)
    second = outer(machine.storage, u * c, u)
    if part.question.free.any():
        solved = Solved(machine.storage, reduction, part, found, method, u, c)
        added = _COVARIANCES[type(method).__name__](solved) if states is None else solved.spread(states.covariances(c))
        second = jax.tree.map(np.add, second, added)
    log_z = np.where(usable, part.constant - found.free_energy, 0.0)
    exact = c[exact_rows(part, found)].sum()
    return Moments(c.sum(), c[found.status == CONVERGED].sum(), float(log_z @ c), u @ c, second, exact)


def outer(storage: Storage, a: np.ndarray, b: np.ndarray) -> Any:
    """sum over rows of a_i b_j for every coupling, like the parameters of the storage; a and b are (units, rows)."""

    def products(child: np.ndarray, parent: np.ndarray) -> np.ndarray:
        if child.ndim == 2:
            return a[child[:, 0]] @ b[parent[0]].T
        step = max(1, PAIRS_AT_ONCE // max(len(child), 1))
        spans = [slice(first, first + step) for first in range(0, a.shape[1], step)]
        return sum((np.einsum("er,er->e", a[child, s], b[parent, s]) for s in spans), np.zeros(len(child)))

    return storage.along(products)


@dataclass(frozen=True)
class Solved:
    """Rows that have been solved."""

    storage: Storage
    reduction: ReducedPairs
    part: Part
    found: Posterior
    method: Method
    means: np.ndarray  # (units, rows), 0 in rows that do not count
    weights: np.ndarray  # (rows,)

    @property
    def question(self) -> Question:
        return self.part.question

    def spread(self, K: np.ndarray) -> Any:
        """From a matrix of the question's units to the machine's couplings."""
        here = np.flatnonzero(self.part.units >= 0)
        number = np.full(len(self.means), len(K))
        number[self.part.units[here]] = here
        wide = np.pad(K, (0, 1))
        return self.storage.along(lambda child, parent: wide[number[child], number[parent]])


def _by_response(solved: Solved) -> Any:
    """The weighted sum over rows of the inverse Hessian."""
    question, c, u = solved.question, solved.weights, solved.found.means
    if question.size > MOST_PAIRED:
        why = f"linear response would invert a matrix of {question.size:,} units, and {MOST_PAIRED:,} is the most"
        raise does_not_apply(solved.method, why, "bethe")
    W, K, kinds = question_matrix(question), np.zeros((question.size,) * 2), minimised(question, solved.method, u)
    for rows in grouped(np.concatenate([question.free, kinds[None] == "G2", kinds[None] == "bethe"])):
        units, hessian = np.flatnonzero(question.free[:, rows[0]]), HESSIANS[str(kinds[rows[0]])]
        step = max(1, PAIRS_AT_ONCE // max(1, len(units)) ** 2)
        for first in range(0, len(rows) if len(units) else 0, step):
            some = rows[first : first + step]
            C = response(hessian, W[np.ix_(units, units)], u[np.ix_(units, some)].T)
            K[np.ix_(units, units)] += np.einsum("r,rij->ij", c[some], C)
    return solved.spread(K)


def beyond_second_order(machine: BoltzmannMachine, means: np.ndarray, gradient: Any) -> Any:
    """Where a weight has left the reach of G2, and the gradient asks for more of it.

    The Hessian has -W - W^2 d_i d_j / 2 for a pair, which turns at W d_i d_j = -1; and the expansion is one in
    W^2 v_i v_j, which should be below 1. Covariances beyond that, such as that of two units which are never on
    together, the second order cannot have, and weights would run away.
    """
    d, v = 1 - 2 * means, means * (1 - means)
    products = [machine.storage.along(lambda child, parent, z=z: z[child] * z[parent]) for z in (d, v)]

    def stops(w: Any, slope: np.ndarray, size: np.ndarray, g: np.ndarray) -> np.ndarray:
        return ((1 + w * slope <= 0) | (w**2 * size >= 1)) & (g * w > 0)

    return jax.tree.map(stops, machine.storage.parameters, *products, gradient)


def _by_beliefs(solved: Solved) -> Any:
    """Linear response, or of many units the beliefs of pairs, both of which are free and coupled."""
    if solved.question.size <= MOST_PAIRED:
        return _by_response(solved)
    u, c = solved.means, solved.weights
    left = solved.reduction.free & (c > 0)
    machine_weights = iter(jax.tree.leaves(solved.storage.parameters))

    def covariances(child: np.ndarray, parent: np.ndarray) -> np.ndarray:
        w = np.asarray(next(machine_weights))
        total, step = np.zeros(w.shape), max(1, PAIRS_AT_ONCE // max(1, w.size))
        for first in range(0, len(c), step):
            s = slice(first, first + step)
            both = left[child, s] & left[parent, s] & (w != 0)[..., None]
            a, b = u[child, s], u[parent, s]
            total += np.where(both, both_on(w[..., None], a, b) - a * b, 0.0) @ c[s]
        return total

    return solved.storage.along(covariances)


def _by_elimination(solved: Solved) -> Any:
    """Of tables that are joined unit by unit, each of which has the two units of a coupling."""
    question, c, u = solved.question, solved.weights, solved.found.means
    elimination, K = PairElimination(question), np.zeros((question.size,) * 2)
    if elimination.refusal:
        raise does_not_apply(solved.method, "products of units are summed over too many states", "bethe")
    for rows, child, parent, found in elimination.pairs():
        np.add.at(K, (child, parent), (found - u[np.ix_(child, rows)] * u[np.ix_(parent, rows)]) @ c[rows])
    return solved.spread(K + K.T)


_COVARIANCES: dict[str, Callable[[Solved], Any]] = {
    "MeanField": _by_response,
    "SecondOrder": _by_response,
    "Bethe": _by_beliefs,
    "Exact": _by_elimination,
}
