"""Plefka's expansion to the second, third and fourth order, whole: sums over all states, for small networks.

With U what no single unit explains of the energy, and <.> the average over independent units with means u,

G2 = G1 - <U^2> / 2
G3 = G2 + <U^3> / 6
G4 = G3 - (<U^4> - 3 <U^2>^2 - 3 sum_i v_i (d<U^2> / du_i)^2) / 24        with U itself held fixed in d<U^2> / du_i
"""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from plefka.errors import MethodDoesNotApply
from plefka.mean_field.untruncated import Untruncated
from plefka.reduction.question import Question
from plefka.runtime.precision import is_traced
from plefka.solvers.functional import Functional

MOST_ENUMERATED = 12  # 2^12 states of every row, held at once
Table = Float[Array, "states rows"]  # bit k of a state's number is the state of the k-th free unit of the row


class Orders(Functional):
    """All orders up to this one."""

    needs_tables = True
    predicts_by_field = False

    order: int = eqx.field(static=True)
    bits: int = eqx.field(static=True, default=0)  # free units of the row that has most of them
    first: Untruncated = Untruncated(1)

    def fitted(self, question: Question) -> "Orders":
        free = question.free
        bits = question.size if is_traced(free) else int(np.asarray(free).sum(0).max(initial=0))
        if bits > MOST_ENUMERATED:
            raise MethodDoesNotApply(
                f"G{self.order} does not apply: it would sum over 2^{bits} states of the hidden units "
                f"(the limit is 2^{MOST_ENUMERATED}). Use G2 instead."
            )
        return Orders(self.order, bits, self.first.fitted(question))

    def exact_rows(self, question: Question) -> Any:
        return self.first.exact_rows(question)

    def row_work(self, size: int, num_edges: int, num_pairs: int) -> int:
        return (size + num_edges) * 2**self.bits

    def chance(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, "units rows"]:
        return self.first.chance(question, u)

    def units_without_leak(self, question: Question, u: Any = None) -> Any:
        return self.first.units_without_leak(question, u)

    def network_energy(self, question: Question, u: Float[Array, "units rows"]) -> Float[Array, " rows"]:
        E, m = self._energies(question, u), self._means(question, u)
        E1, slope = average(E, m), slopes(E, m)
        U = E - E1 - linear(slope, m)
        U2 = average(U**2, m)
        G = E1 - U2 / 2
        if self.order >= 3:
            G += average(U**3, m) / 6
        if self.order >= 4:
            alone = (m * (1 - m) * slopes(U**2, m) ** 2).sum(0)
            G -= (average(U**4, m) - 3 * U2**2 - 3 * alone) / 24
        return G

    def _energies(self, question: Question, u) -> Table:
        """E of all states of the free units, the others as they are."""
        rank = jnp.cumsum(question.free, axis=0) - 1
        f = question.model.activation

        def energy(number):
            S = jnp.where(question.free, (number >> jnp.maximum(rank, 0)) & 1, u)
            x = f.off_poles(question.model.h + question.model.weights.field_of(S))
            on, off = f.finite_logs(x)
            return -(question.model.counted * (S * on + (1 - S) * off)).sum(0)  # (4)

        return jax.vmap(energy)(jnp.arange(2**self.bits))

    def _means(self, question: Question, u) -> Float[Array, "bits rows"]:
        """The means of the free units of every row; 0 behind the last of a row that has fewer."""
        order = jnp.argsort(~question.free, axis=0)[: self.bits]
        there = jnp.take_along_axis(question.free, order, axis=0)
        return jnp.where(there, jnp.take_along_axis(u, order, axis=0), 0.0)


def average(table: Table, m: Float[Array, "bits rows"]) -> Float[Array, " rows"]:
    """The average over independent units with means m, unit by unit; linear in each of the means."""
    for mean in m[::-1]:
        off, on = jnp.split(table, 2)
        table = (1 - mean) * off + mean * on
    return table[0]


def slopes(table: Table, m: Float[Array, "bits rows"]) -> Float[Array, "bits rows"]:
    """d<table> / dm_i = <table (S_i - m_i)> / v_i."""
    return jax.grad(lambda m: average(table, m).sum())(m)


def linear(slope: Float[Array, "bits rows"], m: Float[Array, "bits rows"]) -> Table:
    """sum_i slope_i (S_i - m_i) of all states."""
    S = (np.arange(2 ** len(m))[:, None] >> np.arange(len(m))) & 1
    return jnp.asarray(S, m.dtype) @ slope - (slope * m).sum(0)
