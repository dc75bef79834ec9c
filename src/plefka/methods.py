"""Methods: every way of computing a posterior, as frozen data with one spelling everywhere.

`str(method)` is its name with the options that differ from the defaults in brackets, and `parse_method` reads it back:
`G12`, `SJJ`, `exact`, `G22[tol=1e-10,policy=paper]`.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from plefka.errors import InvalidInput, InvalidMethod, MethodDoesNotApply, nearest
from plefka.seeds import as_seed
from plefka.spelling import READERS, Seconds, names_in, read_name, read_options, spelled

if TYPE_CHECKING:
    from plefka.evidence import Evidence
    from plefka.networks.belief import BeliefNetwork
    from plefka.posterior import Posterior
    from plefka.reduction.reduce import Part, TracedReduction

POLICIES = ("monotone", "paper")
SPELLINGS = {"G211": "G21", "G222": "G22"}  # the same scheme by its long name


@dataclass(frozen=True)
class Method:
    """A way of computing a posterior; subclasses say how."""

    name: str

    @property
    def is_bound(self) -> bool:
        """Whether log_likelihood never exceeds the truth."""
        raise InvalidMethod(f"{self.name} is not a whole method.")

    def check(self, network: "BeliefNetwork") -> None:
        """Refuse a network that the method cannot serve, before computing, and name one that can."""

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        """Means and ln P(evidence) for every row of a part."""
        raise InvalidMethod(f"{self.name} is not a whole method.")

    def answer(self, network: "BeliefNetwork", evidence: "Evidence", *, prune: bool, dtype: str) -> "Posterior":
        """Means and ln P(evidence) for every row of evidence: reduce, compute the posterior of each part, recover."""
        from plefka.recovery import solved

        return solved(self, network, evidence, prune=prune, dtype=dtype)

    def traced(self, reduction: "TracedReduction") -> "Posterior":
        """The same inside a user's trace."""
        raise does_not_apply(self, "it looks at numbers, which cannot be done inside a trace of JAX", "G1 or bethe")

    @property
    def keeps_barren(self) -> bool:
        """Whether barren units are part of the question, as their exact means are wanted."""
        return False

    def units_to_keep(self, network: "BeliefNetwork") -> Any:
        """The units of a network that the method names, (units,), so that they must not be summed out."""
        return False

    def __str__(self) -> str:
        return spelled(self)


def _check_positive(tol: float) -> None:
    if not tol > 0:
        raise InvalidMethod(f"tol must be positive; got {tol}.")


def _check_steps(max_steps: int) -> None:
    if max_steps < 1:
        raise InvalidMethod(f"max_steps >= 1 must hold; got {max_steps}.")


def _check_seed(seed: int | None) -> None:
    try:
        as_seed(0 if seed is None else seed)
    except InvalidInput as error:
        raise InvalidMethod(str(error)) from None


@dataclass(frozen=True)
class MeanField(Method):
    """A free energy of the means, minimised: the schemes of the paper, and SJJ.

    - `tol`: the largest change of a mean that a further step may still make.
    - `max_steps`: evaluations of the free energy, at most.
    - `policy`: `monotone`, or `paper` for plain iteration with the paper's rule for cycles.
    - `restarts`: further starting points, drawn with `seed`; the lowest free energy wins.
    """

    tol: float = 1e-8
    max_steps: int = 3000
    policy: str = "monotone"
    restarts: int = 0
    seed: int | None = None

    def __post_init__(self):
        _check_positive(self.tol)
        if self.max_steps < 1 or self.restarts < 0:
            raise InvalidMethod(
                f"max_steps >= 1 and restarts >= 0 must hold; got {self.max_steps} and {self.restarts}."
            )
        _check_seed(self.seed)
        if self.policy not in POLICIES:
            raise InvalidMethod(
                f"policy must be one of {', '.join(POLICIES)}; got {self.policy!r}." + nearest(self.policy, POLICIES)
            )
        if self.restarts and self.seed is None:
            raise InvalidMethod(
                f"restarts are drawn from a seed; add one, as in {self.name}[restarts={self.restarts},seed=0]."
            )

    @property
    def functional(self):
        """The free energy of the answer."""
        from plefka.mean_field import FUNCTIONALS

        return FUNCTIONALS[self.name]

    @property
    def solved_by(self) -> str:
        """The scheme whose free energy is minimised."""
        return self.name

    @property
    def is_bound(self) -> bool:
        return self.functional.is_bound

    def check(self, network: "BeliefNetwork") -> None:
        from plefka.mean_field import check_activation

        check_activation(self, network.activation)

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        from plefka.mean_field import posterior

        return posterior(self, part, dtype=dtype)

    def traced(self, reduction: "TracedReduction") -> "Posterior":
        from plefka.mean_field import traced

        return traced(self, reduction)


