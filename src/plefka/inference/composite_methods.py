"""Methods that are made of others, as data: `auto`, `conditioned` and `mixture`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from plefka.errors import InvalidMethod
from plefka.mean_field.schemes import SecondOrder
from plefka.methods.method import (
    Method,
    Seconds,
    does_not_apply,
    names_in,
    option,
    optional_seed,
    steps_at_most,
    tolerance,
)
from plefka.methods.registry import METHODS, library_method
from plefka.networks.index_arrays import mask_of

if TYPE_CHECKING:
    from plefka.networks.network import Network

MOST_CONDITIONED = 12  # 2^12 questions for each row
BUDGET: Any = option(
    Seconds(1.0), lambda budget: 0 < budget < float("inf"), "budget must be a positive time, as in auto[budget=2s]"
)


@library_method("conditioned", place=5)
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
        if not self.units:
            return False
        units = [network.index(name) for name in self.names]
        if len(set(units)) < len(units):
            raise InvalidMethod(f"units must be distinct; got {self.units!r}.")
        return mask_of(units, network.size)


@library_method("mixture", place=5)
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


@library_method("auto", place=0)
@dataclass(frozen=True)
class Auto(Method):
    """Exact where that is affordable, otherwise findings, annealed populations or belief propagation, by the budget.

    Every row has the answer that it would have alone; `solution.methods` says by which method. Inside a trace of JAX it
    refuses, as it chooses by looking at numbers.

    - `budget`: how long a row may take once compiled, to a factor of two.
    - `exact`: `no` forbids exact inference.
    """

    module = "plefka.inference.auto"
    budget: Seconds = BUDGET
    exact: bool = True
