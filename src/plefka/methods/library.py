"""Methods: every way of computing a posterior, as frozen data with one spelling everywhere.

`str(method)` is its name with the options that differ from the defaults in brackets, and `parse_method` reads it back:
`G12`, `SJJ`, `exact`, `G22[tol=1e-10,policy=paper]`.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from plefka.errors import InvalidMethod, MethodDoesNotApply, nearest
from plefka.methods.method import METHODS as METHODS
from plefka.methods.method import Method as Method
from plefka.methods.method import at_least, import_registering_modules, is_seed, optional_seed, steps_at_most, tolerance
from plefka.methods.method import does_not_apply as does_not_apply
from plefka.methods.method import register as register
from plefka.methods.method import unregister as unregister
from plefka.methods.schemes import SCHEMES as SCHEMES
from plefka.methods.schemes import HigherOrder as HigherOrder
from plefka.methods.schemes import MeanField as MeanField
from plefka.methods.schemes import SecondOrder as SecondOrder
from plefka.methods.spelling import READERS, Seconds, names_in, option, read_name, read_options

if TYPE_CHECKING:
    from plefka.methods.posterior import Posterior
    from plefka.networks.network import Network
    from plefka.reduction.evidence import Evidence

MOST_CONDITIONED = 12  # 2^12 questions for each row
BUDGET: Any = option(
    Seconds(1.0), lambda budget: 0 < budget < float("inf"), "budget must be a positive time, as in auto[budget=2s]"
)


@dataclass(frozen=True)
class Bethe(Method):
    """Loopy belief propagation: exact where the network has no loops, and an estimate elsewhere.

    - `tol`: the largest change of a mean that a further sweep may still make.
    - `max_steps`: sweeps, in each of which every factor sends all its messages, at most.
    - `damping`: the fraction of old messages that is kept in the first sweep; from then on it adapts.
    """

    module = "plefka.messages.bethe"
    tol: float = tolerance(1e-8)
    max_steps: int = steps_at_most(1000)
    damping: float = option(0.0, lambda damping: 0 <= damping < 1, "0 <= damping < 1 must hold")


@dataclass(frozen=True)
class Exact(Method):
    """The sum over all states of the hidden units: one after another, or unit by unit where that is cheaper."""

    module = "plefka.exact.exact_answer"

    def answer(self, network: "Network", evidence: "Evidence", *, prune: bool, dtype: str) -> "Posterior":
        from plefka.exact.exact_answer import answer

        return answer(self, network, evidence, prune=prune, dtype=dtype)

    @property
    def takes_soft_evidence(self) -> bool:
        return True

    @property
    def is_bound(self) -> bool:
        return True

    @property
    def keeps_barren(self) -> bool:
        return True


@dataclass(frozen=True)
class Conditioned(Method):
    """The sum over all states of k units, named or chosen by what they add to the second order; the rest by `inner`.

    - `k`: how many units are chosen, row by row; 3 unless given.
    - `units`: their names instead, as in `conditioned[G2,units=a+b+c]`; a name with + or , or a bracket in quotes.
    """

    module = "plefka.inference.conditioned"
    inner: Method = field(default=SecondOrder("G2"), metadata={"in_front": True})
    k: int | None = field(default=None, metadata={"always": True})
    units: str = ""

    def __post_init__(self):
        count = len(self.names) if self.units else 3
        if self.k is None:
            object.__setattr__(self, "k", count)
        elif self.units and self.k != count:
            raise InvalidMethod(
                f"k is the number of units that are named; got k={self.k} and {count} in {self.units}. Leave k out."
            )
        if self.units and count > MOST_CONDITIONED:
            raise InvalidMethod(f"at most {MOST_CONDITIONED} units can be conditioned on; got {count}.")
        if self.k is not None and not 0 <= self.k <= MOST_CONDITIONED:
            raise InvalidMethod(f"k must be a whole number from 0 to {MOST_CONDITIONED}; got {self.k}.")

    @property
    def names(self) -> list[str]:
        """The units that are named."""
        return names_in(self.units)

    @property
    def is_bound(self) -> bool:
        return self.inner.is_bound

    def check(self, network: "Network") -> None:
        self.inner.check(network)
        if not self.inner.solves_parts:
            why = f"{self.inner.name} answers about whole networks, and has no posterior of a part of one"
            raise does_not_apply(self, why, f"{self.inner.name} alone, or conditioned[bethe,k={self.k}]")

    def units_to_keep(self, network: "Network") -> Any:
        from plefka.inference.conditioned import named_units

        return named_units(self, network)


@dataclass(frozen=True)
class Mixture(Method):
    """A mixture of factorial distributions, optimised together: a lower bound that is never below that of G1.

    - `components`: how many, as in `mixture[5]`.
    - `tol`: the largest change of a mean that a further step may still make.
    - `max_steps`: evaluations of the free energy, at most.
    - `seed`: start from means that are drawn with it, and not from G1 with the most telling units held on and off.
    """

    module = "plefka.inference.mixture"
    components: int = option(
        5, lambda count: 1 <= count <= 64, "components must be a whole number from 1 to 64", in_front=True
    )
    tol: float = tolerance(1e-4)
    max_steps: int = steps_at_most(3000)
    seed: int | None = optional_seed()

    @property
    def is_bound(self) -> bool:
        return METHODS["G1"].is_bound


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


@dataclass(frozen=True)
class Gibbs(Method):
    """Gibbs sampling of the means, and annealed importance sampling of ln P(evidence), in float64 always.

    - `sweeps`, `burn`: sweeps of every chain that count, and those before them that do not.
    - `chains`: how many chains there are, to be compared with each other.
    - `temperatures`, `runs`: steps of the annealing from the prior to the posterior, and how often it is run.
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


