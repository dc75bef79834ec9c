"""Products of factors, as MARKOV files have them: which kind of network they are.

Directed where every variable is the child of one factor, whose rows add up to one; a Boltzmann machine where factors
are of at most two variables and have no zeros; otherwise a Markov network.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import scipy.sparse as sp

from plefka.files.conditional_tables import SUM_TOLERANCE, Conditional, TableNetwork, Variable, network_from
from plefka.networks.boltzmann import BoltzmannMachine
from plefka.networks.markov import Factor, MarkovNetwork


def network_of_factors(
    variables: Sequence[Variable], factors: Sequence[Factor]
) -> TableNetwork | BoltzmannMachine | MarkovNetwork:
    """The most particular kind of network that a product of factors is."""
    found = _conditionals(len(variables), factors)
    if found is not None:
        return network_from(variables, found, named=False)
    if all(len(scope) <= 2 and (table > 0).all() for scope, table in factors):
        return _machine(len(variables), factors)
    return MarkovNetwork(len(variables), factors)


def _conditionals(size: int, factors: Sequence[Factor]) -> list[Conditional] | None:
    """P(child | parents) of every variable; None where factors are no such tables, or in a circle.

    A factor whose other variables all have their factor already can only be that of the one that is left.
    """
    if len(factors) != size:
        return None
    left = [set(scope) for scope, _ in factors]
    containing: dict[int, list[int]] = {}
    for k, (scope, _) in enumerate(factors):
        for variable in scope:
            containing.setdefault(variable, []).append(k)
    ready, found = [k for k, variables in enumerate(left) if len(variables) == 1], []
    while ready:
        scope, table = factors[k := ready.pop()]
        if not left[k]:  # a second factor for one variable
            return None
        (child,) = left[k]
        values = np.moveaxis(table, scope.index(child), -1)
        with np.errstate(over="ignore"):
            if np.abs(values.sum(-1) - 1).max() > SUM_TOLERANCE:
                return None
        found.append(Conditional(str(child), tuple(str(v) for v in scope if v != child), values))
        for other in containing[child]:
            left[other].discard(child)
            if len(left[other]) == 1:
                ready.append(other)
    return found if len(found) == size else None


def _machine(size: int, factors: Sequence[Factor]) -> BoltzmannMachine:
    """ln phi(x, y) = ln phi(0, 0) + b x + c y + w x y."""
    bias, constant, weights = np.zeros(size), 0.0, Counter()
    for scope, table in factors:
        logs = np.log(table)
        constant += float(logs.flat[0])
        for axis, unit in enumerate(scope):
            bias[unit] += np.moveaxis(logs, axis, 0)[1].flat[0] - logs.flat[0]
        if len(scope) == 2:
            weights[tuple(sorted(scope))] += logs[0, 0] + logs[1, 1] - logs[0, 1] - logs[1, 0]
    ends = np.array(list(weights), int).reshape(-1, 2)
    half = sp.coo_array((list(weights.values()), (ends[:, 0], ends[:, 1])), shape=(size, size), dtype=float)
    return BoltzmannMachine(sp.csr_array(half + half.T), bias, constant=constant)
