"""Where the draws of a check come from: findings that are transformed, or the solution, made wider and adapted."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from plefka.errors import MethodDoesNotApply
from plefka.findings.cost import affordable
from plefka.findings.posterior import FindingsProposal, is_enough
from plefka.reduction.reduce import Part
from plefka.sampling.adapting import adapted
from plefka.sampling.fields import Target
from plefka.sampling.importance import NUM_SAMPLES, Proposals, averaged, weighted_draws, widened

MOST_SECONDS = 0.5  # that the search for a better proposal may take, about


class Source(ABC):
    """Something to draw weighted states from, of the units of a target."""

    is_bounded = False  # whether no weight can be far above those that are seen

    @abstractmethod
    def drawn(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """States (units, 1, count), and ln of weights (count,), whose mean is Z."""


@dataclass(frozen=True)
class OfMixture(Source):
    """Draws from a mixture near the solution."""

    target: Target
    proposals: Proposals

    @classmethod
    def near(cls, part: Part, target: Target, mixture: tuple, rng: np.random.Generator) -> "OfMixture":
        """The solution, made a little wider, and adapted where too few of its draws carry weight."""
        u = np.stack([part.narrowed(component[:, None])[target.units] for component in mixture[1]])
        first = widened(target, Proposals.of(mixture[0][:, None], u))
        return cls(target, adapted(target, first, rng) if target.free.any() else first)

    def drawn(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        S, log_w = weighted_draws(self.target, self.proposals, rng, count)
        return S, log_w[0]


@dataclass(frozen=True)
class OfFindings(Source):
    """Draws that do not depend on the solution."""

    target: Target
    proposal: FindingsProposal
    is_bounded = True

    @classmethod
    def where_they_serve(cls, part: Part, target: Target, rng: np.random.Generator) -> "OfFindings | None":
        """None where no finding is on, that takes too long, or too few of the draws carry weight."""
        k = affordable([part.question], MOST_SECONDS)
        try:
            proposal = None if k is None else FindingsProposal.of(part.question, k)
        except MethodDoesNotApply:
            return None
        if proposal is None:
            return None
        _, log_w = proposal.drawn(NUM_SAMPLES, np.random.default_rng(rng.integers(2**63)))
        return cls(target, proposal) if is_enough(averaged(log_w), NUM_SAMPLES) else None

    def drawn(self, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        S, log_w = self.proposal.drawn(count, rng)
        return S[self.target.units][:, None], log_w


def source_of(part: Part, target: Target, mixture: tuple, rng: np.random.Generator, *, without_exact: bool) -> Source:
    """`without_exact`: nothing that exact inference does is used."""
    found = OfFindings.where_they_serve(part, target, rng) if target.has_slopes and not without_exact else None
    return found or OfMixture.near(part, target, mixture, rng)