@dataclass(frozen=True)
class Auto(Method):
    """Exact where that is affordable, otherwise the method and conditioning that checks favour within the budget.

    Every row has the answer that it would have alone; `solution.methods` says by which method. Inside a trace of JAX it
    refuses, as it chooses by looking at numbers.

    - `budget`: how long a row may take, about, once compiled.
    - `exact`: `no` forbids exact inference.
    """

    module = "plefka.inference.auto"
    budget: Seconds = BUDGET
    exact: bool = True

    def answer(self, network: "Network", evidence: "Evidence", *, prune: bool, dtype: str) -> "Posterior":
        from plefka.inference.auto import answer

        return answer(self, network, evidence, prune=prune, dtype=dtype)

    @property
    def takes_soft_evidence(self) -> bool:
        return True


@dataclass(frozen=True)
class ForLearning(Method):
    """What a Boltzmann machine is learned by, and no posterior can be computed by."""

    def check(self, network: "Network") -> None:
        raise does_not_apply(self, "it is for learning a Boltzmann machine, in pf.fit", "gibbs[seed=0] or bethe")


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


@dataclass(frozen=True)
class PseudoLikelihood(ForLearning):
    """Learning by the probability of each unit given all others (Besag, 1975); for rows in which nothing is hidden."""


OTHER_NAMES = {"G211": "G21", "G222": "G22"}  # the same scheme by its long name
METHODS |= {
    "auto": Auto("auto"),
    "exact": Exact("exact"),
    **{name: MeanField(name) for name in SCHEMES},
    "G1": MeanField("G1"),
    "G2": SecondOrder("G2"),
    "G3": HigherOrder("G3"),
    "G4": HigherOrder("G4"),
    "bethe": Bethe("bethe"),
    "conditioned": Conditioned("conditioned"),
    "mixture": Mixture("mixture"),
    "findings": Findings("findings"),
    "gibbs": Gibbs("gibbs"),
}
LEARNING_METHODS: dict[str, Method] = {
    "persistent": Persistent("persistent"),
    "pseudolikelihood": PseudoLikelihood("pseudolikelihood"),
}


def is_taken(name: str) -> bool:
    """Whether the library has a method of this name."""
    return name in METHODS or name in LEARNING_METHODS or name in OTHER_NAMES


def parse_method(method: str | Method) -> Method:
    """The method that is spelled so; `parse_method(str(m)) == m`.

    >>> import plefka as pf
    >>> method = pf.parse_method("G12[tol=1e-10]")
    >>> method.name, str(method)
    ('G12', 'G12[tol=1e-10]')
    """
    if isinstance(method, Method):
        return method
    name, options = read_name(method)
    name = OTHER_NAMES.get(name, name)
    if name not in METHODS:
        import_registering_modules()
    known = METHODS | LEARNING_METHODS
    if name not in known:
        raise InvalidMethod(f"there is no method {name!r}; there are {', '.join(METHODS)}." + nearest(name, known))
    default = known[name]
    return type(default)(name, **read_options(default, options, {**READERS, Method: parse_method}))
