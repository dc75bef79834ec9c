"""Listening: the socket, the connections, the server, and how it ends."""

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from plefka.errors import InvalidInput
from plefka.explorer.guards import HEADER_BYTES
from plefka.explorer.outcomes import encoded
from plefka.explorer.routes import application
from plefka.explorer.service import Service
from plefka.explorer.settings import Settings

HEADER_SECONDS = 10.0
READING_SECONDS = 30.0  # for a client to take some of its response
MOST_CONNECTIONS, BACKLOG = 512, 256  # and those that may come at once
MOST_FILES = 4 * (MOST_CONNECTIONS + BACKLOG)
KEEP_ALIVE_SECONDS = 15
FINISH_SECONDS = 3.0  # for questions that are being answered when the service is stopped


class GuardedProtocol(H11Protocol):
    """HTTP/1.1 where a connection that sends nothing, sends slowly or does not read keeps no others out.

    uvicorn waits without end for the headers of a request, and for a client that does not read its response. Here a
    request must be complete within some seconds, and where there are very many connections, the oldest of those that
    have not yet asked anything makes room for a new one.
    """

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
        return self.server_state.__dict__.setdefault("by_age", {})


def allow_files() -> None:
    """As many open files as connections need, if the system lets us."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= soft < MOST_FILES:
        resource.setrlimit(resource.RLIMIT_NOFILE, (MOST_FILES if hard < 0 else min(hard, MOST_FILES), hard))


class Server(uvicorn.Server):
    """Ends its questions before it waits for connections to close, and by any signal since it was made."""

    def __init__(self, config: uvicorn.Config, service: Service, on_start: Callable[[], None]):
        super().__init__(config)
        self.service, self.on_start = service, on_start
        self.was_interrupted = False

    @contextmanager
    def taking_signals(self) -> Iterator[None]:
        """SIGINT and SIGTERM end it in good order, even before it has started: uvicorn begins to listen later."""
        before = {sent: signal.signal(sent, self.handle_exit) for sent in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sent, handler in before.items():
                signal.signal(sent, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.was_interrupted |= sig == signal.SIGINT
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if not self.should_exit:
            self.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        closing = asyncio.create_task(self.service.pool.close(FINISH_SECONDS))
        await super().shutdown(sockets)
        await closing


def serve(
    settings: Settings, listener: socket.socket, on_start: Callable[[], None], check: Callable[[], None] = lambda: None
) -> None:
    """Answer until SIGINT, which raises KeyboardInterrupt, or SIGTERM. `check` raises one that came before."""
    service = Service(settings)
    print(f"Starting {settings.workers} {'worker' if settings.workers == 1 else 'workers'} ...", file=sys.stderr)
    _log(settings)
    allow_files()
    config = uvicorn.Config(
        application(service), http=GuardedProtocol, ws="none", loop="asyncio", log_config=None, access_log=False,
        proxy_headers=False, server_header=False, h11_max_incomplete_event_size=HEADER_BYTES,
        backlog=BACKLOG, timeout_keep_alive=KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=int(2 * FINISH_SECONDS),
    )  # fmt: skip
    server = Server(config, service, on_start)
    with server.taking_signals():
        check()
        server.run(sockets=[listener])
    if server.was_interrupted:
        raise KeyboardInterrupt


def listening(host: str, port: int, *, or_any: bool = False) -> socket.socket:
    """A socket at that address; `or_any`: at another port where this one is taken."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
    except OSError as error:
        listener.close()
        if or_any and error.errno == errno.EADDRINUSE:
            return listening(host, 0)
        in_use = "it is in use, perhaps by another plefka. End that program, or pass"
        why = in_use if error.errno == errno.EADDRINUSE else f"{error.strerror or error}. Pass"
        raise InvalidInput(
            f"cannot listen on {host}, port {port}: {why} another --host or --port; with --port 0 a free one is chosen."
        ) from None
    return listener


def address(host: str, listener: socket.socket) -> str:
    """Where a browser finds the page."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}/"


def _log(settings: Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    levels = {"plefka.access": logging.INFO, "plefka.explorer": logging.INFO, "uvicorn.error": logging.ERROR}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
