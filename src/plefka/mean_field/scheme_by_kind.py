"""What a scheme is for each kind of energy: a belief network's, or a Boltzmann machine's, whose activation is None."""

from typing import TYPE_CHECKING, Any

import numpy as np

from plefka.mean_field import machine_orders
from plefka.methods.method import does_not_apply
from plefka.reduction.question import Model, PairModel, Question
from plefka.solvers.functional import Functional

if TYPE_CHECKING:
    from plefka.mean_field.schemes import MeanField
    from plefka.networks.activations import Activation


def is_machine(model: Model) -> bool:
    return isinstance(model, PairModel)


def check_scheme(method: "MeanField", activation: "Activation | None") -> None:
    """Refuse a scheme that has no meaning for this kind of network, and name one that has."""
    if activation is None:
        machine_orders.check_scheme(method)
    else:
        _check_activation(method, activation)


def _check_activation(method: "MeanField", activation: "Activation") -> None:
    """SJJ is for the sigmoid, what expands in fields is for units that have one, and only machines are annealed."""
    if method.anneal:
        why = "anneal lowers the temperature of a Boltzmann machine, and this is a belief network"
        raise does_not_apply(method, why, f"{method.name}[restarts=10,seed=0]")
    if activation.mixes_kinds and not method.functional.needs_tables:
        why = "it expands in the fields of units, and a table has none"
        raise does_not_apply(method, why, "G1, G2 or bethe")
    if method.name == "SJJ" and not activation.has_linear_log_odds:
        why = f"its bound is for sigmoid networks, and this one is {activation.name}"
        raise does_not_apply(method, why, "G1, a bound for every activation,")


def functional_of(model: Model, method: "MeanField") -> Functional:
    """The free energy that a scheme is."""
    return machine_orders.functional_of(method) if is_machine(model) else method.functional


def solved_by(model: Model, method: "MeanField") -> str:
    """The scheme that is minimised for a method."""
    return machine_orders.solved_by(method) if is_machine(model) else method.solved_by


def better_at_first_order(method: "MeanField", question: Question, means: Any) -> Any:
    """The rows (rows,) in which a scheme that was solved for itself is better evaluated at the solution of G1."""
    if is_machine(question.model):
        return machine_orders.better_at_first_order(method, question, means)
    return np.zeros(question.num_rows, bool)


def starting_point(question: Question) -> Any:
    """Natural parameters (units, rows) to start a search from."""
    return machine_orders.start(question) if is_machine(question.model) else np.zeros(question.free.shape)
