"""Listening: the socket, the server, and how it ends."""

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import uvicorn

from plefka.errors import InvalidInput
from plefka.explorer.connections import BACKLOG, GuardedProtocol, allow_files
from plefka.explorer.guards import HEADER_BYTES
from plefka.explorer.routes import application
from plefka.explorer.service import Service
from plefka.explorer.settings import Settings

KEEP_ALIVE_SECONDS = 15
FINISH_SECONDS = 3.0  # for questions that are being answered when the service is stopped


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
        closing = asyncio.create_task(self.service.close(FINISH_SECONDS))
        await super().shutdown(sockets)
        await closing


def serve(
    settings: Settings, listener: socket.socket, on_start: Callable[[], None], check: Callable[[], None] = lambda: None
) -> None:
    """Answer until SIGINT, which raises KeyboardInterrupt, or SIGTERM. `check` raises one that came before."""
    service = Service(settings)
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
        raise InvalidInput(
            f"cannot listen on {host}, port {port}: {error.strerror or error}. Pass another --host or --port; with "
            "--port 0 a free one is chosen."
        ) from None
    return listener


def address(host: str, listener: socket.socket) -> str:
    """Where a browser finds the page."""
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{listener.getsockname()[1]}/"


def _log(settings: Settings) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
    for name in ("plefka.access", "plefka.explorer", "uvicorn.error"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    for name in ("plefka.access", "plefka.explorer"):
        logging.getLogger(name).setLevel(logging.INFO)
