"""Connections: one that sends nothing, sends slowly or does not read must not keep others out.

uvicorn waits without end for the headers of a request, and for a client that does not read its response. Here a request
must be complete within some seconds, and where there are very many connections, the oldest of those that have not yet
asked anything makes room for a new one.
"""

import asyncio
import sys
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

HEADER_SECONDS = 10.0
READING_SECONDS = 30.0  # for a client to take some of its response
MOST_CONNECTIONS = 512


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 with limits of time and number."""

    waiting_for_headers: asyncio.TimerHandle | None = None
    waiting_for_reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        if len(self.connections) >= most_connections():
            oldest = next((each for each in self._by_age() if each.has_not_asked), None)
            (transport if oldest is None else oldest.transport).abort()
        super().connection_made(transport)
        self._by_age()[self] = None
        self._await_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        self._by_age().pop(self, None)
        self._clear("waiting_for_headers")
        self._clear("waiting_for_reader")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.is_answering:
            self._clear("waiting_for_headers")
        else:
            self._await_headers()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.waiting_for_reader = self.loop.call_later(READING_SECONDS, self.transport.abort)

    def resume_writing(self) -> None:
        self._clear("waiting_for_reader")
        super().resume_writing()

    def shutdown(self) -> None:
        """A request that is not complete, or a response that is not read, is not waited for."""
        if (self.is_answering and self.has_not_asked) or self.waiting_for_reader is not None:
            self.transport.abort()
        else:
            super().shutdown()

    @property
    def is_answering(self) -> bool:
        """Whether a request has begun and its response is not complete."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def has_not_asked(self) -> bool:
        """Whether no request is complete."""
        return not self.is_answering or self.cycle.more_body

    def _await_headers(self) -> None:
        """From the first byte on; further bytes do not prolong it."""
        if self.waiting_for_headers is None:
            self.waiting_for_headers = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _clear(self, timer: str) -> None:
        handle = getattr(self, timer)
        if handle is not None:
            handle.cancel()
            setattr(self, timer, None)

    def _by_age(self) -> "dict[GuardedProtocol, None]":
        """All connections, the oldest first."""
        return self.server_state.__dict__.setdefault("by_age", {})


def most_connections() -> int:
    """Half of the files that the process may open, at most."""
    if sys.platform == "win32":
        return MOST_CONNECTIONS
    import resource

    return min(MOST_CONNECTIONS, max(16, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 2))
