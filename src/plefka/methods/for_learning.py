"""What a Boltzmann machine is learned by, as data: `fit` knows what to do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plefka.methods.method import Method, at_least, does_not_apply, optional_seed
from plefka.methods.registry import library_method

if TYPE_CHECKING:
    from plefka.networks.network import Network


@dataclass(frozen=True)
class ForLearning(Method):
    """What a Boltzmann machine is learned by, and no posterior can be computed by."""

    def check(self, network: "Network") -> None:
        raise does_not_apply(self, "it is for learning a Boltzmann machine, in pf.fit", "gibbs[seed=0] or bethe")


@library_method("persistent", place=0, for_learning=True)
@dataclass(frozen=True)
class Persistent(ForLearning):
    """Learning by Gibbs sampling, with chains that go on from step to step (persistent contrastive divergence).

    - `chains`: how many chains of the free machine there are.
    - `sweeps`: of all chains in each step.
    - `seed`: where the random numbers start; that of `fit` unless given.
    """

    chains: int = at_least(2, 100, "chains")
    sweeps: int = at_least(1, 1, "sweeps")
    seed: int | None = optional_seed()


@library_method("pseudolikelihood", place=0, for_learning=True)
@dataclass(frozen=True)
class PseudoLikelihood(ForLearning):
    """Learning by the probability of each unit given all others (Besag, 1975); for rows in which nothing is hidden."""
