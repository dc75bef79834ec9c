"""Connections: one that sends nothing, sends slowly or does not read must not keep others out.

uvicorn waits without end for the headers of a request, and for a client that does not read its response. Here a request
must be complete within some seconds, and where there are very many connections, the oldest of those that have not yet
asked anything makes room for a new one.
"""

import asyncio
import sys
from contextlib import suppress
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from plefka.explorer.json_encoding import encoded

HEADER_SECONDS = 10.0
READING_SECONDS = 30.0  # for a client to take some of its response
MOST_CONNECTIONS, BACKLOG = 512, 256  # and those that may come at once
MOST_FILES = 4 * (MOST_CONNECTIONS + BACKLOG)


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 with limits of time and number."""

    waiting_for_headers: asyncio.TimerHandle | None = None
    waiting_for_reader: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        by_age = self._by_age()
        if len(by_age) >= MOST_CONNECTIONS:
            oldest = next((each for each in by_age if each.has_no_complete_request), self)
            by_age.pop(oldest, None)  # at once: many connections may come before it is lost
            (transport if oldest is self else oldest.transport).abort()
        super().connection_made(transport)
        by_age[self] = None
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

    def send_400_response(self, msg: str) -> None:
        """In the form of all other refusals."""
        body = encoded({"error": {"code": "invalid_http", "message": msg}})
        headers = [("content-type", "application/json"), ("content-length", str(len(body))), ("connection", "close")]
        with suppress(h11.LocalProtocolError):  # a response has begun
            events = h11.Response(status_code=400, headers=headers), h11.Data(data=body), h11.EndOfMessage()
            for event in events:
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def shutdown(self) -> None:
        """A request that is not complete, or a response that is not read, is not waited for."""
        if (self.is_answering and self.has_no_complete_request) or self.waiting_for_reader is not None:
            self.transport.abort()
        else:
            super().shutdown()

    @property
    def is_answering(self) -> bool:
        """Whether a request has begun and its response is not complete."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def has_no_complete_request(self) -> bool:
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


def allow_files() -> None:
    """As many open files as connections need, if the system lets us."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < MOST_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES if hard < 0 else min(hard, MOST_FILES), hard))
