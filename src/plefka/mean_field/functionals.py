"""The free energies of the library by name: the schemes of the paper, SJJ, and the untruncated orders."""

from dataclasses import replace
from typing import Any

from plefka.mean_field.orders import Orders
from plefka.mean_field.sjj import SaulJaakkolaJordan
from plefka.mean_field.taylor import Taylor
from plefka.mean_field.untruncated import Untruncated
from plefka.methods.registry import METHODS, REGISTRABLE
from plefka.solvers.functional import Functional as Functional

FUNCTIONALS: dict[str, Functional] = {
    **{f"G1{degree}": Taylor(1, degree) for degree in range(5)},
    "G21": Taylor(2, 1, 1),
    "G22": Taylor(2, 2, 2),
    "G221": Taylor(2, 2, 1),
    "G212": Taylor(2, 1, 2),
    "SJJ": SaulJaakkolaJordan(),
    "G1": Untruncated(1),
    "G2": Untruncated(2),
    "G3": Orders(3),
    "G4": Orders(4),
}


def _entries(functional: Any, name: str) -> list[tuple[dict, Any]]:
    """Where `pf.register` puts a free energy of a user's own: it becomes a method that minimises it."""
    return [(METHODS, replace(METHODS["G12"], name=name)), (FUNCTIONALS, functional)]


REGISTRABLE[Functional] = _entries