@dataclass(frozen=True)
class HigherOrder(MeanField):
    """G1 and the orders above it, at the solution of G1, or solved for itself (`G3[solve=yes]`)."""

    solve: bool = False

    @property
    def solved_by(self) -> str:
        return self.name if self.solve else "G1"


@dataclass(frozen=True)
class Bethe(Method):
    """Loopy belief propagation: exact where the network has no loops, and an estimate elsewhere.

    - `tol`: the largest change of a mean that a further sweep may still make.
    - `max_steps`: sweeps, in each of which every factor sends all its messages, at most.
    - `damping`: the share of old messages that is kept in the first sweep; from then on it adapts.
    """

    tol: float = 1e-8
    max_steps: int = 1000
    damping: float = 0.0

    def __post_init__(self):
        _check_positive(self.tol)
        _check_steps(self.max_steps)
        if not 0 <= self.damping < 1:
            raise InvalidMethod(f"0 <= damping < 1 must hold; got {self.damping}.")

    @property
    def is_bound(self) -> bool:
        return False

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        from plefka.belief_propagation.posterior import posterior

        return posterior(self, part, dtype=dtype)

    def traced(self, reduction: "TracedReduction") -> "Posterior":
        from plefka.belief_propagation.posterior import traced

        return traced(self, reduction)


@dataclass(frozen=True)
class SecondOrder(HigherOrder):
    """G1 and the second order: its pairs, or in small networks the whole of it (`G2[full=yes]`)."""

    full: bool = False

    @property
    def functional(self):
        from plefka.free_energies.orders import Orders

        return Orders(2) if self.full else super().functional


@dataclass(frozen=True)
class Exact(Method):
    """The sum over all states of the hidden units."""

    @property
    def is_bound(self) -> bool:
        return True

    @property
    def keeps_barren(self) -> bool:
        return True

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        from plefka.exact.enumeration import posterior

        return posterior(part, dtype=dtype)

    def traced(self, reduction: "TracedReduction") -> "Posterior":
        from plefka.exact.enumeration import traced

        return traced(reduction)


@dataclass(frozen=True)
class Conditioned(Method):
    """The sum over all states of k units, chosen by their share in the second order or named, the rest by `inner`.

    - `k`: how many units are chosen, row by row; 3 unless given.
    - `units`: their names instead, as in `conditioned[G2,units=a+b+c]`; a name with + or , or a bracket in quotes.
    """

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

    def check(self, network: "BeliefNetwork") -> None:
        self.inner.check(network)

    def units_to_keep(self, network: "BeliefNetwork") -> Any:
        from plefka.conditioning import named_units

        return named_units(self, network)

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        from plefka.conditioning import posterior

        return posterior(self, part, dtype=dtype)


@dataclass(frozen=True)
class Mixture(Method):
    """A mixture of factorial distributions, optimised together: a lower bound that is never below that of G1.

    - `components`: how many, as in `mixture[5]`.
    - `tol`: the largest change of a mean that a further step may still make.
    - `max_steps`: evaluations of the free energy, at most.
    - `seed`: start from means that are drawn with it, and not from G1 with the most telling units held on and off.
    """

    components: int = field(default=5, metadata={"in_front": True})
    tol: float = 1e-4
    max_steps: int = 3000
    seed: int | None = None

    def __post_init__(self):
        if not 1 <= self.components <= MOST_COMPONENTS:
            raise InvalidMethod(
                f"components must be a whole number from 1 to {MOST_COMPONENTS}; got {self.components}."
            )
        _check_positive(self.tol)
        _check_steps(self.max_steps)
        _check_seed(self.seed)

    @property
    def is_bound(self) -> bool:
        return METHODS["G1"].is_bound

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        from plefka.mixture import posterior

        return posterior(self, part, dtype=dtype)


