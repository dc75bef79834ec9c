"""What a method is: frozen data that says how a posterior is computed, with one spelling everywhere.

What it computes stands in a module of its own, which is imported when a posterior is asked for, so that methods can be
named without JAX.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from plefka.errors import InvalidInput, MethodDoesNotApply
from plefka.seeds import as_seed
from plefka.spelling import check_options, option, spelled

if TYPE_CHECKING:
    from plefka.evidence import Evidence
    from plefka.networks.network import Network
    from plefka.posterior import Posterior
    from plefka.reduction.reduce import Part
    from plefka.reduction.traced import TracedReduction


@dataclass(frozen=True)
class Method:
    """A way of computing a posterior; subclasses say how."""

    name: str
    module: ClassVar[str]  # with `posterior` for a part and, if it can be used inside a trace, `traced`

    def __post_init__(self):
        check_options(self)

    @property
    def is_bound(self) -> bool:
        """Whether log_likelihood never exceeds the truth."""
        return False

    def check(self, network: "Network") -> None:
        """Refuse a network that the method cannot serve, before computing, and name one that can."""

    def posterior(self, part: "Part", *, dtype: str) -> "Posterior":
        """Means and ln P(evidence) for every row of a part."""
        return import_module(self.module).posterior(self, part, dtype=dtype)

    def answer(self, network: "Network", evidence: "Evidence", *, prune: bool, dtype: str) -> "Posterior":
        """Means and ln P(evidence) for every row of evidence: reduce, compute the posterior of each part, recover."""
        from plefka.recovery import solved

        return solved(self, network, evidence, prune=prune, dtype=dtype)

    def traced(self, reduction: "TracedReduction") -> "Posterior":
        """The same inside a user's trace."""
        module = import_module(self.module)
        if not hasattr(module, "traced"):
            raise does_not_apply(self, "it looks at numbers, which cannot be done inside a trace of JAX", "G1 or bethe")
        return module.traced(self, reduction)

    @property
    def keeps_barren(self) -> bool:
        """Whether barren units are part of the question, as their exact means are wanted."""
        return False

    def units_to_keep(self, network: "Network") -> Any:
        """The units of a network that the method names, (units,), so that they must not be summed out."""
        return False

    def __str__(self) -> str:
        return spelled(self)


def does_not_apply(method: Method, why: str, instead: str) -> MethodDoesNotApply:
    """The error of a method that cannot serve a network."""
    return MethodDoesNotApply(f"{method.name} does not apply: {why}. Use {instead} instead.")


def tolerance(default: float) -> Any:
    return option(default, lambda tol: tol > 0, "tol must be positive")


def steps_at_most(default: int) -> Any:
    return option(default, lambda count: count >= 1, "max_steps >= 1 must hold")


def at_least(least: int, default: int, name: str) -> Any:
    return option(default, lambda count: count >= least, f"{name} must be {least} or more")


def optional_seed() -> Any:
    return option(None, is_seed, "seed must be a whole number from 0 to 2^63 - 1")


def is_seed(seed: int | None) -> bool:
    """Whether it is a seed, or none."""
    try:
        return seed is None or as_seed(seed) >= 0
    except InvalidInput:
        return False
