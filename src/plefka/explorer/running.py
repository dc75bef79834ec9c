"""Listening: the socket, the server, and how it ends."""

import asyncio
import errno
import logging
import signal
import socket
import sys
from collections.abc import Callable

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
    """Ends its questions before it waits for connections to close."""

    def __init__(self, config: uvicorn.Config, service: Service, on_start: Callable[[], None]):
        super().__init__(config)
        self.service, self.on_start = service, on_start

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.on_start()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        closing = asyncio.create_task(self.service.close(FINISH_SECONDS))
        await super().shutdown(sockets)
        await closing


def serve(settings: Settings, listener: socket.socket, on_start: Callable[[], None]) -> None:
    """Answer until SIGINT, which raises KeyboardInterrupt, or SIGTERM."""
    service = Service(settings)
    _log(settings)
    allow_files()
    config = uvicorn.Config(
        application(service), http=GuardedProtocol, ws="none", loop="asyncio", log_config=None, access_log=False,
        proxy_headers=False, server_header=False, h11_max_incomplete_event_size=HEADER_BYTES,
        backlog=BACKLOG, timeout_keep_alive=KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=int(2 * FINISH_SECONDS),
    )  # fmt: skip
    signal.signal(signal.SIGTERM, lambda *_: None)  # what uvicorn comes back to when it has ended
    Server(config, service, on_start).run(sockets=[listener])


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
