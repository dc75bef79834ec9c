"""ln P(evidence) of a Boltzmann machine: ln Z with the evidence clamped, less ln Z without evidence by the same method.

The latter is computed once for each machine and method, and kept as long as the machine is. Of a machine inside a trace
of JAX it is computed each time.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax.numpy as jnp
import numpy as np

from plefka.methods.method import Method
from plefka.methods.posterior import CONVERGED, ESTIMATE, EXACT
from plefka.networks.evidence import Evidence
from plefka.networks.network import Network
from plefka.runtime.late_binding import INFER, supplied
from plefka.runtime.precision import is_traced
from plefka.runtime.value_cache import cached_for

if TYPE_CHECKING:
    from plefka.inference.solution import Solution


class FreePartition(NamedTuple):
    """ln Z of a machine of which nothing is observed, or of each of a stack, whether it is exact, and where it lies."""

    log_partition: Any
    is_exact: Any
    interval: Any = None


def log_likelihood(solution: "Solution") -> Any:
    """A number, or one for each row of a batch; nan where the free machine has no answer by this method."""
    return solution.log_partition - _free(solution).log_partition


def free_interval(solution: "Solution") -> tuple[Any, tuple[Any, Any]]:
    """ln Z of the free machine, and where it lies."""
    free = _free(solution)
    return free.log_partition, free.interval


def accuracy_of_difference(solution: "Solution") -> Any:
    """What that is: exact where both are. A difference of two bounds is none."""
    clamped = solution.codes.log_partition
    return np.where((clamped == EXACT) & _free(solution).is_exact, EXACT, ESTIMATE)[()]


def log_partition_of_free(machine: Network, method: Method, *, prune: bool) -> Any:
    """ln Z of a machine of which nothing is observed, or of each of a stack."""
    return _free_of(machine, method, prune=prune).log_partition


def _free(solution: "Solution") -> FreePartition:
    return _free_of(solution.network, solution.method, prune=solution.prune)


def _free_of(machine: Network, method: Method, *, prune: bool) -> FreePartition:
    if is_traced(machine):  # its numbers must not outlive their trace
        return _computed(machine, method, prune)
    return cached_for(machine, (log_partition_of_free, method, prune), lambda: _computed(machine, method, prune))


def _computed(machine: Network, method: Method, prune: bool) -> FreePartition:
    nothing = Evidence(np.full((machine.stack or 1, machine.size), np.nan), batched=machine.stack is not None)
    found = supplied(INFER)(machine, nothing, method, prune=prune, throw=machine.stack is None)
    is_exact = found.codes.log_partition == EXACT
    if is_traced(machine):
        return FreePartition(jnp.where(cast(Any, found.status) == CONVERGED, found.log_partition, jnp.nan), is_exact)
    log_partition = np.where(found.converged, found.log_partition, np.nan) if found.is_batch else found.log_partition
    return FreePartition(log_partition, is_exact, found.log_partition_interval)
