"""Where the draws of a check come from: from the network as it is defined, without any reduction of the evidence.

Draws from a belief network come from findings that are transformed, or from the solution, made wider and adapted; those
from a Boltzmann machine from a population that is cooled from infinite temperature.

Proposals near a solution learn from their own draws: mixtures of factorial distributions are fitted to weighted states
(O. Cappé, R. Douc, A. Guillin, J.-M. Marin and C. Robert, "Adaptive importance sampling in general mixture classes",
Statistics and Computing 18, 2008). A part of every mixture stays what it was, so that nothing that was within reach is
given up; what is fitted never decides alone.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.methods.posterior import normalised
from plefka.networks.belief import BeliefNetwork
from plefka.networks.edge_list import EdgeList
from plefka.networks.evidence import Evidence
from plefka.reduction.question import BeliefModel, Question
from plefka.sampling.annealing import Annealed
from plefka.sampling.findings.findings import CLOSE_TANGENTS, is_enough, problem_of
from plefka.sampling.findings.transformed import BestTangents, Transformed, affordable, transformed
from plefka.sampling.importance import NUM_SAMPLES, Proposals, averaged, weighted_draws, widened
from plefka.sampling.state_weights import Target

PILOT = 4096  # draws of a round
ROUNDS = 6
ENOUGH_WEIGHT = 0.5  # the fraction of draws that are effective from which on nothing is fitted
FITTED = 8  # components
ITERATIONS = 8  # of the fit
KEPT_SHARE = 0.3  # the weight of what was there before
FEWEST = 32  # effective draws that a fit is made of; weights are flattened until there are so many
COUNTED = 2.0  # draws for and against every unit that each component has beforehand
PROPOSAL_SECONDS = 0.5  # that the search for a better proposal may take, about
MOST_SAMPLES, MOST_NUMBERS = 2**16, 2**24  # draws where fewer do not decide, and the states of all units in them


class TrialProposals(NamedTuple):
    """Proposals, and the fraction of draws from them that are effective, of so many."""

    proposals: Proposals
    effective: float
    draws: int


def adapted(target: Target, first: Proposals, rng: np.random.Generator, count: int = PILOT) -> TrialProposals:
    """The proposals of a single row, or better ones that a few rounds of so many draws and fits have found."""
    best, log_w, S = _trial(target, first, rng, count)
    return _improved(target, first, best, log_w, S, rng)


def refitted(target: Target, first: Proposals, found: Annealed, rng: np.random.Generator, count: int) -> TrialProposals:
    """Proposals that are fitted to the states of a population, and from there on as others are."""
    nothing = TrialProposals(first, 0.0, count)
    return _improved(target, first, nothing, found.log_weights[0], found.states * 1.0, rng)


def _improved(
    target: Target, first: Proposals, best: TrialProposals, log_w: np.ndarray, S: np.ndarray, rng: np.random.Generator
) -> TrialProposals:
    """After rounds that start from weighted states of the free units, (free, draws)."""
    for _ in range(ROUNDS):
        if best.effective >= ENOUGH_WEIGHT or not np.isfinite(log_w).any():
            break
        fitted = _fitted(S, _flattened(log_w), rng)
        here, log_w, S = _trial(target, _joined(target, first, fitted), rng, best.draws)
        best = max(best, here, key=lambda trial: trial.effective)
    return best


def _trial(
    target: Target, proposals: Proposals, rng: np.random.Generator, count: int
) -> tuple[TrialProposals, np.ndarray, np.ndarray]:
    S, log_w = weighted_draws(target, proposals, rng, count)
    effective = float(averaged(log_w[0]).effective) / count
    return TrialProposals(proposals, effective, count), log_w[0], S[target.free[:, 0], 0]


def _flattened(log_w: np.ndarray) -> np.ndarray:
    """Normalised weights to a power so low that enough of them count."""
    powers = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1)
    return normalised(next((p for p in powers if averaged(p * log_w).effective >= FEWEST), 0.05) * log_w, 0)


def _fitted(S: np.ndarray, w: np.ndarray, rng: np.random.Generator) -> Proposals:
    """A mixture for states (free units, draws) with normalised weights, by expectation maximisation."""
    at = _spread(S, w, rng)
    u, log_alpha = 0.8 * S[:, at].T + 0.1, np.full(len(at), -np.log(len(at)))
    effective = 1 / (w**2).sum()  # and products of few rows by einsum, as threads would wait for each other
    for _ in range(ITERATIONS):
        log_p = log_alpha[:, None] + np.einsum("cu,un->cn", np.log(u / (1 - u)), S) + np.log1p(-u).sum(axis=1)[:, None]
        share = w * np.exp(log_p - np.logaddexp.reduce(log_p, axis=0))
        total = share.sum(axis=1)
        u = (effective * np.einsum("cn,un->cu", share, S) + COUNTED / 2) / (effective * total[:, None] + COUNTED)
        log_alpha = np.log((total + 0.1 / len(at)) / 1.1)
    return Proposals.of(log_alpha[:, None], u[:, :, None])


def _spread(S: np.ndarray, w: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draws to begin with: by their weight, and far from those that were chosen before."""
    chosen = [int(rng.choice(len(w), p=w))]
    distance = np.full(len(w), np.inf)
    while len(chosen) < FITTED:
        distance = np.minimum(distance, (S[:, chosen[-1], None] != S).sum(axis=0))
        score = w * distance
        if not score.sum() > 0:
            break
        chosen.append(int(rng.choice(len(w), p=score / score.sum())))
    return np.array(chosen)


