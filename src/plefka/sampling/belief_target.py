"""A belief network for annealed populations: states from a mixture, or from the prior, are led to the posterior.

With q the density of the start, the weight of a state at inverse temperature beta is q(S) (weight(S) / q(S))^beta. A
sweep draws every free unit given all others. Before it, states of the start are proposed and accepted with probability
min(1, exp(beta (gain' - gain))), which crosses from mode to mode where the start covers them. What a state makes
impossible counts as improbable on the way, so that there is one to the states that explain all that was observed.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from plefka.exact.cost import BELIEF_DRAW, BELIEF_FACTOR, DEARER_LOGS, DEARER_TABLES
from plefka.methods.posterior import normalised
from plefka.networks.activations import numpy_sigmoid, numpy_softplus
from plefka.networks.fields import bits, log_terms
from plefka.reduction.question import Question
from plefka.reduction.summing import LEAST
from plefka.sampling.annealing import AnnealedTarget, annealed
from plefka.sampling.importance import Proposals, averaged, prior_and_around, resampled
from plefka.sampling.proposals import PILOT, ROUNDS, adapted, refitted
from plefka.sampling.state_weights import Target

NUMBERS_AT_ONCE = 2**17  # states of particles that are handled together
FEWEST_AT_ONCE, MOST_AT_ONCE = 256, 4096  # of these particles
SOFT_ZERO = 30.0  # what an observation that no cause explains costs on the way, besides twice what others cost
NEAR = 0.05  # the effective fraction of draws from the start from which on weighting them is quicker than annealing
SWEEPS_AROUND, FAR_BEYOND = 4, 6.0  # sweeps after which ln weight may be so far above that of draws, on average
PART_FOR_START = 0.1  # of the budget for a few rounds of draws, and as much for a run from the prior
PILOT_PARTICLES, USUAL_TEMPERATURES = 1024, 40  # of that run, at most and about
FEWEST_DRAWS = 128  # that a start is fitted to
MOST_ENUMERATED = 12  # free units, of which all states are tried where none was found to be possible
CROSSINGS = 4  # states that are proposed to a chain one after another
ACCEPTED = 0.02  # of the proposed states, below which no more are proposed


class CountedUnits(NamedTuple):
    """Units whose factors count: those observed on, those observed off, and those that are free."""

    units: Any  # their numbers, as a slice where they stand together, which is quicker
    num_on: int
    num_fixed: int
    weights: np.ndarray  # (units, 1), of the edges from one parent
    certain: np.ndarray  # (units, 1): 1 for an edge of probability one


@dataclass(eq=False)
class BeliefParticles:
    """States of all units (units, count), and the gain of each where it is known."""

    S: np.ndarray
    floor: float  # ln of what is impossible, for units that were observed
    gain: np.ndarray | None = None
    proposes: bool = True  # whether states of the start are still accepted


class BeliefTarget(AnnealedTarget):
    """The free units of a question of one row, from a mixture of factorial distributions and the prior, or one of them.

    `is_near`: the start is used as it is, and its draws are weighted. `slopes`: d ln P / dh is averaged as well.
    """

    log_start, enough = 0.0, 0.001

    def __init__(self, target: Target, proposals: Proposals, *, is_near: bool = False, slopes: bool = False):
        self.target, self.slopes, self.is_near, self.further_units = target, slopes, is_near, target.units
        self.free = np.flatnonzero(target.free[:, 0])
        self.size, self.num_averages = len(self.free), len(self.free) + slopes * target.size
        there = proposals.log_alpha[:, 0] > LEAST / 2
        self.log_alpha, self.log_prior = proposals.log_alpha[there], float(proposals.log_prior[0])
        self.u = proposals.u[there][:, self.free, 0]
        self.log_odds = np.log(self.u / (1 - self.u))
        self.base = self.log_alpha + np.log1p(-self.u).sum(axis=1, keepdims=True)  # (components, 1)
        f, num_edges, num_terms = target.activation, len(target.edges.child), len(self.u)
        dearer = DEARER_TABLES if f.mixes_kinds else 1.0 if f.has_linear_log_odds else DEARER_LOGS
        self.draw_seconds = dearer * BELIEF_DRAW * (num_edges / 30 + target.size + num_terms)  # of a draw and its gain
        factors = num_edges + (14 + num_terms / 4) * self.size
        self.sweep_seconds = (1 + dearer) / 2 * BELIEF_FACTOR * factors + 1.5 * self.draw_seconds

    @cached_property
    def soft_zero(self) -> float:
        """What counts as ln 0 of an observed unit on the way: less than any other of some draws."""
        L = self._all_factors(self._drawn(FEWEST_AT_ONCE, np.random.default_rng(0)), LEAST)[2]
        fixed = L[self.counted.units][: self.counted.num_fixed]
        return 2 * float(fixed[fixed > LEAST].min(initial=0.0)) - SOFT_ZERO

    @cached_property
    def counted(self) -> CountedUnits:
        """All units whose factor counts."""
        return self._sorted(np.flatnonzero(self.target.counted[:, 0] | self.target.free[:, 0]))

    def _sorted(self, units: np.ndarray, weights: np.ndarray | None = None) -> CountedUnits:
        off = 1 - self.target.values[units, 0].astype(int)
        kind = np.where(self.target.free[units, 0], 2, 0 if self.target.activation.has_linear_log_odds else off)
        order = np.argsort(kind, kind="stable")
        weights = np.zeros((len(units), 1)) if weights is None else weights[order]
        certain, (a, b) = np.isinf(weights), np.searchsorted(kind[order], (1, 2))
        units, together = units[order], len(units) > 0 and bool(np.all(np.diff(units[order]) == 1))
        places = slice(int(units[0]), int(units[-1]) + 1) if together else units
        return CountedUnits(places, int(a), int(b), np.where(certain, 0.0, weights), certain * 1.0)

    @cached_property
    def children(self) -> list[CountedUnits]:
        """Those of each free unit whose factor counts."""
        edges = self.target.edges
        order, starts = edges.graph.by_parent
        found = []
        for unit in self.free:
            mine = order[starts[unit] : starts[unit + 1]]
            mine = mine[(self.target.counted | self.target.free)[edges.child[mine], 0]]
            mine = mine[np.argsort(edges.child[mine], kind="stable")]
            found.append(self._sorted(edges.child[mine], edges.weight[mine, :1]))
        return found

    def seconds(self, num_betas: int) -> float:
        return self.draw_seconds if self.is_near else super().seconds(num_betas)

    # ---- densities of states -----------------------------------------------------------------------------------------

    def _factors(self, some: CountedUnits, x: np.ndarray, on: Any, S: np.ndarray, floor: float) -> np.ndarray:
        """ln of the factors of some units, from their fields and how many certain edges into them are on."""
        f, a, b = self.target.activation, some.num_on, some.num_fixed
        if f.has_linear_log_odds:
            return -numpy_softplus(np.where(S == 1, -x, x))
        x = f.clip(x if on is None else np.where(on > 0.5, np.inf, x))
        logs = np.concatenate([f.log_on(x[:a]), f.log_off(x[a:b]), log_terms(f, x[b:], S[b:])])
        logs = np.maximum(logs, LEAST)
        np.copyto(logs[:b], floor, where=logs[:b] <= LEAST)
        return logs

    def _all_factors(self, S: np.ndarray, floor: float) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
        """Fields, how many certain edges are on, and ln factors of all units (units, count); 0 where not counted."""
        x, on = self.target.split(S[:, None])
        x, on = x[:, 0], None if on is None else on[:, 0]
        L, units = np.zeros(S.shape), self.counted.units
        with np.errstate(divide="ignore"):
            L[units] = self._factors(self.counted, x[units], None if on is None else on[units], S[units], floor)
        return x, on, L

    def _log_start(self, S: np.ndarray, L: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln q, and the terms that it is the sum of: of components (components, count), and of the prior."""
        terms, prior = (
            self.base + np.einsum("cu,un->cn", self.log_odds, S[self.free]),
            self.log_prior + L[self.free].sum(axis=0),
        )
        return _log_sum(terms, prior), terms, prior

    def _gain(self, S: np.ndarray, floor: float) -> np.ndarray:
        _, _, L = self._all_factors(S, floor)
        total = L.sum(axis=0) + self.target.tilt[:, 0] @ S - self._log_start(S, L)[0]
        return np.where(total > LEAST / 2, total, -np.inf)

    def is_impossible(self) -> bool:
        if self.size > MOST_ENUMERATED:
            return False
        S = np.repeat(self.target.values, 2**self.size, axis=1)
        S[self.free] = bits(np.arange(2**self.size), np.arange(self.size)[:, None])[:, 0]
        return bool(np.isneginf(self._gain(S, LEAST)).all())

    def covers_its_surroundings(self, rng: np.random.Generator) -> bool:
        """Whether states that sweeps lead to from weighted draws are about as likely under the start as these."""
        particles = self.start(FEWEST_AT_ONCE, rng)
        particles.proposes, log_w = False, self.gain(particles)
        particles = self.take(particles, resampled(normalised(log_w, 0), len(log_w), rng))
        for _ in range(SWEEPS_AROUND):
            self.sweep(particles, 1.0, rng)
        return float(self.gain(particles).mean() - averaged(log_w).log_mean) < FAR_BEYOND

    # ---- what the loop asks for --------------------------------------------------------------------------------------

    def start(self, count: int, rng: np.random.Generator) -> BeliefParticles:
        S = [self._drawn(min(some.stop, count) - some.start, rng) for some in self._together(count)]
        return BeliefParticles(np.concatenate(S, axis=1), LEAST if self.is_near else self.soft_zero)

    def _together(self, count: int) -> list[slice]:
        """Particles whose fields stay in the cache while they are handled."""
        step = int(np.clip(NUMBERS_AT_ONCE // max(1, self.target.size), FEWEST_AT_ONCE, MOST_AT_ONCE))
        return [slice(k, k + step) for k in range(0, count, step)]

    def _drawn(self, count: int, rng: np.random.Generator) -> np.ndarray:
        """States of all units (units, count) from the start."""
        target, S = self.target, np.repeat(self.target.values, count, axis=1)
        component = np.searchsorted(np.cumsum(np.exp(self.log_alpha)), rng.random(count), side="right")
        by_prior = component >= len(self.u)
        if len(self.u):
            chance = self.u[np.minimum(component, len(self.u) - 1)].T
            S[self.free] = rng.random(chance.shape) < chance
        if by_prior.any():
            S[:, by_prior] = target.drawn(target.known(int(by_prior.sum())), rng)[:, 0]
        return S

    def gain(self, particles: BeliefParticles) -> np.ndarray:
        if particles.gain is None:
            some = (particles.S[:, each] for each in self._together(particles.S.shape[1]))
            particles.gain = np.concatenate([self._gain(S, particles.floor) for S in some])
        return particles.gain

    def take(self, particles: BeliefParticles, chosen: np.ndarray) -> BeliefParticles:
        gain = None if particles.gain is None else particles.gain[chosen]
        return BeliefParticles(particles.S[:, chosen], particles.floor, gain, particles.proposes)

    def corrected(self, particles: BeliefParticles, log_w: np.ndarray) -> np.ndarray:
        if self.is_near or self.target.activation.has_linear_log_odds:
            return log_w
        particles.floor, particles.gain = LEAST, None
        return np.where(np.isfinite(self.gain(particles)).reshape(log_w.shape), log_w, -np.inf)

    def averages(self, particles: BeliefParticles, rng: np.random.Generator) -> np.ndarray:
        if not self.is_near:
            return super().averages(particles, rng)
        S = particles.S
        rest = self.target.slopes(S[:, None])[:, 0] if self.slopes else S[:0]
        return np.concatenate([S[self.free], rest])

    def states(self, particles: BeliefParticles) -> np.ndarray:
        return particles.S[self.free] > 0.5

    def sweep(
        self, particles: BeliefParticles, beta: float, rng: np.random.Generator, sums: np.ndarray | None = None
    ) -> None:
        if particles.proposes:
            self._cross(particles, beta, rng)
        S, particles.gain = particles.S, None
        with np.errstate(divide="ignore"):  # ln 0
            for some in self._together(S.shape[1]):
                self._visit_all(S[:, some], beta, particles.floor, rng, None if sums is None else sums[:, some])

    def crossed(self, S: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """States (units, count) of the posterior after some more such steps."""
        S, count, gain = np.array(S), S.shape[1], self._gain(S, LEAST)
        others = self._drawn(CROSSINGS * count, rng)
        for other, more in zip(np.split(others, CROSSINGS, 1), np.split(self._gain(others, LEAST), CROSSINGS)):
            with np.errstate(invalid="ignore"):  # from an impossible state to another
                accepted = np.log(rng.random(count)) < more - gain
            S[:, accepted], gain = other[:, accepted], np.where(accepted, more, gain)
        return S

    def _cross(self, particles: BeliefParticles, beta: float, rng: np.random.Generator) -> None:
        """States of the start are proposed, and accepted by their gain."""
        old, other = self.gain(particles), replace(self.start(particles.S.shape[1], rng), floor=particles.floor)
        with np.errstate(invalid="ignore"):  # from an impossible state to another
            accepted = np.log(rng.random(len(old))) < beta * (self.gain(other) - old)
        particles.S[:, accepted] = other.S[:, accepted]
        particles.proposes = bool(accepted.mean() >= ACCEPTED)

    def _visit_all(self, S: np.ndarray, beta: float, floor: float, rng: np.random.Generator, sums: Any) -> None:
        """Every free unit of some particles is drawn given all others."""
        x, on, L = self._all_factors(S, floor)
        is_linear = beta == 1 or not len(self.u)  # then ln q is that of the prior, or does not matter
        log_q, terms, prior = self._log_start(S, L)
        new_log_q = log_q
        for k, (unit, child) in enumerate(zip(self.free, self.children, strict=True)):
            s, c = S[unit].copy(), child.units
            sign = 1 - 2 * s
            field, sure = x[c] + child.weights * sign, None if on is None else on[c] + child.certain * sign
            more = self._factors(child, field, sure, S[c], floor) - L[c]
            own = self._own(unit, x, on, 1 - s) - L[unit]
            above = own + more[child.num_fixed :].sum(axis=0)  # of the prior
            rise = above + more[: child.num_fixed].sum(axis=0) + self.target.tilt[unit] * sign
            if is_linear:
                log_odds = beta * rise + (1 - beta) * above
            else:
                new_terms, new_prior = terms + self.log_odds[:, k, None] * sign, prior + above
                new_log_q = _log_sum(new_terms, new_prior)
                log_odds = beta * rise + (1 - beta) * (new_log_q - log_q)
            flips = numpy_sigmoid(log_odds)
            if sums is not None:
                sums[k] += np.where(s == 1, 1 - flips, flips)
            flip = rng.random(len(s)) < flips
            change = flip * sign
            S[unit] = s + change
            x[c] += child.weights * change
            L[c] += more * flip
            L[unit] += own * flip
            if on is not None:
                on[c] += child.certain * change
            if not is_linear:
                terms += self.log_odds[:, k, None] * change
                prior += above * flip
                log_q = np.where(flip, new_log_q, log_q)
        if sums is not None and self.slopes:
            sums[self.size :] += self.target.slopes(S[:, None])[:, 0]

    def _own(self, unit: Any, x: np.ndarray, on: np.ndarray | None, S: np.ndarray) -> np.ndarray:
        """ln of the factor of a free unit if it were in state S."""
        itself = CountedUnits(np.array([unit]), 0, 0, x, x)
        return self._factors(itself, x[unit][None], None if on is None else on[unit][None], S[None], LEAST)[0]


def _log_sum(terms: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """ln of the sum of exp(terms) over components, and exp(prior)."""
    top = np.maximum(terms.max(axis=0, initial=-np.inf), prior)
    return top + np.log(np.exp(terms - top).sum(axis=0) + np.exp(prior - top))


# ---- where to start --------------------------------------------------------------------------------------------------


def belief_target(question: Question, rng: np.random.Generator, budget: float, *, slopes: bool) -> BeliefTarget:
    """From the best start that rounds of draws, or else a short run from the prior, find in a part of the budget."""
    target = Target(question)
    first = prior_and_around(target)
    prior = BeliefTarget(target, first._replace(log_alpha=np.full((1, 1), LEAST), log_prior=np.zeros(1)))
    if not target.free.any():
        return BeliefTarget(target, first, is_near=True, slopes=slopes)
    draws = int(np.clip(PART_FOR_START * budget / (ROUNDS * prior.draw_seconds), FEWEST_DRAWS, PILOT))
    best = adapted(target, first, rng, draws)
    count = int(min(PILOT_PARTICLES, PART_FOR_START * budget / prior.seconds(USUAL_TEMPERATURES)))
    if best.effective < NEAR and count >= FEWEST_DRAWS:
        pilot = annealed(prior, 1, count, rng)
        best = max(best, refitted(target, first, pilot, rng, draws), key=lambda trial: trial.effective)
    start = BeliefTarget(target, best.proposals, is_near=best.effective >= NEAR, slopes=slopes)
    start.is_near = start.is_near and start.covers_its_surroundings(rng)
    return start
