"""Methods that minimise a free energy of the means: the schemes of the paper, SJJ, and the untruncated orders."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from plefka.errors import InvalidMethod, nearest
from plefka.methods.method import Method, at_least, optional_seed, steps_at_most, tolerance
from plefka.methods.registry import POLICY_NAMES, import_registering_modules, library_method

if TYPE_CHECKING:
    from plefka.networks.network import Network

SCHEMES = ("G10", "G11", "G12", "G13", "G14", "G21", "G22", "G221", "G212", "SJJ")


@library_method(*SCHEMES, "G1", place=2)
@dataclass(frozen=True)
class MeanField(Method):
    """A free energy of the means, minimised: the schemes of the paper, and SJJ.

    - `tol`: the largest change of a mean that a further step may still make.
    - `max_steps`: evaluations of the free energy, at most.
    - `policy`: `monotone`, `paper` for plain iteration with the paper's rule for cycles, or `sequential` for one unit
        at a time, where a step is a sweep over all units with an evaluation for each.
    - `restarts`: further starting points, drawn with `seed`; the lowest free energy wins.
    - `anneal`: of a Boltzmann machine, how many higher temperatures are solved first, each from the one before.
    """

    module = "plefka.mean_field.scheme_answers"
    tol: float = tolerance(1e-8)
    max_steps: int = steps_at_most(3000)
    policy: str = "monotone"
    restarts: int = at_least(0, 0, "restarts")
    seed: int | None = optional_seed()
    anneal: int = at_least(0, 0, "anneal")

    def __post_init__(self):
        super().__post_init__()
        if self.policy not in POLICY_NAMES:
            import_registering_modules()
        if self.policy not in POLICY_NAMES:
            raise InvalidMethod(
                f"policy must be one of {', '.join(POLICY_NAMES)}; got {self.policy!r}."
                + nearest(self.policy, POLICY_NAMES)
            )
        if self.restarts and self.seed is None:
            raise InvalidMethod(
                f"restarts are drawn from a seed; add one, as in {self.name}[restarts={self.restarts},seed=0]."
            )

    @property
    def functional(self):
        """The free energy of the answer."""
        from plefka.mean_field.functionals import FUNCTIONALS

        return FUNCTIONALS[self.name]

    @property
    def solved_by(self) -> str:
        """The scheme whose free energy is minimised."""
        return self.name

    @property
    def is_bound(self) -> bool:
        return self.functional.is_bound

    def check(self, network: "Network") -> None:
        from plefka.mean_field.scheme_by_kind import check_scheme

        check_scheme(self, network.activation)


@library_method("G3", "G4", place=3)
@dataclass(frozen=True)
class HigherOrder(MeanField):
    """G1 and the orders above it, at the solution of G1 (`G3[solve=no]`), or solved for itself (`G3[solve=yes]`).

    By default belief networks are solved at G1. A Boltzmann machine is solved for itself, but at G1 where couplings
    are so strong that the expansion has left its reach.
    """

    solve: bool | None = None

    @property
    def solved_by(self) -> str:
        return self.name if self.solve else "G1"


@library_method("G2", place=2)
@dataclass(frozen=True)
class SecondOrder(HigherOrder):
    """G1 and the second order: its pairs, or in small networks the whole of it (`G2[full=yes]`)."""

    full: bool = False

    @property
    def functional(self):
        from plefka.mean_field.orders import Orders

        return Orders(2) if self.full else super().functional
