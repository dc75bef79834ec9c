"""A belief network for annealed populations: states from a mixture, or from the prior, are led to the posterior.

With q the density of the start, the weight of a state at inverse temperature beta is q(S) (weight(S) / q(S))^beta. A
sweep draws every free unit given all others. Before it, states of the start are proposed and accepted with probability
min(1, exp(beta (gain' - gain))), which crosses from mode to mode where the start covers them. What a state makes
impossible counts as improbable on the way, so that there is one to the states that explain all that was observed.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from plefka.exact.cost import BELIEF_CALLS, BELIEF_DRAW, BELIEF_FACTOR, BELIEF_SWEEP, DEARER_LOGS, DEARER_TABLES
from plefka.methods.posterior import normalised
from plefka.networks.activations import numpy_sigmoid
from plefka.networks.fields import bits
from plefka.reduction.summing import LEAST
from plefka.sampling.annealing import AnnealedTarget
from plefka.sampling.belief_factors import BeliefFactors
from plefka.sampling.importance import Proposals, averaged, resampled

NUMBERS_AT_ONCE = 2**17  # states of particles that are handled together
FEWEST_AT_ONCE, MOST_AT_ONCE = 256, 4096  # of these particles
SOFT_ZERO = 30.0  # what an observation that no cause explains costs on the way, besides twice what others cost
SWEEPS_AROUND, FAR_BEYOND = 4, 6.0  # sweeps after which ln weight may be so far above that of draws, on average
MOST_ENUMERATED = 12  # free units, of which all states are tried where none was found to be possible
CROSSINGS = 4  # states that are proposed to a chain one after another
ACCEPTED = 0.02  # of the proposed states, below which no more are proposed


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

    def __init__(self, factors: BeliefFactors, proposals: Proposals, *, is_near: bool = False, slopes: bool = False):
        self.factors, self.target, self.free, target = factors, factors.target, factors.free, factors.target
        self.slopes, self.is_near, self.further_units = slopes, is_near, target.units
        self.size, self.num_averages = len(self.free), len(self.free) + slopes * target.size
        there = proposals.log_alpha[:, 0] > LEAST / 2
        self.log_alpha, self.log_prior = proposals.log_alpha[there], float(proposals.log_prior[0])
        self.u = proposals.u[there][:, self.free, 0]
        self.log_odds = np.log(self.u / (1 - self.u))
        self.base = self.log_alpha + np.log1p(-self.u).sum(axis=1, keepdims=True)  # (components, 1)
        f, num_edges, num_terms = target.activation, len(target.edges.child), len(self.u)
        has_fields = np.all(f.has_field(target.h[self.free]))
        dearer = (DEARER_LOGS if has_fields else DEARER_TABLES) if not f.has_linear_log_odds else 1.0
        self.draw_seconds = dearer * BELIEF_DRAW * (num_edges / 30 + target.size + num_terms)  # of a draw and its gain
        visited = num_edges + (14 + num_terms / 4) * self.size
        self.sweep_seconds = (1 + dearer) / 2 * BELIEF_FACTOR * visited + 1.5 * self.draw_seconds
        visits = self.size if num_terms else len(factors.together)  # of one by one, or together
        self.call_seconds = BELIEF_SWEEP + (1 + dearer) / 2 * BELIEF_CALLS * visits

    @cached_property
    def soft_zero(self) -> float:
        """What counts as ln 0 of an observed unit on the way: less than any other of some draws."""
        L = self.factors.of_all(self._drawn(FEWEST_AT_ONCE, np.random.default_rng(0)), LEAST)[2]
        fixed = L[self.factors.counted.units][: self.factors.counted.num_fixed]
        return 2 * float(fixed[fixed > LEAST].min(initial=0.0)) - SOFT_ZERO

    def seconds(self, num_betas: float | None = None) -> tuple[float, float]:
        return (BELIEF_SWEEP, self.draw_seconds) if self.is_near else super().seconds(num_betas)

    # ---- densities of states -----------------------------------------------------------------------------------------

    def _log_start(self, S: np.ndarray, L: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """ln q, and the terms that it is the sum of: of components (components, count), and of the prior."""
        terms, prior = (
            self.base + np.einsum("cu,un->cn", self.log_odds, S[self.free]),
            self.log_prior + L[self.free].sum(axis=0),
        )
        return _log_sum(terms, prior), terms, prior

    def _gain(self, S: np.ndarray, floor: float) -> np.ndarray:
        _, _, L = self.factors.of_all(S, floor)
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
        particles = BeliefParticles(np.array(S), LEAST)
        for _ in range(CROSSINGS):
            self._cross(particles, 1.0, rng)
        return particles.S

    def _cross(self, particles: BeliefParticles, beta: float, rng: np.random.Generator) -> None:
        """States of the start are proposed, and accepted by their gain."""
        old, other = self.gain(particles), replace(self.start(particles.S.shape[1], rng), floor=particles.floor)
        with np.errstate(invalid="ignore"):  # from an impossible state to another
            accepted = np.log(rng.random(len(old))) < beta * (self.gain(other) - old)
        particles.S[:, accepted], particles.gain = other.S[:, accepted], np.where(accepted, self.gain(other), old)
        particles.proposes = bool(accepted.mean() >= ACCEPTED)

    def _visit_all(self, S: np.ndarray, beta: float, floor: float, rng: np.random.Generator, sums: Any) -> None:
        """Every free unit of some particles is drawn given all others."""
        x, on, L = self.factors.of_all(S, floor)
        is_linear = beta == 1 or not len(self.u)  # then ln q is that of the prior, or does not matter
        log_q, terms, prior = self._log_start(S, L)
        new_log_q = log_q
        for some in self.factors.together if is_linear else self.factors.one_by_one:
            k, unit, child, owner = some.places, some.units, some.children, some.owner
            s, c = S[unit].copy(), child.units
            sign = 1 - 2 * s
            turned = sign[owner]
            field, sure = x[c] + child.weights * turned, None if on is None else on[c] + child.certain * turned
            more = self.factors.of(child, field, sure, S[c], floor) - L[c]
            own = self.factors.of(some.themselves, x[unit], None if on is None else on[unit], 1 - s, LEAST) - L[unit]
            above = own + some.summed(more, of_free=True)  # of the prior
            rise = above + some.summed(more, of_free=False) + self.target.tilt[unit] * sign
            if is_linear:
                log_odds = beta * rise + (1 - beta) * above
            else:
                new_log_q = _log_sum(terms + self.log_odds[:, k] * sign, prior + above[0])
                log_odds = beta * rise + (1 - beta) * (new_log_q - log_q)
            flips = numpy_sigmoid(log_odds)
            if sums is not None:
                sums[k] += np.where(s == 1, 1 - flips, flips)
            flip = rng.random(s.shape) < flips
            change = flip * sign
            S[unit] = s + change
            x[c] += child.weights * change[owner]
            L[c] += more * flip[owner]
            L[unit] += own * flip
            if on is not None:
                on[c] += child.certain * change[owner]
            if not is_linear:
                terms += self.log_odds[:, k] * change
                prior += above[0] * flip[0]
                log_q = np.where(flip[0], new_log_q, log_q)
        if sums is not None and self.slopes:
            sums[self.size :] += self.target.slopes(S[:, None])[:, 0]


def _log_sum(terms: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """ln of the sum of exp(terms) over components, and exp(prior)."""
    top = np.maximum(terms.max(axis=0, initial=-np.inf), prior)
    return top + np.log(np.exp(terms - top).sum(axis=0) + np.exp(prior - top))
