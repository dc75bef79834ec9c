"""ln P(evidence) of a Boltzmann machine: ln Z with the evidence clamped, less ln Z without evidence by the same method.

The latter is computed once for each machine and method, and kept as long as the machine is. Of a machine inside a trace
of JAX it is computed each time.
"""

import weakref
from typing import TYPE_CHECKING, Any, cast

import jax.numpy as jnp
import numpy as np

from plefka.evidence import Evidence
from plefka.method import Method
from plefka.networks.network import Network
from plefka.precision import is_traced
from plefka.solution import CONVERGED, InferenceFailed, Status

if TYPE_CHECKING:
    from plefka.solution import Solution

_known: dict[int, tuple[weakref.ref, dict[tuple[Method, bool], Any]]] = {}


def log_likelihood(solution: "Solution") -> Any:
    """A number, or one for each row of a batch; nan where the free machine has no answer by this method."""
    free = log_partition_of_free(solution.network, solution.method, prune=solution.prune)
    return solution.log_partition - free


def log_partition_of_free(machine: Network, method: Method, *, prune: bool) -> Any:
    """ln Z of a machine of which nothing is observed, or of each of a stack."""
    if is_traced(machine):  # its numbers must not outlive their trace
        return _computed(machine, method, prune)
    key = id(machine)
    known = _known.get(key)
    if known is None or known[0]() is not machine:
        known = _known[key] = (weakref.ref(machine, lambda _: _known.pop(key, None)), {})
    found = known[1].get((method, prune))
    if found is None:
        found = known[1][method, prune] = _computed(machine, method, prune)
    return found


def _computed(machine: Network, method: Method, prune: bool) -> Any:
    from plefka.inference import infer

    nothing = Evidence(np.full((machine.stack or 1, machine.size), np.nan), batched=machine.stack is not None)
    found = infer(machine, nothing, method, prune=prune, throw=False)
    if is_traced(machine):
        return jnp.where(cast(Any, found.status) == CONVERGED, found.log_partition, jnp.nan)
    if machine.stack is None and found.status is not Status.CONVERGED:
        raise InferenceFailed(found)
    return np.where(found.converged, found.log_partition, np.nan) if found.is_batch else found.log_partition
