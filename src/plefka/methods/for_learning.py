"""What networks are learned by, and nothing else, as data: `fit` knows what to do."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from plefka.errors import InvalidMethod
from plefka.methods.method import Method, at_least, does_not_apply, option, optional_seed
from plefka.methods.registry import library_method

if TYPE_CHECKING:
    from plefka.networks.network import Network


@dataclass(frozen=True)
class ForLearning(Method):
    """What a network is learned by, and no posterior can be computed by."""

    learns: ClassVar[str] = "a Boltzmann machine"  # what it is for, in words
    instead: ClassVar[str] = "gibbs[seed=0] or bethe"  # what answers questions

    def check(self, network: "Network") -> None:
        raise does_not_apply(self, f"it is for learning {self.learns}, in pf.fit", self.instead)


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


@library_method("recognition", place=0, for_learning=True)
@dataclass(frozen=True)
class Recognition(ForLearning):
    """The proposal of `reweighted[recognition]`: a small network that maps a row to means of its hidden units.

    - `units`: of its hidden layer, beside which it has weights from the row to the means.
    """

    learns = "a belief network, as in reweighted[recognition]"
    units: int = at_least(1, 100, "units")


@library_method("reweighted", place=0, for_learning=True)
@dataclass(frozen=True)
class Reweighted(ForLearning):
    """Learning a belief network by weighted states (the wake phase of reweighted wake-sleep; Bornschein, Bengio 2015).

    - `proposal`: whose means states of hidden units are drawn from, in front, as in `reweighted[G12]`: a scheme with a
        free energy, or `recognition`, which all rows share; the latter unless given.
    - `draws`: how many states of each row there are in a step.
    - `seed`: where the random numbers start; that of `fit` unless given.
    """

    learns = "a belief network"
    proposal: Method = field(default=Recognition("recognition"), metadata={"in_front": True})
    draws: int = at_least(2, 20, "draws")
    seed: int | None = optional_seed()

    def __post_init__(self):
        super().__post_init__()
        if isinstance(self.proposal, ForLearning) and not isinstance(self.proposal, Recognition):
            raise InvalidMethod(
                f"reweighted draws from the means of a scheme such as G12, or of recognition; got {self.proposal}."
            )


@library_method("em", place=0, for_learning=True)
@dataclass(frozen=True)
class ExpectationMaximisation(ForLearning):
    """Expectation maximisation of noisy-or networks: exact where a row's hidden states are few, else over the best.

    - `starts`: factorisations of how pairs of findings depend on each other, from which it starts where there is one
        hidden layer that rows never observe, and all numbers are free; the best of them, or the numbers of the network,
        after a few steps goes on.
    - `states`: a row with more states of its hidden units keeps so many, the best that a search finds.
    - `smoothing`: cases that are added to those that rows show: of a leak or a prior half of them on, of a link none.
    - `seed`: where the random numbers start; that of `fit` unless given, else 0.
    """

    learns, instead = "a noisy-or network", "G12 or bethe"
    starts: int = at_least(0, 16, "starts")
    states: int = at_least(2, 32, "states")
    smoothing: float = option(2.0, lambda cases: 0 <= cases < float("inf"), "smoothing must be 0 or more")
    seed: int | None = optional_seed()
