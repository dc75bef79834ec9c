"""`gibbs`, `smc` and `findings` as data: their options, and where they are computed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from plefka.errors import MethodDoesNotApply
from plefka.methods.method import Method, Seconds, at_least, does_not_apply, is_seed, option, optional_seed
from plefka.methods.registry import library_method

if TYPE_CHECKING:
    from plefka.networks.network import Network

SMC_BUDGET: Any = option(
    Seconds(5.0), lambda budget: 0 < budget < float("inf"), "budget must be a positive time, as in smc[budget=2s]"
)


@library_method("findings", place=6)
@dataclass(frozen=True)
class Findings(Method):
    """Of a noisy-or network some findings exactly, the others by draws from what is left when these are transformed.

    - `k`: how many of the units that are observed on are summed over exactly, at most; fewer where that takes long.
    - `samples`: draws that mend what the transformation of the others leaves; with 0 the answer is an upper bound.
    - `seed`: where the random numbers start.
    """

    module = "plefka.sampling.findings.findings"
    k: int = at_least(0, 12, "k")
    samples: int = option(4096, lambda count: count == 0 or count >= 100, "samples must be 0, or 100 or more")
    seed: int = option(0, is_seed, "seed must be a whole number from 0 to 2^63 - 1")

    def check(self, network: "Network") -> None:
        if network.activation is None or not network.activation.has_linear_log_off:
            raise does_not_apply(self, "it transforms noisy-or units that are observed on, and has none here", "bethe")


@library_method("gibbs", place=6)
@dataclass(frozen=True)
class Gibbs(Method):
    """Gibbs sampling of the means, and annealed importance sampling of ln P(evidence), in float64 always.

    - `sweeps`, `burn`: sweeps of every chain that count, and those before them that do not.
    - `chains`: how many chains there are, to be compared with each other.
    - `runs`, `temperatures`: particles of each annealed population, and steps of the annealing, at most. Where `smc`
        would weight draws without annealing, there are `runs` times `temperatures` of them.
    - `seed`: where the random numbers start; there is no default.
    """

    module = "plefka.sampling.gibbs"
    sweeps: int = at_least(10, 2000, "sweeps")
    burn: int = at_least(0, 500, "burn")
    chains: int = at_least(2, 8, "chains")
    temperatures: int = at_least(1, 200, "temperatures")
    runs: int = at_least(2, 64, "runs")
    seed: int | None = optional_seed()

    def check(self, network: "Network") -> None:
        if self.seed is None:
            raise MethodDoesNotApply(
                f"{self.name} does not apply without a seed, as it is random. Add one, as in {self.name}[seed=0]."
            )


@library_method("smc", place=6)
@dataclass(frozen=True)
class Smc(Method):
    """Annealed importance sampling with resampling (sequential Monte Carlo): ln Z and means with standard errors.

    A Boltzmann machine is annealed from infinite temperature, a belief network from its prior or from a mixture that is
    fitted to the posterior. Where so many draws from this mixture carry weight that they need no annealing, there are
    as many of them as it takes.

    - `particles`: of each population; fewer where `budget` does not suffice for eight populations of so many, and more
        where a first population says that so few of them would disagree.
    - `budget`: the predicted time of a row. There are as many populations as it takes to know ln Z to 0.01, or ln P of
        a belief network to 0.001, within this time.
    - `seed`: where the random numbers start.
    """

    module = "plefka.sampling.smc"
    rows_alone = True
    particles: int = at_least(32, 1024, "particles")
    budget: Seconds = SMC_BUDGET
    seed: int = option(0, is_seed, "seed must be a whole number from 0 to 2^63 - 1")
