"""ln P(evidence) of a Boltzmann machine: ln Z with the evidence clamped, less ln Z without evidence by the same method.

The latter is computed once for each machine and method, and kept as long as the machine is. Of a machine inside a trace
of JAX it is computed each time.
"""

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import jax.numpy as jnp
import numpy as np

from plefka.methods.method import Method
from plefka.methods.posterior import CONVERGED, ESTIMATE, EXACT, Status
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
    blank, difference = is_blank(solution), solution.log_partition - free_partition(solution).log_partition
    if not np.any(blank):
        return difference
    known = np.where(blank, solution.evidence.highest, difference)
    return known if solution.is_batch else known.item()


def is_blank(solution: "Solution") -> Any:
    """Where nothing is observed, so that ln P(evidence) is known: 0, but for likelihoods alike of on and off."""
    evidence = solution.evidence
    if is_traced(solution.network, solution.log_partition, evidence) or evidence.exclusive is not None:
        return False
    possible = np.asarray(solution.status) != Status.IMPOSSIBLE
    return possible & ~evidence.informed.any(axis=1).reshape(possible.shape)


def accuracy_of_difference(solution: "Solution") -> Any:
    """What that is: exact where both are. A difference of two bounds is none."""
    clamped = solution.codes.log_partition
    return np.where(is_blank(solution) | ((clamped == EXACT) & free_partition(solution).is_exact), EXACT, ESTIMATE)[()]


def free_partition(solution: "Solution") -> FreePartition:
    """That of a solution's machine, by the solution's method; without evidence it is what the solution says."""
    if np.all(is_blank(solution)):
        return FreePartition(solution.log_partition, True, solution.log_partition_interval)
    machine, how = solution.network, (solution.method, solution.prune)
    if is_traced(machine):  # its numbers must not outlive their trace
        return _computed(machine, *how)
    return cached_for(machine, (free_partition, *how), lambda: _computed(machine, *how))


def _computed(machine: Network, method: Method, prune: bool) -> FreePartition:
    nothing = Evidence(np.full((machine.stack or 1, machine.size), np.nan), batched=machine.stack is not None)
    found = supplied(INFER)(machine, nothing, method, prune=prune, throw=False)
    is_exact = found.codes.log_partition == EXACT
    if is_traced(machine):
        return FreePartition(jnp.where(cast(Any, found.status) == CONVERGED, found.log_partition, jnp.nan), is_exact)
    log_partition = np.where(found.converged, found.log_partition, np.nan)[()]
    return FreePartition(log_partition, is_exact, found.log_partition_interval)
