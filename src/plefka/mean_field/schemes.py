"""Methods that minimise a free energy of the means: the schemes of the paper, SJJ, and the untruncated orders."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from plefka.errors import InvalidMethod, nearest
from plefka.methods.method import Method, at_least, optional_seed, steps_at_most, tolerance
from plefka.methods.registry import POLICY_NAMES, library_method
from plefka.runtime.registry import import_registering_modules

if TYPE_CHECKING:
    from plefka.networks.network import Network


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

    module = "plefka.mean_field.minimisation"
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
    def functional(self) -> Any:
        """The free energy of the answer, of a belief network."""
        return _free_energies().of_belief(self)

    @property
    def solved_by(self) -> str:
        """The scheme whose free energy is minimised."""
        return self.name

    @property
    def is_bound(self) -> bool:
        return self.functional.is_bound

    def check(self, network: "Network") -> None:
        _free_energies().check_scheme(self, network.activation)


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


@dataclass(frozen=True)
class SecondOrder(HigherOrder):
    """G1 and the second order: its pairs, or in small networks the whole of it (`G2[full=yes]`)."""

    full: bool = False


def _free_energies() -> Any:
    """The module with what schemes are, which stands on this one and needs JAX."""
    return import_module("plefka.mean_field.free_energies")


class Scheme(NamedTuple):
    """All that is to be said of a scheme."""

    free_energy: str  # of belief networks: a module of this room and the class in it
    arguments: tuple[int, ...] = ()
    machine_order: int | None = None  # of the expansion that it is for a Boltzmann machine, if it is one
    method: type[MeanField] = MeanField
    place: int = 2  # in lists of methods


SCHEMES = {
    **{f"G1{degree}": Scheme("taylor.Taylor", (1, degree)) for degree in range(5)},
    "G21": Scheme("taylor.Taylor", (2, 1, 1)),
    "G22": Scheme("taylor.Taylor", (2, 2, 2)),
    "G221": Scheme("taylor.Taylor", (2, 2, 1)),
    "G212": Scheme("taylor.Taylor", (2, 1, 2)),
    "SJJ": Scheme("sjj.SaulJaakkolaJordan"),
    "G1": Scheme("untruncated.Untruncated", (1,), 1),
    "G2": Scheme("untruncated.Untruncated", (2,), 2, SecondOrder),
    "G3": Scheme("orders.Orders", (3,), 3, HigherOrder, place=3),
    "G4": Scheme("orders.Orders", (4,), 4, HigherOrder, place=3),
}
for _name, _scheme in SCHEMES.items():
    library_method(_name, place=_scheme.place)(_scheme.method)
