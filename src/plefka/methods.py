"""Methods: every way of computing a posterior, as frozen data with one spelling everywhere.

`str(method)` is its name with the options that differ from the defaults in brackets, and `parse_method` reads it back:
`G12`, `SJJ`, `exact`, `G22[tol=1e-10,policy=paper]`.
"""

import re
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

from plefka.errors import InvalidMethod, MethodDoesNotApply, nearest

if TYPE_CHECKING:
    from plefka.networks.belief import BeliefNetwork
    from plefka.posterior import Posterior

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

    def posterior(self, network: "BeliefNetwork", rows: Any, *, prune: bool, dtype: str) -> "Posterior":
        """Means and ln P(evidence) for every row."""
        raise InvalidMethod(f"{self.name} is not a whole method.")

    def __str__(self) -> str:
        plain = METHODS[self.name]
        options = [
            f"{f.name}={getattr(self, f.name)}" for f in fields(self) if getattr(self, f.name) != getattr(plain, f.name)
        ]
        return f"{self.name}[{','.join(options)}]" if options else self.name


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
        if not self.tol > 0:
            raise InvalidMethod(f"tol must be positive; got {self.tol}.")
        if self.max_steps < 1 or self.restarts < 0:
            raise InvalidMethod(
                f"max_steps >= 1 and restarts >= 0 must hold; got {self.max_steps} and {self.restarts}."
            )
        if self.seed is not None and self.seed < 0:
            raise InvalidMethod(f"seed must be a whole number of 0 or more; got {self.seed}.")
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
        """The free energy that is minimised."""
        from plefka.mean_field import functional_of

        return functional_of(self.name)

    @property
    def is_bound(self) -> bool:
        return self.functional.is_bound

    def check(self, network: "BeliefNetwork") -> None:
        from plefka.mean_field import check

        check(self, network)

    def posterior(self, network: "BeliefNetwork", rows: Any, *, prune: bool, dtype: str) -> "Posterior":
        from plefka.mean_field import posterior

        return posterior(self, network, rows, prune=prune, dtype=dtype)


@dataclass(frozen=True)
class Exact(Method):
    """The sum over all states of the hidden units."""

    @property
    def is_bound(self) -> bool:
        return True

    def posterior(self, network: "BeliefNetwork", rows: Any, *, prune: bool, dtype: str) -> "Posterior":
        from plefka.exact.enumeration import posterior

        return posterior(network, rows, prune=prune, dtype=dtype)


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
        if self.seed is not None and self.seed < 0:
            raise InvalidMethod(f"seed must be a whole number of 0 or more; got {self.seed}.")

    @property
    def is_bound(self) -> bool:
        return False

    def check(self, network: "BeliefNetwork") -> None:
        if self.seed is None:
            raise MethodDoesNotApply(
                f"{self.name} does not apply without a seed, as it is random. Add one, as in {self.name}[seed=0]."
            )

    def posterior(self, network: "BeliefNetwork", rows: Any, *, prune: bool, dtype: str) -> "Posterior":
        """In float64 and without barren units, whatever is asked for: both change nothing but the work."""
        from plefka.sampling.gibbs import posterior

        self.check(network)
        return posterior(self, network, rows)


SCHEMES = ("G10", "G11", "G12", "G13", "G14", "G21", "G22", "G221", "G212", "SJJ")
METHODS: dict[str, Method] = {
    "exact": Exact("exact"),
    **{name: MeanField(name) for name in SCHEMES},
    "gibbs": Gibbs("gibbs"),
}


def parse_method(method: str | Method) -> Method:
    """The method that is spelled so; `parse_method(str(m)) == m`."""
    if isinstance(method, Method):
        return method
    match = re.fullmatch(r"\s*([^\[\]\s]+)\s*(?:\[(.*)\])?\s*", method) if isinstance(method, str) else None
    if match is None:
        raise InvalidMethod(f"a method is spelled NAME or NAME[option=value,...]; got {method!r}.")
    name, options = match[1], match[2] or ""
    name = SPELLINGS.get(name, name)
    if name not in METHODS:
        raise InvalidMethod(f"there is no method {name!r}; there are {', '.join(METHODS)}." + nearest(name, METHODS))
    given: dict[str, Any] = {}
    for text in filter(str.strip, options.split(",")):
        key, value = _option(METHODS[name], text)
        if key in given:
            raise InvalidMethod(f"{key} is given twice in {method!r}.")
        given[key] = value
    return replace(METHODS[name], **given)


def _option(method: Method, text: str) -> tuple[str, Any]:
    key, equals, value = (part.strip() for part in text.partition("="))
    known = {f.name: f.type for f in fields(method) if f.name != "name"}
    if not equals or key not in known:
        choices = f"options of {method.name}: {', '.join(known)}" if known else f"{method.name} has no options"
        raise InvalidMethod(f"{text.strip()!r} is not an option; {choices}." + nearest(key, known))
    try:
        return key, _READ[known[key]](value)
    except ValueError:
        kind = "number" if known[key] is float else "whole number"
        raise InvalidMethod(f"{key} must be a {kind}; got {value!r}.") from None


_READ = {float: float, int: int, str: str, int | None: int}


def does_not_apply(method: Method, why: str, instead: str) -> MethodDoesNotApply:
    """The error of a method that cannot serve a network."""
    return MethodDoesNotApply(f"{method.name} does not apply: {why}. Use {instead} instead.")
