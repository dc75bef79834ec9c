"""The policies of the solver by name."""

from typing import Any

from plefka.methods.registry import POLICY_NAMES, REGISTRABLE
from plefka.solvers.loop import Policy as Policy
from plefka.solvers.monotone import Monotone
from plefka.solvers.plain_iteration import Paper
from plefka.solvers.sequential import Sequential

POLICIES: dict[str, Policy] = {"monotone": Monotone(), "paper": Paper(), "sequential": Sequential()}


def _entries(policy: Any, name: str) -> list[tuple[dict, Any]]:
    """Where `pf.register` puts a policy of a user's own."""
    return [(POLICY_NAMES, type(policy).__doc__ or ""), (POLICIES, policy)]


REGISTRABLE[Policy] = _entries