def _joined(target: Target, first: Proposals, fitted: Proposals) -> Proposals:
    """What was fitted beside what was there before."""
    u = np.repeat(target.values[None], len(fitted.u), axis=0)
    u[:, target.free[:, 0]] = fitted.u
    weights = [first.log_alpha + np.log(KEPT_SHARE), fitted.log_alpha + np.log1p(-KEPT_SHARE)]
    return Proposals.of(np.concatenate(weights), np.concatenate([first.u, u]), first.log_prior + np.log(KEPT_SHARE))


class Drawn(NamedTuple):
    """Weighted states of the hidden units that a source draws, (units, draws)."""

    states: np.ndarray
    log_weights: np.ndarray  # (draws,): their mean is Z
    chances: np.ndarray  # (units, draws): the states, or what they are given all others
    family: np.ndarray | None = None  # (draws,): the same number for draws that have a common ancestor
    steps: int = 1

    def joined(self, other: "Drawn") -> "Drawn":
        """These draws and others of the same source."""
        states, log_w, chances = (np.concatenate(pair, axis=-1) for pair in zip(self[:3], other[:3], strict=True))
        family = self.family
        if family is not None and other.family is not None:
            family = np.concatenate([family, other.family + len(family)])
        return Drawn(states, log_w, chances, family, max(self.steps, other.steps))


class Proposal(ABC):
    """Something to draw weighted states from."""

    is_bounded = False  # whether no weight can be far above those that are seen

    @property
    @abstractmethod
    def units(self) -> np.ndarray:
        """Which units of the network are drawn."""

    @property
    def size(self) -> int:
        """How many these are."""
        return len(self.units)

    @abstractmethod
    def drawn(self, count: int, rng: np.random.Generator) -> Drawn:
        """So many draws."""

    def most(self, drawn: Drawn) -> int:
        """How many draws there is room and time for, given what the first of them took."""
        return min(MOST_SAMPLES, MOST_NUMBERS // max(1, self.size))


def question_of(network: BeliefNetwork, given: Evidence) -> tuple[Question, float]:
    """One row as the definition has it, and what is to be added to ln P.

    Units that are observed have their values; those above them are free; all others count nothing, as the sum over
    their states is one.
    """
    known = np.asarray(given.rows, float).T
    tilt = np.zeros(known.shape) if given.tilt is None else np.asarray(given.tilt, float).T
    hidden, edges = np.isnan(known), EdgeList.of(network.storage)
    counted = edges.with_ancestors(np.asarray(given.informed).T)
    h = np.atleast_2d(np.asarray(network.bias, float)).T
    model = BeliefModel(network.storage, h, network.activation, counted)
    free, values = hidden & counted, np.where(hidden, 0.0, known)
    question = Question(model, free, values, np.where(free, tilt, 0.0), network.size)
    return question, float((tilt * values).sum())


@dataclass(frozen=True, eq=False)
class BeliefProposal(Proposal):
    """Draws of the hidden units of a belief network that are above what was observed."""

    target: Target
    constant: float

    @property
    def units(self) -> np.ndarray:
        return self.target.units[self.target.free[:, 0]]

    def _drawn(self, S: np.ndarray, log_w: np.ndarray) -> Drawn:
        states = S[self.target.free[:, 0]]
        return Drawn(states, log_w + self.constant, states)


@dataclass(frozen=True, eq=False)
class MixtureProposal(BeliefProposal):
    """Draws from a mixture near the solution."""

    proposals: Proposals

    @classmethod
    def near(cls, target: Target, constant: float, mixture: tuple, rng: np.random.Generator) -> "MixtureProposal":
        """The solution, made a little wider, and adapted where too few of its draws carry weight."""
        first = widened(target, Proposals.of(mixture[0][:, None], mixture[1][:, target.units, None]))
        return cls(target, constant, adapted(target, first, rng).proposals if target.free.any() else first)

    def drawn(self, count: int, rng: np.random.Generator) -> Drawn:
        S, log_w = weighted_draws(self.target, self.proposals, rng, count)
        return self._drawn(S[:, 0], log_w[0])


@dataclass(frozen=True, eq=False)
class ProposalByFindings(BeliefProposal):
    """Draws that do not depend on the solution."""

    relaxed: Transformed
    found: BestTangents
    is_bounded = True

    @classmethod
    def where_they_serve(
        cls, question: Question, target: Target, constant: float, rng: np.random.Generator
    ) -> "ProposalByFindings | None":
        """None where no finding is on, that takes too long, or too few of the draws carry weight."""
        k = affordable([question], PROPOSAL_SECONDS)
        if k is None:
            return None
        try:
            relaxed, found = transformed(problem_of(question), k, CLOSE_TANGENTS)
        except MethodDoesNotApply:
            return None
        if not np.isfinite(found.bound):
            return None
        _, log_w = relaxed.drawn(found.z, NUM_SAMPLES, np.random.default_rng(rng.integers(2**63)))
        return cls(target, constant, relaxed, found) if is_enough(averaged(log_w), NUM_SAMPLES) else None

    def drawn(self, count: int, rng: np.random.Generator) -> Drawn:
        S, log_w = self.relaxed.drawn(self.found.z, count, rng)
        states = np.repeat(self.target.values, count, axis=1)
        states[np.searchsorted(self.target.units, self.relaxed.problem.units)] = S
        return self._drawn(states, self.found.bound + log_w)


def source_of(
    network: BeliefNetwork, given: Evidence, mixture: tuple, rng: np.random.Generator, *, without_exact: bool
) -> Proposal:
    """`without_exact`: nothing that exact inference does is used."""
    question, constant = question_of(network, given)
    target, found = Target(question), None
    if target.has_slopes and not without_exact:
        found = ProposalByFindings.where_they_serve(question, target, constant, rng)
    return found or MixtureProposal.near(target, constant, mixture, rng)
