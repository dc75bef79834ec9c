"""The characteristic function of the field at the nodes of a midpoint rule, and probabilities of sigmoid units from it.

Probabilities keep all their digits by tilted parents: sigma(x) = exp(x / 2) / 2 cosh(x / 2) = exp(x) sigma(-x), and an
average of exp(a x) g(x) is M(a) = <exp(a x)> times the average of g under means that are tilted by exp(a w_j). Messages
are made of them.
"""

from collections.abc import Callable
from functools import cache, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from plefka.averages.average import mean_field, message, of_edges
from plefka.averages.node_sums import COMPLEX, inverse, products, rotate
from plefka.averages.parents import Parents, log_tilt, tilted_mean

SMALLEST_INTEGRAL = 1e-17  # what cannot be told from zero
DECIDED = 5.0  # log-odds from which one state of a child matters more than the other
MOST_LOST = 7.0  # ln of what the error of a message may be multiplied with: three digits of twelve


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


class FourierNode(NamedTuple):
    """cos and sin of s = t w, the factors f = 1 + u (exp(i s) - 1), their product Psi, and all but one of them."""

    cos: jax.Array
    sin: jax.Array
    f: tuple[jax.Array, jax.Array]
    Psi: tuple[jax.Array, jax.Array]
    without: tuple[jax.Array, jax.Array]


def walk(rule: Rule, visit: Callable, weights: tuple[np.ndarray, ...], total, w, u, h):
    """total = visit(total, node, *weights of the node), over all nodes; exp(i t w) is rotated from node to node.

    One node at a time is quickest, however few numbers there are: sums over nodes would not be vectorised.
    """
    half = rule.nodes.step / 2
    smallest = jnp.finfo(u.dtype).tiny ** 0.25  # f may be 0 at u = 1/2 and s = pi, and could not be taken out again
    first = [(jnp.cos(half * x), jnp.sin(half * x)) for x in (w, h)]
    jumps = [rotate(z, z) for z in first]

    def step(state, weights):
        ((cos, sin), alone), total = state
        real = 1 + u * (cos - 1)
        f = (real + jax.lax.stop_gradient(jnp.where(real == 0, smallest, 0.0)), u * sin)
        Psi, without = products(COMPLEX, f)
        total = visit(total, FourierNode(cos, sin, f, rotate(alone, Psi), rotate(alone, without)), *weights)
        return ([rotate(z, jump) for z, jump in zip(state[0], jumps, strict=True)], total), None

    in_turn = tuple(jnp.asarray(x, u.dtype) for x in weights)
    # By twos: a rotation cannot be done in place, and after two of them the results are in the buffers they began in.
    return jax.lax.scan(step, (first, total), in_turn, unroll=2)[0][1]


# ---- tilted parents --------------------------------------------------------------------------------------------------


def log_moment(a, w, parents: Parents, h):
    """ln <exp(a x)>, and its term for every edge."""
    terms = log_tilt(a * w, parents)
    return a * h + terms.sum(0), terms


def tilted_chances(rule: Rule, w, parents: Parents, h):
    """ln <f> and ln <1 - f>: the one on whose side the mean field is by its best tilt, and what is left for the other.

    The integrals have an error of about 1e-15, which M(a) multiplies: the best tilt has the smallest M(a).
    """
    side = jax.lax.stop_gradient(smaller_side(mean_field(w, parents.on, h)))
    costs = jnp.stack([log_moment(a * side, w, parents, h)[0] for a in (0.0, 0.5, 1.0)])
    best = jnp.argmin(jax.lax.stop_gradient(costs), axis=0)

    def visit(total, node, odd, even):
        return total[0] + odd * node.Psi[1], total[1] + even * node.Psi[0]

    nothing = jnp.zeros_like(side)
    weights = rule.nodes.odd, rule.nodes.even
    odd, even = walk(rule, visit, weights, (nothing, nothing), w, tilted_mean(best * side / 2 * w, parents), h)
    integral = jnp.where(best == 1, even, 0.5 + (1 - best) * side * odd)
    cost = jnp.take_along_axis(costs, best[None], axis=0)[0]
    return both_logs(cost, integral, side)


