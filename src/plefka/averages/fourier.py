"""Averages for the sigmoid by the characteristic function of the field, a product over the parents.

With Psi(t) = <exp(i t x)> = exp(i t h) prod_j (1 - u_j + u_j exp(i t w_j)), integrals over t > 0,

    <ln 2 cosh(x / 2)> = ln 2 + int (1 - Re Psi) / (t sinh(pi t)) dt
    <sigma(x)>         = 1/2 + int Im Psi / sinh(pi t) dt
    <1 / 2 cosh(x/2)>  = int Re Psi / cosh(pi t) dt

and the midpoint rule converges exponentially. Probabilities keep their digits where the parents are tilted first:
sigma(x) = exp(x / 2) / 2 cosh(x / 2) = exp(x) sigma(-x), and an average of exp(a x) g(x) is M(a) = <exp(a x)> times the
average of g under means that are tilted by exp(a w_j).
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.custom_derivatives import SymbolicZero

from plefka.averages.average import Average, mean_field, message, of_edges, off_diagonal
from plefka.averages.blocks import chunks, in_chunks, map_columns, sum_columns, sum_to, tree
from plefka.averages.cumulants import log_psi, num_terms, power_sums
from plefka.free_energies.sjj import log_odds, log_tilt

SMALLEST_INTEGRAL = 1e-17  # what cannot be told from zero
DECIDED = 5.0  # log-odds from which one state of a child matters more than the other
MOST_REGRET = 7.0  # ln of what the error of a message may be multiplied with: three digits of twelve


class Nodes(NamedTuple):
    """Equally spaced t = (k + 1/2) step, and the weights of the three integrals there."""

    step: float
    t: np.ndarray
    log_cosh: np.ndarray
    odd: np.ndarray
    even: np.ndarray


class Rule(NamedTuple):
    """A midpoint rule up to t = `last`; aliases of a field x are damped by exp(|x| - reach - margin)."""

    reach: float
    margin: float
    last: float

    @property
    def nodes(self) -> Nodes:
        return midpoints(self)


@cache
def midpoints(rule: Rule) -> Nodes:
    step = 2 * np.pi / (rule.reach + rule.margin)
    t = step * (np.arange(int(np.ceil(rule.last / step))) + 0.5)
    return Nodes(step, t, step / (t * np.sinh(np.pi * t)), step / np.sinh(np.pi * t), step / np.cosh(np.pi * t))


class Fourier(Average):
    """Quadrature of the characteristic function, for fields with |x| up to `reach` and weights up to `largest`."""

    reach: float = eqx.field(static=True, converter=float)
    largest: float = eqx.field(static=True, converter=float, default=np.inf)

    @property
    def is_exact(self):
        return True

    @property
    def rule(self) -> Rule:
        return Rule(self.reach, 24.0, 7.3)

    @property
    def tilted_rule(self) -> Rule:
        """Probabilities want more digits, and 1 / cosh has its poles twice as near."""
        return Rule(self.reach, 64.0, 10.5)

    @property
    def message_rule(self) -> Rule:
        """Twelve digits of a message are enough, as it is sent many times."""
        return Rule(self.reach, 56.0, 9.3)

    @property
    def terms(self) -> int | None:
        """How many cumulants give the logarithms, where the weights are small enough for them."""
        return num_terms(self.rule.nodes.t, self.rule.nodes.log_cosh, self.reach, self.largest)

    def logs(self, w, u, h):
        half = mean_field(w, u, h) / 2
        even = np.log(2) + self._log_cosh(w, u, h)
        return half - even, -half - even

    def _log_cosh(self, w, u, h):
        rows = u.shape[2]
        if self.terms is None:
            return map_columns(partial(log_cosh, self.rule), len(w) * rows, w, u, h)
        from_sums = jax.checkpoint(partial(log_cosh_from_sums, self.rule))
        return map_columns(from_sums, len(self.rule.nodes.t) * rows, power_sums(self.terms, w, u), h)

    def chances(self, w, u, h):
        chances = jax.checkpoint(partial(tilted_chances, self.tilted_rule))
        return map_columns(chances, len(w) * u.shape[2], w, u, h)

    def messages(self, w, u, h, log_ratio):
        told = partial(messages_and_chances, self.message_rule)
        return map_columns(told, len(w) * u.shape[2], w, u, h, log_ratio)

    def curvatures(self, w, u, h, a, b, shared):
        """(a + b) sum_k q_k Re[Psi r_j r_l], r = y / f: x is linear, and ln cosh(x / 2) has all the rest."""
        work = len(w) * u.shape[2]
        if shared:
            return off_diagonal(sum_columns(partial(summed_curvatures, self.rule), work, w, u, h, a + b))
        return off_diagonal(map_columns(partial(own_curvatures, self.rule), len(w) * work, w, u, h, a + b))

    def slopes(self, w, u, h):
        return jnp.broadcast_to(w, (*w.shape[:2], u.shape[2]))


def rotate(z: tuple, by: tuple) -> tuple:
    """The product of two complex numbers, each by its real and imaginary part."""
    (a, b), (c, d) = z, by
    return a * c - b * d, a * d + b * c


def powers(z: tuple, count: int) -> tuple:
    """1, z, z^2, ... along a new first axis, by doubling."""
    table = (jnp.ones_like(z[0])[None], jnp.zeros_like(z[0])[None])
    while len(table[0]) < count:
        more = rotate(table, z)
        table = tuple(jnp.concatenate([x, y]) for x, y in zip(table, more, strict=True))
        z = rotate(z, z)
    return tuple(x[:count] for x in table)


class Chunk(NamedTuple):
    """Some nodes: cos and sin of s = t w, the factors f = 1 + u (exp(i s) - 1), and their product Psi."""

    cos: jax.Array
    sin: jax.Array
    f: tuple[jax.Array, jax.Array]
    Psi: tuple[jax.Array, jax.Array]

    @property
    def square(self):
        """|f|^2, never zero."""
        fr, fi = self.f
        return jnp.maximum(fr**2 + fi**2, jnp.finfo(fr.dtype).tiny)


def walk(rule: Rule, visit: Callable, weights: tuple[np.ndarray, ...], total, w, u, h):
    """total = visit(total, chunk, *weights of its nodes), over all nodes; exp(i t w) is rotated from node to node."""
    count, size = chunks(len(rule.nodes.t), len(w) * h.shape[0] * u.shape[2])
    half = rule.nodes.step / 2

    def phases(x):
        first = jnp.cos(half * x), jnp.sin(half * x)
        table = powers(rotate(first, first), size + 1)
        return first, tuple(part[:-1] for part in table), tuple(part[-1] for part in table)

    (zw, w_table, w_jump), (zh, h_table, h_jump) = phases(w), phases(h)

    def step(state, weights):
        zw, zh, total = state
        cos, sin = rotate(zw, w_table)
        f = (1 + u * (cos - 1), u * sin)
        Psi = rotate(rotate(zh, h_table), tree(rotate, f))
        total = visit(total, Chunk(cos, sin, f, Psi), *(x[:, None, None] for x in weights))
        return (rotate(zw, w_jump), rotate(zh, h_jump), total), None

    in_turn = tuple(jnp.asarray(in_chunks(x, count, size), u.dtype) for x in weights)
    if count == 1:
        return step((zw, zh, total), tuple(x[0] for x in in_turn))[0][2]
    return jax.lax.scan(step, (zw, zh, total), in_turn)[0][2]


@partial(jax.custom_vjp, nondiff_argnums=(0,))
def log_cosh(rule: Rule, w, u, h):
    """<ln cosh(x / 2)> = sum_k q_k (1 - Re Psi_k)."""

    def visit(total, chunk, q):
        return total + (q * (1 - chunk.Psi[0])).sum(0)

    nothing = jnp.zeros((h.shape[0], u.shape[2]), u.dtype)
    return walk(rule, visit, (rule.nodes.log_cosh,), nothing, w, u, h)


def log_cosh_and_slopes(rule: Rule, by_w: bool, w, u, h):
    """The same with its derivatives by u, h and w, in one pass: a factor is taken out of Psi by division."""

    def visit(total, chunk, q, qt):
        Pr, Pi = chunk.Psi
        scale = 1 / chunk.square
        sums = [total[0] + (q * (1 - Pr)).sum(0), total[1] + (qt * Pi).sum(0)]
        real, imaginary = (chunk.cos - 1) * (1 - 2 * u), chunk.sin  # of y conj(f), y = exp(is) - 1
        sums.append(total[2] - ((real * (q * Pr)[:, None] - imaginary * (q * Pi)[:, None]) * scale).sum(0))
        if by_w:
            real, imaginary = chunk.cos * (1 - u) + u, chunk.sin * (1 - u)  # of exp(is) conj(f)
            sums.append(total[3] + (u * (real * (qt * Pi)[:, None] + imaginary * (qt * Pr)[:, None]) * scale).sum(0))
        return tuple(sums)

    column = jnp.zeros((h.shape[0], u.shape[2]), u.dtype)
    edge = jnp.zeros((*w.shape[:2], u.shape[2]), u.dtype)
    total = (column, column, edge, edge) if by_w else (column, column, edge)
    q, t = rule.nodes.log_cosh, rule.nodes.t
    return walk(rule, visit, (q, q * t), total, w, u, h)


def _log_cosh_forward(rule: Rule, w, u, h):
    pass_ = jax.checkpoint(partial(log_cosh_and_slopes, rule, w.perturbed))
    value, by_h, by_u, *by_w = pass_(w.value, u.value, h.value)
    return value, (by_w[0] if by_w else None, by_u, by_h, w.value, u.value, h.value)


def _log_cosh_backward(rule: Rule, residuals, slope):
    by_w, by_u, by_h, w, u, h = residuals
    if isinstance(slope, SymbolicZero):
        return jnp.zeros_like(w), jnp.zeros_like(u), jnp.zeros_like(h)
    return (
        jnp.zeros_like(w) if by_w is None else sum_to(w.shape, by_w * slope),
        sum_to(u.shape, by_u * slope),
        sum_to(h.shape, by_h * slope),
    )


log_cosh.defvjp(_log_cosh_forward, _log_cosh_backward, symbolic_zeros=True)


def log_cosh_from_sums(rule: Rule, X, h):
    """The same from the power sums of small weights, differentiated automatically."""
    real, imaginary = log_psi(rule.nodes.t.astype(X.dtype), X, h)
    q = rule.nodes.log_cosh.astype(X.dtype)[:, None, None]
    return (q * (1 - jnp.exp(real) * jnp.cos(imaginary))).sum(0)


def ratios(chunk: Chunk, u):
    """y / f with y = exp(is) - 1: what a derivative by u puts in the place of a factor."""
    return (chunk.cos - 1) * (1 - 2 * u) / chunk.square, chunk.sin / chunk.square


def summed_curvatures(rule: Rule, w, u, h, a):
    def visit(total, chunk, q):
        r = ratios(chunk, u)
        g = rotate(tuple((q * a * part)[:, None] for part in chunk.Psi), r)  # Re(g r) is a sum of two products
        left, right = jnp.concatenate(r, axis=2), jnp.concatenate([g[0], -g[1]], axis=2)
        return total + jnp.einsum("njcr,nlcr->jlr", left, right)

    nothing = jnp.zeros((len(w), len(w), u.shape[2]), u.dtype)
    return walk(rule, visit, (rule.nodes.log_cosh,), nothing, w, u, h)


def own_curvatures(rule: Rule, w, u, h, a):
    def visit(total, chunk, q):
        r = ratios(chunk, u)
        g = rotate(tuple((q * a * part)[:, None] for part in chunk.Psi), r)
        return total + sum(sign * jnp.einsum("njcr,nlcr->jlcr", x, y) for sign, x, y in zip((1, -1), r, g, strict=True))

    nothing = jnp.zeros((len(w), len(w), h.shape[0], u.shape[2]), u.dtype)
    return walk(rule, visit, (rule.nodes.log_cosh,), nothing, w, u, h)


def tilted(t, u):
    """u exp(t) / (1 - u + u exp(t)): the mean of a unit under a tilt."""
    e, tiny = jnp.exp(-jnp.abs(t)), jnp.finfo(u.dtype).tiny
    up = u / jnp.maximum(u + (1 - u) * e, tiny)
    down = u * e / jnp.maximum(1 - u + u * e, tiny)
    return jnp.where(t > 0, up, down)


def log_moment(a, w, u, h):
    """ln <exp(a x)>, and its term for every edge."""
    terms = log_tilt(a * w, u, log_odds(u))
    return a * h + terms.sum(0), terms


def tilted_chances(rule: Rule, w, u, h):
    """ln <f> and ln <1 - f>: the one on whose side the mean field is by its best tilt, and what is left for the other.

    The integrals have an error of about 1e-15, which M(a) multiplies: the best tilt has the smallest M(a).
    """
    side = jnp.where(jax.lax.stop_gradient(mean_field(w, u, h)) > 0, -1.0, 1.0).astype(u.dtype)
    costs = jnp.stack([log_moment(a * side, w, u, h)[0] for a in (0.0, 0.5, 1.0)])
    best = jnp.argmin(jax.lax.stop_gradient(costs), axis=0)

    def visit(total, chunk, odd, even):
        return total[0] + (odd * chunk.Psi[1]).sum(0), total[1] + (even * chunk.Psi[0]).sum(0)

    nothing = jnp.zeros_like(side)
    weights = rule.nodes.odd, rule.nodes.even
    odd, even = walk(rule, visit, weights, (nothing, nothing), w, tilted(best * side / 2 * w, u), h)
    integral = jnp.where(best == 1, even, 0.5 + (1 - best) * side * odd)
    cost = jnp.take_along_axis(costs, best[None], axis=0)[0]
    return in_logs(cost, integral, side)


class Plan(NamedTuple):
    """By which tilt the messages of each column are computed: from <f> where side is 1, from <1 - f> where it is -1."""

    side: jax.Array  # (columns, rows)
    best: jax.Array  # (columns, rows): the tilt is side times 0, 1/2 or 1
    cost: jax.Array  # (columns, rows): ln M(a), and the same without a parent that is off, and that is on
    without_off: jax.Array
    without_on: jax.Array
    regret: jax.Array  # (columns, rows): ln of the digits lost, at most, because all parents share a tilt


def plan(w, u, h, log_ratio) -> Plan:
    """The tilt that serves all parents of a column best.

    Where the child is almost decided, only one of <f> and <1 - f> matters; elsewhere it is the smaller of them that
    tells both to all their digits.
    """
    smaller = jnp.where(mean_field(w, u, h) > 0, -1.0, 1.0)
    side = jnp.where(jnp.abs(log_ratio) > DECIDED, jnp.sign(log_ratio), smaller).astype(u.dtype)
    a = np.array([0.0, 0.5, 1.0]).reshape(3, 1, 1) * side
    moments = [log_moment(tilt, w, u, h) for tilt in a]
    whole, off = jnp.stack([m for m, _ in moments]), jnp.stack([m - terms for m, terms in moments])
    on = off + a[:, None] * w
    regrets = jnp.maximum(*((cost - cost.min(0)).max(1) for cost in (off, on)))
    best = jnp.argmin(regrets, axis=0)
    off, on = (jnp.take_along_axis(x, best[None, None], axis=0)[0] for x in (off, on))
    cost, regret = (jnp.take_along_axis(x, best[None], axis=0)[0] for x in (whole, regrets))
    return Plan(side, best, cost, off, on, regret)


def shared_messages(rule: Rule, w, u, h, log_ratio, plan: Plan):
    """The messages in one walk, all parents of a column by the same tilt."""
    side, best = plan.side, plan.best
    even_too, odd_too = jnp.where(best == 1, 1.0, 0.0), jnp.where(best == 1, 0.0, (1 - best) * side)

    def visit(total, chunk, odd, even):
        a, b = even * even_too, odd * odd_too
        Cr, Ci = rotate(chunk.Psi, (a, -b))  # Re C is the integrand
        scale = 1 / chunk.square
        (fr, fi), without = chunk.f, (Cr[:, None] * scale, Ci[:, None] * scale)
        off = without[0] * fr + without[1] * fi
        on = without[0] * (u_tilted + (1 - u_tilted) * chunk.cos) - without[1] * (1 - u_tilted) * chunk.sin
        return total[0] + Cr.sum(0), total[1] + off.sum(0), total[2] + on.sum(0)

    u_tilted = tilted(best * side / 2 * w, u)
    start = jnp.zeros_like(side), jnp.zeros_like(u), jnp.zeros_like(u)
    integrals = walk(rule, visit, (rule.nodes.odd, rule.nodes.even), start, w, u_tilted, h)
    constant = jnp.where(best == 1, 0.0, 0.5)
    costs = plan.cost, plan.without_off, plan.without_on
    found = [in_logs(cost, constant + total, side) for cost, total in zip(costs, integrals, strict=True)]
    return message(found[1], found[2], log_ratio), *found[0]


def in_logs(cost, integral, side):
    """ln <f> and ln <1 - f>, from the one on this side."""
    near = jnp.minimum(cost + jnp.log(jnp.maximum(integral, SMALLEST_INTEGRAL)), -SMALLEST_INTEGRAL)
    far = jnp.log(-jnp.expm1(near))
    return jnp.where(side > 0, near, far), jnp.where(side > 0, far, near)


def messages_and_chances(rule: Rule, w, u, h, log_ratio):
    """Messages by one tilt for each column where that keeps their digits, and by one for each parent where not."""
    u = of_edges(u, w)
    found = plan(w, u, h, log_ratio)

    def together():
        said, *chances = shared_messages(rule, w, u, h, log_ratio, found)
        smaller = jnp.where(mean_field(w, u, h) > 0, -1.0, 1.0)
        vague = (found.side != smaller) & jnp.isfinite(log_ratio)  # of an observed child only one chance matters
        better = jax.lax.cond(
            jnp.any(vague),
            lambda: tuple(map(partial(jnp.where, vague), tilted_chances(rule, w, u, h), chances)),
            lambda: tuple(chances),
        )
        return said, *better

    return jax.lax.cond(
        jnp.any(found.regret > MOST_REGRET), lambda: tilted_messages(rule, w, u, h, log_ratio), together
    )


# tilt; whether it serves <f> and <1 - f>; how they follow from the odd and the even integral: constant, odd, even.
TILTS = np.array(
    [
        [-1.0, 0, 1, 0.5, 1.0, 0.0],
        [-0.5, 0, 1, 0.0, 0.0, 1.0],
        [0.0, 1, 0, 0.5, 1.0, 0.0],
        [0.0, 0, 1, 0.5, -1.0, 0.0],
        [0.5, 1, 0, 0.0, 0.0, 1.0],
        [1.0, 1, 0, 0.5, -1.0, 0.0],
    ]
)


def tilted_messages(rule: Rule, w, u, h, log_ratio):
    """The messages from <f> and <1 - f> over all parents but one, each by its own best tilt."""
    u = of_edges(u, w)
    edge, column = jnp.full_like(u, jnp.inf), jnp.full_like(log_ratio, jnp.inf)

    def step(best, tilt):
        a, for_on, for_off, constant, odd, even = tilt
        moment, terms = log_moment(a, w, u, h)
        integrals = left_out(rule, w, tilted(a * w, u), h)
        costs = (moment, moment - terms, moment - terms + a * w)
        found = []
        for cost, (odds, evens), old in zip(costs, integrals, best, strict=True):
            value = cost + jnp.log(jnp.maximum(constant + odd * odds + even * evens, SMALLEST_INTEGRAL))
            found.append(
                tuple(better(serves, (cost, value), pair) for pair, serves in zip(old, (for_on, for_off), strict=True))
            )
        return tuple(found), None

    start = tuple(((x, -x), (x, -x)) for x in (column, edge, edge))
    (whole, off, on), _ = jax.lax.scan(step, start, jnp.asarray(TILTS, u.dtype))
    log_f, log_off, log_on = (values_of(pair) for pair in (whole, off, on))
    return message(log_off, log_on, log_ratio), *log_f


def better(serves, new: tuple, old: tuple) -> tuple:
    """The pair (cost, value) whose tilt costs less."""
    chosen = (serves > 0) & (new[0] < old[0])
    return jnp.where(chosen, new[0], old[0]), jnp.where(chosen, new[1], old[1])


def values_of(pair: tuple) -> tuple:
    """ln <f> and ln <1 - f>, without rounding above one."""
    (_, log_f), (_, log_rest) = pair
    return jnp.minimum(log_f, 0.0), jnp.minimum(log_rest, 0.0)


def left_out(rule: Rule, w, u, h):
    """The odd and the even integral: of all parents, and of all but one where that one is off, or on."""

    def visit(total, chunk, odd, even):
        fr, fi = chunk.f
        off = rotate(tuple(part[:, None] for part in chunk.Psi), (fr / chunk.square, -fi / chunk.square))
        on = rotate(off, (chunk.cos, chunk.sin))
        odds, evens = odd[:, None], even[:, None]
        whole = total[0][0] + (odd * chunk.Psi[1]).sum(0), total[0][1] + (even * chunk.Psi[0]).sum(0)
        parts = [
            (a + (odds * z[1]).sum(0), b + (evens * z[0]).sum(0))
            for (a, b), z in zip(total[1:], (off, on), strict=True)
        ]
        return whole, *parts

    column, edge = jnp.zeros((h.shape[0], u.shape[2]), u.dtype), jnp.zeros_like(u)
    return walk(rule, visit, (rule.nodes.odd, rule.nodes.even), ((column, column), (edge, edge), (edge, edge)), w, u, h)
