"""What a network is learned by, and nothing else, as data: `fit` knows what to do."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plefka.methods.method import Method, at_least, does_not_apply, option, optional_seed
from plefka.methods.registry import library_method

if TYPE_CHECKING:
    from plefka.networks.network import Network


@dataclass(frozen=True)
class ForLearning(Method):
    """What a network is learned by, and no posterior can be computed by."""

    def check(self, network: "Network") -> None:
        raise does_not_apply(self, f"it is for learning a {self.kind}, in pf.fit", self.instead)

    @property
    def kind(self) -> str:
        """Of network."""
        return "Boltzmann machine"

    @property
    def instead(self) -> str:
        """What answers questions."""
        return "gibbs[seed=0] or bethe"


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


@library_method("em", place=0, for_learning=True)
@dataclass(frozen=True)
class ExpectationMaximisation(ForLearning):
    """Expectation maximisation of noisy-or networks: exact where a row's hidden states are few, else over the best.

    - `starts`: factorisations of the rows that it starts from, besides the numbers of the network, where there is one
        hidden layer that rows never observe, and all of its numbers are free; the best after a few steps goes on.
    - `states`: a row with more states of its hidden units keeps so many, the best that a search finds.
    - `smoothing`: cases that are added to those that rows show: of a leak or a prior half of them on, of a link none.
    - `seed`: where the random numbers start; that of `fit` unless given, else 0.
    """

    starts: int = at_least(0, 4, "starts")
    states: int = at_least(2, 32, "states")
    smoothing: float = option(2.0, lambda cases: 0 <= cases < float("inf"), "smoothing must be 0 or more")
    seed: int | None = optional_seed()

    @property
    def kind(self) -> str:
        return "noisy-or network"

    @property
    def instead(self) -> str:
        return "G12 or bethe"
