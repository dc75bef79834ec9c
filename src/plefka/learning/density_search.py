"""Placeholder: another branch brings the search for the best density."""

from typing import Any, NamedTuple


class Found(NamedTuple):
    """The best network, and what was tried."""

    network: Any
    tried: list[dict[str, Any]]
    held_log_likelihood: float
    standard_error: float
    kind: Any
    seconds: float
    stopped: Any
    history: dict[str, Any]
    fitted: Any


def search(
    rows: Any, weights: Any = None, *, budget: float = 60.0, seed: int = 0, held_out: Any = None, names: Any = None,
    verbose: bool | None = None,
) -> Found:  # fmt: skip
    """The best density of these rows that the budget allows."""
    raise NotImplementedError