MOST_COMPONENTS = 64
MOST_CONDITIONED = 12  # 2^12 problems for each row


@dataclass(frozen=True)
class Gibbs(Method):
    """Gibbs sampling of the means, and annealed importance sampling of ln P(evidence).

    - `sweeps`, `burn`: sweeps of every chain that count, and those before them that do not.
    - `chains`: how many chains there are, to be compared with each other.
    - `temperatures`, `runs`: steps of the annealing from the prior to the posterior, and how often it is run.
    - `seed`: where the random numbers start; there is no default.
    """

    sweeps: int = 2000
    burn: int = 500
    chains: int = 8
    temperatures: int = 200
    runs: int = 64
    seed: int | None = None

    def __post_init__(self):
        least = {"sweeps": 10, "burn": 0, "chains": 2, "temperatures": 1, "runs": 2}
        for option, value in least.items():
            if getattr(self, option) < value:
                raise InvalidMethod(f"{option} must be {value} or more; got {getattr(self, option)}.")
        _check_seed(self.seed)

    @property
    def is_bound(self) -> bool:
        return False

    def check(self, network: "BeliefNetwork") -> None:
        if self.seed is None:
            raise MethodDoesNotApply(
                f"{self.name} does not apply without a seed, as it is random. Add one, as in {self.name}[seed=0]."
            )

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        """In float64, whatever is asked for: it changes nothing but the work."""
        from plefka.sampling.gibbs import posterior

        return posterior(self, part)


ONE_SECOND = Seconds(1.0)


@dataclass(frozen=True)
class Auto(Method):
    """Exact where that is affordable, otherwise the method and conditioning that checks favour within the budget.

    - `budget`: how long a row may take, about, once compiled; a batch may take ten times as long in all.
    - `exact`: `no` forbids exact inference.
    """

    budget: Seconds = field(default=ONE_SECOND)
    exact: bool = True

    def __post_init__(self):
        if not 0 < self.budget < float("inf"):
            raise InvalidMethod(f"budget must be a positive time, as in auto[budget=2s]; got {self.budget}.")

    @property
    def is_bound(self) -> bool:
        return False

    def answer(self, network: "BeliefNetwork", evidence: "Evidence", *, prune: bool, dtype: str) -> "Posterior":
        from plefka.choosing import solved

        return solved(self, network, evidence, prune=prune, dtype=dtype)

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        from plefka.choosing import posterior

        return posterior(self, part, dtype=dtype)

    def traced(self, reduction: "TracedReduction") -> "Posterior":
        from plefka.choosing import traced

        return traced(reduction)


SCHEMES = ("G10", "G11", "G12", "G13", "G14", "G21", "G22", "G221", "G212", "SJJ")
METHODS: dict[str, Method] = {
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
    "gibbs": Gibbs("gibbs"),
}


def parse_method(method: str | Method) -> Method:
    """The method that is spelled so; `parse_method(str(m)) == m`."""
    if isinstance(method, Method):
        return method
    name, options = read_name(method)
    name = SPELLINGS.get(name, name)
    if name not in METHODS:
        raise InvalidMethod(f"there is no method {name!r}; there are {', '.join(METHODS)}." + nearest(name, METHODS))
    plain = METHODS[name]
    return type(plain)(name, **read_options(plain, options, {**READERS, Method: parse_method}))


def does_not_apply(method: Method, why: str, instead: str) -> MethodDoesNotApply:
    """The error of a method that cannot serve a network."""
    return MethodDoesNotApply(f"{method.name} does not apply: {why}. Use {instead} instead.")