def smaller_side(x):
    """1 where <f> is the smaller one, by the mean field x, and -1 where <1 - f> is."""
    return jnp.where(x > 0, -1.0, 1.0).astype(x.dtype)


def message_side(x, log_ratio):
    """The side by which messages are computed: the smaller one tells both to all their digits.

    Where the child is almost decided, only one of <f> and <1 - f> matters.
    """
    return jnp.where(jnp.abs(log_ratio) > DECIDED, jnp.sign(log_ratio), smaller_side(x)).astype(x.dtype)


def both_accurate(chances, accurate: Callable, side, x, log_ratio):
    """The chances by one side, with those of accurate() where the other side has more digits, and these matter."""
    is_free = jnp.isfinite(log_ratio)  # of an observed child only one of the two matters
    inaccurate = (side != smaller_side(x)) & is_free
    return jax.lax.cond(
        jnp.any(inaccurate),
        lambda: tuple(map(partial(jnp.where, inaccurate), accurate(), chances)),
        lambda: tuple(chances),
    )


class TiltChoice(NamedTuple):
    """By which tilt the messages of each column are computed: from <f> where side is 1, from <1 - f> where it is -1."""

    side: jax.Array  # (columns, rows)
    best: jax.Array  # (columns, rows): the tilt is side times 0, 1/2 or 1
    cost: jax.Array  # (columns, rows): ln M(a), and the same without a parent that is off, and that is on
    without_off: jax.Array
    without_on: jax.Array
    loss: jax.Array  # (columns, rows): ln of the digits lost, at most, because all parents share a tilt


def choose_tilt(w, parents: Parents, h, log_ratio) -> TiltChoice:
    """The tilt that serves all parents of a column best."""
    side = message_side(mean_field(w, parents.on, h), log_ratio)
    a = np.array([0.0, 0.5, 1.0]).reshape(3, 1, 1) * side
    moments = [(jnp.zeros_like(side), jnp.zeros_like(parents.on)), *(log_moment(tilt, w, parents, h) for tilt in a[1:])]
    whole, off = jnp.stack([m for m, _ in moments]), jnp.stack([m - terms for m, terms in moments])
    on = off + a[:, None] * w
    losses = jnp.maximum(*((cost - cost.min(0)).max(1) for cost in (off, on)))
    best = jnp.argmin(losses, axis=0)
    off, on = (jnp.take_along_axis(x, best[None, None], axis=0)[0] for x in (off, on))
    cost, loss = (jnp.take_along_axis(x, best[None], axis=0)[0] for x in (whole, losses))
    return TiltChoice(side, best, cost, off, on, loss)


def shared_messages(rule: Rule, w, parents: Parents, h, log_ratio, choice: TiltChoice):
    """The messages in one walk, all parents of a column by the same tilt."""
    side, best = choice.side, choice.best
    even_too, odd_too = jnp.where(best == 1, 1.0, 0.0), jnp.where(best == 1, 0.0, (1 - best) * side)

    def visit(total, node, odd, even):
        C = rotate(node.Psi, (even * even_too, -odd * odd_too))  # Re C is the integrand
        off = rotate(C, inverse(node.f))
        on = off[0] * node.cos - off[1] * node.sin
        return total[0] + C[0], total[1] + off[0], total[2] + on

    u = tilted_mean(best * side / 2 * w, parents)
    start = jnp.zeros_like(side), jnp.zeros_like(u), jnp.zeros_like(u)
    integrals = walk(rule, visit, (rule.nodes.odd, rule.nodes.even), start, w, u, h)
    constant = jnp.where(best == 1, 0.0, 0.5)
    costs = choice.cost, choice.without_off, choice.without_on
    found = [both_logs(cost, constant + total, side) for cost, total in zip(costs, integrals, strict=True)]
    return message(found[1], found[2], log_ratio), *found[0]


