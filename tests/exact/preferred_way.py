"""Exact sums by enumeration or by elimination, whichever is cheaper otherwise."""

import pytest

from plefka.exact import state_sum


def prefer(patch: pytest.MonkeyPatch, enumeration_seconds: float) -> None:
    """As if an enumeration took so long; what was planned before is forgotten."""
    patch.setattr(state_sum.StateSum, "enumeration_seconds", enumeration_seconds)
    patch.setattr(state_sum, "cached_for", lambda owner, name, compute: compute())
