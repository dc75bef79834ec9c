"""What the laws are tried on: every method of the registry, and networks that share their shapes.

The networks have twelve units, a size of the ladder, and no layers: whole or reduced, relabelled or with a few units
more, they are solved by the same programs.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import numpy as np

import plefka as pf
from plefka.errors import MethodDoesNotApply
from plefka.inference.composite_methods import Auto, Conditioned, Mixture
from plefka.inference.library import METHODS
from plefka.mean_field.orders import Orders
from plefka.mean_field.schemes import HigherOrder, MeanField
from plefka.mean_field.taylor import Taylor
from plefka.messages.message_methods import Bethe
from plefka.methods.method import Method
from plefka.sampling.sampling_methods import Findings, Gibbs, Smc
from tests import zoo

SIZE = 12
OBSERVED = {6: 1.0, 7: 1.0, 8: 0.0, 9: 1.0, 10: 1.0}  # the last unit is barren


def network_with(activation: str, seed: int = 5) -> pf.BeliefNetwork:
    """Loops, and hidden units between hidden units; of those that are not barren, six are hidden."""
    low, high = (0.1, 0.8) if activation == "noisy_or" else (-1.0, 1.0)
    return zoo.dense(SIZE, low, high, activation, seed, share=0.5)


@cache
def solved(activation: str, method: Method) -> pf.Solution:
    """What is observed everywhere, answered by a method."""
    return pf.infer(network_with(activation), OBSERVED, method)


def row_of(evidence: dict[int, float], size: int = SIZE) -> np.ndarray:
    row = np.full(size, np.nan)
    row[list(evidence)] = list(evidence.values())
    return row


def with_unit(network: pf.BeliefNetwork, weights: np.ndarray | float, bias: float) -> pf.BeliefNetwork:
    """One unit more, behind all others."""
    W = np.zeros((network.size + 1, network.size + 1))
    W[:-1, :-1], W[-1, :-1] = network.weights, weights
    return pf.BeliefNetwork(W, np.r_[network.bias, bias], network.activation)


def every_method() -> Iterator[Method]:
    """Those of the registry as they are, or small where they have a size, and what they are when solved themselves."""
    small = {
        Conditioned: {"k": 2},
        Mixture: {"components": 2, "tol": 1e-8},
        Findings: {"k": 1},
        Gibbs: {"sweeps": 500, "burn": 50, "temperatures": 40, "runs": 16, "seed": 0},
    }
    for method in METHODS.values():
        yield replace(method, **small.get(type(method), {}))
        if isinstance(method, HigherOrder):
            yield replace(method, solve=True)
    yield pf.parse_method("G2[full=yes]")
    yield pf.parse_method("conditioned[bethe,k=2]")
    yield pf.parse_method("auto[exact=no]")


# ---- to which methods a law applies ----------------------------------------------------------------------------------


def any_method(method: Method) -> bool:
    return True


def applies(method: Method, network: pf.BeliefNetwork) -> bool:
    """Whether a method serves a network at all."""
    try:
        method.check(network)
    except MethodDoesNotApply:
        return False
    return True


def is_one_method(method: Method) -> bool:
    """Whether it is the same method whatever the numbers are, and however many rows there are."""
    return not isinstance(method, Auto)


def is_random(method: Method) -> bool:
    """Whether it draws: auto does of noisy-or findings, where it must not be exact."""
    return isinstance(method, (Gibbs, Findings, Smc)) or (isinstance(method, Auto) and not method.exact)


def is_bound(method: Method) -> bool:
    return method.is_bound


def has_functional(method: Method) -> bool:
    """Whether it has a free energy at given means."""
    return isinstance(method, MeanField)


def is_stationary(method: Method) -> bool:
    """Whether its answer is a minimum of its own free energy."""
    return isinstance(method, MeanField) and method.solved_by == method.name


def predicts_by_field(method: Method) -> bool:
    """Whether barren units are predicted as in the paper."""
    return isinstance(method, MeanField) and method.functional.predicts_by_field


def works_in_a_trace(method: Method) -> bool:
    """And is the same there as outside, where auto can look at numbers and choose."""
    return type(method).traced is not Method.traced and is_one_method(method)


def ignores_barren_units(method: Method) -> bool:
    """Whether barren units change nothing even where they are not pruned: what they say of their parents is nothing."""
    return method.keeps_barren or isinstance(method, Bethe)


def is_slow(method: Method) -> bool:
    """Whether its programs take long to compile, while it is the same method as another, solved for itself or whole."""
    return isinstance(method, HigherOrder) and method.solved_by == method.name and isinstance(method.functional, Orders)


def is_like_another(method: Method) -> bool:
    """Whether G12 or G22 stands for it where a law needs programs of its own: it is their code with other numbers."""
    taylor = isinstance(method, MeanField) and isinstance(method.functional, (Taylor, Orders))
    return taylor and method.name not in ("G12", "G22")


def is_of_a_family(method: Method) -> bool:
    """Whether one of four methods stands for it where a law makes every method compile twice."""
    return method.name not in ("exact", "G12", "G1", "bethe")


def noise(method: Method) -> float:
    """How far two answers to the same question may be from each other, by chance."""
    return 0.05 if is_random(method) else 0.0
