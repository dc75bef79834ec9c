"""A count of the programs that are compiled."""

from collections.abc import Iterator
from contextlib import contextmanager

import jax
import jax.monitoring


@contextmanager
def compilations() -> Iterator[list[float]]:
    """A list with an entry for every program that is compiled meanwhile, those of single operations included."""
    found: list[float] = []

    def listen(event: str, duration_secs: float, **_: str | int) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            found.append(duration_secs)

    jax.monitoring.register_event_duration_secs_listener(listen)
    try:
        yield found
    finally:
        jax.monitoring.unregister_event_duration_listener(listen)
