"""The free energy that a scheme is for each kind of network: belief networks, and Boltzmann machines.

A model of a machine has no activation. `pf.register` adds free energies of users.
"""

from dataclasses import replace
from importlib import import_module
from typing import Any, cast

import numpy as np

from plefka.mean_field import machine_orders
from plefka.mean_field.machine_orders import PairOrders
from plefka.mean_field.orders import Orders
from plefka.mean_field.schemes import SCHEMES, MeanField, Scheme, SecondOrder
from plefka.methods.method import does_not_apply
from plefka.methods.registry import METHODS, refuse_library_names
from plefka.networks.activations import Activation
from plefka.reduction.question import Model, PairModel, Question
from plefka.runtime.registry import REGISTRABLE, instance_of
from plefka.solvers.functional import Functional as Functional


def _built(scheme: Scheme) -> Functional:
    module, name = scheme.free_energy.split(".")
    return getattr(import_module(f"plefka.mean_field.{module}"), name)(*scheme.arguments)


FUNCTIONALS: dict[str, Functional] = {name: _built(scheme) for name, scheme in SCHEMES.items()}  # of belief networks


def _entries(functional: Any, name: str) -> list[tuple[dict, Any]]:
    """Where `pf.register` puts a free energy of a user's own: it becomes a method that minimises it."""
    refuse_library_names(name)
    return [(METHODS, replace(METHODS["G12"], name=name)), (FUNCTIONALS, instance_of(functional))]


REGISTRABLE[Functional] = _entries


def check_scheme(method: MeanField, activation: Activation | None) -> None:
    """Refuse a scheme that has no meaning for this kind of network, and name one that has.

    The Taylor schemes and SJJ are about fields of units that follow their parents. Of these, SJJ is for the sigmoid,
    and what expands in fields is for units that have one. Only machines are annealed.
    """
    if activation is None:
        if _machine_order(method) is None:
            why = "it is for units that follow their parents, and this network is a Boltzmann machine"
            raise does_not_apply(method, why, "G1, G2, G3 or G4")
        return
    if method.anneal:
        why = "anneal lowers the temperature of a Boltzmann machine, and this is a belief network"
        raise does_not_apply(method, why, f"{method.name}[restarts=10,seed=0]")
    if activation.mixes_kinds and not method.functional.needs_tables:
        why = "it expands in the fields of units, and a table has none"
        raise does_not_apply(method, why, "G1, G2 or bethe")
    if method.name == "SJJ" and not activation.has_linear_log_odds:
        why = f"its bound is for sigmoid networks, and this one is {activation.name}"
        raise does_not_apply(method, why, "G1, a bound for every activation,")


def _machine_order(method: MeanField) -> int | None:
    return SCHEMES[method.name].machine_order if method.name in SCHEMES else None


def of_belief(method: MeanField) -> Functional:
    """The free energy that a scheme is for a belief network."""
    return Orders(2) if isinstance(method, SecondOrder) and method.full else FUNCTIONALS[method.name]


def functional_of(model: Model, method: MeanField) -> Functional:
    """The free energy that a scheme is; for a machine its second order is always whole."""
    if not isinstance(model, PairModel):
        return method.functional
    check_scheme(method, None)
    return PairOrders(cast(int, _machine_order(method)))


def solved_by(model: Model, method: MeanField) -> str:
    """The scheme that is minimised for a method; of a machine the scheme itself, unless the method says otherwise."""
    if not isinstance(model, PairModel):
        return method.solved_by
    return "G1" if getattr(method, "solve", None) is False else method.name


def better_at_first_order(method: MeanField, question: Question, means: Any) -> Any:
    """The rows (rows,) in which a scheme that was solved for itself is better evaluated at the solution of G1."""
    may_leave = getattr(method, "solve", False) is None  # else it says where it is solved
    if not (may_leave and isinstance(question.model, PairModel)):
        return np.zeros(question.num_rows, bool)
    return machine_orders.beyond_reach(question, means)


def starting_point(question: Question) -> Any:
    """Natural parameters (units, rows) to start a search from."""
    is_machine = isinstance(question.model, PairModel)
    return machine_orders.start(question) if is_machine else np.zeros(question.free.shape)
