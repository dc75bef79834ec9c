"""Averages for the sigmoid by the characteristic function of the field, a product over the parents.

With Psi(t) = <exp(i t x)> = exp(i t h) prod_j (1 - u_j + u_j exp(i t w_j)), integrals over t > 0,

    <ln 2 cosh(x / 2)> = ln 2 + int (1 - Re Psi) / (t sinh(pi t)) dt
    <sigma(x)>         = 1/2 + int Im Psi / sinh(pi t) dt
    <1 / 2 cosh(x/2)>  = int Re Psi / cosh(pi t) dt

and the midpoint rule converges exponentially. Probabilities keep their digits where the parents are tilted first (see
characteristic_function.py).
"""

from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages import node_sums
from plefka.averages.average import Average, map_columns, mean_field
from plefka.averages.characteristic_function import Rule, messages_and_chances, tilted_chances, walk
from plefka.averages.cumulants import log_psi, messages_of_sums, num_terms, power_sums, small_chances, small_messages

MANY = 32  # parents, from which on sums over them cost more than the nodes of a quadrature
MESSAGE_TARGET = 1e-12  # of the quadrature of a probability


class Fourier(Average):
    """Quadrature of the characteristic function, for fields with |x| up to `reach` and weights up to `largest`."""

    reach: float = eqx.field(static=True, converter=float)
    largest: float = eqx.field(static=True, converter=float, default=np.inf)

    @property
    def rule(self) -> Rule:
        return Rule(self.reach, 24.0, 7.3)

    @property
    def tilted_rule(self) -> Rule:
        """Probabilities want more digits, and 1 / cosh has its poles twice as near."""
        return Rule(self.reach, 64.0, 10.5)

    @property
    def message_rule(self) -> Rule:
        """Eleven digits of a message are enough, as it is sent many times."""
        return Rule(self.reach, 50.0, 8.5)

    @property
    def terms(self) -> int | None:
        """How many cumulants give the logarithms, where the weights are small enough for them."""
        return num_terms(self.rule.nodes.t, self.rule.nodes.log_cosh, self.reach, self.largest)

    def message_terms(self, positions: int) -> int | None:
        """How many cumulants give probabilities and messages, where weights are small and parents are many enough."""
        nodes = self.message_rule.nodes
        if positions < MANY:
            return None
        return num_terms(np.hypot(nodes.t, 1.0), nodes.even, self.reach, self.largest, MESSAGE_TARGET)

    def logs(self, w, u, h):
        half, rows = mean_field(w, u, h) / 2, u.shape[2]
        if self.terms is None:
            found = map_columns(partial(log_cosh, self.rule), len(w) * rows, w, u, h)
        else:
            from_sums = jax.checkpoint(partial(log_cosh_from_sums, self.rule))
            found = map_columns(from_sums, len(self.rule.nodes.t) * rows, power_sums(self.terms, w, u), h)
        even = np.log(2) + found
        return half - even, -half - even

    def covers(self, w, h):
        low, high = (h + part(w, 0.0).sum(0) for part in (jnp.minimum, jnp.maximum))
        return jnp.maximum(-low, high) <= self.reach

    def chances(self, w, parents, h):
        terms = self.message_terms(len(w))
        if terms is None:
            chances = jax.checkpoint(partial(tilted_chances, self.tilted_rule))
            return map_columns(chances, len(w) * parents.rows, w, parents, h)
        return self._of_sums(small_chances, power_sums(terms, w, parents.on).at[0].add(h))

    def messages(self, w, parents, h, log_ratio):
        terms = self.message_terms(len(w))
        if terms is None:
            by_nodes = partial(messages_and_chances, self.message_rule)
            return map_columns(by_nodes, len(w) * parents.rows, w, parents, h, log_ratio)
        X = power_sums(terms, w, parents.on).at[0].add(h)
        D, *chances = self._of_sums(small_messages, X, log_ratio)
        return messages_of_sums(D, w, parents.on), *chances

    def _of_sums(self, function, X, *columns):
        """Of power sums, at the nodes for messages."""
        work = len(self.message_rule.nodes.t) * X.shape[2]
        return map_columns(jax.checkpoint(partial(function, self.message_rule)), work, X, *columns)

    def curvatures(self, w, u, h, a, b, shared):
        """(a + b) sum_k q_k Re[Psi r_j r_l], r = y / f: x is linear, and ln cosh(x / 2) has all the rest."""
        return node_sums.curvatures_by_columns(partial(curvatures, self.rule, shared), shared, w, u, h, a + b)

    def slopes(self, w, u, h):
        return jnp.broadcast_to(w, (*w.shape[:2], u.shape[2]))


def sums(rule: Rule, number: int, w, u, h):
    """<ln cosh(x / 2)> = sum_k q_k (1 - Re Psi_k), and its derivatives in the same pass."""

    def visit(totals, node, q, qt):
        (Pr, Pi), (Lr, Li) = node.Psi, node.without
        by_u = -q * ((node.cos - 1) * Lr - node.sin * Li)
        terms = (q * (1 - Pr), qt * Pi, by_u, qt * u * (node.sin * Lr + node.cos * Li))
        return tuple(total + term for total, term in zip(totals, terms, strict=False))

    q, t = rule.nodes.log_cosh, rule.nodes.t
    return walk(rule, visit, (q, q * t), node_sums.sums_over_nodes(number, w, u, h), w, u, h)


log_cosh = node_sums.with_slopes(sums)


def log_cosh_from_sums(rule: Rule, X, h):
    """<ln cosh(x / 2)> from the power sums of small weights, differentiated automatically."""
    real, imaginary = log_psi(rule.nodes.t.astype(X.dtype), X, h)
    q = rule.nodes.log_cosh.astype(X.dtype)[:, None, None]
    return (q * (1 - jnp.exp(real) * jnp.cos(imaginary))).sum(0)


def curvatures(rule: Rule, shared: bool, w, u, h, a):
    def visit(total, node, q):
        # what a derivative by u puts in the place of a factor
        r = node_sums.rotate((node.cos - 1, node.sin), node_sums.inverse(node.f))
        g = node_sums.rotate(tuple(q * a * part for part in node.Psi), r)
        return total + node_sums.products_of_pairs(shared, r[0], g[0]) - node_sums.products_of_pairs(shared, r[1], g[1])

    return walk(rule, visit, (rule.nodes.log_cosh,), node_sums.no_curvatures(shared, w, u), w, u, h)