def both_logs(cost, integral, side):
    """ln <f> and ln <1 - f>, from the one on this side."""
    near = jnp.minimum(cost + jnp.log(jnp.maximum(integral, SMALLEST_INTEGRAL)), -SMALLEST_INTEGRAL)
    far = jnp.log(-jnp.expm1(near))
    return jnp.where(side > 0, near, far), jnp.where(side > 0, far, near)


def messages_and_chances(rule: Rule, w, parents: Parents, h, log_ratio):
    """Messages by one tilt for each column where that keeps their digits, and by one for each parent where not."""
    parents = of_edges(parents, w)
    choice = choose_tilt(w, parents, h, log_ratio)

    def together():
        messages, *chances = shared_messages(rule, w, parents, h, log_ratio, choice)
        accurate, x = partial(tilted_chances, rule, w, parents, h), mean_field(w, parents.on, h)
        return messages, *both_accurate(chances, accurate, choice.side, x, log_ratio)

    return jax.lax.cond(
        jnp.any(choice.loss > MOST_LOST), lambda: tilted_messages(rule, w, parents, h, log_ratio), together
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


def tilted_messages(rule: Rule, w, parents: Parents, h, log_ratio):
    """The messages from <f> and <1 - f> over all parents but one, each by its own best tilt."""
    edge, column = jnp.full_like(parents.on, jnp.inf), jnp.full_like(log_ratio, jnp.inf)

    def step(best, tilt):
        a, for_on, for_off, constant, odd, even = tilt
        moment, terms = log_moment(a, w, parents, h)
        integrals = leave_one_out_integrals(rule, w, tilted_mean(a * w, parents), h)
        costs = (moment, moment - terms, moment - terms + a * w)
        found = []
        for cost, (odds, evens), old in zip(costs, integrals, best, strict=True):
            value = cost + jnp.log(jnp.maximum(constant + odd * odds + even * evens, SMALLEST_INTEGRAL))
            found.append(
                tuple(cheaper(serves, (cost, value), pair) for pair, serves in zip(old, (for_on, for_off), strict=True))
            )
        return tuple(found), None

    start = tuple(((x, -x), (x, -x)) for x in (column, edge, edge))
    (whole, off, on), _ = jax.lax.scan(step, start, jnp.asarray(TILTS, edge.dtype))
    log_f, log_off, log_on = (values_of(pair) for pair in (whole, off, on))
    return message(log_off, log_on, log_ratio), *log_f


def cheaper(serves, new: tuple, old: tuple) -> tuple:
    """The pair (cost, value) whose tilt costs less."""
    chosen = (serves > 0) & (new[0] < old[0])
    return jnp.where(chosen, new[0], old[0]), jnp.where(chosen, new[1], old[1])


def values_of(pair: tuple) -> tuple:
    """ln <f> and ln <1 - f>, without rounding above one."""
    (_, log_f), (_, log_rest) = pair
    return jnp.minimum(log_f, 0.0), jnp.minimum(log_rest, 0.0)


def leave_one_out_integrals(rule: Rule, w, u, h):
    """The odd and the even integral: of all parents, and of all but one where that one is off, or on."""

    def visit(total, node, odd, even):
        off = node.without
        on = rotate(off, (node.cos, node.sin))
        parts = zip(total, (node.Psi, off, on), strict=True)
        return tuple((a + odd * z[1], b + even * z[0]) for (a, b), z in parts)

    column, edge = jnp.zeros((h.shape[0], u.shape[2]), u.dtype), jnp.zeros_like(u)
    return walk(rule, visit, (rule.nodes.odd, rule.nodes.even), ((column, column), (edge, edge), (edge, edge)), w, u, h)
