"""Which cases of a test `make test` runs; the others are slow, and `make slow` runs them."""

from collections.abc import Iterable
from typing import Any

import pytest


def quick_where(is_quick: Any, cases: Iterable[Any]) -> list:
    """The cases as parameters, slow where is_quick(case) does not hold; `is_quick` may be a list of the quick ones."""
    holds = is_quick if callable(is_quick) else lambda case: case in is_quick
    return [case if holds(case) else _slow(case) for case in cases]


def _slow(case: Any):
    return pytest.param(*(case if isinstance(case, tuple) else (case,)), marks=pytest.mark.slow)
